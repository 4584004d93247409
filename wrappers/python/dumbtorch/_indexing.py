"""x[...] and x[...] = value: Python's index sugar over select, slice, unsqueeze, index and
index_put_.
"""

from __future__ import annotations

import operator
import sys

from . import _ops
from ._complaints import StandIn
from ._tensor_type import TensorBase
from ._types import bool_, int32, int64, uint8
from ._warning import warn_each


def _is_tuple(index) -> bool:
    """Whether it is a list of parts: a short list in which there is more than numbers, as NumPy had it once."""
    if not _is_sequence(index) or isinstance(index, TensorBase):
        return False
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(index, numpy.ndarray):
        return False
    if len(index) >= 32 or not any(map(_is_part, index)):
        return False
    warn_each(
        "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; "
        "use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
        "x[torch.tensor(seq)], which will result either in an error or a different result",
        stacklevel=5,
    )
    return True


def _is_part(i) -> bool:
    return i is None or i is Ellipsis or isinstance(i, (slice, TensorBase)) or _is_sequence(i)


def _is_sequence(i) -> bool:
    kind = type(i)
    return hasattr(kind, "__getitem__") and hasattr(kind, "__len__") and not isinstance(i, dict)


def get(x, index):
    """x[index]."""
    if index.__class__ is int:
        return _select(x, 0, index, 0)
    if isinstance(index, TensorBase) and 0 < index.ndim <= x.ndim:
        return _ops.index(x, _looked_at((index,)))  # nothing to take apart
    view, indices = _apply(x, index)
    if indices:
        return _ops.index(view, _looked_at(indices))
    # x[...] and x[:] are new views, never x itself; their steps are x's in dimensions of size 1, too.
    return _ops.expand(x, x.shape) if view is x and not isinstance(index, TensorBase) else view


def put(x, index, value) -> None:
    """x[index] = value."""
    if index is False or index is True:
        if not isinstance(value, TensorBase):
            value = _number(value, x)
    if index is False:  # writes nothing, and what it does not write has to fit if it is a number
        if not isinstance(value, TensorBase):
            _ops.full((), value, dtype=x.dtype)
        return
    if index is True:
        index = None  # all of a new dimension
    if isinstance(index, TensorBase) and 0 < index.ndim <= x.ndim:
        view, indices = x, (index,)  # nothing to take apart
    else:
        view, indices = _apply(x, index)
    if not isinstance(value, TensorBase):
        value = _value(value, x)
    is_number = not isinstance(value, TensorBase)
    _looked_at(indices)
    if not indices:
        if is_number:
            _ops.fill_(view, value)
        else:
            value = _without_leading_ones(value, view.ndim)
            _ops.copy_(view, value if value.shape == view.shape else _ops.expand(value, view.shape))
        return
    if is_number and len(indices) == 1 and indices[0].dtype is bool_:
        _ops.masked_fill_(view, _mask_like(indices[0], view), value)
        return
    if is_number:
        value = _ops.full((), value, dtype=x.dtype, device=x.device)
    _ops.index_put_(view, indices, _without_leading_ones(value, 0))


def _looked_at(indices):
    """Tensors as indices, of which those of bytes are warned of."""
    for i in indices:
        if i is not None and i.dtype is uint8:
            warn_each(
                "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
                stacklevel=4,
            )
    return indices


def _select(x, dim: int, index: int, position: int):
    """One step along a dimension, for the index at a position of the brackets."""
    try:
        return _ops.select(x, dim, index)
    except IndexError:
        raise IndexError(_why_not(x.shape, dim, index, position)) from None


def _why_not(shape, dim: int, index: int, position: int) -> str:
    """What is wrong with an index that select refused. PyTorch counts positions, not dimensions."""
    if not shape and index != 0:
        return f"index {index} is out of bounds for dimension 0 with size 0"
    if not shape:
        return (
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
            "`tensor.item<T>()` in "
            "C++ to convert a 0-dim tensor to a number"
        )
    if dim >= len(shape):
        return f"too many indices for tensor of dimension {len(shape)}"
    return f"index {index} is out of bounds for dimension {position} with size {shape[dim]}"


def _too_many(shape, items: list) -> str:
    """What is wrong with parts that stand for more dimensions than there are."""
    if not shape and len(items) == 1 and isinstance(items[0], slice):
        return "slice() cannot be applied to a 0-dim tensor."
    if not shape and len(items) == 1 and isinstance(items[0], int):
        return _why_not(shape, 0, items[0], 0)
    return f"too many indices for tensor of dimension {len(shape)}"


def _apply(x, index):
    """The view that the plain parts of an index make, and the index tensors for what is left.

    Index tensors are at the positions of the view's dimensions that they replace, None elsewhere; a
    mask of k dimensions is one entry that stands for k dimensions.
    """
    items, used, ndim = [], 0, x.ndim
    parts = index if isinstance(index, tuple) or _is_tuple(index) else (index,)
    for item in parts:
        dims = _DIMS_OF_PLAIN.get(item.__class__)
        if dims is None:
            item = item if _is_number_of_each(item, parts) else _item(item)
            dims = _dims_used(item)
        items.append(item)
        used += dims
    if used > ndim:
        raise IndexError(_too_many(x.shape, items))
    view, dim, indices = x, 0, []
    for position, item in enumerate(items):
        if isinstance(item, slice):
            view = _slice(view, dim, item)
            dim += 1
            indices.append(None)
        elif item is Ellipsis:  # a second one skips as many, as in PyTorch
            skipped = ndim - used
            dim += skipped
            indices += [None] * skipped
        elif item is None:
            view = _ops.unsqueeze(view, dim)
            dim += 1
            indices.append(None)
        elif item is True or item is False:
            # A truth value is a mask without dimensions: it takes all of a new dimension, or
            # nothing.
            view = _ops.unsqueeze(view, dim)
            indices.append(_ops.zeros((int(item),), dtype=int64, device=x.device))
            dim += 1
        elif isinstance(item, TensorBase):
            indices.append(item)
            dim += _dims_used(item)
        else:
            view = _select(view, dim, item, position)
    while indices and indices[-1] is None:
        indices.pop()
    return view, indices


