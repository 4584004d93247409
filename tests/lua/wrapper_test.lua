-- The Lua module: arguments, errors, callbacks, memory. What the functions compute is tested by
-- conformance_test.lua.
local check = require("check")
local dt = require("dumbtorch")

do -- fields and operators
  local x = dt.tensor({1, 2}, dt.float32, true)
  check.same(dt.full({1}, 2.0).dtype, math.type and dt.float32 or dt.int64)
  check.error("a tensor has no field 'shpe'", function() return x.shpe end)
  check.error("a tensor has no field 'shpe' to set", function() x.shpe = 1 end)
  check.error("by the names of its fields, not by a table", function() dt.nn.ReLU()[{}] = 1 end)
  x.grad = dt.ones({2})
  check.same(x.grad:tolist(), {1.0, 1.0})
  x.grad = nil
  check.same(x.grad, nil)
  check.same(#x, 2)
  check.same(x == x:view({2}), false)
  check.same(x == x, true)
  check.same(tostring(x:detach()), "tensor([1., 2.])")
  check.same(dt.nn.Sequential(dt.nn.Flatten(), dt.nn.ReLU())(dt.ones({5, 3, 1})).shape, {5, 3})
end

do -- indices and lists
  local x = dt.ones({2, 3, 4})
  check.error("valid indices (got function)", function() return x[{print}] end)
  check.error("valid indices (got table)", function() return x[{{n = 1}}] end)
  local data = {1, 1}
  for _ = 1, 60 do data = {data, data} end  -- 2 ^ 61 elements, whose bytes overflow
  check.error("out of memory", dt.tensor, data)
  check.error("out of memory", dt.tensor, {{data, data}, {data, data}, {data, data}, {data, data}})
end

do -- any value can be an error in a callback, and comes back as it was
  for _, problem in ipairs({7, {}, print}) do
    local y = dt.ones({1}, {requires_grad = true})
    y:register_hook(function() error(problem, 0) end)
    for _ = 1, 300 do -- until LuaJIT has compiled it
      local ok, got = pcall(y.backward, y * 1)
      check.same(ok, false)
      check.same(rawequal(got, problem), true)
    end
  end
end

do -- the errors of finalizers' calls take no other error's place
  local x = dt.ones({2, 3})
  local function fail() pcall(x.view, x, {7}) end
  collectgarbage("setpause", 0)
  collectgarbage("setstepmul", 1000)
  for _ = 1, 3000 do
    if newproxy then
      getmetatable(newproxy(true)).__gc = fail
    else
      setmetatable({}, {__gc = fail})
    end
    check.error("Expected size 3 but got size 5", dt.cat, {x, dt.ones({4, 5})})
  end
  collectgarbage("setpause", 200)
  collectgarbage("setstepmul", 200)
end

do -- callbacks from a coroutine that is gone
  local x, calls = dt.ones({1}, {requires_grad = true}), 0
  coroutine.wrap(function()
    x:register_hook(function() calls = calls + 1 end)
  end)()
  collectgarbage()
  coroutine.wrap(function() (x * 2):backward() end)()
  check.same(calls, 1)
end

do -- Lua collects when it must by what is behind objects, not by what it sees of them
  for _ = 1, 64 do dt.nn.Linear(1024, 1024, {bias = false}) end  -- 4 MiB each
  check.same(dt.live_handles("module") <= 32, true)
end

do -- a module that is loaded again
  package.loaded.dumbtorch = nil
  check.same(require("dumbtorch"), dt)
end

check.finish()
