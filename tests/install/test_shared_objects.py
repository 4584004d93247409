"""What must hold of every shared object that is built, so that a process can open several copies of
it, at any time, and go on calling while it exits."""

import re
from pathlib import Path

import pytest
from building import BUILD, ROOT, run

OBJECTS = {
    "library": BUILD / "libdumbtorch.so",
    "plugin": BUILD / "libdumbtorch_cuda.so",
    "Lua 5.4": BUILD / "lua5.4" / "dumbtorch.so",
    "LuaJIT": BUILD / "luajit" / "dumbtorch.so",
    "Python": ROOT / "wrappers" / "python" / "dumbtorch" / "_native.abi3.so",
    "Python's type": ROOT / "wrappers" / "python" / "dumbtorch" / "_tensor_type.abi3.so",
}


@pytest.fixture(params=OBJECTS.values(), ids=OBJECTS)
def shared_object(request) -> Path:
    if not request.param.exists():
        pytest.skip(f"{request.param.name} is not built")
    return request.param


def flags(path: Path) -> set[str]:
    return set(
        re.findall(r"[A-Z_]{3,}", " ".join(re.findall(r"\(FLAGS.*", run("readelf", "-d", path))))
    )


def undefined(path: Path) -> set[str]:
    return {
        line.split()[1].split("@")[0]
        for line in run("nm", "-D", "--undefined-only", path).splitlines()
    }


def test_no_static_thread_local_memory(shared_object):
    """It comes from a small supply of the process: with it, a later copy cannot be opened."""
    assert "STATIC_TLS" not in flags(shared_object)


def test_nothing_runs_at_exit(shared_object):
    """No object is destroyed while calls still work. The plugin has what nvcc adds."""
    if shared_object != OBJECTS["plugin"]:
        assert not undefined(shared_object) & {"__cxa_atexit", "__cxa_thread_atexit", "atexit"}


@pytest.mark.parametrize("name", ["library", "Lua 5.4", "LuaJIT"])
def test_what_others_may_close_stays(name):
    if not OBJECTS[name].exists():
        pytest.skip(f"{OBJECTS[name]} is not built")
    assert "NODELETE" in flags(OBJECTS[name])


def test_nothing_is_shared_between_copies(shared_object):
    """The linker makes one of all definitions of a unique symbol, also across copies."""
    exported = run("nm", "-D", "--defined-only", shared_object).splitlines()
    assert not [line for line in exported if line.split()[-2] == "u"]
