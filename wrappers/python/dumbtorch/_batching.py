"""Calls with batches, which stand for one tensor: what the rules of `_batch_rules.py` are made of."""

from __future__ import annotations

import keyword
import threading
from contextlib import contextmanager

from . import _ops
from ._complaints import StandIn
from ._tensor_type import TensorBase


class EntryByEntry(BaseException):
    """What was done with a batch has no meaning for it: not an error of the program, which must not catch it."""


class Refused(BaseException):
    """The error that the call of the mapped function ends with: a call for each entry would be no better."""

    def __init__(self, error: Exception):
        self.error = error


class _Running(threading.local):
    """The batches that functions of this thread are called with, outermost first."""

    def __init__(self):
        self.sizes = []
        self.given = []  # the memory of their arguments

    @contextmanager
    def batch(self, size: int, tensors: list):
        """Gives the level of the batch."""
        self.sizes.append(size)
        self.given.append({storage(x) for x in tensors})
        try:
            yield len(self.sizes)
        finally:
            self.sizes.pop()
            self.given.pop()


running = _Running()


def is_batch(x) -> bool:
    return isinstance(x, StandIn)


def entry(x, i: int):
    """The tensor of one entry."""
    return _ops.select(x.value, 0, i)


def storage(x) -> int:
    while is_batch(x):
        x = x.value
    return x.untyped_storage().data_ptr()


def storage_offset(x) -> int:
    """That of a tensor, or of the first entry of a batch."""
    while is_batch(x):
        x = x.value
    return x.storage_offset()


def strides(x) -> tuple:
    """Those of a tensor, or of every entry of a batch."""
    return strides(x.value)[1:] if is_batch(x) else x.stride()


def of_each(function, x):
    """What a function says of each entry, where it says the same of all."""
    found = [function(entry(x, i)) for i in range(x.value.shape[0])]
    if any(a != found[0] for a in found):
        raise EntryByEntry
    return found[0]


class Op:
    """A call with batches. Those of lower levels are tensors to it."""

    def __init__(self, function, arguments: dict):
        self.function = function
        self.arguments = {n + "_" * keyword.iskeyword(n): x for n, x in arguments.items()}
        found = [x for value in arguments.values() for x in listed(value) if is_batch(x)]
        first = max(found, key=lambda x: x.level)
        self.kind, self.level, self.size = type(first), first.level, first.value.shape[0]
        self.tensors = {n: x for n, x in self.arguments.items() if isinstance(x, TensorBase)}
        self.rank = max((x.ndim for x in self.tensors.values()), default=0)

    def __getitem__(self, name: str):
        return self.arguments[name]

    def is_batch(self, x) -> bool:
        return is_batch(x) and x.level == self.level

    def value(self, x, rank: int | None = None):
        """The tensor of all entries, or of any; a batch's has so many dimensions behind that of the entries."""
        if not self.is_batch(x):
            return x
        new = 0 if rank is None else rank - x.ndim
        return _ops.reshape(x.value, (self.size, *(1,) * new, *x.shape)) if new > 0 else x.value

    def whole(self, x):
        """The tensor of all entries, also of what they share."""
        if self.is_batch(x):
            return x.value
        return _ops.expand(_ops.unsqueeze(x, 0), (self.size, *x.shape))

    def called(self, **changed):
        """What the function gives of arguments that were changed, as batches."""
        return self.wrapped(self.function(**(self.arguments | changed)))

    def wrapped(self, made):
        if isinstance(made, TensorBase):
            return self.kind(made, self.level)
        if isinstance(made, tuple):
            parts = [self.wrapped(x) for x in made]
            return type(made)(parts)
        return made

    def for_each(self, **changed):
        """The results of a call for each entry, stacked."""
        return self.stacked([self.function(**self.row(i) | changed) for i in range(self.size)])

    def row(self, i: int) -> dict:
        def one(x):
            if isinstance(x, (list, tuple)):
                return type(x)(map(one, x))
            return entry(x, i) if self.is_batch(x) else x

        return {n: one(x) for n, x in self.arguments.items()}

    def stacked(self, rows: list):
        first = rows[0]
        if isinstance(first, tuple):
            parts = [self.stacked(list(part)) for part in zip(*rows, strict=True)]
            return type(first)(parts)
        return None if first is None else self.wrapped(_ops.stack(rows, 0))


def listed(value):
    return value if isinstance(value, (list, tuple)) else (value,)
