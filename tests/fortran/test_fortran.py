"""The Fortran module: recorded calls, and what the runtime does. gfortran has nothing to warn of."""

import shutil

import pytest
from building import FAKE_DEVICES, ROOT, run
from fortran_program import program

HERE = ROOT / "tests" / "fortran"

pytestmark = pytest.mark.skipif(
    not shutil.which("gfortran"),
    reason="gfortran is not installed (make test LANGUAGES=all installs it)",
)


@pytest.mark.parametrize("name", ["conformance_test", "wrapper_test"])
def test_program(name, tmp_path):
    made = program(HERE / "check.f90", HERE / f"{name}.f90")
    assert run(made, at=tmp_path, **FAKE_DEVICES) == "passed\n"


def test_nothing_is_freed_twice_or_lost():
    """What the compiler does with copies and function results, as AddressSanitizer sees it."""
    sources = HERE / "check.f90", HERE / "wrapper_test.f90"
    assert run(program(*sources, flags="-fsanitize=address")) == "passed\n"


# Memory for handles, in place of the C library's, until there shall be no more.
MEMORY = """\
#include <stdlib.h>
static int is_full;
void end_memory_(void) { is_full = 1; }
void *aligned_alloc(size_t alignment, size_t bytes) {
  void *memory = NULL;
  return is_full || posix_memalign(&memory, alignment, bytes) ? NULL : memory;
}
"""
COPIES = """\
block
  type(tensor) :: copies(100000)
  integer :: i
  call end_memory()
  do i = 1, size(copies)
    copies(i) = x
  end do
end block"""


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("x = matmul(x, x)", r"matmul: mat1 and mat2 shapes.*\(2x3"),
        (COPIES, "handle_alias: out of memory"),
    ],
)
def test_an_error_that_nobody_asks_for_ends_the_program(tmp_path, body, error):
    memory, source = tmp_path / "memory.c", tmp_path / "fails.f90"
    lines = ["program fails", "use dumbtorch", "type(tensor) :: x", "x = ones([2, 3])", body]
    memory.write_text(MEMORY)
    run("cc", "-c", memory, "-o", made := tmp_path / "memory.o")
    source.write_text("\n".join([*lines, "print *, 'lived'", "end program\n"]))
    with pytest.raises(AssertionError, match=f"ERROR STOP {error}"):
        run(program(made, source))
