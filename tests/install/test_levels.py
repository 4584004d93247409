"""API levels: what a later release adds is hidden from a program that asks for an older level, and a
program of an older release works with a newer library.

There is one level so far, so these tests pretend another: they print the headers of a schema with
one more of everything."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"

QUARTER = """float8 = { c = "quarter", bytes = 1, category = "floating", compute = "float32", \
torch = "Quarter", typeid = "quarter", c10 = "c10::Quarter", safetensors = "F8", dlpack = 2 }
"""

# An old row and what becomes of it: a value, and fields where a reader of the signature wants them.
CHANGES = {
    "types.toml": [
        ("level = 1", "level = 2"),
        (
            'int16 = [10, "16-bit signed integer."]\n',
            'int16 = [10, "S."]\nfloat8 = [11, "Q.", 2]\n',
        ),
        ("\n\n[enum.device_type]\n", "\n" + QUARTER + "\n[enum.device_type]\nreserved = [3]\n"),
    ],
    "layers_activation.toml": [
        (
            'sig = "(inplace: bool = false)"',
            'sig = "(fast: bool = true since 2, inplace: bool = false, scale: f64 = 2.0 since 2, '
            "way: interpolation = nearest since 2, sizes: i64[] = [1, 2] since 2, "
            "note: str = 'a' since 2, extra: bool = false since 2, count: i64? = none since 2)\"\n"
            'args.fast = "F."\nargs.scale = "S."\nargs.way = "W."\nargs.sizes = "Z."\n'
            'args.note = "N."\nargs.extra = "E."\nargs.count = "C."',
        )
    ],
}

ADDED = """
[enum.mood]
since = 2
doc = "Moods."
[enum.mood.values]
good = [1, "Good."]

[handle.lamp]
since = 2
core = "Ref<Lamp>"
header = "core/lamp.h"
doc = "A lamp."

[callback.blown]
since = 2
sig = "(grad: tensor) -> tensor?"
args.grad = "The gradient."
doc = "Called when it blows."

[options.lamp]
since = 2
fields = ["bright: bool = true", "mood: mood = good"]
args.bright = "Bright."
args.mood = "Its mood."
doc = "Settings of a lamp."

[fn.lamp_new]
since = 2
sig = "(opts: options.lamp, blown: callback.blown) -> lamp"
core = "make_lamp({opts}, {blown})"
header = "core/lamp.h"
args.opts = "Settings."
args.blown = "What happens."
doc = "Makes a lamp."

[fn.lamp_mood]
since = 2
sig = "(self: lamp) -> mood"
core = "{self}->mood()"
header = "core/lamp.h"
property = true
args.self = "The lamp."
doc = "Its mood."

[fn.cube]
since = 2
sig = "(input: tensor) -> tensor"
in = ["functional", "torch"]
operator = "abs"
class = "float"
inplace = true
y = "input * input * input"
grad.input = "3 * grad * input * input"
args.input = "The tensor."
doc = "input cubed."
"""


@pytest.fixture(scope="module")
def generated(tmp_path_factory) -> Path:
    """A folder with the next release's headers and shims."""
    folder = tmp_path_factory.mktemp("level2")
    shutil.copytree(ROOT / "capi" / "schema", folder / "schema")
    for name, changes in CHANGES.items():
        path = folder / "schema" / name
        text = path.read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        path.write_text(text)
    (folder / "schema" / "lamp.toml").write_text(ADDED)
    program = f"""
import sys, pathlib
sys.dont_write_bytecode = True
sys.path.insert(0, {str(ROOT / "capi")!r})
from generate import check, cli, reference, schema
# What is pretended has no test that its page could name.
cli.LIBRARY = [g for g in cli.LIBRARY if g is not reference.generate]
model = schema.load(pathlib.Path("schema"))
check.check(model)
for path, text in cli.outputs(model).items():
    if path.endswith((".h", ".hpp", "options.gen.cpp", ".map")):
        pathlib.Path(pathlib.Path(path).name).write_text(text)
"""
    subprocess.run([sys.executable, "-c", program], cwd=folder, check=True)
    for header in ("c/dt_scope.h", "c/dt_extra.h", "cpp/dumbtorch_types.hpp"):
        shutil.copy(ROOT / "wrappers" / header, folder)
    shutil.copy(ROOT / "wrappers" / "cpp" / "dumbtorch_extra.hpp", folder)
    return folder


