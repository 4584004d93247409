"""What a worker does. Here, since a process that begins anew imports it by name."""

from __future__ import annotations

import copy
import dataclasses

from .compare import Difference, Settings, compare, run_in_pytorch
from .generate import generate


class Check:
    """What a worker does: compares a program, given by its text or its seed."""

    def __init__(self, options):
        ignored = options.ignore.read_text().split("\n") if options.ignore else ()
        self.taste = options.mostly
        self.settings = Settings(options.device, options.errors, tuple(filter(None, ignored)))

    def on_cpu(self) -> Check:
        other = copy.copy(self)
        other.settings = dataclasses.replace(self.settings, device="cpu")
        return other

    def __call__(self, program: str | int) -> Difference | None:
        return compare(text_of(program, self.taste), self.settings)

    def alone(self, program: str | int) -> Difference | None:
        """What PyTorch alone makes of it: for a program that takes its process down."""
        return run_in_pytorch(text_of(program, self.taste))


def text_of(program: str | int, taste: str = "") -> str:
    return generate(program, taste) if isinstance(program, int) else program


def verdict(difference: Difference, on_cpu: Difference | None) -> str:
    """What the same program says of a difference on another device when dumbtorch runs it on the CPU."""
    if on_cpu is None:
        return "  on the CPU: no difference, so it is the device's"
    if on_cpu.kind == difference.kind:
        return "  on the CPU: the same, so it is not the device's"
    return f"  on the CPU: another one, {on_cpu}"
