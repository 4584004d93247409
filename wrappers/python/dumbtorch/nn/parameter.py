"""Parameter: a tensor that a module trains."""

from __future__ import annotations

from .. import _ops
from .._native import lib
from .._tensor import Tensor, copy_of_memory, rebuild
from .._tensor_type import adopt


class Parameter(Tensor):
    """A leaf tensor that a Module registers when it becomes an attribute."""

    def __new__(cls, data=None, requires_grad=True):
        data = _ops.empty((0,)) if data is None else _ops.detach(data)
        out = adopt(cls, lib.py_tensor_alias(data._h))
        if requires_grad:
            _ops.tensor_requires_grad_(out)
        return out

    def __init__(self, data=None, requires_grad=True):
        pass  # __new__ has done it; this only takes the arguments

    def __deepcopy__(self, memo):
        """A copy without the gradient."""
        if id(self) not in memo:
            memo[id(self)] = rebuild(type(self), copy_of_memory(self), self)
        return memo[id(self)]

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()


class Buffer(Tensor):
    """A tensor that a Module registers as a buffer when it becomes an attribute."""

    def __new__(cls, data=None, *, persistent=True):
        data = _ops.empty((0,)) if data is None else _ops.detach(data)
        out = adopt(cls, lib.py_tensor_alias(data._h))
        out.persistent = persistent
        return out

    def __init__(self, data=None, *, persistent=True):
        pass  # as above