def _is_number_of_each(item, parts) -> bool:
    """Whether it is an index of each entry of a batch, and no part with dimensions says where it would be put."""
    if not isinstance(item, StandIn) or item.ndim or item.dtype not in (int64, int32):
        return False
    plain = (int, slice, type(None), type(Ellipsis))
    return all(
        p.__class__ in plain or (isinstance(p, TensorBase) and not p.ndim and p.dtype is not bool_)
        for p in parts
    )


# What is taken as it is, and how many dimensions it stands for.
_DIMS_OF_PLAIN = {slice: 1, int: 1, bool: 0, type(None): 0, type(Ellipsis): 0}


def _item(i):
    if i is None or i is Ellipsis or isinstance(i, (bool, int, slice)):
        return i
    if isinstance(i, TensorBase):
        if i.ndim or i.dtype.is_floating_point:
            return i
        number = i.item()  # one index, or one truth value
        return number != 0 if i.dtype is uint8 else number
    if isinstance(i, str):
        raise TypeError("new(): invalid data type 'str'")
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(i, (numpy.ndarray, numpy.bool_)):
        from ._creation import as_tensor

        return _item(as_tensor(i)) if i.ndim else i.item()
    if hasattr(i, "__index__"):
        return i.__index__()
    if _is_sequence(i):
        return _from_list(i)
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
        f"indices (got {type(i).__name__})"
    )


def _from_list(values):
    from ._creation import tensor

    # As a list of lists does: a tensor in it is a row.
    values = [v.tolist() if isinstance(v, TensorBase) else v for v in values]
    out = tensor(values)
    return out if _ops.tensor_numel(out) else tensor(values, dtype=int64)


def _dims_used(item) -> int:
    """How many of the tensor's dimensions an item of an index stands for."""
    if isinstance(item, TensorBase):
        return item.ndim if item.dtype in (bool_, uint8) else 1
    return _DIMS_OF_PLAIN.get(item.__class__, 1)


def _slice(x, dim: int, s: slice):
    start, stop, step = _bound(s.start), _bound(s.stop), _bound(s.step)
    if step is not None and step <= 0:
        raise ValueError("step must be greater than zero")
    # All of a dimension is no view: what is written into it is written into x itself.
    if start in (None, 0) and step in (None, 1) and (stop is None or stop >= x.shape[dim]):
        return x
    return _ops.slice(x, dim, start, stop, 1 if step is None else step)


_FARTHEST = 2**63 - 1


def _bound(value):
    """As of every sequence of Python's, bounds may be beyond all that there is."""
    if value is None:
        return None
    try:
        return max(-_FARTHEST, min(operator.index(value), _FARTHEST))
    except TypeError:
        raise TypeError(
            "slice indices must be integers or None or have an __index__ method"
        ) from None


def _value(value, x):
    """A number stays one; lists and arrays become tensors of x's dtype."""
    if isinstance(value, (bool, int, float)):
        return value
    from ._creation import as_tensor, tensor

    if isinstance(value, (list, tuple)):
        return tensor(value, dtype=x.dtype)
    try:
        out = as_tensor(value)
    except (RuntimeError, TypeError):
        raise _not_assigned(value, x) from None
    return out.item() if out.ndim == 0 else out


def _number(value, x):
    """What PyTorch alone takes, beside tensors, where the index is a truth value."""
    if isinstance(value, complex):
        if value.imag and x.dtype is not bool_:
            name = x.dtype.name
            raise RuntimeError(f"value cannot be converted to type {name} without overflow")
        return value.real or value.imag
    if isinstance(value, (bool, int, float)):
        return value
    raise _not_assigned(value, x)


def _not_assigned(value, x) -> TypeError:
    kind = type(value)
    name = kind.__name__
    is_static = not kind.__flags__ & 1 << 9  # of C: CPython's name for it has the module in front
    if is_static and kind.__module__ != "builtins":
        name = f"{kind.__module__}.{name}"
    return TypeError(f"can't assign a {name} to a {x.type()}")


def _without_leading_ones(value, ndim: int):
    """PyTorch lets a value have more dimensions than its target if the first ones are of size 1."""
    shape = value.shape
    extra = 0
    while len(shape) - extra > ndim and shape[extra] == 1:
        extra += 1
    return _ops.reshape(value, shape[extra:]) if extra else value


def _mask_like(mask, x):
    """A mask of the first dimensions, beside x, with the others added so that it broadcasts."""
    shape = mask.shape
    if shape != x.shape:
        for d, (m, n) in enumerate(zip(shape, x.shape, strict=False)):
            if m != n:
                raise IndexError(
                    f"The shape of the mask {list(shape)} at index {d} does not match the "
                    f"shape "
                    f"of the indexed tensor {list(x.shape)} at index {d}"
                )
    if x.is_cuda and not mask.is_cuda:
        mask = _ops.to(mask, x.device)
    more = x.ndim - len(shape)
    return _ops.reshape(mask, (*shape, *[1] * more)) if more else mask
