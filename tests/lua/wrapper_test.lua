-- The Lua module: arguments, errors, callbacks, memory. What the functions compute is tested by
-- conformance_test.lua.
local check = require("check")
local dt = require("dumbtorch")
local nn = dt.nn

local function total(x) return x:sum():item() end

do -- numbers and fields
  local x = dt.ones({2, 3})
  check.same(dt.full({1}, 2.0).dtype, math.type and dt.float32 or dt.int64)
  check.error("a tensor has no field 'shpe'", function() return x.shpe end)
  check.error("a tensor has no field 'shpe' to set", function() x.shpe = 1 end)
  check.error("by the names of its fields, not by a table", function() nn.ReLU()[{}] = 1 end)
end

do -- operators
  local x = dt.tensor({1, 2}, {dtype = dt.float32})
  check.same(#x, 2)
  check.same(x == x:view({2}), false)
  check.same(x == x, true)
  check.same(tostring(dt.tensor({1, 2})), "tensor([1, 2])")
end

do -- indices
  local x = dt.ones({2, 3, 4})
  local function at(index) return x[index] end
  check.same(at("1, 1:").shape, {2, 4})
  check.error("valid indices (got function)", at, {print})
  check.error("valid indices (got table)", at, {{n = 1}})
  check.error("tensor: an element is a string", dt.tensor, {"x"})
  check.error("expected sequence of length 0 at dim 1 (got 2)", dt.tensor, {{}, {1, 2}})
end

do -- more elements than can be counted
  local data = {1, 1}
  for _ = 1, 60 do data = {data, data} end  -- 2 ^ 61, whose bytes overflow
  check.error("out of memory", dt.tensor, data)
  check.error("out of memory", dt.tensor, {{data, data}, {data, data}, {data, data}, {data, data}})
end

do -- fields that are set, and what is in force
  local x = dt.tensor({1, 2}, dt.float32, true)
  x.grad = dt.ones({2})
  check.same(total(x.grad), 2)
  x.grad = nil
  check.same(x.grad, nil)
  check.error("stop", dt.no_grad, function() error("stop") end)
  check.same(dt.is_grad_enabled(), true)
  check.error("stop", dt.autocast, "cpu", nil, function() error("stop") end)
  check.same(dt.ones({1, 1}):mm(dt.ones({1, 1})).dtype, dt.float32)
  check.same(nn.Sequential(nn.Linear(3, 2), nn.ReLU())(dt.ones({5, 3})).shape, {5, 2})
  check.same(dt.current_stream("cpu"):native(), 0)
end

do -- errors in callbacks
  local y = dt.ones({1}, {requires_grad = true})
  local problem = 7 -- any value can be an error, and comes back as it was
  y:register_hook(function() error(problem, 0) end)
  check.same(select(2, pcall(y.backward, y * 1)), 7)
  problem = {}
  for i = 1, 300 do check.same(i, i) end -- LuaJIT has compiled it by now
  for _ = 1, 300 do
    local ok, got = pcall(y.backward, y * 1)
    check.same(ok, false)
    check.same(rawequal(got, problem), true)
  end
end

do -- callbacks from a coroutine that is gone
  local x = dt.ones({1}, {requires_grad = true})
  local calls = 0
  coroutine.wrap(function()
    x:register_hook(function() calls = calls + 1 end)
  end)()
  collectgarbage()
  coroutine.wrap(function() (x * 2):backward() end)()
  check.same(calls, 1)
end

do -- a callback beside one that is refused is let go
  local weak = setmetatable({}, {__mode = "v"})
  local function refused() -- whose locals are gone afterwards
    local tag = {}
    weak.pack = function() return tag end
    local ok = pcall(dt.autograd_push_saved_tensors_hooks, weak.pack, 3)
    check.same(ok, false)
  end
  refused()
  for _ = 1, 1000 do -- callbacks that are let go are forgotten when enough others have come
    dt.ones({1}, {requires_grad = true}):register_hook(function() end):remove()
  end
  collectgarbage()
  collectgarbage()
  check.same(weak.pack, nil)
end

do -- Lua collects when it must by what is behind objects, not by what it sees of them
  local bytes = 1024 * 1024 * 4
  for _ = 1, 64 do dt.nn.Linear(1024, 1024, {bias = false}) end
  check.same(dt.live_handles("module") * bytes <= 128 * 2 ^ 20, true)
end

do -- a module that is loaded again
  local x, calls = dt.ones({1}, {requires_grad = true}), 0
  x:register_hook(function() calls = calls + 1 end)
  package.loaded.dumbtorch = nil
  local again = require("dumbtorch")
  check.same(getmetatable(again.ones({1})), getmetatable(x))
  collectgarbage()
  again.sum(x * 2):backward()
  check.same(calls, 1)
end

check.finish()
