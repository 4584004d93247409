"""torch.testing: whether what a program computes is what it expects, and tensors of random numbers to try it with."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy

from . import _missing, _ops
from ._creation import as_tensor
from ._tensor_type import TensorBase
from ._type_info import finfo, iinfo, promote_types
from ._types import bfloat16, bool_, float16, float32, float64, int64

__getattr__ = _missing.getattr_of(__name__)
__all__ = ["assert_allclose", "assert_close", "make_tensor"]

_TOLERANCES = {  # by dtype: relative and absolute; others are to be equal
    float16: (1e-3, 1e-5), bfloat16: (1.6e-2, 1e-5), float32: (1.3e-6, 1e-5), float64: (1e-7, 1e-7),
}  # fmt: skip


class _Rules(NamedTuple):
    rtol: float | None
    atol: float | None
    equal_nan: bool
    device: bool
    dtype: bool
    stride: bool
    subclasses: bool

    def tolerances(self, *dtypes) -> tuple:
        if self.rtol is not None:
            return self.rtol, self.atol
        known = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
        return max(r for r, _ in known), max(a for _, a in known)


def assert_close(
    actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False, check_device=True,
    check_dtype=True, check_layout=True, check_stride=False, msg=None,
):  # fmt: skip
    """An AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere, in tensors, arrays, numbers,
    sequences and mappings of them."""
    if (rtol is None) != (atol is None):
        absent = "rtol" if rtol is None else "atol"
        raise ValueError(
            f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {absent}."
        )
    rules = _Rules(rtol, atol, equal_nan, check_device, check_dtype, check_stride, allow_subclasses)
    said = _difference(actual, expected, rules, "")
    if said is not None:
        raise AssertionError(msg(said) if callable(msg) else msg or said)


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """assert_close of before: of any dtypes and devices."""
    options = {"equal_nan": equal_nan, "check_device": False, "check_dtype": False}
    assert_close(
        as_tensor(actual), as_tensor(expected), rtol=rtol, atol=atol, msg=msg or None, **options
    )  # fmt: skip


def _difference(actual, expected, rules, place: str) -> str | None:
    """What differs, in words."""
    pair = actual, expected
    if all(isinstance(x, Mapping) for x in pair):
        return _of_mappings(actual, expected, rules, place)
    if all(isinstance(x, Sequence) and not isinstance(x, str | bytes) for x in pair):
        if len(actual) != len(expected):
            return _at(
                place, f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            )
        return _first(((i, a, b) for i, (a, b) in enumerate(zip(*pair, strict=True))), rules, place)
    return _at(place, _of_values(actual, expected, rules))


def _of_mappings(actual, expected, rules, place: str) -> str | None:
    lacking = sorted(expected.keys() - actual.keys())
    additional = sorted(actual.keys() - expected.keys())
    if lacking or additional:
        said = "The keys of the mappings do not match:"
        said += f"\nMissing keys in the actual mapping: {lacking}" if lacking else ""
        said += f"\nAdditional keys in the actual mapping: {additional}" if additional else ""
        return _at(place, said)
    return _first(((key, actual[key], expected[key]) for key in actual), rules, place)


def _first(items, rules, place: str) -> str | None:
    found = (_difference(a, b, rules, f"{place}[{key!r}]") for key, a, b in items)
    return next((said for said in found if said is not None), None)


def _at(place: str, said: str | None) -> str | None:
    return f"{said}\n\nThe failure occurred for item {place}" if said and place else said


def _of_values(actual, expected, rules) -> str | None:
    # What is a number of Python's too, as NumPy's float64 is, is compared as one.
    actual, expected = pair = [float(x) if isinstance(x, float) else x for x in (actual, expected)]
    if any(x is None for x in pair):
        return None if actual is expected else f"None mismatch: {actual} is not {expected}"
    if all(isinstance(x, numpy.ndarray) for x in pair):
        actual, expected = pair = [as_tensor(x) for x in pair]
    are_tensors = all(isinstance(x, TensorBase) for x in pair)
    if are_tensors and (rules.subclasses or type(actual) is type(expected)):
        return _of_tensors(actual.detach(), expected.detach(), rules)
    if all(isinstance(x, bool | numpy.bool_) for x in pair):
        return None if actual == expected else f"Booleans mismatch: {actual} is not {expected}"
    if not all(isinstance(x, int | float | numpy.number) for x in pair):
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
        )
    if rules.dtype and type(actual) is not type(expected):
        return f"The (d)types do not match: {type(actual)} != {type(expected)}."
    kinds = [float64 if isinstance(x, float | numpy.floating) else int64 for x in pair]
    return _of_numbers(actual, expected, *rules.tolerances(*kinds), rules.equal_nan)


def _of_tensors(actual, expected, rules) -> str | None:
    asked = [("shape", True), ("device", rules.device), ("dtype", rules.dtype)]
    for name, wanted in asked:
        a, b = getattr(actual, name), getattr(expected, name)
        if wanted and a != b:
            return f"The values for attribute {name!r} do not match: {a} != {b}."
    if rules.stride and actual.stride() != expected.stride():
        return f"The values for attribute 'stride()' do not match: {actual.stride()} != {expected.stride()}."
    tolerances = rules.tolerances(actual.dtype, expected.dtype)
    expected = expected.to(actual.device)
    if actual.dtype != expected.dtype:
        dtype = promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(dtype), expected.to(dtype)
    near = _ops.isclose(actual, expected, *tolerances, rules.equal_nan)
    if near.all():
        return None
    if actual.ndim == 0:
        return _of_numbers(actual.item(), expected.item(), *tolerances, rules.equal_nan)
    return _of_elements(actual, expected, near, *tolerances)


def _of_elements(actual, expected, near, rtol: float, atol: float) -> str:
    if not actual.is_floating_point():
        actual, expected = actual.to(int64), expected.to(int64)
    far = (~near).sum().item()
    absolute = (actual - expected).abs()
    relative = absolute / expected.abs()
    lines = [
        f"Tensor-likes are not {'equal' if rtol == 0 == atol else 'close'}!",
        "",
        f"Mismatched elements: {far} / {near.numel()} ({far / near.numel():.1%})",
    ]
    for word, values, allowed in (("absolute", absolute, atol), ("relative", relative, rtol)):
        values = values.masked_fill(near, 0)
        place = values.flatten().argmax().item()
        index = tuple(map(int, numpy.unravel_index(place, tuple(values.shape))))
        line = f"Greatest {word} difference: {values.flatten()[place].item()} at index {index}"
        lines.append(line if rtol == 0 == atol else f"{line} (up to {allowed} allowed)")
    return "\n".join(lines)


def _of_numbers(actual, expected, rtol: float, atol: float, equal_nan: bool) -> str | None:
    if actual == expected or (equal_nan and math.isnan(actual) and math.isnan(expected)):
        return None
    difference = abs(actual - expected)
    if math.isfinite(difference) and difference <= atol + rtol * abs(expected):
        return None
    relative = difference / abs(expected) if expected else math.inf
    allowed = (f" (up to {x} allowed)" if rtol or atol else "" for x in (atol, rtol))
    return (
        f"Scalars are not {'close' if rtol or atol else 'equal'}!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{next(allowed)}\nRelative difference: {relative}{next(allowed)}"
    )


# ---- tensors to try things with


def make_tensor(
    *shape,
    dtype,
    device,
    low=None,
    high=None,
    requires_grad=False,
    noncontiguous=False,
    exclude_zero=False,
    memory_format=None,
):
    """Random numbers from `low` to below `high`: by default from -9 to 9, of bools both."""
    if len(shape) == 1 and isinstance(shape[0], Sequence):
        (shape,) = shape
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, "
            f"but got {noncontiguous=} and {memory_format=}"
        )
    is_real = dtype.is_floating_point
    if requires_grad and not is_real:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}"
        )
    low, high = _span(dtype, low, high)
    has_gaps = noncontiguous and math.prod(shape) > 1
    sizes = (*shape[:-1], 2 * shape[-1]) if has_gaps else tuple(shape)
    x = _ops.empty(sizes, dtype=dtype, device=device)
    if not is_real:
        _ops.random_(x, math.ceil(low), math.ceil(high))
    elif high - low <= finfo(dtype).max:
        _ops.uniform_(x, low, high)
    else:
        _ops.mul_(_ops.uniform_(x, low / 2, high / 2), 2)
    if has_gaps:
        x = x[..., 1::2]
    elif memory_format is not None:
        x = _ops.clone(x, memory_format=memory_format)
    if exclude_zero:
        x[x == 0] = finfo(dtype).tiny if is_real else 1
    return _ops.tensor_requires_grad_(x, requires_grad)


def _span(dtype, low, high) -> tuple:
    """The bounds, within what the dtype holds."""
    is_real = dtype.is_floating_point
    if is_real:
        least, beyond, usual = finfo(dtype).min, finfo(dtype).max, (-9, 9)
    elif dtype is bool_:
        least, beyond, usual = 0, 2, (0, 2)
    else:
        most = iinfo(dtype).max
        least, beyond, usual = iinfo(dtype).min, most if dtype is int64 else most + 1, (-9, 10)
    low, high = usual[0] if low is None else low, usual[1] if high is None else high
    if low != low or high != high:
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and is_real:
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 "
            "and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= beyond:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), "
            f"but {dtype} only supports [{least}, {beyond})"
        )
    return min(max(low, least), beyond), min(max(high, least), beyond)
