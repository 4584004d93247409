"""Hooks that compute a tensor of their module from others before each forward: weight_norm, spectral_norm, pruning."""

from __future__ import annotations

from ...utils.hooks import hooks_of
from ..parameter import is_lazy


class Derived:
    """Derive from it, write compute(module); `name` is the tensor's."""

    name: str

    def compute(self, module):
        raise NotImplementedError

    def __call__(self, module, inputs) -> None:
        setattr(module, self.name, self.compute(module))


def find(module, kind: type, name: str):
    """(key, hook) of the hook of a kind that computes the tensor of a name, or None."""
    for key, hook in hooks_of(module, "_forward_pre_hooks").items():
        if isinstance(hook, kind) and hook.name == name:
            return key, hook
    return None


def check_is_made(module, name: str, kind: type, what: str) -> None:
    if is_lazy(getattr(module, name)):
        raise ValueError(
            f"The module passed to `{kind.__name__}` can't have uninitialized parameters. Make sure to run the dummy "
            f"forward before applying {what} normalization"
        )


def check_is_new(module, kind: type, name: str, what: str) -> None:
    if find(module, kind, name):
        raise RuntimeError(f"Cannot register two {what} hooks on the same parameter {name}")


def take_off(module, kind: type, name: str, missing: str):
    """Takes the hook off and gives it; if there is none, the sentence is the error."""
    found = find(module, kind, name)
    if found is None:
        raise ValueError(missing)
    key, hook = found
    del module._forward_pre_hooks[key]
    return hook
