"""What two values differ in. Each function gives (aspect, ours, theirs) for what is not the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import dumbtorch
import numpy as np
import torch

Differing = Iterator[tuple[str, object, object]]


@dataclass(frozen=True)
class Pair:
    """A value of a program, or a part of one, in both libraries."""

    name: str  # the program's name for the value
    place: str  # the part: "m1.weight", "x3.grad"
    ours: object
    theirs: object


def parts(name: str, ours, theirs, place: str = "") -> Iterator[Pair]:
    """The tensors and numbers that a value consists of, with their gradients."""
    place = place or name
    if isinstance(theirs, torch.Tensor):
        if may_look_at(theirs):
            may_look_at(ours)  # which may bring a view up to date: both, or none
            yield Pair(name, place, ours, theirs)
            if theirs.is_leaf or theirs.retains_grad:
                yield Pair(name, place + ".grad", getattr(ours, "grad", None), theirs.grad)
    elif isinstance(theirs, torch.nn.Module):
        for (part, a), (_, b) in zip(_state(ours), _state(theirs), strict=True):
            yield from parts(name, a, b, f"{place}.{part}")
    elif (
        isinstance(theirs, (tuple, list))
        and isinstance(ours, (tuple, list))
        and len(ours) == len(theirs)
    ):
        for i, (a, b) in enumerate(zip(ours, theirs)):
            yield from parts(name, a, b, f"{place}[{i}]")
    else:
        yield Pair(name, place, ours, theirs)


def may_look_at(x: object) -> bool:
    """Whether it is a tensor, and none of the views that PyTorch refuses to look at after their base was written, nor a
    parameter that waits for its shape."""
    try:
        tensor = isinstance(x, (torch.Tensor, dumbtorch.Tensor))
        return tensor and x.is_leaf in (True, False) and x.dim() >= 0
    except (RuntimeError, ValueError):
        return False


def _state(module) -> list:
    return [*module.named_parameters(), *module.named_buffers()]


# ---- everything but the values


def nature(pair: Pair) -> Differing:
    ours, theirs = pair.ours, pair.theirs
    if not isinstance(theirs, torch.Tensor) or not isinstance(ours, dumbtorch.Tensor):
        return
    for aspect, read in NATURE.items():
        a, b = read(ours), read(theirs)
        if a != b:
            yield aspect, a, b


def strides(x) -> list[int]:
    """Of the dimensions in which one can step; none if there is nothing to walk over."""
    return [s for s, n in zip(x.stride(), x.shape) if n > 1] if x.numel() else []


NATURE: dict[str, Callable] = {
    "dtype": lambda x: dtype_name(x),
    "shape": lambda x: tuple(x.shape),
    "requires_grad": lambda x: x.requires_grad,
    "is_leaf": lambda x: x.is_leaf,
    "grad_fn": lambda x: x.grad_fn is not None,
    "strides": strides,
}


def dtype_name(x) -> str:
    return str(x.dtype).removeprefix("torch.")


# ---- values


def values(pair: Pair, tolerance: Callable[[], float]) -> Differing:
    """Floats may differ by the tolerance. Tensors that do are made equal, so that what follows begins with the same
    bits and no rounding grows into a difference."""
    ours, theirs = pair.ours, pair.theirs
    if isinstance(theirs, torch.Tensor) and isinstance(ours, dumbtorch.Tensor):
        try:
            a, b = array(ours), array(theirs)
        except (IndexError, RuntimeError) as error:  # what a device reports late
            yield "raised", f"{type(error).__name__}: {error}", "no error"
            return
        if a.shape == b.shape and a.dtype == b.dtype and a.tobytes() != b.tobytes():
            if _close(a, b, tolerance()):
                _bits(theirs)[...] = _bits(ours)
            else:
                yield "values", describe(ours), describe(theirs)
    elif isinstance(theirs, float) and isinstance(ours, float):
        same = ours == theirs or (ours != ours and theirs != theirs)  # asks for no tolerance
        if not same and not _close(np.float64(ours), np.float64(theirs), tolerance()):
            yield "values", ours, theirs
    elif isinstance(theirs, (list, tuple)) and isinstance(ours, (list, tuple)):
        yield "length", len(ours), len(theirs)
    elif _is_plain(ours) or _is_plain(theirs):
        if type(ours) is not type(theirs):
            yield "type", describe(ours), describe(theirs)
        elif _without_device(ours) != theirs:
            yield "values", ours, theirs


def _without_device(x):
    """The oracle stays on the CPU: of `tensor.type()`, torch.cuda.FloatTensor is torch.FloatTensor there."""
    return x.replace("torch.cuda.", "torch.") if isinstance(x, str) else x


def _is_plain(x) -> bool:
    """Not an object of a library's, such as a module."""
    return isinstance(
        x, (torch.Tensor, dumbtorch.Tensor, bool, int, float, str, list, tuple, type(None))
    )


def _close(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    with np.errstate(all="ignore"):
        return bool(np.all((a == b) | (np.abs(a - b) <= tolerance) | (np.isnan(a) & np.isnan(b))))


def largest(x) -> float:
    """The largest finite magnitude in a tensor."""
    if not isinstance(x, torch.Tensor) or not x.is_floating_point() or not x.numel():
        return 0.0
    numbers = np.abs(array(x))
    return float(np.max(numbers, where=np.isfinite(numbers), initial=0.0))


def smallest(x: torch.Tensor) -> float:
    """The smallest magnitude in a tensor that is not 0; 0 if there is none."""
    numbers = x.detach().double().abs()
    return float(numbers[numbers > 0].min()) if bool((numbers > 0).any()) else 0.0


def array(x) -> np.ndarray:
    """Its elements, also those of PyTorch's zeros without memory, of whose views `numpy` reads at an offset from
    nothing."""
    if x.dtype in (torch.bfloat16, dumbtorch.bfloat16):  # which NumPy has not
        x = x.detach().float()
    if isinstance(x, dumbtorch.Tensor):
        return x.detach().cpu().numpy()
    return (torch.zeros(x.shape, dtype=x.dtype) if x._is_zerotensor() else x).numpy(force=True)


def _bits(x) -> np.ndarray:
    """The elements themselves, those of bfloat16 as integers."""
    if x.dtype is torch.bfloat16:
        return x.detach().view(torch.int16).numpy()
    return array(x.detach().view(dumbtorch.int16) if x.dtype is dumbtorch.bfloat16 else x)


def describe(x) -> str:
    """A value in a line."""
    if not isinstance(x, (torch.Tensor, dumbtorch.Tensor)):
        return repr(x)
    return f"{dtype_name(x)} {array(x).tolist()}"
