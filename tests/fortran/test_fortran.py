"""The Fortran module: recorded calls, and what the runtime does. gfortran has nothing to warn of."""

import shutil

import pytest
from building import ROOT, run
from fortran_program import program

HERE = ROOT / "tests" / "fortran"

pytestmark = pytest.mark.skipif(
    not shutil.which("gfortran"),
    reason="gfortran is not installed (make test LANGUAGES=all installs it)",
)


@pytest.mark.parametrize("name", ["conformance_test", "wrapper_test"])
def test_program(name):
    assert run(program(HERE / "check.f90", HERE / f"{name}.f90")) == "passed\n"


def test_nothing_is_freed_twice_or_lost():
    """What the compiler does with copies and function results, as AddressSanitizer sees it."""
    sources = HERE / "check.f90", HERE / "wrapper_test.f90"
    assert run(program(*sources, flags="-fsanitize=address")) == "passed\n"


def test_an_error_that_nobody_asks_for_ends_the_program(tmp_path):
    source = tmp_path / "fails.f90"
    lines = ["program fails", "use dumbtorch", "type(tensor) :: x", "x = ones([2, 3])"]
    source.write_text("\n".join([*lines, "x = matmul(x, x)", "print *, 'lived'", "end program\n"]))
    with pytest.raises(AssertionError, match=r"ERROR STOP matmul: mat1 and mat2 shapes.*\(2x3"):
        run(program(source))
