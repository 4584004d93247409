"""Calls at the end of the interpreter, and after it: programs in C, and other languages in the same
process, may go on."""

import ctypes
import ctypes.util

import dumbtorch as dt
import pytest
from building import BUILD

LIBRARY = BUILD / "libdumbtorch.so"


def test_models_are_saved_at_exit(python, tmp_path):
    """By handlers of atexit, and by an object that goes with its module."""
    names = [str(tmp_path / name) for name in ("handler", "object")]
    python(
        """
        import atexit, sys
        import dumbtorch as dt

        net = dt.nn.Linear(300, 300)

        def train_and_save(path, net=net, save=dt.safetensors.save_model, ones=dt.ones):
            net(ones(300, 300)).sum().backward()
            save(net, path)

        class App:
            def __del__(self, save=train_and_save, path=sys.argv[2]):  # globals are gone then
                save(path)

        app = App()
        atexit.register(train_and_save, sys.argv[1])
        """,
        *names,
    )
    for name in names:
        assert set(dt.safetensors.load_file(name)) == {"weight", "bias"}


def test_threads_that_the_exit_ends_inside_of_callbacks(python):
    """Python ends daemon threads where they wait for it: below a hook, the library is running."""
    for _ in range(5):
        python("""
            import threading
            import dumbtorch as dt

            def train():
                while True:
                    x = dt.ones(64, requires_grad=True)
                    y = x
                    for _ in range(30):
                        y = y * 1.01
                        y.register_hook(lambda g: g * 2)
                    y.sum().backward()
                    started.release()

            started = threading.Semaphore(0)
            for _ in range(4):
                threading.Thread(target=train, daemon=True).start()
            for _ in range(4):
                started.acquire()
        """)


def test_what_python_owned_is_dropped_after_its_end(python):
    """A handler of C's atexit releases the last tensor over NumPy's memory."""
    pytest.importorskip("numpy")
    python(
        """
        import ctypes, sys
        import numpy
        import dumbtorch as dt
        from dumbtorch._native import lib

        release = ctypes.cast(ctypes.CDLL(sys.argv[1]).dt_tensor_release, ctypes.c_void_p)
        x = dt.from_numpy(numpy.ones(3))
        handle = lib.py_alias(x._h)
        at_exit = ctypes.CDLL(None).__cxa_atexit
        at_exit.argtypes = [ctypes.c_void_p] * 3
        assert handle and at_exit(release, handle, None) == 0
        """,
        LIBRARY,
    )


@pytest.mark.parametrize(("lua", "name"), [("lua5.4", "lua5.4"), ("luajit", "luajit-5.1")])
def test_a_closed_lua_state_leaves_callbacks_behind(python, lua, name):
    """Lua unloads its modules when it closes; the library still has a memory hook in one. Before, a call of the program
    around Lua can run it."""
    found = ctypes.util.find_library(name)
    if not found or not (BUILD / lua / "dumbtorch.so").exists():
        pytest.skip(f"no library or no module of {lua}")
    said = python(
        """
        import ctypes, sys

        lua = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
        lua.luaL_newstate.restype = ctypes.c_void_p
        L = ctypes.c_void_p(lua.luaL_newstate())
        lua.luaL_openlibs(L)
        script = f'''package.cpath = "{sys.argv[3]}/?.so"
            require("dumbtorch").set_memory_hook(function(bytes) error("asked", 0) end)'''
        assert lua.luaL_loadstring(L, script.encode()) == 0
        if hasattr(lua, "lua_pcallk"):
            assert lua.lua_pcallk(L, 0, 0, 0, ctypes.c_ssize_t(0), None) == 0
        else:
            assert lua.lua_pcall(L, 0, 0, 0) == 0

        dt = ctypes.CDLL(sys.argv[2])
        dt.dt_error_message.restype = ctypes.c_char_p
        def complaint():
            size, out = ctypes.c_int64(1 << 58), ctypes.c_void_p()
            count, device = ctypes.c_int64(1), ctypes.c_int64(0)
            assert dt.dt_ones(ctypes.byref(size), count, 0, 0, device, 0, ctypes.byref(out))
            return dt.dt_error_message().decode()
        print(complaint())
        lua.lua_close(L)
        print(complaint())
        assert dt.dt_remove_memory_hook() == 0
        """,
        found, LIBRARY, BUILD / lua,
    )  # fmt: skip
    assert said == "ones: asked\nones: the state of the function is closed\n"
