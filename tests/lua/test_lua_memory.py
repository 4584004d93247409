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
LIBRARIES = {"lua5.4": "liblua5.4.so.0", "luajit": "libluajit-5.1.so.2"}
reallocate = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_size_t)(("realloc", ctypes.CDLL(None)))


@pytest.mark.parametrize("name", LIBRARIES)
def test_memory_that_runs_out(name):
    if not (BUILD / name / "dumbtorch.so").exists():
        pytest.skip(f"the module of {name} is not built")
    paths = {"LUA_CPATH": f"{BUILD}/{name}/?.so", "PYTHONPATH": str(ROOT / "tests")}
    run(sys.executable, __file__, LIBRARIES[name], **paths)


def fails_after(lua: ctypes.CDLL, allocations: float) -> bool:
    """Whether the script fails with so many; afterwards memory is there again."""
    left = float("inf")

    @ctypes.CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_size_t, c_size_t)
    def allocate(_, memory, old, new):
        nonlocal left
        grows = new > (old if memory else 0)
        left -= grows
        return None if grows and left < 0 else reallocate(memory, new)

    def call(script: bytes) -> int:
        run = getattr(lua, "lua_pcallk", None) or lua.lua_pcall
        return lua.luaL_loadstring(state, script) or run(state, 0, 0, 0, 0, None)

    lua.lua_newstate.restype = c_void_p
    state = c_void_p(lua.lua_newstate(allocate, None))
    lua.luaL_openlibs(state)
    assert not call(SCRIPT)
    left = allocations
    failed = call(b"work()")
    left = float("inf")
    assert not call(b"work()")
    lua.lua_close(state)
    assert not ctypes.CDLL(BUILD / "libdumbtorch.so").dt_live_handles(None)
    return failed != 0


if __name__ == "__main__":
    allocations = 0
    while fails_after(ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL), allocations):
        allocations += 1
