"""Functions that look at an argument before the generated function in `_ops.py` does, to take or refuse it in PyTorch's
way."""

from __future__ import annotations

from . import _ops
from ._complaints import MISSING
from ._signatures import by_own_names
from ._tensor_type import TensorBase
from ._types import bool_, uint8
from ._warning import warn_of_cycle, warn_once


def sort(input=MISSING, dim=-1, descending=False, *, stable=None, out=None, **names):
    """The sorted elements along a dimension, and where they were. Equal elements keep their order."""
    stable = False if stable is None else stable
    return _ops.sort(input, dim, descending, stable=stable, out=out, **names)


def narrow(input=MISSING, dim=MISSING, start=MISSING, length=MISSING, **names):
    """A range along a dimension; `start` may be a tensor of one integer."""
    if isinstance(start, TensorBase) and (start.ndim or not _is_integral(start)):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    return _ops.narrow(input, dim, start, length, **names)


def _is_integral(x) -> bool:
    return not x.is_floating_point() and x.dtype is not bool_


def linspace(start, end, steps, **options):
    """Evenly spaced values from start to end, both included; these may be tensors of one element."""
    return _ops.linspace(*_ends("linspace", start, end), steps, **options)


def logspace(start, end, steps, base=10.0, **options):
    """Powers of base whose exponents are evenly spaced; start and end may be tensors of one element."""
    return _ops.logspace(*_ends("logspace", start, end), steps, base, **options)


def _ends(name: str, start, end) -> list:
    """Without their graphs: the result has none."""
    ends = {"start": start, "end": end}
    bad = [
        f"{word} with {x.ndim} dimension(s)"
        for word, x in ends.items()
        if isinstance(x, TensorBase) and x.ndim
    ]
    if bad:
        said = "only supports 0-dimensional start and end tensors, but got"
        raise RuntimeError(f"{name} {said} {' and '.join(bad)}.")
    return [_ops.detach(x) if isinstance(x, TensorBase) else x for x in (start, end)]


def rrelu(
    input=MISSING, lower=1 / 8, upper=1 / 3, training=False, generator=None, *, out=None, **names
):
    """leaky_relu with slopes drawn at random, by a generator of one's own if there is one."""
    if generator is None or not training:
        return _ops.rrelu(input, lower, upper, training, out=out, **names)
    if names:
        (input,) = by_own_names(rrelu, names, input=input)
    return _ops.mul(input, _slopes(input, lower, upper, generator), out=out)


def rrelu_(input, lower=1 / 8, upper=1 / 3, training=False, generator=None):
    """In-place version of rrelu."""
    if generator is None or not training:
        return _ops.rrelu_(input, lower, upper, training)
    return _ops.mul_(input, _slopes(input, lower, upper, generator))


def _slopes(x, lower, upper, generator):
    """1, or a slope for each element that is not positive: those that rrelu draws."""
    drawn = _ops.uniform_(_ops.empty_like(_ops.detach(x)), lower, upper, generator=generator)
    return _ops.where(_ops.le(x, 0), drawn, 1)


def unravel_index(indices, shape):
    """The coordinates of positions in a shape, which is one number or several: a tensor for each dimension."""
    if not isinstance(shape, (int, list, tuple)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    for size in () if isinstance(shape, int) else shape:
        if not isinstance(size, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
    return _ops.unravel_index(indices, shape)


def condition(x):
    """The condition of where."""
    if isinstance(x, TensorBase) and x.dtype is uint8:
        warn_once(
            "byte condition",
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future "
            "version of PyTorch. Use a boolean condition instead.",
            stacklevel=4,
        )
    return x


def indexing(word):
    """The order of meshgrid's dimensions."""
    if word is None:
        warn_once(
            "indexing",
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
            stacklevel=4,
        )
    return "ij" if word is None else word


def cross(input=MISSING, other=MISSING, dim=None, *, out=None, **names):
    """Cross product of vectors of three elements, along the first dimension that has three unless one is named."""
    if names:
        input, other, dim = by_own_names(cross, names, input=input, other=other, dim=dim)
    if dim is None:
        warn_once(
            "cross",
            "Using torch.cross without specifying the dim arg is deprecated.\n"
            "Please either pass the dim explicitly or simply use torch.linalg.cross.\n"
            "The default value of dim will change to agree with that of linalg.cross in a future release.",
        )
    return _ops.cross(input, other, dim, out=out)


def backward(input, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Adds gradients with respect to the leaves to their .grad."""
    if create_graph:
        warn_of_cycle()
    if inputs is not None:
        inputs = (inputs,) if isinstance(inputs, TensorBase) else tuple(inputs)
    _ops.tensor_backward(input, gradient, retain_graph, create_graph, inputs)


FUNCTIONS = {
    f.__name__: f for f in (sort, narrow, linspace, logspace, unravel_index, cross, rrelu, rrelu_)
}
METHODS = {f.__name__: f for f in (sort, narrow, cross, backward)}
