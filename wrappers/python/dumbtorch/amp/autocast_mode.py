"""autocast as a context manager and decorator, and what asks for it and sets it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping

from .. import _missing, _ops
from .._tensor_type import TensorBase
from .._types import device as _device
from .._types import dtype as _dtype

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

_HALVES = ("torch.bfloat16", "torch.float16")


# Kinds of devices that PyTorch knows besides the library's.
_OTHERS = "fpga hip hpu ideep ipu lazy maia meta mkldnn mps mtia opencl opengl privateuseone ve vulkan xla xpu"


def _kind(device_type: str) -> str:
    """The kind of a device, whose number may stand behind it."""
    return _device(device_type).type if isinstance(device_type, str) else device_type


def is_autocast_available(device_type: str) -> bool:
    """Whether there is autocast for a kind of device: "cpu" and "cuda"."""
    return device_type not in _OTHERS.split() and _kind(device_type) in ("cpu", "cuda")


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether ops on a kind of device are cast, in this thread."""
    return _ops.is_autocast_enabled(_kind(device_type))


def set_autocast_enabled(device_type, enabled: bool | None = None) -> None:
    """Turns casting on or off; one argument alone is CUDA's."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    _ops.set_autocast_enabled(_kind(device_type), enabled)


def get_autocast_dtype(device_type: str) -> _dtype:
    """The half precision of a kind of device."""
    return _ops.get_autocast_dtype(_kind(device_type))


def set_autocast_dtype(device_type: str, dtype: _dtype) -> None:
    """Sets the half precision of a kind of device."""
    _ops.set_autocast_dtype(_kind(device_type), dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether casts of weights are kept."""
    return _ops.is_autocast_cache_enabled()


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Has casts of weights kept, or not."""
    _ops.set_autocast_cache_enabled(enabled)


def clear_autocast_cache() -> None:
    """Forgets the casts of weights."""
    _ops.clear_autocast_cache()


def is_autocast_cpu_enabled() -> bool:
    return is_autocast_enabled("cpu")


def get_autocast_cpu_dtype() -> _dtype:
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> _dtype:
    return get_autocast_dtype("cuda")


class autocast:
    """In it, ops run in the dtype that suits them: products in half precision, losses in float32. Gradients arrive in
    the dtype of what they belong to. With brackets alone it decorates a function. One object may be entered many
    times."""

    def __init__(
        self,
        device_type: str,
        dtype: _dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if not is_autocast_available(device_type):
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'"
            )
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = cache_enabled
        self._enabled = enabled and self._is_possible()

    def _is_possible(self) -> bool:
        kind = _kind(self.device)
        name = kind.upper()
        if kind == "cuda" and _ops.cuda_device_count() == 0:
            _warn("CUDA is not available or torch_xla is imported. Disabling autocast.")
            return False
        if str(self.fast_dtype) not in _HALVES:
            _warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of {', '.join(_HALVES)} currently."
            )
            return False
        return True

    def __enter__(self):
        _ops.autocast_begin(_kind(self.device), self.fast_dtype, self._enabled, self._cache_enabled)
        return self

    def __exit__(self, *error) -> bool:
        _ops.autocast_end()
        return False

    def __call__(self, function):
        if not callable(function):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(function).__name__}. "
                "Did you mean to use autocast as a context manager? For example:\n"
                "    with torch.autocast(device_type=...):\n"
                "        output = model(input)"
            )

        @functools.wraps(function)
        def call(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return call


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=4)  # of who makes the autocast


def _cast(value, device_type: str, dtype: _dtype):
    """The tensors that autocast would cast, in lists and dicts too, as `dtype`."""
    if isinstance(value, TensorBase):
        is_eligible = value.is_floating_point() and value.device.type == device_type
        return value.to(dtype) if is_eligible and value.dtype.name != "float64" else value
    if isinstance(value, Mapping):
        return {
            _cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()
        }
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(v, device_type, dtype) for v in value)
    return value


def custom_fwd(fwd=None, *, device_type: str, cast_inputs: _dtype | None = None):
    """Decorates the forward of a Function: remembers for custom_bwd what autocast was, and, where `cast_inputs` is
    given and autocast is on, casts the arguments to that and turns autocast off inside."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def call(ctx, *args, **kwargs):
        ctx._dtype = get_autocast_dtype(device_type)
        is_on = is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = is_on and cast_inputs is None
        if not is_on or cast_inputs is None:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(
                ctx,
                *_cast(args, device_type, cast_inputs),
                **_cast(kwargs, device_type, cast_inputs),
            )

    return call


def custom_bwd(bwd=None, *, device_type: str):
    """Decorates the backward of a Function, which then runs with autocast as it was in forward."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def call(ctx, *args, **kwargs):
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(ctx, *args, **kwargs)

    return call
