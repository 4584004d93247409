"""A module that is called with other parameters and buffers."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager

from ._tensor_type import TensorBase

_ABSENT = object()


def functional_call(
    module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """module(*args, **kwargs) with other parameters and buffers, by name; other tensors that are attributes count as
    well. With tie_weights, what is shared in the module is replaced under all its names. What the call assigns goes
    into the dict, not into the module."""
    given = _one_dict(parameter_and_buffer_dicts)
    tensors = dict(given)
    if tie_weights or strict:
        own = {**dict(module.named_parameters(remove_duplicate=False)),
               **dict(module.named_buffers(remove_duplicate=False))}  # fmt: skip
        tensors |= _tied(own, given) if tie_weights else {}
        if strict:
            _check_names(module, own, tensors)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, tensors, given):
        return module(*args, **(kwargs or {}))


def _one_dict(dicts) -> dict:
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, (list, tuple)):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dicts)}"
        )
    if not all(isinstance(part, dict) for part in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for part in dicts for name in part]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous"
        )
    return {name: x for part in dicts for name, x in part.items()}


def _tied(own: dict, given: dict) -> dict:
    """What is given under one of a tensor's names, under all of them."""
    groups: dict[int, list] = {}
    for name, x in own.items():
        groups.setdefault(id(x), []).append(name)
    out = {}
    for names in groups.values():
        known = [name for name in names if name in given]
        if len({id(given[name]) for name in known}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(known)}, which are tied. "
                "Consider using tie_weights=False"
            )
        out |= dict.fromkeys(names, given[known[0]]) if known else {}
    return out


def _check_names(module, own: dict, tensors: dict) -> None:
    def listed(which: str, names: set) -> str:
        return f"\n\t{which} key(s): {', '.join(map(repr, sorted(names)))}." if names else ""

    wrong = listed("Unexpected", tensors.keys() - own.keys())
    wrong += listed("Missing", own.keys() - tensors.keys())
    if wrong:
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:{wrong}")


@contextmanager
def _replaced(module, tensors: dict, given: dict):
    """Inside the block, the module has these tensors; `given` has what they are at its end."""
    before = []
    try:
        for name, x in tensors.items():
            owner, last = _place(module, name)
            if x is not None and not isinstance(x, TensorBase):
                raise TypeError(f"{x} is not an instance of torch.Tensor")
            before.append((name, owner, last, _put(owner, last, x)))
        yield
    finally:
        for name, owner, last, x in reversed(before):
            now = _put(owner, last, x)
            if name in given:
                given[name] = now


def _place(module, name: str):
    """The module that a name lies in, and its last part."""
    if not name:
        raise KeyError('tensor name can\'t be empty string ""')
    *path, last = name.split(".")
    for part in path:
        if part not in module._modules:
            raise AttributeError(f"{module._get_name()} has no attribute `{part}`")
        module = module._modules[part]
    return module, last


def _put(owner, name: str, x):
    """Replaces a tensor and gives back what was there. Neither takes part in what the module's `__setattr__` does."""
    before = getattr(owner, name, _ABSENT)
    for registry in (owner._parameters, owner._buffers):
        if name in registry and x is not _ABSENT:
            registry[name] = x
            return before
    if before is not _ABSENT and not isinstance(before, TensorBase):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if x is _ABSENT:
        delattr(owner, name)
    else:
        setattr(owner, name, x)
    return before
