"""Lua's memory ends at each allocation of a script in turn: nothing is lost, and the state goes on working."""

import ctypes
import sys
from collections.abc import Iterator
from ctypes import c_size_t, c_void_p
from itertools import chain, count, cycle, repeat

import pytest
from building import BUILD, ROOT, run

SCRIPT = b"""
local dt = require("dumbtorch")
local held = setmetatable({}, {__mode = "kv"})
function work()
  local x = dt.tensor({{1, 2}, {3, 4}}, {dtype = dt.float64, requires_grad = true})
  local hook = x:register_hook(function(grad) return grad * 2 end)
  local y = x:chunk(2)[1] * x[{0, "0:2"}]
  y:sum():backward()
  hook:remove()
  return x.shape, x.grad:tolist(), tostring(x), dt.nn.Linear(3, 2):state_dict()
end
local function push()
  local function pack(y) return y end
  held[pack] = true
  pcall(dt.autograd_push_saved_tensors_hooks, pack, 3) -- the other one is refused
  dt.autograd_push_saved_tensors_hooks(pack, pack)
end
function hook_often()
  for _ = 1, 4000 do
    local ok = pcall(push)
    while ok do ok = not pcall(dt.autograd_pop_saved_tensors_hooks) end
  end
end
function hooked()
  local x = dt.ones({1}, {requires_grad = true})
  x:register_hook(function() held.problem = {} error(held.problem) end)
  return x * 1
end
function check(most)
  collectgarbage()
  for _ in pairs(held) do most = most - 1 end
  assert(most >= 0)
end
"""
LIBRARIES = {"lua5.4": "liblua5.4.so.0", "luajit": "libluajit-5.1.so.2"}
PLENTY = repeat(False)
allocator = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_size_t, c_size_t)
reallocate = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_size_t)(("realloc", ctypes.CDLL(None)))


@pytest.mark.parametrize("name", LIBRARIES)
def test_memory_that_runs_out(name):
    if not (BUILD / name / "dumbtorch.so").exists():
        pytest.skip(f"the module of {name} is not built")
    paths = {"LUA_CPATH": f"{BUILD}/{name}/?.so", "PYTHONPATH": str(ROOT / "tests")}
    run(sys.executable, __file__, LIBRARIES[name], **paths)


class State:
    """A Lua state that has run the script."""

    def __init__(self):
        self.allocator, self.fails = allocator(self.allocate), PLENTY
        self.state = c_void_p(lua.lua_newstate(self.allocator, None))
        lua.luaL_openlibs(self.state)
        assert not self.call(SCRIPT)

    def allocate(self, _, memory, old, new):
        grows = new > (old if memory else 0)
        return None if grows and next(self.fails) else reallocate(memory, new)

    def call(self, code: bytes, fails: Iterator[bool] = PLENTY, results: int = 0) -> int:
        """`fails` says which allocations do."""
        run = getattr(lua, "lua_pcallk", None) or lua.lua_pcall
        assert not lua.luaL_loadstring(self.state, code)
        self.fails = fails
        failed = run(self.state, 0, results, 0, 0, None)
        self.fails = PLENTY
        return failed


def ends_after(allocations: int) -> bool:
    """Whether the script's work fails with so many; afterwards memory is there again."""
    state = State()
    failed = state.call(b"work()", chain(repeat(False, allocations), repeat(True)))
    assert not state.call(b"work()")
    lua.lua_close(state.state)
    assert not core.dt_live_handles(None)
    return failed != 0


class Mallinfo(ctypes.Structure):
    _fields_ = [("numbers", c_size_t * 10)]


def lost_with_callbacks() -> int:
    """How many bytes are not given back when there is no memory for functions of the user's, or for one of two. (Lua
    asks twice.)"""
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = Mallinfo
    before = mallinfo().numbers[7]
    state = State()
    assert not state.call(b"hook_often()", cycle([True] * 2 + [False] * 5))
    assert not state.call(b"check(5)")
    lua.lua_close(state.state)
    return mallinfo().numbers[7] - before


def fails_for_the_host() -> None:
    """A callback's error is kept for no call of Lua's that does not wait for it, and its gradient not when the state is
    closed."""
    state, loss = State(), c_void_p()
    assert not state.call(b"return hooked()", results=1)
    handle = ctypes.cast(lua.lua_touserdata(state.state, -1), ctypes.POINTER(c_void_p))[0]
    assert not core.dt_tensor_alias(c_void_p(handle), ctypes.byref(loss))
    assert core.dt_tensor_backward(loss, None, ctypes.byref(ctypes.c_int32(1)), 0, None, 0)
    assert not state.call(b"check(0)")
    lua.lua_close(state.state)
    assert core.dt_tensor_backward(loss, None, None, 0, None, 0)
    core.dt_tensor_release(loss)
    assert not core.dt_live_handles(None)


if __name__ == "__main__":
    core = ctypes.CDLL(BUILD / "libdumbtorch.so")
    lua = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
    lua.lua_newstate.restype = lua.lua_touserdata.restype = c_void_p
    any(not ends_after(allocations) for allocations in count())
    lost_with_callbacks()  # what the library keeps from its first calls
    assert lost_with_callbacks() < 10000
    fails_for_the_host()
