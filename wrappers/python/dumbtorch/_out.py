"""`out=`: what is rare about results that are written into given tensors. The rest is in out.h."""

from __future__ import annotations

import functools
import sys
import warnings

from ._named_results import written
from ._out_dtypes import MAKERS, check_dtype
from ._tensor_type import TensorBase
from ._types import float32

# What they give goes into a tensor of any shape that has as many elements.
_SEQUENCES = ("arange", "linspace", "logspace", "range")
# They make new tensors: whether `out` requires grad afterwards is their argument.
_MAKERS = frozenset(f"{MAKERS} normal".split())
# Resize without a warning; `to` is bernoulli's.
_QUIET = frozenset(f"{MAKERS} addbmm multinomial narrow_copy to".split())


def need_tuple(name: str, out, count: int | None = None) -> None:
    """Refuses what is no tuple, or not of so many tensors, before a function of several results begins."""
    if not isinstance(out, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}"
        )
    if count is not None and len(out) != count:
        raise TypeError(f"{name}(): expected tuple of {count} elements but got {len(out)}")


def need_pair_along(name: str, out, *dims) -> None:
    """The same for a function that gives one result, or two along a dimension."""
    if any(d is not None and not isinstance(d, TensorBase) for d in dims):
        need_tuple(name, out, 2)


def wide_product(function, out_dtype, tensors: tuple, **options):
    """A product whose last two tensors are factors, in another dtype than theirs."""
    ops, types = _ops(), {x.dtype for x in tensors[-2:] if isinstance(x, TensorBase)}
    if all(isinstance(x, TensorBase) for x in tensors) and len(types) == 1:
        (factors,) = types
        is_wider = factors.itemsize == 2 and factors.is_floating_point and out_dtype is float32
        if out_dtype is not factors and not is_wider:
            raise RuntimeError(
                "out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs"
            )
        tensors = tuple(ops.to(x, dtype=out_dtype) for x in tensors)
    return _called(function, tensors, options)


def compute_for(out, function, args: tuple, options: dict | None):
    """What function(*args, **options) gives for `out`, a tensor or one for each result.

    Its device is that to compute on, where the function has such an argument and it was not given.
    """
    options = options or {}
    many = isinstance(out, (tuple, list))
    _check_tensors(function.__name__, out, tuple(out) if many else (out,))
    if not many and "device" in options and options["device"] is None:
        options["device"] = out.device
    return _called(function, args, options)


def finish(out, function, args: tuple, made):
    """`out` with what function(*args) gave. A tensor of another shape is resized, which most warn of if it had
    elements."""
    ops, name = _ops(), function.__name__
    many = isinstance(out, (tuple, list))
    outs = tuple(out) if many else (out,)
    results = made if isinstance(made, tuple) else (made,)
    if many and not isinstance(made, tuple):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if len(outs) != len(results):
        raise RuntimeError(
            f"{name}(): expected an out= argument of size {len(results)}, got size {len(outs)}"
        )
    makes = name in _MAKERS and made.is_leaf
    for k, (place, result) in enumerate(zip(outs, results, strict=True)):
        is_derived = result.requires_grad and not makes
        if (place.requires_grad or is_derived) and ops.is_grad_enabled():
            raise RuntimeError(
                f"{name}(): functions with out=... arguments don't support automatic differentiation, "
                "but one of the arguments requires grad."
            )
        check_dtype(function, args, results, k, place.dtype)
        if result.device != place.device:
            raise RuntimeError(
                f"Expected out tensor to have device {result.device}, but got {place.device} instead"
            )
    for place, result in zip(outs, results, strict=True):
        if name in _SEQUENCES and place.numel() == result.numel():
            result = ops.reshape(result, place.shape)
        is_of_size = name == "normal" and not any(isinstance(x, TensorBase) for x in args[:2])
        _write(place, ops.detach(result), "rand" if is_of_size else name)
        if makes and place.is_leaf:
            ops.tensor_requires_grad_(place, made.requires_grad)
    if not many:
        return out
    return outs if type(made) is tuple else written(type(made))(outs)


@functools.cache
def _ops():
    """What imports this module, too: looked up once, since a look takes as long as a small op."""
    from . import _ops

    return _ops


def _called(function, args, options):
    """What it gives without autocast, which leaves results that are given alone."""
    ops = _ops()
    enabled = ops.is_autocast_enabled
    if not (enabled("cpu") or enabled("cuda")):
        return function(*args, **options)
    devices = [d for d in ("cpu", "cuda") if enabled(d)]
    for device in devices:
        ops.set_autocast_enabled(device, False)
    try:
        return function(*args, **options)
    finally:
        for device in devices:
            ops.set_autocast_enabled(device, True)


def _check_tensors(name: str, out, outs: tuple) -> None:
    for x in outs:
        if not isinstance(x, TensorBase):
            wanted = "tuple of Tensors" if outs is out else "Tensor"
            raise TypeError(f"{name}(): argument 'out' must be {wanted}, not {type(x).__name__}")


def _write(out, result, name: str) -> None:
    ops = _ops()
    if result.shape != out.shape:
        if out.numel():
            _warn_of_resize(out, result, name)
        _resize(out, result)
    ops.copy_(out, result)


def _warn_of_resize(out, result, name: str) -> None:
    shape, wanted = list(out.shape), result.shape
    sentence = (
        f"An output with one or more elements was resized since it had shape {shape}, which does not match the "
        f"required output shape {list(wanted)}. This behavior is deprecated, and in a future PyTorch release "
        "outputs will not be resized unless they have zero elements. You can explicitly reuse "
        "an out tensor t by resizing it, inplace, to zero elements with t.resize_(0)."
    )
    if name == "arange":
        sentence = (
            f"The number of elements in the out tensor of shape {shape} is {out.numel()} which does not match the "
            f"computed number of elements {wanted[0]}. Note that this may occur as a result of rounding error. The "
            f"out tensor will be resized to a tensor of shape ({wanted[0]},)."
        )
    elif name in _QUIET:
        return
    warnings.warn(sentence, stacklevel=_frames_of_the_package())


def _frames_of_the_package() -> int:
    """How far above whoever asks the program's own line is."""
    count, frame = 0, sys._getframe(1)
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        count, frame = count + 1, frame.f_back
    return count + 1


def _resize(out, result) -> None:
    """`out` keeps its memory where that is large enough: what is written is seen by what it is a view of."""
    ops = _ops()
    place = ops.detach(out)  # `out` itself cannot change its shape where it requires grad
    ops.resize_(place, result.shape)
    ops.as_strided_(place, result.shape, ops.empty_like(result).stride(), out.storage_offset())
    ops.tensor_set_data(out, place)
