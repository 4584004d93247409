"""python -m dumbtorch program.py [arguments], or -m module [arguments]: runs a program whose `torch` is dumbtorch."""

import os
import runpy
import sys

from . import as_torch

_, *given = sys.argv
by_name = given[:1] == ["-m"]
program = given[1:] if by_name else given
if not program or program[0].startswith("-"):
    sys.exit(
        "usage: python -m dumbtorch program.py [arguments], or python -m dumbtorch -m module [arguments]"
    )
as_torch.install()
sys.argv = program
if by_name:
    runpy.run_module(program[0], run_name="__main__", alter_sys=True)
else:
    sys.path[0] = os.path.dirname(os.path.abspath(program[0]))  # as `python program.py` has it
    runpy.run_path(program[0], run_name="__main__")
