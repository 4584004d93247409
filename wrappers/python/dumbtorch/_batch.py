"""A batch that stands for one tensor: what torch.vmap gives its function, to call it once for all entries.

To the library it is no tensor, so that each function of `_ops.py` that gets one leaves the call to `Batch.called`,
which has `_batch_rules.py` make it. To Python it is a Tensor, whose methods and operators are functions of `_ops.py`.
"""

from __future__ import annotations

import inspect
from textwrap import indent
from types import FunctionType, MethodType

from . import _batch_rules, _batching, _indexing, _ops, _overloads, _tensor
from ._complaints import StandIn
from ._tensor import Tensor
from ._tensor_type import TensorBase

_METHODS = _ops.METHODS | _overloads.METHODS | {"size": _tensor._size}
# What does not depend on where the entries are. What depends on it, or is another's matter, a batch does not have.
_OF_ALL = frozenset(
    "device dtype grad_fn is_cpu is_cuda is_leaf is_meta is_sparse layout output_nr requires_grad itemsize".split()
)


class Batch(StandIn):
    """A tensor whose first dimension counts entries, as the tensor of one of them. Batches of an inner vmap are
    those of a higher level; their tensors may be batches."""

    __slots__ = ("__weakref__", "level", "value")

    def __init__(self, value, level: int):
        self.value, self.level = value, level

    __class__ = property(lambda self: Tensor)  # for isinstance

    @staticmethod
    def called(function, arguments: dict):
        return _batch_rules.called(function, arguments)

    shape = property(lambda self: self.value.shape[1:])
    ndim = property(lambda self: self.value.ndim - 1)
    T = property(lambda self: _ops.permute(self, tuple(range(self.ndim))[::-1]))
    mT = property(lambda self: _ops.transpose(self, -2, -1))

    def __getattr__(self, name: str):
        if name in _OF_ALL:
            return getattr(self.value, name)
        if name == "_h" or name.startswith("__") or not hasattr(Tensor, name):
            raise AttributeError(f"'Tensor' object has no attribute '{name}'")
        found = inspect.getattr_static(Tensor, name)
        if isinstance(found, property) and isinstance(found.fget, FunctionType):
            return found.fget(self)
        function = found if isinstance(found, FunctionType) else _METHODS.get(name)
        if function is None:
            raise _batching.EntryByEntry(name)
        return MethodType(function, self)

    def __repr__(self) -> str:
        inner = indent(repr(self.value), "    ")
        return f"BatchedTensor(lvl={self.level}, bdim=0, value=\n{inner}\n)"

    __hash__, __format__ = object.__hash__, Tensor.__format__
    __getitem__ = _indexing.get
    __setitem__ = _indexing.put
    __iter__, __contains__ = Tensor.__iter__, Tensor.__contains__

    def __neg__(self):
        return _ops.neg(self)

    def __abs__(self):
        return _ops.abs(self)

    def __invert__(self):
        return _ops.bitwise_not(self)

    def __len__(self) -> int:
        return len(_batching.entry(self, 0))

    def __bool__(self) -> bool:
        return _batching.of_each(bool, self)

    def __int__(self) -> int:
        return _batching.of_each(int, self)

    def __float__(self) -> float:
        return _batching.of_each(float, self)

    def __index__(self) -> int:
        return _batching.of_each(Tensor.__index__, self)


def _operator(name: str, swapped: bool):
    """A method for an operator, whose other operand may be a tensor, a batch or a number."""

    def call(self, other):
        if not isinstance(other, (TensorBase, bool, int, float)):
            return NotImplemented
        a, b = (other, self) if swapped else (self, other)
        is_known = isinstance(a, TensorBase) or name == "pow"
        return _tensor._FUNCTIONS[name](a, b) if is_known else _tensor._operate(name, a, b)

    return call


for _name in _tensor._FUNCTIONS:
    setattr(Batch, f"__{_name}__", _operator(_name, False))
    if _name not in _tensor._INPLACE and _name not in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Batch, f"__r{_name}__", _operator(_name, True))


def in_all_entries(x):
    """A tensor as the one of each entry, where vmap is calling a function: a derivative by it is each entry's own."""
    level = x.level if type(x) is Batch else 0
    for n, size in list(enumerate(_batching.running.sizes, 1))[level:]:
        x = Batch(_ops.expand(_ops.unsqueeze(x, 0), (size, *x.shape)), n)
    return x
