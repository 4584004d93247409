"""The Fortran module: recorded calls, and what the runtime does. gfortran finds nothing to warn of."""

import shutil

import pytest
from fortran.compile import ROOT, program, run

pytestmark = pytest.mark.skipif(
    not shutil.which("gfortran"),
    reason="gfortran is not installed (make test LANGUAGES=all installs it)",
)


@pytest.mark.parametrize("name", ["conformance_test", "wrapper_test"])
def test_program(name):
    folder = ROOT / "tests" / "fortran"
    assert run(program(name, folder / "check.f90", folder / f"{name}.f90")) == "passed\n"
