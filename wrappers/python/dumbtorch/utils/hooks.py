"""RemovableHandle: what registers a hook gives back."""

from __future__ import annotations

import itertools
from collections import OrderedDict

_ids = itertools.count()


class RemovableHandle:
    """Takes a hook off: by remove(), or at the end of a `with` block."""

    def __init__(self, hooks: dict, hook, prepend: bool = False):
        self._hooks, self.id = hooks, next(_ids)
        hooks[self.id] = hook
        if prepend:
            hooks.move_to_end(self.id, last=False)

    def remove(self) -> None:
        self._hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


def add_hook(owner, registry: str, hook, prepend: bool = False) -> RemovableHandle:
    """Adds a hook to a dictionary of an object's, which is made when the first one comes."""
    hooks = getattr(owner, registry)
    if hooks is None:
        hooks = OrderedDict()
        object.__setattr__(owner, registry, hooks)
    return RemovableHandle(hooks, hook, prepend)
