"""A C program finds the installed library by pkg-config and find_package, shared and static."""

import json
import re

import pytest

# Makes a tensor, and makes a mistake, whose error has to come back through the library's boundary.
PROGRAM = r"""
#include <dt.h>
#include <stdio.h>

int main(void) {
  int64_t size = 2;
  dt_tensor *ones = NULL, *sum = NULL;
  if (dt_ones(&size, 1, DT_DTYPE_FLOAT32, 0, 0, 0, &ones)) return 1;
  int refused = dt_sum(NULL, NULL, 0, 0, 0, &sum) == DT_STATUS_HANDLE;
  puts(refused && dt_error_message()[0] ? "fine" : "wrong");
  dt_tensor_release(ones);
  return 0;
}
"""

CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(user C)
find_package(dumbtorch 0.1 REQUIRED)
add_executable(program program.c)
target_link_libraries(program PRIVATE dumbtorch::@KIND@)
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "program.c").write_text(PROGRAM)
    return tmp_path


@pytest.mark.parametrize("package", ["dumbtorch", "dumbtorch-static"])
def test_pkg_config(installed, project, package):
    flags = installed.run("pkg-config", "--cflags", "--libs", package).split()
    program = project / "program"
    installed.run("cc", project / "program.c", *flags, "-o", program)
    assert installed.run(program, LD_LIBRARY_PATH=str(installed.libraries)) == "fine\n"
    needs_library = "libdumbtorch.so" in installed.run("readelf", "-d", program)
    assert needs_library == (package == "dumbtorch")


@pytest.mark.parametrize("kind", ["dumbtorch", "static"])
def test_find_package(installed, project, kind):
    (project / "CMakeLists.txt").write_text(CMAKE.replace("@KIND@", kind))
    installed.run("cmake", "-S", project, "-B", project / "build")
    installed.run("cmake", "--build", project / "build")
    assert installed.run(project / "build" / "program") == "fine\n"


def test_description_of_the_api(installed):
    for name in ("dumbtorch.json", "dumbtorch.schema.json"):
        assert json.loads((installed.prefix / "share" / "dumbtorch" / name).read_text())


def test_soname_and_what_the_library_needs(installed):
    dynamic = installed.run("readelf", "-d", installed.libraries / "libdumbtorch.so")
    assert "Library soname: [libdumbtorch.so.0.1]" in dynamic
    needed = set(re.findall(r"\(NEEDED\).*\[(\w[\w+-]*)\.so", dynamic))
    assert needed <= {"libc", "libm", "libstdc++", "libgcc_s", "libpthread", "ld-linux-x86-64"}
