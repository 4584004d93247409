"""The package as a whole: nothing of the C API is missing, stubs say what is there, import is
quick.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import dumbtorch as dt
from dumbtorch import _ops

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "capi" / "include" / "dumbtorch.h"
PACKAGE = Path(dt.__file__).parent

# What Python wraps by hand: errors, contexts, memory, text.
BY_HAND = {
    "context_new", "context_swap", "bytes_data", "string_list_get", "tensor_read",
    "tensor_write", "from_data", "from_blob", "to_dlpack", "from_dlpack", "error_set",
    "error_code", "tensor_list_get", "tensor_list_len", "string_list_len", "set_allocator", "handle_alias",
    "handle_nbytes",
}  # fmt: skip


def handle_methods():
    for kind in vars(_ops).values():
        if isinstance(kind, type) and issubclass(kind, _ops.Handle) and kind is not _ops.Handle:
            name = re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()
            for method in vars(kind):
                yield f"{name}_{method}"
                yield method


def test_every_function_exists():
    functions = set(re.findall(r"dt_status dt_(\w+)(?<!_options_init)\(", HEADER.read_text()))
    known = set(vars(_ops)) | {f"{n}_" for n in vars(_ops)} | set(handle_methods()) | BY_HAND
    assert len(functions) > 200
    assert sorted(functions - known - {n.rstrip("_") for n in known}) == []


def names_in(path):
    """The names that a stub declares at its top."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield from (a.asname or a.name for a in node.names)
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id


def test_stubs_say_what_is_there():
    for name in names_in(PACKAGE / "__init__.pyi"):
        assert hasattr(dt, name), name
    for name in names_in(PACKAGE / "nn" / "functional.pyi"):
        assert hasattr(dt.nn.functional, name) or name == "Tensor", name
    stub = ast.parse((PACKAGE / "_tensor.pyi").read_text())
    tensor = next(n for n in stub.body if isinstance(n, ast.ClassDef) and n.name == "Tensor")
    declared = {n.name for n in tensor.body}
    assert all(hasattr(dt.Tensor, name) for name in declared)
    public = {n for n in vars(dt.Tensor) if not n.startswith("_")}
    assert public - declared == set()


def test_import_brings_in_little():
    """Starting fast means not to load what only some programs use."""
    code = "import dumbtorch, sys; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("dumbtorch.") for name in run.stdout.split()}
    others = "numpy torch PIL asyncio unittest multiprocessing inspect typing json socket ctypes"
    own = "optim func linalg profiler serialization utils.data"
    assert not loaded & {*others.split(), *own.split()}


def test_what_comes_late_is_there():
    """As names, in dir() and for `import *`."""
    code = """
from dumbtorch import *
import dumbtorch
late = {"optim", "vmap", "load", "hann_window", "Event", "serialization"}
assert late <= set(dir(dumbtorch)) & set(globals())
assert vmap is dumbtorch.func.vmap and "graph" in dir(dumbtorch.autograd)
assert dumbtorch.serialization.load is load
print(dumbtorch.utils.data.DataLoader, dumbtorch.nn.utils.parametrize.is_parametrized)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_public_submodules_need_no_import_of_their_own():
    code = """
import pkgutil
import dumbtorch

inner = ("messages", "worker", "workers")  # of loaders

def walk(package):
    for found in pkgutil.iter_modules(package.__path__):
        if not found.name.startswith("_") and found.name not in inner:
            module = getattr(package, found.name)
            if found.ispkg and hasattr(module, "__path__"):
                walk(module)

walk(dumbtorch)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_live_handles():
    before = dt.live_handles("tensor")
    x = dt.ones(2)
    assert dt.live_handles("tensor") == before + 1
    del x
    assert dt.live_handles("tensor") == before
    assert dt.live_handles("nonsense") == -1


def test_the_header_says_that_callbacks_must_return():
    """A jump out of one passes by what puts modes and handles in order."""
    text = HEADER.read_text()
    callbacks = re.findall(r"/\*\*((?:(?!\*/).)*)\*/\ntypedef dt_status \(\*(\w+)\)\(", text, re.S)
    assert len(callbacks) >= 6
    for comment, name in callbacks:
        words = " ".join(comment.replace("*", " ").split())
        assert "It must return: leaving it by longjmp" in words, name