def compile_text(folder: Path, language: str, text: str, *flags: str, compiler: str = "gcc"):
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
    command = [compiler, "-x", language, *warnings, f"-I{folder}", "-fsyntax-only", *flags, "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True)


HEADERS = [("dumbtorch.h", "c99"), ("dumbtorch.h", "c2x"), ("dumbtorch.h", "c++11")]
HEADERS += [("dt.h", "c99"), ("dt.h", "c++11"), ("dumbtorch.hpp", "c++17")]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize(("header", "standard"), HEADERS)
def test_each_level_compiles(generated, compiler, header, standard, level):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    language = "c++" if "++" in standard else "c"
    flags = (f"-std={standard}", f"-DDT_API_VERSION={level}")
    result = compile_text(generated, language, f"#include <{header}>\n", *flags, compiler=compiler)
    assert result.returncode == 0, result.stderr


# What is new in level 2, used: (header, language, statement).
USES = [
    ("dumbtorch.h", "c", "(void)!dt_cube(NULL, NULL);"),
    ("dumbtorch.h", "c", "dt_mood mood = DT_MOOD_GOOD; (void)mood;"),
    ("dumbtorch.h", "c", "dt_dtype d = DT_DTYPE_FLOAT8; (void)d;"),
    ("dumbtorch.h", "c", "dt_nn_relu_options o = DT_NN_RELU_OPTIONS_INIT; o.fast = NULL; (void)o;"),
    ("dumbtorch.h", "c", "dt_lamp_release(NULL); dt_blown blown = NULL; (void)blown;"),
    ("dumbtorch.h", "c", "dt_lamp_options o = DT_LAMP_OPTIONS_INIT; (void)o;"),
    ("dt.h", "c", "T_SCOPE { T_nn_relu(.fast = 0, .scale = 0.5); }"),
    ("dt.h", "c", "T_SCOPE { T_cube_(T_cube(NULL)); }"),
    ("dumbtorch.hpp", "c++", "dumbtorch::NnReluOptions o; o.fast = false;"),
    ("dumbtorch.hpp", "c++", "auto d = dumbtorch::kFloat8; (void)d;"),
    ("dumbtorch.hpp", "c++", "dumbtorch::Lamp lamp; (void)lamp.mood();"),
    ("dumbtorch.hpp", "c++", "(void)dumbtorch::cube(dumbtorch::Tensor());"),
]


@pytest.mark.parametrize(("header", "language", "use"), USES)
def test_only_the_newer_level_has_what_is_new(generated, header, language, use):
    text = f"#include <{header}>\nint main(void) {{ {use} return 0; }}\n"
    standard = "-std=c++17" if language == "c++" else "-std=c99"
    results = [
        compile_text(generated, language, text, standard, f"-DDT_API_VERSION={level}")
        for level in (1, 2)
    ]
    assert results[0].returncode != 0
    assert results[1].returncode == 0, results[1].stderr


# A program of this release leaves garbage wherever its header lets it, and gives its struct to the
# next release's reader: one from the macro, one from the function, one whose members are all set.
OLD = """
#include <dumbtorch.h>
#include <string.h>
void newer_library(const dt_nn_relu_options *given);
int main(void) {
  const dt_nn_relu_options start = DT_NN_RELU_OPTIONS_INIT;
  struct { dt_nn_relu_options o; char behind[256]; } b;
  memset(&b, 0x77, sizeof b);
  b.o = start;
  b.o.inplace = 1;
  newer_library(&b.o);
  memset(&b, 0x77, sizeof b);
  if (dt_nn_relu_options_init(&b.o, sizeof b.o)) return 2;
  b.o.inplace = 1;
  newer_library(&b.o);
  memset(&b, 0x77, sizeof b);
  @MEMBERS@
  b.o.struct_size = sizeof b.o;
  b.o.inplace = 1;
  newer_library(&b.o);
  return 0;
}
"""

NEW = """
#include <dumbtorch.h>
#include <cstdio>
#include <cstdlib>
namespace dt::capi { void read_struct(void*, int64_t, const void*, const char*); }
extern "C" void newer_library(const dt_nn_relu_options *given) {
  dt_nn_relu_options c = DT_NN_RELU_OPTIONS_INIT;
  dt::capi::read_struct(&c, sizeof c, given, "options");
  const bool newer = c.fast || c.scale || c.way != DT_INTERPOLATION_NEAREST || c.sizes ||
                     c.sizes_n || std::string_view(c.note) != "a" || c.extra || c.count;
  if (c.inplace != 1 || c.reserved1 || newer || given->struct_size >= (int64_t)sizeof c) abort();
  puts("as before");
}
"""


def test_an_older_program_does_not_set_new_fields(generated, tmp_path):
    if not (BUILD / "libdumbtorch.a").exists():
        pytest.fail("build/libdumbtorch.a is missing: make build")
    header = (ROOT / "capi" / "include" / "dumbtorch.h").read_text()
    struct = re.search(r"struct dt_nn_relu_options \{(.*?)\}", header, re.DOTALL)[1]
    members = "".join(f"b.o.{name} = 0; " for name in re.findall(r"(\w+);", struct))
    (tmp_path / "old.c").write_text(OLD.replace("@MEMBERS@", members))
    (tmp_path / "new.cpp").write_text("#include <string_view>\n" + NEW)
    old = ["gcc", "-c", "-O2", f"-I{ROOT / 'capi' / 'include'}", "old.c"]
    new = ["g++", "-std=c++17", "-O2", f"-I{generated}", "new.cpp", "old.o"]
    new += [str(BUILD / "libdumbtorch.a"), "-lm", "-pthread", "-ldl", "-o", "program"]
    for command in (old, new, ["./program"]):
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
    assert result.stdout == "as before\n" * 3


def test_symbols_of_a_level_have_a_version_of_their_own(generated):
    level2 = (generated / "dumbtorch.map").read_text().partition("DUMBTORCH_2 {")[2]
    for name in ("dt_cube", "dt_cube_", "dt_lamp_release", "dt_lamp_options_init", "dt_lamp_new"):
        assert f"    {name};" in level2
    assert "} DUMBTORCH_1;" in level2
