"""Compiles Fortran programs, over the module that wrappers/fortran/Makefile makes.

python tests/fortran/compile.py PROGRAM.f90 [ARGUMENT...] compiles one and runs it."""

import functools
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DT_BUILD_DIR", ROOT / "build"))

# gfortran takes the length of text that is still to be allocated for an uninitialized value, and
# warns that the right side of .and. may not be evaluated.
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-uninitialized", "-Wno-function-elimination")


def run(*command: object) -> str:
    words = list(map(str, command))
    result = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@functools.cache
def module(flags: str) -> Path:
    """The folder of the compiled module."""
    folder = BUILD / f"fortran{flags.replace('=', '-')}"
    run("make", "-C", "wrappers/fortran", f"OUT={folder}", f"CFLAGS={flags}", f"FFLAGS={flags}")
    return folder


def program(*sources: Path, flags: str = "-O1") -> Path:
    """The program of the last source."""
    folder = module(flags)
    out = folder / sources[-1].stem
    paths = [f"-I{folder}", f"-J{folder}", f"-L{folder}", f"-L{BUILD}", f"-Wl,-rpath,{BUILD}"]
    compiler = ["gfortran", "-std=f2018", "-g", flags, *WARNINGS]
    run(*compiler, *sources, "-o", out, *paths, "-ldumbtorch_fortran", "-ldumbtorch")
    return out


if __name__ == "__main__":
    command = program(Path(sys.argv[1]).resolve())
    os.execv(command, [command.name, *sys.argv[2:]])
