"""How docs/reference shows the call of a function: as Python spells it, and as C++ and Lua do where that differs.

A test looks whether each function that is shown for Python is there, has arguments of these names, and takes those
before a bare star by place and in this order (tests/python/test_reference.py). Defaults are not compared."""

from __future__ import annotations

from . import optimizer_classes, text
from .model import Argument, Function, Layer, Schema

# Where a namespace of the schema is found.
_PREFIX = {"torch": "", "functional": "nn.functional."}

# What Python, whose modules, optimizers and loaders are written by hand, spells otherwise.
_PYTHON = {
    "atleast_1d": "atleast_1d(*tensors)",
    "atleast_2d": "atleast_2d(*tensors)",
    "atleast_3d": "atleast_3d(*tensors)",
    "bernoulli_tensor_": "input.bernoulli_(p, *, generator=None)",
    "clip_grad_norm_": "nn.utils.clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False)",
    "data_loader_len": "len(data_loader)",
    "data_loader_new": "utils.data.DataLoader(dataset, batch_size=1, shuffle=None, *, num_workers=0, drop_last=False, "
    "generator=None, prefetch_factor=None)",
    "data_loader_next": "for batch in data_loader:",
    "dataset_len": "len(dataset)",
    "dataset_new": "utils.data.TensorDataset(*tensors)",
    "einsum": "einsum(equation, *operands)",
    "event_wait": "event.wait(stream=None)",
    "generator_set_state": "generator.set_state(new_state)",
    "grad_scaler_get_state": "grad_scaler.state_dict()",
    "grad_scaler_set_state": "grad_scaler.load_state_dict(state_dict)",
    "module_append": "module.append(module)",
    "module_clone": "copy.deepcopy(module)",
    "module_forward": "module(*inputs)",
    "module_is_training": "module.training",
    "module_load": "module.load_state_dict(safetensors.load_file(filename), strict=True)",
    "module_load_state_dict": "module.load_state_dict(state_dict, strict=True)",
    "module_register_buffer": "module.register_buffer(name, tensor)",
    "module_register_module": "module.register_module(name, module)",
    "module_save": "safetensors.save_file(module.state_dict(), filename)",
    "optim_cosine_annealing_lr": "optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max, eta_min=0.0)",
    "optimizer_add_param_group": 'optimizer.add_param_group({"params": params})',
    "optimizer_get": "optimizer.param_groups[group][name]",
    "optimizer_group_count": "len(optimizer.param_groups)",
    "optimizer_load_state_dict": "optimizer.load_state_dict(state_dict)",
    "optimizer_set": "optimizer.param_groups[group][name] = value",
    "lr_scheduler_last_epoch": "lr_scheduler.last_epoch",
    "pad_packed_sequence": "nn.utils.rnn.pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, "
    "total_length=None)",
    "split": "split(tensor, split_size_or_sections, dim=0)",
    "tensor_is_set_to": "input.is_set_to(tensor)",
    "tensordot_dims": "tensordot(a, b, dims)",
    "unpack_sequence": "nn.utils.rnn.unpack_sequence(packed_sequences)",
}  # fmt: skip
for _name in ("fractional_max_pool2d", "fractional_max_pool3d"):
    for _ending, _flag in (("", "return_indices=False, "), ("_with_indices", "")):
        _PYTHON[_name + _ending] = (
            f"nn.functional.{_name}{_ending}(input, kernel_size, output_size=None, output_ratio=None, "
            f"{_flag}_random_samples=None)"
        )
# What Python does not show, or shows as a part of something else.
_NOT_IN_PYTHON = {
    "calculate_fan_in_and_fan_out", "custom_function", "data_loader_start",
    "module_child", "module_children_len", "module_forward_inputs", "module_forward_outputs", "module_generate",
    "module_kind", "node_address", "node_next", "node_next_count", "node_next_output",
}  # fmt: skip
# Handles whose methods it does not show.
_NO_OBJECTS = {"kv_cache", "profiler", "string_list", "tensor_list"}


def blocks(schema: Schema, f: Function, layer: Layer | None) -> list[tuple[str, str]]:
    """(language, call): one that Python shares with C++ and Lua, or one each."""
    shared = _call(f, layer.args if layer else f.args, layer)
    if f.name in _NOT_IN_PYTHON or f.method in _NO_OBJECTS:
        return [("cpp", shared)]
    if not (f.namespaces or f.method or layer):
        return [("cpp", shared)]
    own = _PYTHON.get(f.name) or _with_settings(schema, f, layer)
    if not own:
        return [("python", shared)]
    return [("python", _folded(own)), ("cpp", _in_cpp(f, shared) if f.namespaces else shared)]


def _in_cpp(f: Function, call: str) -> str:
    """With C++'s namespaces, and the struct of its options."""
    head, _, arguments = call.partition("(")
    head = head.replace("nn.functional.", "functional.")
    name = "dt::" + head.replace(".", "::")
    for a in f.args:
        if a.kind.base == "options":
            own = (
                f"{name}Options"
                if f.torch_name[0].isupper()
                else f"dt::{text.camel(a.kind.name)}Options"
            )
            arguments = arguments.replace(a.name, f"{own}()")
    return f"{name}({arguments}"


def _folded(call: str) -> str:
    head, bracket, rest = call.partition("(")
    return text.call(head + bracket, rest[:-1].split(", "), rest[-1]) if bracket else call


def _with_settings(schema: Schema, f: Function, layer: Layer | None) -> str:
    """What other languages take as a struct of options Python takes as named arguments."""
    options = [a for a in f.args if a.kind.base == "options"]
    if layer or not options:
        return ""
    optimizer = next((o for o in schema.optimizers.values() if f.name == f"optim_{o.snake}"), None)
    before = [a.name for a in f.args if a.kind.base != "options"]
    if optimizer:
        named = optimizer_classes.python_arguments(optimizer)
    else:
        named = [
            "*",
            *(f"{a.name}={default(a)}" for a in schema.options[options[0].kind.name].fields),
        ]
    return f"{_python_name(f)}({', '.join([*before, *named])})"


def _python_name(f: Function) -> str:
    return _PREFIX.get(f.namespaces[0], f.namespaces[0] + ".") + f.torch_name


def _call(f: Function, args: tuple[Argument, ...], layer: Layer | None) -> str:
    """With C++'s namespace if Python has another name."""
    name = f.torch_name
    if f.namespaces:
        name = _python_name(f)
    elif f.method and not layer:
        owner = args[0].name if f.method == "tensor" else f.method
        name, args = f"{owner}.{f.method_name}", args[1:]
    elif not layer:
        name = f"dt::{name}"
    parts = []
    for a in args:
        if a.keyword_only and "*" not in parts:
            parts.append("*")
        parts.append(a.name + (f"={default(a)}" if a.has_default else ""))
    return text.call(f"{name}(", parts, ")")


def default(a: Argument) -> str:
    return f'"{a.default}"' if a.kind.base in ("enum", "str") and a.default else repr(a.default)
