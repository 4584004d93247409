"""torch.amp.GradScaler: a loss that is scaled so that gradients of float16 do not vanish."""

from __future__ import annotations

import functools
import warnings

from .. import _ops
from ..autograd.grad_mode import no_grad

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
        self._scale, self._growth_tracker = float(init_scale), 0
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._found: dict[int, bool] = {}  # by id of the optimizer: whether a gradient is infinite
        self._stepped: set[int] = set()
        self._used = False

    def _check_used(self, what: str) -> None:
        if not self._used:
            raise AssertionError(
                f"Attempted {what} but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )

    def scale(self, outputs):
        """A tensor, or the tensors of a list or a tuple, times the scale."""
        if not self._enabled:
            return outputs
        self._used = True
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(map(self.scale, outputs))
        return outputs * self._scale

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
        for grad in grads:
            _ops.mul_(grad, 1 / self._scale)
        finite = [_ops.all(_ops.isfinite(grad)) for grad in grads]
        self._found[id(optimizer)] = not functools.reduce(_ops.logical_and, finite).item()

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
        return None if self._found[id(optimizer)] else optimizer.step(*args, **kwargs)

    def update(self, new_scale=None) -> None:
        """A smaller scale after a step that was left out, a larger one after many that were not."""
        if not self._enabled:
            return
        self._check_used("update")
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._found:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif any(self._found.values()):
            self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                self._scale, self._growth_tracker = self._scale * self._growth_factor, 0
        self._found, self._stepped = {}, set()

    def get_scale(self) -> float:
        """The scale; 1 if there is none."""
        return self._scale if self._enabled else 1.0

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
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
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
        for name, value in state_dict.items():
            setattr(self, name if name[0] == "_" else "_" + name, value)
