"""Compiles Fortran programs, over the module that wrappers/fortran/Makefile makes.

python tests/fortran_program.py PROGRAM.f90 [ARGUMENT...] compiles one and runs it."""

import functools
import os
import sys
from pathlib import Path

from building import BUILD, LIBRARY, run

# gfortran takes the bounds and the length of what is still to be allocated for uninitialized values,
# and warns that the right side of .and. may not be evaluated. AddressSanitizer's checks are calls: the
# module takes 9 seconds to compile so, 14 with checks in line.
STRICT = "-g -Wall -Wextra -Werror --param=asan-instrumentation-with-call-threshold=0"
ODDITIES = "uninitialized maybe-uninitialized function-elimination unused-dummy-argument".split()


@functools.cache
def program(*sources: Path, flags: str = "-O1", own: str = "") -> Path:
    """The program of the last source; it has flags of its own beside those of the module."""
    folder, strict = BUILD / f"fortran{flags.replace('=', '-')}", f"{flags} {STRICT}"
    fortran = " -Wno-".join([strict, *ODDITIES])
    run("make", "-C", "wrappers/fortran", f"OUT={folder}", f"CFLAGS={strict}", f"FFLAGS={fortran}")
    out = folder / sources[-1].stem
    compiler = f"gfortran -std=f2018 -ffree-line-length-none -fopenmp {fortran} -J{folder}".split()
    libraries = f"-L{folder} -ldumbtorch_fortran {LIBRARY} -ldumbtorch".split()
    run(*compiler, *own.split(), *sources, "-o", out, *libraries)
    return out


if __name__ == "__main__":
    command = program(Path(sys.argv[1]).resolve())
    os.execv(command, [command.name, *sys.argv[2:]])
