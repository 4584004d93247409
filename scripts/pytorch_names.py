"""Writes scripts/pytorch_names.json, PyTorch's public names and their optional parameters: needs PyTorch.
scripts/coverage.py compares the library with it.

A name is public if it is in its module's __all__ or, where there is none that says so, if PyTorch documents it.
"""

import ast
import inspect
import json
import re
from importlib import import_module
from pathlib import Path

FILE = Path(__file__).with_suffix(".json")

# Each place whose names are listed.
PLACES = (
    "torch", "torch.Tensor", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils", "torch.optim",
    "torch.optim.lr_scheduler", "torch.optim.swa_utils", "torch.autograd", "torch.autograd.function",
    "torch.autograd.functional", "torch.autograd.graph", "torch.distributions", "torch.distributions.constraints",
    "torch.distributions.utils", "torch.linalg", "torch.masked", "torch.special", "torch.utils.data",
)  # fmt: skip
# Their __all__ is all that they promise; torch's also lists what only PyTorch's own code calls.
COMPLETE = {
    "torch.nn.init", "torch.nn.utils", "torch.optim", "torch.optim.lr_scheduler", "torch.optim.swa_utils",
    "torch.autograd", "torch.autograd.function", "torch.autograd.functional", "torch.autograd.graph",
    "torch.distributions", "torch.distributions.constraints", "torch.distributions.utils", "torch.masked",
    "torch.special", "torch.utils.data",
}  # fmt: skip
# Modules that look internal and are where public names are written.
PUBLISHED = {
    "torch._C", "torch._C._linalg", "torch._C._nn", "torch._C._special", "torch._lobpcg", "torch._lowrank",
    "torch._tensor", "torch._tensor_str",
}  # fmt: skip
# Stubs, and the class in them: what is written in C++ tells of itself there alone.
STUBS = {
    "torch": ("_C/_VariableFunctions.pyi", ""),
    "torch.Tensor": ("_C/__init__.pyi", "TensorBase"),
    "torch.nn.functional": ("nn/functional.pyi", ""),
}
# What stubs or texts tell of and PyTorch refuses.
UNTRUE = {
    "torch": {"full": "names", "range": "pin_memory"},
    "torch.Tensor": {"requires_grad_": "mode"},
}
# Public without a text.
TYPES = {
    "Generator",
    "Size",
    "Tensor",
    "device",
    "dtype",
    "finfo",
    "iinfo",
    "layout",
    "memory_format",
}
# What lies in public modules and is the business of backends, of TorchScript and of PyTorch's own code.
INTERNAL = re.compile(
    r"(miopen|mkldnn|cudnn|fbgemm|quantized|native|parse|import_ir|unify|merge_type|autocast)_|\w+_autocast|Script|sym_|Sym[BFI]|"
    r"u?int[1-7]$|bits?(\d+(x\d)?)?$|.*(_notes|torch_function(_\w+)?|_kwargs|_names)$|"
    r"(AVG|SUM|PRIVATE_OPS|AggregationType|DispatchKey|Tag|thread_safe_generator|init_num_threads|GRID_SAMPLE\w+)$"
)


def main() -> None:
    import torch

    import_module("torch.optim.swa_utils")
    import_module("torch.masked")
    names = {place: dict(sorted(listed(torch, place))) for place in PLACES}
    lines = [f'{{"version": "{torch.__version__.partition("+")[0]}"']
    for place, members in names.items():
        rows = [f"  {json.dumps(name)}: {json.dumps(text)}" for name, text in members.items()]
        lines.append(f'"{place}": {{\n' + ",\n".join(rows) + "\n}")
    FILE.write_text(",\n".join(lines) + "}\n")
    print(f"wrote {FILE.name}: {sum(map(len, names.values()))} names")


def place_in(torch, place: str):
    found = torch
    for part in place.split(".")[1:]:
        found = getattr(found, part)
    return found


def listed(torch, place: str):
    """The names of a place, each with its optional parameters in one text, None if PyTorch does not tell."""
    space, stubs = place_in(torch, place), stubbed(torch, place)
    for name in space.__all__ if place in COMPLETE else dir(space):
        if name.startswith("_"):
            continue
        x = getattr(space, name)
        if place in COMPLETE or is_public(torch, space, name, x):
            untrue = UNTRUE.get(place, {}).get(name, "")
            yield name, together(optional_parameters(x), stubs.get(name), without=untrue)


def together(*told: str | None, without: str = "") -> str | None:
    """What several sources tell, without what they repeat."""
    texts = [text for text in told if text is not None]
    names = dict.fromkeys(" ".join(texts).split())
    return " ".join(name for name in names if name != without) if texts else None


def stubbed(torch, place: str) -> dict[str, str]:
    """What the stubs tell of a place: the optional parameters of all overloads, and those that have to be named."""
    file, kind = STUBS.get(place, ("", ""))
    if not file:
        return {}
    body = ast.parse((Path(torch.__file__).parent / file).read_text()).body
    if kind:
        body = next(x for x in body if isinstance(x, ast.ClassDef) and x.name == kind).body
    out = {}
    for x in body:
        if isinstance(x, ast.FunctionDef):
            a = x.args
            listed = [*a.posonlyargs, *a.args]
            optional = listed[len(listed) - len(a.defaults) :] + a.kwonlyargs
            names = [p.arg for p in optional if p.arg[0] != "_"]
            out[x.name] = together(out.get(x.name), " ".join(names))
    return out


def is_public(torch, space, name: str, x) -> bool:
    if inspect.ismodule(x) or INTERNAL.match(name):
        return False
    module = getattr(x, "__module__", None) or "torch"
    internal = any(part.startswith("_") for part in module.split("."))
    if name == "Tensor" and space is not torch:
        return False
    if not module.startswith("torch") or internal and module not in PUBLISHED:
        return False
    if space is torch and isinstance(x, (torch.dtype, torch.layout, torch.memory_format, float)):
        return True
    if getattr(x, "__doc__", None) and not isinstance(x, (int, float)):
        return True
    return has_known_twin(torch, space, name, x)


def has_known_twin(torch, space, name: str, x) -> bool:
    """Whether a name without a text is public under another one, or is a property."""
    if inspect.isclass(x):
        return name in TYPES or name.endswith(("Tensor", "Storage"))
    if not callable(x):
        return isinstance(space, type)
    twins = (name.rstrip("_"), name) if name.endswith("_") else (name,)
    others = (torch, torch.Tensor, torch.nn.functional)
    return any(getattr(getattr(o, n, None), "__doc__", None) for o in others for n in twins)


def optional_parameters(x) -> str | None:
    """The names of those with a default; the others go by their places."""
    if not callable(x):
        return None
    try:
        found = list(inspect.signature(x).parameters.values())
    except (TypeError, ValueError):
        return documented(x)
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in found):
        return documented(x)
    return " ".join(p.name for p in found if p.default is not p.empty and p.name[0] != "_")


def documented(x) -> str | None:
    """The parameters of the call that begins a text: "add(input, other, *, alpha=1) -> Tensor"."""
    text = getattr(x, "__doc__", None)
    call = r"\s*\w[\w.]*\(([^()]*(?:\([^()]*\)[^()]*)*)\)"
    start = re.match(call, text) if isinstance(text, str) else None
    if not start:
        return None
    whole = re.sub(r"\([^()]*\)|\[[^\[\]]*\]", "", start[1])
    parts = [re.split(r"[=:]", part)[0].split() for part in whole.split(",") if "=" in part]
    names = [part[-1] for part in parts]
    return " ".join(names) if all(name.isidentifier() for name in names) else None


if __name__ == "__main__":
    main()
