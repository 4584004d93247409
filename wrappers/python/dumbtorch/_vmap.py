"""torch.vmap: a function over the entries of a batch."""

from __future__ import annotations

import functools

from . import _ops
from ._tensor_type import TensorBase
from ._types import contiguous_format
from .autograd import loops
from .utils._pytree import describe, tree_flatten, tree_structure, tree_unflatten


def vmap(func, in_dims=0, out_dims=0, randomness: str = "error", *, chunk_size=None):
    """The function that calls func for each entry of a batch, and stacks what it gives.

    func is called once, with tensors that stand for those of each entry, as long as the functions that it calls can
    do with them (_batch_rules.py). Where they cannot, where it looks at elements that are not the same in all entries,
    and with random numbers, it is called in a loop, which is right for every function; what it does besides is done
    again.

    in_dims says which dimension of each argument counts the entries, None that all share it; out_dims, where they are
    in the results. chunk_size has no effect.
    randomness: "same" gives each entry the same random numbers, "different" others, "error" refuses them.
    """
    check_randomness(randomness)
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", repr(func))

    @functools.wraps(func)
    def call(*args, **kwargs):
        leaves, shape, dims = _mapped(name, in_dims, args)
        size = _batch_size(leaves, dims)
        shared = [x for x, d in zip(leaves, dims) if d is None and isinstance(x, TensorBase)]
        versions = [x._version for x in shared]
        devices = {str(x.device) for x in leaves if isinstance(x, TensorBase)} | {"cpu"}

        def of_row(row):
            return func(*tree_unflatten(row, shape), **kwargs)

        out = None
        if randomness == "error" and size:
            out = _at_once(name, of_row, leaves, dims, size, out_dims, devices)
        if out is not None:
            return out
        if [x._version for x in shared] == versions:
            loops.depth += 1
            try:
                rows = [
                    *map(of_row, _with_randomness(randomness, _rows(leaves, dims, size), devices))
                ]
            finally:
                loops.depth -= 1
            out = _Results(name, rows, size).stacked(out_dims)
        if [x._version for x in shared] != versions:
            raise RuntimeError(
                "vmap: an argument that all entries share, since its in_dim is None, was written in place"
            )
        return out

    return call


def _at_once(name: str, of_row, leaves: list, dims: list, size: int, out_dims, devices: set):
    """What one call gives with batches for the tensors of entries; None where it does not come to an end, or draws."""
    from ._batch import Batch
    from ._batching import EntryByEntry, Refused, running
    from .random import all_generators

    generators = all_generators(devices)
    states = [g.get_state() for g in generators]
    try:
        with running.batch(size, [x for x in leaves if isinstance(x, TensorBase)]) as level:
            row = [
                x if d is None else Batch(_ops.movedim(x, d, 0), level)
                for x, d in zip(leaves, dims)
            ]
            out = _Results(name, [of_row(row)], size).of_batch(out_dims, level)
    except Refused as refused:
        raise refused.error from None
    except (EntryByEntry, Exception):
        out = None
    if all(_ops.equal(g.get_state(), s) for g, s in zip(generators, states)):
        return out
    _go_on(generators, states)
    return None


def check_randomness(randomness) -> None:
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )


# ---- arguments


def _mapped(name: str, in_dims, args: tuple) -> tuple:
    """(the leaves of the arguments, their tree, for each leaf the dimension that counts entries or None)."""
    said = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{said}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure "
            f"of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to "
            "vmap over a function with no inputs. The latter is unsupported."
        )
    leaves, shape = tree_flatten(args)
    try:
        dims = _spread(in_dims, args)
    except _Unlike:
        raise ValueError(
            f"{said}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{describe(in_dims)} but inputs has structure {describe(args)}."
        ) from None
    return leaves, shape, [_checked_dim(said, x, d) for x, d in zip(leaves, dims, strict=True)]


class _Unlike(Exception):
    """A tree of dimensions does not fit a tree of tensors."""


def _spread(dims, tree) -> list:
    """For each leaf of a tree its dimension, where `dims` is a tree that may end earlier."""
    if not isinstance(dims, (dict, list, tuple)):
        return [dims] * len(tree_flatten(tree)[0])
    if type(dims) is not type(tree) or len(dims) != len(tree):
        raise _Unlike
    if not isinstance(tree, dict):
        return [d for one, part in zip(dims, tree) for d in _spread(one, part)]
    if dims.keys() != tree.keys():
        raise _Unlike
    return [d for key, part in tree.items() for d in _spread(dims[key], part)]


