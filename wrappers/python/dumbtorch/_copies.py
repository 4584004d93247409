"""Functions of torch whose names end with _copy: what views show, in memory of its own."""

from __future__ import annotations

from . import _ops, _types
from ._out import need_tuple
from ._tensor_type import into


def alias_copy(input, *, out=None):
    """A copy of the elements, in row-major order."""
    if out is not None:
        return into(out, alias_copy, input)
    return _ops.clone(input, memory_format=_types.contiguous_format)


def view_copy(input, size=None, *, dtype=None, out=None):
    """A copy in another shape, or of the memory as elements of another dtype."""
    if out is not None:
        return into(out, view_copy, input, size=size, dtype=dtype)
    if isinstance(size, _types.dtype):
        size, dtype = None, size
    if dtype is None and not isinstance(size, (list, tuple)):
        given = type(size).__name__
        raise TypeError(
            f"view_copy(): argument 'size' (position 2) must be tuple of ints, not {given}"
        )
    shown = _ops.reshape(input, size) if dtype is None else _ops.view_dtype(input, dtype)
    return _ops.clone(shown, memory_format=_types.contiguous_format)


def _copying(name: str):
    """NAME_copy of a function or method NAME whose results are views."""

    def copy(*args, out=None, **options):
        if out is not None:
            if name in _IN_PARTS:
                need_tuple(copy.__name__, out)
                into(out, copy, *args, **options)
                return None  # as in PyTorch
            return into(out, copy, *args, **options)
        made = _ops.METHODS[name](*args, **options)
        results = made if isinstance(made, tuple) else (made,)
        copies = tuple(_ops.clone(x, memory_format=_types.contiguous_format) for x in results)
        return copies if isinstance(made, tuple) else copies[0]

    copy.__name__ = name + "_copy"
    return copy


_COPIES = (
    "as_strided", "detach", "diagonal", "expand", "permute", "select", "slice", "split",
    "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unfold", "unsqueeze",
)  # fmt: skip
_IN_PARTS = ("split", "split_with_sizes", "unbind")
FUNCTIONS = {f"{name}_copy": _copying(name) for name in _COPIES} | {
    "alias_copy": alias_copy,
    "view_copy": view_copy,
}
