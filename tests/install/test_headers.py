"""The public headers compile without a warning, in every promised standard, on gcc and clang."""

import shutil

import pytest

C = ["c99", "c11", "c2x"]
CPP = ["c++11", "c++14", "c++17", "c++20"]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]

HEADERS = [("dumbtorch.h", standard) for standard in C + CPP]
HEADERS += [("dt.h", standard) for standard in C + CPP]
HEADERS += [("dumbtorch.hpp", standard) for standard in ("c++17", "c++20")]


def language(standard: str) -> str:
    return "c++" if standard.startswith("c++") else "c"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(("header", "standard"), HEADERS)
def test_header_compiles_alone(installed, compiler, header, standard, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    source = tmp_path / "program"
    source.write_text(f"#include <{header}>\n#include <{header}>\nint main(void) {{ return 0; }}\n")
    installed.run(
        *(compiler, "-x", language(standard), f"-std={standard}", *WARNINGS, "-fsyntax-only"),
        *(f"-I{installed.include}", source),
    )


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("standard", C + CPP)
def test_a_status_that_nobody_looks_at_is_warned_of(installed, compiler, standard, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    source, command = tmp_path / "program", [compiler, "-x", language(standard), f"-std={standard}"]
    source.write_text("#include <dumbtorch.h>\nint main(void) { dt_manual_seed(1); return 0; }\n")
    with pytest.raises(AssertionError, match="unused-result"):
        installed.run(
            *(*command, "-Werror", "-c", "-o", tmp_path / "object", f"-I{installed.include}"),
            source,
        )


@pytest.mark.parametrize(
    ("header", "suffix", "compiler"),
    [("dt.h", "c", ["cc", "-std=c99"]), ("dumbtorch.hpp", "cpp", ["c++", "-std=c++17"])],
)
def test_two_files_that_include_it_link(installed, header, suffix, compiler, tmp_path):
    one, two = tmp_path / f"one.{suffix}", tmp_path / f"two.{suffix}"
    one.write_text(f"#include <{header}>\nint other(void);\nint main(void) {{ return other(); }}\n")
    two.write_text(f"#include <{header}>\nint other(void);\nint other(void) {{ return 0; }}\n")
    installed.run(
        *(*compiler, one, two, "-o", tmp_path / "program", f"-I{installed.include}"),
        *(f"-L{installed.libraries}", "-ldumbtorch"),
    )
