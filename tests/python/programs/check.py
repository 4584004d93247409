"""What a worker does. Here, since a process that begins anew imports it by name."""

from __future__ import annotations

from .compare import Difference, Settings, compare
from .generate import generate


class Check:
    """What a worker does: compares a program, given by its text or its seed."""

    def __init__(self, options):
        ignored = options.ignore.readtext_of().split("\n") if options.ignore else ()
        self.settings = Settings(options.device, options.errors, tuple(filter(None, ignored)))

    def __call__(self, program: str | int) -> Difference | None:
        return compare(text_of(program), self.settings)


def text_of(program: str | int) -> str:
    return generate(program) if isinstance(program, int) else program
