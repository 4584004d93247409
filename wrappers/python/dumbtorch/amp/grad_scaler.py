"""torch.amp.GradScaler: a loss that is scaled so that gradients of float16 do not vanish."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable

from .. import _missing, _ops
from .._tensor_type import TensorBase
from .._types import float16, float32, int32
from ..autograd.grad_mode import no_grad

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["GradScaler"]


class GradScaler:
    """Scales a loss so that small gradients of float16 do not vanish, takes the scale from the gradients before a
    step, leaves steps with infinite ones out, and looks for a scale that just fits."""

    def __init__(
        self,
        device="cuda",
        init_scale=2.0**16,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        self._device, self._enabled = device, enabled
        if enabled and device == "cuda" and _ops.cuda_device_count() == 0:
            warnings.warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                stacklevel=2,
            )
            self._enabled = False
        if self._enabled and not growth_factor > 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if self._enabled and not backoff_factor < 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._init_growth_tracker = float(init_scale), 0
        # Numbers on the device of the first loss; None before it.
        self._scale = self._growth_tracker = None
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._found: dict = {}  # by id of the optimizer: 1 on the device if a gradient is infinite
        self._stepped: set[int] = set()

    def _place_on(self, device) -> None:
        if self._scale is None:
            self._scale = _ops.full((), self._init_scale, dtype=float32, device=device)
            start = self._init_growth_tracker
            self._growth_tracker = _ops.full((), start, dtype=int32, device=device)

    def _check_used(self, what: str) -> None:
        if self._scale is None:
            raise AssertionError(
                f"Attempted {what} but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )

    def scale(self, outputs):
        """A tensor, or those of an iterable, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Iterable) and not isinstance(outputs, TensorBase):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        if not isinstance(outputs, TensorBase):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        self._place_on(outputs.device)
        return outputs * self._scale.to(outputs.device)

    @no_grad()
    def unscale_(self, optimizer) -> None:
        """Takes the scale from the gradients, so that they may be clipped."""
        if not self._enabled:
            return
        self._check_used("unscale_")
        if id(optimizer) in self._stepped:
            raise RuntimeError("unscale_() is being called after step().")
        if id(optimizer) in self._found:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        grads = [p.grad for group in optimizer.param_groups for p in group["params"]]
        grads = [grad for grad in grads if grad is not None]
        if not grads:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        if any(grad.dtype is float16 for grad in grads):
            raise ValueError("Attempting to unscale FP16 gradients.")
        self._found[id(optimizer)] = _ops.amp_unscale_(grads, self._scale)

    def step(self, optimizer, *args, **kwargs):
        """optimizer.step(), unless a gradient is infinite or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_used("step")
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self._found:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        found = self._found[id(optimizer)]
        row = getattr(optimizer, "_row", None)
        if row is None or row.reads_first or found.device.type == "cpu":
            return None if found.item() else optimizer.step(*args, **kwargs)
        optimizer._found_inf = found  # the GPU decides; nobody waits for it
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            optimizer._found_inf = None

    def update(self, new_scale=None) -> None:
        """A smaller scale after a step that was left out, a larger one after many that were not."""
        if not self._enabled:
            return
        self._check_used("update")
        if new_scale is not None:
            _ops.fill_(self._scale, float(new_scale))
        elif not self._found:
            raise AssertionError("No inf checks were recorded prior to update.")
        else:
            found = [f.to(self._scale.device) for f in self._found.values()]
            _ops.amp_update_scale_(
                self._scale,
                self._growth_tracker,
                functools.reduce(_ops.maximum, found),
                self._growth_factor,
                self._backoff_factor,
                self._growth_interval,
            )
        self._found, self._stepped = {}, set()

    def get_scale(self) -> float:
        """The scale; 1 if there is none. It waits for a GPU."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def _get_growth_tracker(self) -> int:
        if self._growth_tracker is None:
            return self._init_growth_tracker
        return self._growth_tracker.item()

    def is_enabled(self) -> bool:
        return self._enabled

    def get_growth_factor(self) -> float:
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._growth_interval = new_interval

    def state_dict(self) -> dict:
        """The scale and the settings; nothing if it is turned off."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict) -> None:
        """Takes what state_dict gave."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance "
                "of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None:
            _ops.fill_(self._scale, self._init_scale)
            _ops.fill_(self._growth_tracker, self._init_growth_tracker)
        for name in ("growth_factor", "backoff_factor", "growth_interval"):
            setattr(self, "_" + name, state_dict[name])
