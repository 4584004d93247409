"""Functions of torch that are a few lines of Python."""

from __future__ import annotations

import math
from builtins import range as _range

from . import _ops, cpu, cuda
from ._out_dtypes import dtype_for
from ._runtime import placed
from ._tensor_type import into
from ._types import Size, bool_, float64
from ._types import device as Device
from ._warning import warn_each, warn_once


def is_inference(input):
    """False: inference_mode makes ordinary tensors."""
    return input.is_inference()


def compiled_with_cxx11_abi():
    """True: the library is C++17."""
    return True


def conj_physical_(input):
    """The tensor: its numbers are real."""
    return input


def range(
    start=0,
    end=None,
    step=1,
    *,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
):
    """arange with the end in it, of floats unless another dtype is named."""
    warn_each(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
    )
    options = {"layout": layout, "device": device, "requires_grad": requires_grad}
    if out is not None:
        kind = dtype_for(range, out, dtype)
        return into(out, _counted, start, end, step, dtype=kind, **options)
    return _counted(start, end, step, dtype=dtype, **options)


def _counted(start, end, step, *, dtype, layout, device, requires_grad):
    """What `range` gives."""
    if end is None:
        raise TypeError("range() missing the argument 'end'")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    kind = _ops.get_default_dtype() if dtype is None else dtype
    if kind is bool_:
        raise NotImplementedError("\"range_cpu\" not implemented for 'Bool'")
    placed(None, layout, False)
    if not kind.is_floating_point:
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise RuntimeError("step must be nonzero")
    numbers = _ops.arange(0, math.floor((end - start) / step) + 1, 1, dtype=float64, device=device)
    out = _ops.to(numbers * step + start, dtype=kind)
    return _ops.tensor_requires_grad_(out, requires_grad)


_counted.__name__ = "range"  # of which errors speak


def empty_permuted(
    size,
    physical_layout,
    *,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
):
    """An uninitialised tensor whose dimensions lie in memory in another order."""
    order = list(physical_layout)
    if sorted(order) != list(_range(len(size))):
        raise RuntimeError(
            f"Number of dimensions in size does not match the length of the physical_layout, or there "
            f"are duplicates: {len(size)} and {order}"
        )
    options = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}
    out = _ops.empty([size[d] for d in order], **options)
    out = out.permute([order.index(d) for d in _range(len(size))])
    return _ops.tensor_requires_grad_(_ops.detach(out), requires_grad)


def cond(pred, true_fn, false_fn, operands=()):
    """true_fn(*operands) where pred holds, else false_fn(*operands)."""
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    return (true_fn if pred else false_fn)(*operands)


def get_device_module(device=None):
    """torch.cuda or torch.cpu, by a device; by default of what there is."""
    if device is None:
        return cuda if cuda.is_available() else cpu
    kind = Device(device).type
    return cuda if kind == "cuda" else cpu


def chain_matmul(*matrices, out=None):
    """Product of several matrices, in the order that takes the fewest multiplications."""
    warn_once(
        "chain_matmul",
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters.",
    )
    return _ops.chain_matmul(matrices, out=out)


def fill(input, value):
    """A tensor like the input of one number, which may be a tensor without dimensions."""
    return _ops.fill_(_ops.clone(input), value)


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes broadcast to; a number is a shape of one."""
    shapes = [_shape_of(s) for s in shapes if s is not None]
    out = [1] * max(map(len, shapes), default=0)
    for number, shape in enumerate(shapes):
        for place, size in zip(_range(-1, -len(shape) - 1, -1), reversed(shape), strict=True):
            _meet(out, place, size, number, shape)
    return Size(out)


def _shape_of(given) -> Size:
    if isinstance(given, int):
        return Size((given,))
    if not isinstance(given, (tuple, list, str)):
        raise RuntimeError(
            f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {given}"
        )
    return Size(given)


def _meet(out: list, place: int, size: int, number: int, shape) -> None:
    """One size among those that the shapes before have left."""
    if out[place] == 1:
        if size < 0:
            raise ValueError("Attempting to broadcast a dimension with negative length!")
        out[place] = size
    elif size not in (1, out[place]):
        raise RuntimeError(
            f"Attempting to broadcast a dimension of length {size} at {place}! Mismatching argument at "
            f"index {number} had {tuple(shape)}; but expected shape should be broadcastable to {out}"
        )


_MODES = {
    "use_mm_for_euclid_dist_if_necessary": 0,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """Distances between each row of the one and each of the other."""
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return _ops.cdist(x1, x2, p, _MODES[compute_mode])


def tril_indices(
    row, col, offset=0, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False,
    out=None,
):  # fmt: skip
    """Rows and columns of the lower triangle's elements: [2, count]."""
    made = _ops.tril_indices(row, col, offset, dtype=dtype, device=device, out=out)
    return placed(made, layout, pin_memory).requires_grad_(requires_grad)


def triu_indices(
    row, col, offset=0, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False,
    out=None,
):  # fmt: skip
    """Rows and columns of the upper triangle's elements: [2, count]."""
    made = _ops.triu_indices(row, col, offset, dtype=dtype, device=device, out=out)
    return placed(made, layout, pin_memory).requires_grad_(requires_grad)


def isin(
    elements=None, test_elements=None, *, assume_unique=False, invert=False, element=None,
    test_element=None, out=None,
):  # fmt: skip
    """Which elements are among the others. `element` and `test_element` are PyTorch's names of numbers."""
    elements = element if elements is None else elements
    tested = test_element if test_elements is None else test_elements
    return _ops.isin(elements, tested, assume_unique=assume_unique, invert=invert, out=out)
