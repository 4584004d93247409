"""Seeds and states of the default generator."""

from __future__ import annotations

import os
from contextlib import contextmanager
from weakref import WeakSet

from . import _missing, _ops
from ._native import lib
from ._runtime import device_parts
from ._tensor_type import TensorBase
from ._types import device, int64, uint8

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed",
           "manual_seed", "seed", "set_rng_state"]  # fmt: skip


class Generator(_ops.Generator):
    """A source of random numbers of one's own: pass it as `generator`."""

    __module__ = "dumbtorch._C"

    __slots__ = ()

    def __new__(cls, device="cpu"):
        self = cls.take(_ops.generator_new(device))
        _ALIVE.add(self)
        return self

    def manual_seed(self, seed):
        """Starts the sequence for a seed."""
        super().manual_seed(_signed(seed) if isinstance(seed, int) else seed)
        return self

    def initial_seed(self) -> int:
        """The seed, as a number of 64 bits without a sign."""
        return super().initial_seed() % 2**64

    def get_state(self):
        """16 bytes: what set_state needs to draw the same numbers again."""
        return _ops.view_dtype(super().get_state(), uint8)

    def set_state(self, new_state):
        """Continues where get_state was called."""
        super().set_state(_numbers_of(new_state))
        return self

    def get_offset(self) -> int:
        """Refused, as PyTorch's of the CPU: the state has no such part."""
        raise RuntimeError(f"{self.device.type.upper()} Generator does not use offset")

    def set_offset(self, offset) -> None:
        """Refused, as get_offset."""
        self.get_offset()

    def seed(self) -> int:
        """Starts the sequence for a seed from the system."""
        return self.manual_seed(_fresh_seed()).initial_seed()

    def clone_state(self) -> Generator:
        """A generator that goes on as this one would."""
        return _rebuild(self.device, self.get_state())

    def __reduce_ex__(self, protocol):
        return _rebuild, (self.device, self.get_state())


_STATE_BYTES = 16


def _numbers_of(state):
    """A state as the library takes it: two numbers, which may come as they are."""
    if not isinstance(state, TensorBase):
        raise TypeError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
    if state.dtype == int64 and state.shape == (2,):
        return state
    if state.dtype != uint8:
        raise TypeError("RNG state must be a torch.ByteTensor")
    if state.shape != (_STATE_BYTES,):
        raise RuntimeError(
            f"expected an RNG state of {_STATE_BYTES} bytes, as get_state gives it, but got one of size "
            f"{tuple(state.shape)}: those of PyTorch are of another generator"
        )
    return _ops.view_dtype(_ops.clone(state), int64)


def _signed(seed: int) -> int:
    """A seed as the library takes it: those from 2^63 to 2^64 are the negative numbers of the same bits."""
    return seed - 2**64 if 2**63 <= seed < 2**64 else seed


def _rebuild(device, state) -> Generator:
    """A copy of a generator."""
    return Generator(device).set_state(state)


_ALIVE = WeakSet()  # the generators that programs made


def all_generators(devices) -> list[Generator]:
    """The default generators of some devices, and all that programs made."""
    return [default_generator(d) for d in devices] + list(_ALIVE)


def default_generator(device="cpu") -> Generator:
    """The generator that is used on a device when none is given."""
    return Generator.own(lib.py_default_generator(*device_parts(device)))


def manual_seed(seed) -> Generator:
    """Seeds the default generator of every device."""
    _ops.manual_seed(_signed(int(seed)))
    return default_generator()


def seed() -> int:
    """Seeds the default generator of every device from the system."""
    return manual_seed(_fresh_seed()).initial_seed()


def initial_seed() -> int:
    """The default generator's seed."""
    return default_generator().initial_seed()


def get_rng_state():
    """The state of the default generator."""
    return default_generator().get_state()


def set_rng_state(new_state) -> None:
    """Continues where get_rng_state was called."""
    default_generator().set_state(new_state)


@contextmanager
def fork_rng(devices=None, enabled=True, *_, device_type="cuda", **__):
    """After the block, random numbers go on as if it had not drawn any: those of the CPU and of the
    devices, all of them by default."""
    if not enabled:
        yield
        return
    if devices is None:
        devices = range(_ops.cuda_device_count() if device_type == "cuda" else 0)
    places = ["cpu", *(device(d) for d in devices)]
    before = [default_generator(place).get_state() for place in places]
    try:
        yield
    finally:
        for place, state in zip(places, before, strict=True):
            default_generator(place).set_state(state)


def _fresh_seed() -> int:
    return int.from_bytes(os.urandom(7), "little")
