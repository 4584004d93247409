"""swap_tensors: two tensors become each other."""

from __future__ import annotations

import weakref

from .._tensor_type import exchange


def swap_tensors(t1, t2) -> None:
    """Gives each tensor the class, attributes, elements, gradient and graph of the other; who refers to one of them
    finds the other's from then on."""
    for name, tensor in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    exchange(t1, t2)
