"""The Fortran module: recorded calls, and what the runtime does. gfortran has nothing to warn of."""

import pytest
from building import FAKE_DEVICES, ROOT, needs, run
from fortran_program import program

HERE = ROOT / "tests" / "fortran"

pytestmark = needs("gfortran")


def made(name, folder, flags="-O1", own=""):
    run("cc", "-c", HERE / "memory.c", "-o", memory := folder / "memory.o")
    return program(HERE / "check.f90", memory, HERE / f"{name}.f90", flags=flags, own=own)


# AddressSanitizer sees what the compiler does with copies and function results. Five thousand lines of calls
# are not optimized: that would take longer than all else.
@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("conformance_test", ("-O1", "-O0")),
        ("wrapper_test", ("-O1",)),
        ("wrapper_test", ("-fsanitize=address",)),
    ],
)
def test_program(name, flags, tmp_path):
    assert run(made(name, tmp_path, *flags), at=tmp_path, **FAKE_DEVICES) == "passed\n"


@pytest.mark.parametrize(
    ("how", "error"),
    [("shapes", r"matmul: mat1 and mat2 shapes.*\(2x3"), ("memory", "assignment: out of memory")],
)
def test_an_error_that_nobody_asks_for_ends_the_program(tmp_path, how, error):
    with pytest.raises(AssertionError, match=f"ERROR STOP {error}"):
        run(made("wrapper_test", tmp_path), how)
