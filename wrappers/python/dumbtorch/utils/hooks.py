"""RemovableHandle: what registers a hook gives back; dictionaries of hooks that are made when they are needed."""

from __future__ import annotations

import weakref
from abc import ABCMeta
from collections import OrderedDict

from .. import _missing, _ops

__getattr__ = _missing.getattr_of(__name__)


class RemovableHandle(metaclass=ABCMeta):
    """A new id, under which a hook is put into hooks_dict. It takes the hook off, and what is under the id in
    extra_dict, one dictionary or a list of them: by remove(), or at the end of a `with` block."""

    id: int
    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        others = [] if extra_dict is None else extra_dict
        self._point_at(hooks_dict, [others] if isinstance(others, dict) else others)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1

    def _point_at(self, hooks_dict, others) -> None:
        # A handle that is kept does not keep the module whose hook it is.
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.extra_dict_ref = tuple(weakref.ref(other) for other in others)

    def remove(self) -> None:
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, [ref() for ref in self.extra_dict_ref]

    def __setstate__(self, state) -> None:
        hooks, self.id, others = state
        self._point_at(*(OrderedDict() if each is None else each for each in (hooks, others)))
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


RemovableHandle.register(_ops.Hook)  # what hooks of tensors and nodes give back


def add_hook(
    hooks: OrderedDict, hook, prepend: bool = False, kinds=(), make=RemovableHandle
) -> RemovableHandle:
    """Adds a hook to a dictionary, and its id to those of the kinds that it is of."""
    handle = make(hooks, extra_dict=list(kinds))
    hooks[handle.id] = hook
    for of_kind in kinds:
        of_kind[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


class Hooks:
    """A dictionary of hooks of an object, made at the first look: most objects have none."""

    def __set_name__(self, owner, name: str):
        self.name = name

    def __get__(self, owner, cls=None):
        if owner is None:
            return self
        owner.__dict__[self.name] = hooks = OrderedDict()
        return hooks


def hooks_of(owner, name: str) -> dict:
    """An object's dictionary of hooks to look at, which is not made."""
    return owner.__dict__.get(name) or {}
