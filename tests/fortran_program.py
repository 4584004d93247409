"""Compiles Fortran programs, over the module that wrappers/fortran/Makefile makes.

python tests/fortran_program.py PROGRAM.f90 [ARGUMENT...] compiles one and runs it."""

import functools
import os
import sys
from pathlib import Path

from building import BUILD, run

# gfortran takes the bounds and the length of what is still to be allocated for uninitialized values,
# and warns that the right side of .and. may not be evaluated.
WARNINGS = "-Wall -Wextra -Werror -Wno-uninitialized -Wno-maybe-uninitialized"
# AddressSanitizer's checks by calls: the module takes 9 seconds to compile so, 14 with checks in line.
CHECKS = "--param=asan-instrumentation-with-call-threshold=0"
ALL_WARNINGS = f"{WARNINGS} -Wno-function-elimination -Wno-unused-dummy-argument"


@functools.cache
def module(flags: str) -> Path:
    """The folder of the compiled module."""
    folder = BUILD / f"fortran{flags.replace('=', '-')}"
    strict = f"{flags} {WARNINGS} {CHECKS}"
    run("make", "-C", "wrappers/fortran", f"OUT={folder}", f"CFLAGS={strict}", f"FFLAGS={strict}")
    return folder


def program(*sources: Path, flags: str = "-O1") -> Path:
    """The program of the last source."""
    folder = module(flags)
    out = folder / sources[-1].stem
    paths = [f"-I{folder}", f"-J{folder}", f"-L{folder}", f"-L{BUILD}", f"-Wl,-rpath,{BUILD}"]
    compiler = (
        f"gfortran -std=f2018 -ffree-line-length-none -fopenmp -g {flags} {ALL_WARNINGS}".split()
    )
    run(*compiler, *sources, "-o", out, *paths, "-ldumbtorch_fortran", "-ldumbtorch")
    return out


if __name__ == "__main__":
    command = program(Path(sys.argv[1]).resolve())
    os.execv(command, [command.name, *sys.argv[2:]])
