"""Module: the base class of everything with parameters. PyTorch's semantics, in Python.

A module's parameters, buffers and children are in three dictionaries, `_parameters`, `_buffers` and
`_modules`, which are the only place where they are: attribute access looks there. Generated layers
read the dictionaries directly.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict, namedtuple

from ... import _ops
from ..._native import lib
from ..._runtime import check
from ..._tensor import Tensor
from ..._types import DTYPE
from ...autograd.grad_mode import no_grad
from ..parameter import Buffer, Parameter
from .backward_hooks import BackwardHooks

_hook_ids = itertools.count()

IncompatibleKeys = namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])


class RemovableHandle:
    """Takes a hook off: by remove(), or at the end of a `with` block."""

    def __init__(self, hooks: dict, hook):
        self._hooks, self._id = hooks, next(_hook_ids)
        hooks[self._id] = hook

    def remove(self) -> None:
        self._hooks.pop(self._id, None)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


class Module:
    """Base class of layers and networks: assign parameters and modules as attributes, write
    forward.
    """

    # Dictionaries of hooks are made when the first one is registered: most modules have none.
    _hooked = False
    _forward_hooks: dict | None = None
    _forward_pre_hooks: dict | None = None
    _backward_hooks: dict | None = None
    _backward_pre_hooks: dict | None = None
    training: bool

    def __init__(self, *args, **kwargs):
        if args or kwargs:
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected argument")
        set_plain = object.__setattr__
        set_plain(self, "training", True)
        set_plain(self, "_parameters", {})
        set_plain(self, "_buffers", {})
        set_plain(self, "_modules", {})
        set_plain(self, "_transient_buffers", set())

    def forward(self, *args, **kwargs):
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args, **kwargs):
        if self._hooked:
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def _call_with_hooks(self, args: tuple, kwargs: dict):
        for hook, with_kwargs in tuple((self._forward_pre_hooks or {}).values()):
            changed = hook(self, args, kwargs) if with_kwargs else hook(self, args)
            if changed is None:
                continue
            if with_kwargs:
                args, kwargs = changed
            else:
                args = changed if isinstance(changed, tuple) else (changed,)
        watch = None
        if self._backward_hooks or self._backward_pre_hooks:
            watch = BackwardHooks(self, self._backward_pre_hooks, self._backward_hooks)
            args = watch.before(args)
        out = self.forward(*args, **kwargs)
        for hook, with_kwargs in tuple((self._forward_hooks or {}).values()):
            changed = hook(self, args, kwargs, out) if with_kwargs else hook(self, args, out)
            if changed is not None:
                out = changed
        return watch.after(out) if watch else out

    # ---- attributes

    def __getattr__(self, name):
        # Called only for what is not an ordinary attribute.
        state = self.__dict__
        if "_parameters" in state:  # __init__ has run
            if name in state["_parameters"]:
                return state["_parameters"][name]
            if name in state["_modules"]:
                return state["_modules"][name]
            if name in state["_buffers"]:
                return state["_buffers"][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        state = self.__dict__
        if isinstance(value, Parameter):
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._forget(name, "_modules")
            self._registry("_modules")[name] = value
        elif isinstance(value, Buffer):
            self._forget(name, "_buffers")
            self.register_buffer(name, value, value.persistent)
        elif name in state.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
            state["_parameters"][name] = None
        elif name in state.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            state["_modules"][name] = None
        elif name in state.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' object to buffer '{name}' "
                    "(torch.Tensor or None required)"
                )
            state["_buffers"][name] = value
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name):
        for registry in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(registry, ()):
                del self.__dict__[registry][name]
                self._transient_buffers.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        return sorted({*object.__dir__(self), *self._parameters, *self._buffers, *self._modules})

    def _registry(self, which: str) -> dict:
        try:
            return self.__dict__[which]
        except KeyError:
            what = {"_parameters": "parameters", "_modules": "module", "_buffers": "buffer"}[which]
            raise AttributeError(f"cannot assign {what} before Module.__init__() call") from None

    def _forget(self, name: str, keep: str) -> None:
        """A name is an attribute of one sort only."""
        self.__dict__.pop(name, None)
        for registry in ("_parameters", "_buffers", "_modules"):
            if registry != keep:
                self.__dict__.get(registry, {}).pop(name, None)

    # ---- registration

    def _check_name(self, what: str, name: str, registry: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain "."')
        if not name:
            raise KeyError(f'{what} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self._registry(registry):
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param) -> None:
        """Adds a parameter, or None for one that is absent."""
        registry = self._registry("_parameters")
        self._check_name("parameter", name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param is not None and not param.is_leaf:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                "created explicitly."
            )
        registry[name] = param

    def register_buffer(self, name: str, tensor, persistent: bool = True) -> None:
        """Adds a tensor that is not trained; persistent ones are in the state dict."""
        registry = self._registry("_buffers")
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        registry[name] = tensor
        (self._transient_buffers.discard if persistent else self._transient_buffers.add)(name)

    def add_module(self, name: str, module) -> None:
        """Adds a child, or None for one that is absent."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        registry = self._registry("_modules")
        self._check_name("module", name, "_modules")
        registry[name] = module

    def register_module(self, name: str, module) -> None:
        self.add_module(name, module)

    # ---- iteration

    def named_modules(self, memo=None, prefix: str = "", remove_duplicate: bool = True):
        """(name, module) of this module and all below it."""
        memo = set() if memo is None else memo
        if id(self) in memo:
            return
        if remove_duplicate:
            memo.add(id(self))
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                below = f"{prefix}.{name}" if prefix else name
                yield from child.named_modules(memo, below, remove_duplicate)

    def modules(self):
        """This module and all below it."""
        for _, module in self.named_modules():
            yield module

    def named_children(self):
        """(name, module) of the direct children."""
        seen = set()
        for name, child in self._modules.items():
            if child is not None and id(child) not in seen:
                seen.add(id(child))
                yield name, child

    def children(self):
        """The direct children."""
        for _, child in self.named_children():
            yield child

    def _named_members(self, registry: str, prefix: str, recurse: bool, remove_duplicate: bool):
        seen = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for place, module in modules:
            for name, member in module.__dict__[registry].items():
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield f"{place}.{name}" if place else name, member

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """(name, parameter) of this module and all below it; shared ones once."""
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """The parameters of this module and all below it; shared ones once."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """(name, buffer) of this module and all below it."""
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """The buffers of this module and all below it."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str):
        """The module at a dotted path."""
        module = self
        for name in target.split(".") if target else ():
            if name not in module._modules:
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = module._modules[name]
        return module

    def get_parameter(self, target: str):
        """The parameter at a dotted path."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in module._parameters:
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        return module._parameters[name]

    def get_buffer(self, target: str):
        """The buffer at a dotted path."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in module._buffers:
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        return module._buffers[name]

    # ---- mode, gradients

    def train(self, mode: bool = True):
        """Training mode for this module and all below it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        for module in self.modules():
            object.__setattr__(module, "training", mode)
        return self

    def eval(self):
        """Evaluation mode for this module and all below it."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True):
        """Whether the parameters are trained."""
        for p in self.parameters():
            _ops.tensor_requires_grad_(p, requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters."""
        parameters = list(self.parameters())
        if set_to_none:
            check(lib.py_drop_grads([p._h for p in parameters], len(parameters)))
            return
        for p in parameters:
            grad = p.grad
            if grad is not None:
                p.grad = _ops.zeros_like(grad)

    # ---- conversion

    def _apply(self, function):
        """Replaces every tensor by function(tensor). Parameters stay the same Python objects."""
        for module in self.modules():
            for p in module._parameters.values():
                if p is not None:
                    _convert(p, function)
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = function(buffer)
        return self

    def apply(self, fn):
        """Calls fn with every module, children first."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def to(self, *args, **kwargs):
        """Moves or converts: to(dtype), to(device), to(device, dtype), to(tensor)."""
        from ..._tensor import _to_arguments

        options = _to_arguments(args, kwargs)
        kind, order = options.pop("dtype", None), options.pop("memory_format", None)
        if kind is not None and not DTYPE.value(DTYPE[kind]).is_floating_point:
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={kind}"
            )

        def convert(t):
            wanted = kind if t.is_floating_point() else None
            return _ops.to(t, dtype=wanted, **options, memory_format=order if t.ndim == 4 else None)

        return self._apply(convert)

    def type(self, dst_type):
        return self._apply(lambda t: t.to(dst_type))

    def float(self):
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self):
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self):
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self):
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def cpu(self):
        return self._apply(lambda t: t.cpu())

    def cuda(self, device=None):
        return self._apply(lambda t: t.cuda(device))

    # ---- state dict

    def state_dict(self, *, destination=None, prefix: str = "", keep_vars: bool = False):
        """Parameters and persistent buffers by name: tensors that share the module's memory."""
        out = OrderedDict() if destination is None else destination
        for name, tensor in self._state():
            out[prefix + name] = tensor if keep_vars else _ops.detach(tensor)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=out, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return out

    def _state(self):
        """This module's own entries of the state dict."""
        for name, p in self._parameters.items():
            if p is not None:
                yield name, p
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._transient_buffers:
                yield name, buffer

    def load_state_dict(self, state_dict, strict: bool = True, assign: bool = False):
        """Copies values in by name. With strict, names and shapes must match; nothing changes if
        not.
        """
        own = OrderedDict()
        for prefix, module in self.named_modules(remove_duplicate=False):
            for name, tensor in module._state():
                own[f"{prefix}.{name}" if prefix else name] = (module, name, tensor)
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        errors = []
        if strict and unexpected:
            errors.append(f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
        if strict and missing:
            errors.append(f"Missing key(s) in state_dict: {_quoted(missing)}. ")
        errors += [
            e for n in own if n in state_dict and (e := _misfit(n, own[n][2], state_dict[n]))
        ]
        if errors:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                + "\n\t".join(errors)
            )
        with no_grad():
            for name, (module, key, tensor) in own.items():
                if name in state_dict:
                    _load(module, key, tensor, state_dict[name], assign)
        return IncompatibleKeys(missing, unexpected)

    # ---- hooks

    def register_forward_pre_hook(self, hook, *, prepend: bool = False, with_kwargs: bool = False):
        """Calls hook(module, args) before forward; what it returns replaces args."""
        return self._register("_forward_pre_hooks", (hook, with_kwargs), prepend)

    def register_forward_hook(self, hook, *, prepend: bool = False, with_kwargs: bool = False):
        """Calls hook(module, args, output) after forward; what it returns replaces output."""
        return self._register("_forward_hooks", (hook, with_kwargs), prepend)

    def register_full_backward_pre_hook(self, hook, prepend: bool = False):
        """Has backward call hook(module, grad_output); what it returns replaces grad_output."""
        return self._register("_backward_pre_hooks", hook, prepend)

    def register_full_backward_hook(self, hook, prepend: bool = False):
        """Has backward call hook(module, grad_input, grad_output), tuples with one gradient for each
        input and output; what it returns replaces grad_input."""
        return self._register("_backward_hooks", hook, prepend)

    def _register(self, which: str, hook, prepend: bool) -> RemovableHandle:
        hooks = getattr(self, which)
        if hooks is None:
            hooks = OrderedDict()
            object.__setattr__(self, which, hooks)
            object.__setattr__(self, "_hooked", True)
        handle = RemovableHandle(hooks, hook)
        if prepend:
            hooks.move_to_end(handle._id, last=False)
        return handle

    # ---- text

    def extra_repr(self) -> str:
        """What is shown between the brackets."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_indented(repr(child))}" for name, child in self._modules.items()]
        if len(lines) <= 1 and not children:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join([*lines, *children]) + "\n)"


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _misfit(name: str, tensor, value) -> str:
    """What is wrong with a value of a state dict; "" if nothing is."""
    if not isinstance(value, Tensor):
        return (
            f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like '
            f"object from checkpoint but received {type(value)}"
        )
    if value.shape != tensor.shape:
        return (
            f"size mismatch for {name}: copying a param with shape {value.shape} from checkpoint, "
            f"the shape in current model is {tensor.shape}."
        )
    return ""


def _load(module: Module, name: str, tensor, value, assign: bool) -> None:
    if not assign:
        tensor.copy_(value)
    elif name in module._parameters:
        module._parameters[name] = (
            value if isinstance(value, Parameter) else Parameter(value, tensor.requires_grad)
        )
    else:
        module._buffers[name] = value


def _convert(p: Parameter, function) -> None:
    with no_grad():
        value = function(p)
        grad = p.grad
    if value.is_set_to(p) and value.dtype is p.dtype:
        return
    _ops.tensor_set_data(p, value)
    if grad is not None:
        with no_grad():
            p.grad = function(grad)
