"""What was released stays: the generator refuses a schema without a line of capi/released.lock."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "capi"))
from generate import abi, cli, header, schema  # noqa: E402
from generate.model import SchemaError  # noqa: E402


@pytest.fixture
def rows(tmp_path) -> Path:
    """A copy of the schema."""
    return shutil.copytree(ROOT / "capi" / "schema", tmp_path / "schema")


@pytest.fixture(scope="module")
def promised() -> str:
    """What a release of this state promises, and keeps."""
    rows, version = ROOT / "capi" / "schema", header.version()
    text = abi.release(schema.load(rows), version)
    assert refusal(rows, text, version) == ""
    return text


def change(folder: Path, file: str, *pairs: tuple[str, str]) -> None:
    path = folder / file
    for old, new in pairs:
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))


def refusal(rows: Path, released: str, version: str) -> str:
    """What the generator says of the schema before it prints; nothing if it is taken."""
    try:
        cli.load(rows, released, version)
    except SchemaError as error:
        return str(error)
    return ""


@pytest.fixture
def house(tmp_path) -> Path:
    """A copy of what the generator reads."""
    shutil.copytree(ROOT / "capi", tmp_path / "capi")
    for folder in ("wrappers", "core", "kernels", "tests"):
        ignored = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    shutil.copy(ROOT / "CMakeLists.txt", tmp_path)
    return tmp_path


def generate(house: Path, *flags: str) -> str:
    """What the generator, run there, says is wrong, or nothing."""
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
def test_what_may_be_absent_stays(rows, promised, what):
    file, old, new = ABSENT[what]
    change(rows, file, (old, new))
    assert "rely on" in refusal(rows, promised, header.version())


@pytest.mark.parametrize("what", BROKEN)
def test_what_was_released_stays(rows, what):
    file, pairs, promise = BROKEN[what]
    change(rows, file, *pairs)
    error = refusal(rows, cli.RELEASED.read_text(), header.version())
    assert "programs that were built for libdumbtorch.so.0.1 rely on" in error
    assert promise in error
    assert "docs/abi.md" in error


def test_another_soname_makes_other_promises(rows):
    old, new = "keepdim: bool = false", "keepdim: bool = true"
    change(rows, "reduce.toml", (old, new))
    assert refusal(rows, cli.RELEASED.read_text(), "0.2.0") == ""
    newer = abi.release(schema.load(rows), "0.2.0")
    change(rows, "reduce.toml", (new, old))
    assert "libdumbtorch.so.0.2 rely on" in refusal(rows, newer, "0.2.0")


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
    error = generate(house, "--release")
    assert "release 0.1.1 adds to level 1" in error
    assert "dt_cube" in error
    rows, released = house / "capi" / "schema", house / "capi" / "released.lock"
    change(rows, "more.toml", ("[fn.cube]", "[fn.cube]\nsince = 2"))
    change(rows, "types.toml", ("level = 1", "level = 2"))
    assert refusal(rows, released.read_text(), "0.1.1") == ""


def test_a_release_does_not_take_back_a_promise(house):
    change(house, "capi/schema/reduce.toml", ("keepdim: bool = false", "keepdim: bool = true"))
    assert "rely on" in generate(house, "--release")
