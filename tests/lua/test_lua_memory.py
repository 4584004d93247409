"""Lua's memory ends at each allocation of a script in turn: nothing is lost, and the state goes on working."""

import ctypes
import sys
from ctypes import c_size_t, c_void_p

import pytest
from building import BUILD, ROOT, run

SCRIPT = b"""
local dt = require("dumbtorch")
function work()
  local x = dt.tensor({{1, 2}, {3, 4}}, {dtype = dt.float64, requires_grad = true})
  local hook = x:register_hook(function(grad) return grad * 2 end)
  local y = x:chunk(2)[1] * x[{0, "0:2"}]
  y:sum():backward()
  hook:remove()
  return x.shape, x.grad:tolist(), tostring(x), dt.nn.Linear(3, 2):state_dict()
end
"""
CALLBACKS = b"""
local dt = require("dumbtorch")
local x = dt.ones({1}, {requires_grad = true})
local function f(y) return y end
local function pair()
  dt.autograd_push_saved_tensors_hooks(f, f)
  dt.autograd_pop_saved_tensors_hooks()
end
local function hook() return x:register_hook(f) end
function work()
  for _ = 1, 300 do pcall(hook) end -- each stays in the registry, until that is full
  for _ = 1, 20000 do pcall(pair) end
end
"""
FAILURE = b"""
local dt = require("dumbtorch")
local x, held = dt.ones({1}, {requires_grad = true}), setmetatable({}, {__mode = "v"})
x:register_hook(function() held[1] = {} error(held[1]) end)
function work() return x * 1 end
function check() collectgarbage() assert(not held[1]) end
"""
LIBRARIES = {"lua5.4": "liblua5.4.so.0", "luajit": "libluajit-5.1.so.2"}
allocator = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_size_t, c_size_t)
reallocate = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_size_t)(("realloc", ctypes.CDLL(None)))


class Mallinfo(ctypes.Structure):
    _fields_ = [("numbers", c_size_t * 10)]


def in_use() -> int:
    """Bytes of malloc's."""
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = Mallinfo
    return mallinfo().numbers[7]


@pytest.mark.parametrize("name", LIBRARIES)
def test_memory_that_runs_out(name):
    if not (BUILD / name / "dumbtorch.so").exists():
        pytest.skip(f"the module of {name} is not built")
    paths = {"LUA_CPATH": f"{BUILD}/{name}/?.so", "PYTHONPATH": str(ROOT / "tests")}
    run(sys.executable, __file__, LIBRARIES[name], **paths)


class State:
    """A Lua state that has run a script."""

    def __init__(self, lua: ctypes.CDLL, script: bytes):
        self.lua, self.left = lua, float("inf")  # allocations
        self.allocator = allocator(self.allocate)
        lua.lua_newstate.restype = lua.lua_touserdata.restype = c_void_p
        self.state = c_void_p(lua.lua_newstate(self.allocator, None))
        lua.luaL_openlibs(self.state)
        assert not self.call(script)

    def allocate(self, _, memory, old, new):
        grows = new > (old if memory else 0)
        self.left -= grows
        return None if grows and self.left < 0 else reallocate(memory, new)

    def call(self, script: bytes, allocations: float = float("inf"), results: int = 0) -> int:
        run = getattr(self.lua, "lua_pcallk", None) or self.lua.lua_pcall
        assert not self.lua.luaL_loadstring(self.state, script)
        self.left = allocations
        failed = run(self.state, 0, results, 0, 0, None)
        self.left = float("inf")
        return failed

    def close(self) -> None:
        self.lua.lua_close(self.state)
        assert not core.dt_live_handles(None)


def fails_after(lua: ctypes.CDLL, allocations: float) -> bool:
    """Whether the script fails with so many; afterwards memory is there again."""
    state = State(lua, SCRIPT)
    failed = state.call(b"work()", allocations)
    assert not state.call(b"work()")
    state.close()
    return failed != 0


def lost_with_callbacks(lua: ctypes.CDLL) -> int:
    """How many bytes are not given back when there is no memory for functions of the user's."""
    before = in_use()
    state = State(lua, CALLBACKS)
    state.call(b"work()", 0)
    state.close()
    return in_use() - before


def fails_for_the_host(lua: ctypes.CDLL) -> None:
    """A callback's error is kept for no call of Lua's that does not wait for it, and its gradient not when the state is
    closed."""
    state, loss = State(lua, FAILURE), c_void_p()
    assert not state.call(b"return work()", results=1)
    handle = ctypes.cast(lua.lua_touserdata(state.state, -1), ctypes.POINTER(c_void_p))[0]
    assert not core.dt_tensor_alias(c_void_p(handle), ctypes.byref(loss))
    assert core.dt_tensor_backward(loss, None, ctypes.byref(ctypes.c_int32(1)), 0, None, 0)
    assert not state.call(b"check()")
    lua.lua_close(state.state)
    assert core.dt_tensor_backward(loss, None, None, 0, None, 0)
    core.dt_tensor_release(loss)
    assert not core.dt_live_handles(None)


if __name__ == "__main__":
    core = ctypes.CDLL(BUILD / "libdumbtorch.so")
    lua = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
    allocations = 0
    while fails_after(lua, allocations):
        allocations += 1
    lost_with_callbacks(lua)  # what the library keeps from its first calls
    assert lost_with_callbacks(lua) < 10000
    fails_for_the_host(lua)
