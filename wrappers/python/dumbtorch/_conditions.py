"""torch._check and its kin: conditions that raise an error of a type where they do not hold."""

from __future__ import annotations

from . import _ops
from ._tensor_type import TensorBase
from ._types import bool_

_SAID = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
    "enhancement request to PyTorch.)"
)


def _check_with(error_type, cond, message):
    """Raises an error of the type, with what `message` gives, unless the condition is True."""
    if isinstance(cond, TensorBase):
        raise TypeError(
            "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert "
            "that all elements are true."
        )
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(_SAID if message is None else str(message()))


def _check(cond, message=None):
    """Raises RuntimeError unless the condition is True."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond, message=None):
    """Raises IndexError unless the condition is True."""
    _check_with(IndexError, cond, message)


def _check_value(cond, message=None):
    """Raises ValueError unless the condition is True."""
    _check_with(ValueError, cond, message)


def _check_type(cond, message=None):
    """Raises TypeError unless the condition is True."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    """Raises NotImplementedError unless the condition is True."""
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all(cond, message=None):
    """Raises RuntimeError unless all elements of a tensor of bools are True."""
    if not isinstance(cond, TensorBase):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not bool_:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(RuntimeError, bool(_ops.all(cond)), message)


def _assert(condition, message):
    """An AssertionError with the message, unless the condition is true."""
    assert condition, message


def _assert_async(input, assert_msg="Expected Tensor with single nonzero value, but got zero"):
    """Raises RuntimeError if the one element is zero. It waits for it, on a GPU too."""
    if not input:
        raise RuntimeError(assert_msg)
