"""What was released stays: the generator refuses a schema without a line of capi/released.lock."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def house(tmp_path) -> Path:
    """A copy of what the generator reads."""
    shutil.copytree(ROOT / "capi", tmp_path / "capi")
    for folder in ("wrappers", "core", "kernels", "tests"):
        ignored = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    shutil.copy(ROOT / "CMakeLists.txt", tmp_path)
    return tmp_path


def change(house: Path, file: str, *pairs: tuple[str, str]) -> None:
    path = house / file
    for old, new in pairs:
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))


def generate(house: Path, *flags: str) -> str:
    """The error, or nothing."""
    command = [sys.executable, "-B", house / "capi" / "generate", *flags]
    return subprocess.run(command, capture_output=True, text=True).stderr


# What breaks a program: the file, what is replaced in it, and a word of the promise.
BROKEN = {
    "an argument is added": (
        "conv.toml",
        [
            ("i64[2] = [1, 1], groups: i64 = 1)", "i64[2] = [1, 1], groups: i64 = 1, n: i64 = 0)"),
            ("[fn.conv2d]", '[fn.conv2d]\nargs.n = "N."'),
        ],
        "dt_conv2d",
    ),
    "a function is renamed": (
        "views.toml",
        [("[fn.reshape_as]", "[fn.unsafe_view]")],
        "dt_reshape_as",
    ),
    "a default changes": (
        "reduce.toml",
        [("keepdim: bool = false", "keepdim: bool = true")],
        "keepdim",
    ),
    "enum values change places": (
        "types.toml",
        [("nearest = [1,", "nearest = [2,"), ("nearest-exact = [2,", "nearest-exact = [1,")],
        "DT_INTERPOLATION_NEAREST_EXACT = 2",
    ),
    "an enum value goes": (
        "types.toml",
        [('sum = [3, "Their sum."]\n', "")],
        "DT_REDUCTION_SUM = 3",
    ),
    "a field comes before others": (
        "data.toml",
        [
            ('"shuffle: bool', '"n: f64 = 0.0", "shuffle: bool'),
            ("args.shuffle", 'args.n = "N."\nargs.shuffle'),
        ],
        "data_loader_options[",
    ),
    "a callback takes more": (
        "autograd.toml",
        [('(grad: tensor) -> tensor?"', '(grad: tensor, n: i64) -> tensor?"\nargs.n = "N."')],
        "dt_tensor_hook",
    ),
}


# The same of what C's types do not say.
ABSENT = {
    "an argument may not be absent": ("nn.toml", "bias: tensor?, activation", "bias: tensor, activation"),
    "an entry may not be absent": ("autograd.toml", "grad_tensors: tensor?[]", "grad_tensors: tensor[]"),
    "a result may be absent": ("views.toml", "other: tensor) -> tensor", "other: tensor) -> tensor?"),
    "a callback must give something": ("autograd.toml", "(grad: tensor) -> tensor?", "(grad: tensor) -> tensor"),
    "a callback is given nothing": ("autograd.toml", "saved: tensor[]) ->", "saved: tensor?[]) ->"),
}  # fmt: skip


@pytest.mark.parametrize("what", ABSENT)
def test_what_may_be_absent_stays(house, what):
    assert generate(house, "--release") == ""
    file, old, new = ABSENT[what]
    change(house, f"capi/schema/{file}", (old, new))
    assert "rely on" in generate(house)


@pytest.mark.parametrize("what", BROKEN)
def test_what_was_released_stays(house, what):
    file, pairs, promise = BROKEN[what]
    change(house, f"capi/schema/{file}", *pairs)
    error = generate(house)
    assert "programs that were built for libdumbtorch.so.0.1 rely on" in error
    assert promise in error
    assert "docs/abi.md" in error


def test_another_soname_makes_other_promises(house):
    old, new = "keepdim: bool = false", "keepdim: bool = true"
    change(house, "capi/schema/reduce.toml", (old, new))
    change(house, "CMakeLists.txt", ("VERSION 0.1.", "VERSION 0.2."))
    assert generate(house) == ""
    assert generate(house, "--release") == ""
    change(house, "capi/schema/reduce.toml", (new, old))
    assert "libdumbtorch.so.0.2 rely on" in generate(house)


def test_a_later_release_adds_to_a_level_of_its_own(house):
    """What is added is the README's op."""
    op, row = re.findall(
        r"```(?:toml|python)\n(.*cube.*\n(?:.+\n)*)```", (ROOT / "README.md").read_text()
    )
    assert generate(house, "--release") == ""
    (house / "tests" / "python" / "ops" / "rows_more.py").write_text(row)
    (house / "capi" / "schema" / "more.toml").write_text('args.input = "The tensor."\n' + op)
    assert generate(house) == ""  # the release is still being made
    change(house, "CMakeLists.txt", ("VERSION 0.1.0", "VERSION 0.1.1"))
    for flags in ([], ["--release"]):
        error = generate(house, *flags)
        assert "release 0.1.1 adds to level 1" in error
        assert "dt_cube" in error
    change(house, "capi/schema/more.toml", ("[fn.cube]", "[fn.cube]\nsince = 2"))
    change(house, "capi/schema/types.toml", ("level = 1", "level = 2"))
    assert generate(house) == ""


def test_a_release_does_not_take_back_a_promise(house):
    change(house, "capi/schema/reduce.toml", ("keepdim: bool = false", "keepdim: bool = true"))
    assert "rely on" in generate(house, "--release")
