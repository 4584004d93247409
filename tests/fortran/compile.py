"""Compiles Fortran programs as docs/fortran.md tells users to."""

import functools
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DT_BUILD_DIR", ROOT / "build"))


def run(*command: object, **settings) -> str:
    result = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, cwd=ROOT, **settings
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr


@functools.cache
def module() -> Path:
    """The folder of the compiled module."""
    folder = BUILD / "fortran"
    run("make", "-C", "wrappers/fortran", f"OUT={folder}")
    return folder


def program(name: str, *sources: object) -> Path:
    folder = module()
    # gfortran takes the length of text that is still to be allocated for an uninitialized value.
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-uninitialized"]
    flags = ["-std=f2018", *warnings, "-g", f"-I{folder}", f"-J{folder}"]
    libraries = [f"-L{folder}", "-ldumbtorch_fortran", f"-L{BUILD}", "-ldumbtorch"]
    run(
        "gfortran", *flags, *sources, "-o", folder / name, *libraries, f"-Wl,-rpath,{BUILD}"
    )
    return folder / name