def _checked_dim(said: str, x, dim):
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{said}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
        )
    if not isinstance(x, TensorBase):
        raise ValueError(
            f"{said}: Got in_dim={dim} for an input but the input is of type {type(x)}. We cannot vmap over "
            "non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -x.ndim <= dim < x.ndim:
        raise ValueError(
            f"{said}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {x.ndim} so "
            f"expected in_dim to satisfy -{x.ndim} <= in_dim < {x.ndim}."
        )
    return dim % x.ndim


def _batch_size(leaves: list, dims: list) -> int:
    sizes = [x.shape[d] for x, d in zip(leaves, dims) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) != 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return sizes[0]


def _rows(leaves: list, dims: list, size: int):
    """The leaves of each entry. Of an empty batch one of zeros, which shows what the results are like."""
    if not size:
        leaves = [x if d is None else _one_of_zeros(x, d) for x, d in zip(leaves, dims)]
    parts = [
        (x,) * max(size, 1) if d is None else _ops.unbind(x, d)
        for x, d in zip(leaves, dims, strict=True)
    ]
    return zip(*parts, strict=True)


def _one_of_zeros(x, dim: int):
    shape = [1 if i == dim else n for i, n in enumerate(x.shape)]
    return _ops.zeros(shape, dtype=x.dtype, device=x.device)


def _with_randomness(randomness: str, rows, devices: set):
    """The rows. Between them the generators go back, or it is looked whether they were drawn from."""
    from .random import all_generators

    if randomness == "different":
        yield from rows
        return
    generators = all_generators(devices)
    states = last = [g.get_state() for g in generators]
    for row in rows:
        yield row
        if randomness == "same":
            last = [g.get_state() for g in generators]
            _go_on(generators, states)
    if randomness == "same":
        _go_on(generators, last)
    elif not all(_ops.equal(g.get_state(), s) for g, s in zip(generators, states)):
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
            "'different' randomness flags on vmap or perform the randomness operation out of vmap"
        )


def _go_on(generators: list, states: list) -> None:
    for generator, state in zip(generators, states, strict=True):
        generator.set_state(state)


# ---- results


class _Results:
    """What a function gave for each entry."""

    def __init__(self, name: str, rows: list, size: int):
        self.name, self.rows, self.size = name, rows, size

    def stacked(self, out_dims):
        return tree_unflatten(
            [
                self.leaf(dim, *entries)
                for dim, *entries in zip(
                    self.dims(out_dims), *(tree_flatten(row)[0] for row in self.rows), strict=True
                )
            ],
            tree_structure(self.rows[0]),
        )

    def of_batch(self, out_dims, level: int):
        """The same for what one call gave with batches of a level."""
        from ._batching import running

        seen = set().union(*running.given)
        leaves, shape = tree_flatten(self.rows[0])
        made = [
            self.whole(dim, x, level, seen)
            for dim, x in zip(self.dims(out_dims), leaves, strict=True)
        ]
        return tree_unflatten(made, shape)

    def whole(self, dim, x, level: int, seen: set):
        """The entries of a leaf, in memory that neither an argument nor another result has."""
        from ._batching import EntryByEntry, is_batch, storage

        of_level = is_batch(x) and x.level == level
        if dim is None or not of_level:
            if dim is None and of_level:
                raise EntryByEntry
            return self.leaf(dim, *(x,) * self.size)
        moved = _ops.movedim(x.value, 0, dim)
        is_own = not is_batch(moved) and moved._base is None and storage(moved) not in seen
        if not is_own or not moved.is_contiguous():
            moved = _ops.clone(moved, memory_format=contiguous_format)
        seen.add(storage(moved))
        return moved

    def dims(self, out_dims) -> list:
        """For each leaf where its entries go."""
        like = self.rows[0]
        if isinstance(like, TensorBase) and isinstance(out_dims, tuple) and len(out_dims) == 1:
            out_dims = out_dims[0]
        try:
            dims = _spread(out_dims, like)
        except _Unlike:
            raise ValueError(
                f"vmap({self.name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure "
                f"of `outputs`. out_dims has structure {describe(out_dims)} but outputs has structure {describe(like)}."
            ) from None
        for d in dims:
            if not isinstance(d, (int, type(None))):
                raise ValueError(
                    f"vmap({self.name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
                    "collection of ints representing where in the outputs the vmapped dimension should appear."
                )
        return dims

    def leaf(self, dim, *entries):
        first = entries[0]
        if dim is None:
            if isinstance(first, TensorBase) and not all(_ops.equal(first, x) for x in entries[1:]):
                raise ValueError(
                    f"vmap({self.name}, ...): `{self.name}` can not return a BatchedTensor when out_dim is None"
                )
            return first
        if not isinstance(first, TensorBase):
            raise ValueError(
                f"vmap({self.name}, ...): `{self.name}` must only return Tensors, got type {type(first)}. Did you "
                "mean to set out_dims= to None for output?"
            )
        shapes = {x.shape: None for x in entries}
        if len(shapes) > 1:
            raise RuntimeError(
                "vmap: We do not support batching operators that can support dynamic shape. The results of entries "
                f"have the shapes {', '.join(str(list(s)) for s in shapes)}."
            )
        return (
            _ops.narrow(_ops.stack(entries, dim), dim, 0, 0)
            if not self.size
            else _ops.stack(entries, dim)
        )
