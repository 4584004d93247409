-- The Lua module: arguments, errors, callbacks, memory. What the functions compute is tested by
-- conformance_test.lua.
local check = require("check")
local dt = require("dumbtorch")
local nn = dt.nn

local function total(x) return x:sum():item() end

check.case("arguments by position and by name", function()
  local x = dt.tensor({{1, 2, 3}, {4, 5, 6}}, dt.float32)
  check.same(x:sum(0):size(0), 3)
  check.same(x:sum({0, 1}):dim(), 0)
  check.same(x:sum({dim = 1, keepdim = true}):dim(), 2)
  check.same(x:sum(1, {keepdim = true}):dim(), 2)
  check.same(dt.sum({input = x}):item(), 21)
  check.same(dt.zeros({}):dim(), 0)
  check.same(dt.zeros({2}, {dtype = "int64"}).dtype, dt.int64)
  check.same(total(dt.add(x, x, {alpha = 0.5})), 31.5)
  check.same(dt.cat({x, x}, 1):size(1), 6)
  check.same(nn.functional.max_pool2d(dt.ones({1, 4, 4}), 2):size(2), 2)
  check.same(dt.full({1}, 2.0).dtype, math.type and dt.float32 or dt.int64)
  check.same(dt.get_default_device(), "cpu")
  check.same(dt.zeros({1}, {device = "cpu:0"}).device, "cpu")
end)

check.case("overloads and several results", function()
  local x = dt.tensor({{1, 5, 3}, {4, 2, 6}})
  check.same(x:max():item(), 6)
  local values, indices = x:max(1)
  check.same(total(values), 11)
  check.same(total(indices), 3)
  check.same(total((x:max({dim = 0}))), 15)
end)

check.case("wrong arguments", function()
  local x = dt.ones({2, 3})
  check.error("sum: there is no argument named 'keep'", x.sum, x, {keep = true})
  check.error("sum: 'dim' is given twice", x.sum, x, 0, {dim = 1})
  check.error("add: 'other' must be a tensor or a number, not nil", x.add, x)
  check.error("sum: takes at most 4 arguments, not 5", x.sum, x, 0, true, nil, 1)
  check.error("zeros: 'size' must be a list of integers, not number", dt.zeros, 2)
  check.error("zeros: 'dtype' has no value 'float'", dt.zeros, {1}, {dtype = "float"})
  check.error("at start of device string: gpu", dt.zeros, {1}, {device = "gpu"})
  check.error("select: 'dim' must be an integer, not number", x.select, x, 0.5, 0)
  check.error("cat: 'tensors' must be a list of tensors", dt.cat, {x, 1})
  local net = nn.Sequential()
  check.error("'child' must be module, not tensor", net.append, net, x)
  check.error("a tensor has no field 'shpe'", function() return x.shpe end)
  check.error("matmul: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)", x.matmul, x, x)
end)

check.case("what Python's classes refuse by themselves", function()
  local x, linear = dt.ones({2}), nn.Linear(2, 2)
  check.error("output_ratio must be between 0 and 1", nn.FractionalMaxPool2d, {2, 2},
              {output_ratio = {0.5, 1}})
  check.error("cuda: Invalid device, must be cuda device", x.cuda, x, "cpu")
  check.error("Invalid device, must be cuda device", linear.cuda, linear, {device = "cpu"})
end)

check.case("operators", function()
  local x = dt.tensor({1, 2}, {dtype = dt.float32})
  check.same(total(x + 1), 5)
  check.same(total(1 + x), 5)
  check.same(total(5 - x), 7)
  check.same(total(2 / x), 3)
  check.same(total(2 ^ x), 6)
  check.same(total(x ^ 2), 5)
  check.same(total(-x), -3)
  check.same(total(x % 2), 1)
  check.same(#x, 2)
  check.same(x == x:view({2}), false)
  check.same(x == x, true)
  check.same(tostring(dt.tensor({1, 2})), "tensor([1, 2])")
end)

-- What an index means is tested below every language: tests/python/test_subscript.py.
check.case("indices", function()
  local x = dt.arange(0, 24):reshape({2, 3, 4})
  local function at(index, shape, first)
    local y = x[index]
    check.same(table.concat(y.shape, " "), shape)
    check.same(y:reshape({-1}):tolist()[1], first)
  end
  at(1, "3 4", 12)
  at(-1, "3 4", 12)
  at("1:", "1 3 4", 12)
  at("...", "2 3 4", 0)
  at("None", "1 2 3 4", 0)
  at("1, 1:", "2 4", 16)
  at({1, 2}, "4", 20)
  at({}, "2 3 4", 0)
  at({":", {1, 3}, {false, false, 3}}, "2 2 2", 4)
  at({{1}, {}, {-3, -1}}, "1 3 2", 13)
  at({"None", 0, "...", 1}, "1 3", 1)
  at(dt.tensor({1, 0, 1}), "3 3 4", 12)
  at({":", dt.tensor({true, false, true}), dt.tensor(2)}, "2 2", 2)
  local y = x:clone()
  y[{0, "1:"}] = -1
  y[x:gt(20)] = 0
  y[1] = y[1] * 2
  check.same(total(y), 6 - 8 + 2 * (12 + 13 + 14 + 15 + 16 + 17 + 18 + 19 + 20))
  local function put(key, value) y[key] = value end
  check.error("index 2 is out of bounds for dimension 0 with size 2", at, 2)
  check.error("index 9 is out of bounds for dimension 0 with size 2", put, 9, 1)
  check.error("slice indices must be integers or false", at, {{0, "2"}})
  check.error("a slice has at most three numbers", at, {{0, 1, 2, 3}})
  check.error("valid indices (got a number with a fraction)", at, 0.5)
  check.error("valid indices (got boolean)", at, true)
  check.error("valid indices (got function)", at, {print})
  check.error("'a:' is no index", at, "a:")
  check.error("a tensor has no field 'shpe' to set", put, "shpe", 1)
  check.error("'value' must be a tensor or a number, not table", put, 0, {1, 2})
  check.error("'value' must be a tensor or a number, not nil", put, 0, nil)
end)

check.case("tables in and out", function()
  local rows = dt.tensor({{1, 2}, {3, 4}}):tolist()
  check.same(rows[2][1], 3)
  check.same(dt.tensor(1.5):tolist(), 1.5)
  check.same(dt.tensor(1.5).dtype, dt.float32)
  check.same(dt.tensor({true, false}).dtype, dt.bool)
  check.same(dt.tensor({true, false}):tolist()[2], false)
  check.same(dt.tensor({1, 2.5}).dtype, dt.float32)
  check.same(dt.tensor({}):numel(), 0)
  check.same(dt.tensor({{}, {}}).shape[1], 2)
  check.same(dt.tensor({1, 2}, "float64").dtype, dt.float64)
  check.same(dt.tensor({0.1}, {dtype = "float64", requires_grad = true}):item(), 0.1)
  check.same(total(dt.tensor({true, false, 2})), 3)
  check.same(dt.tensor({{{1}, {2}}, {{3}, {4}}}):tolist()[2][1][1], 3)
  check.error("expected 2 elements at dimension 1", dt.tensor, {{1, 2}, {3}})
  check.error("an element is a string", dt.tensor, {"x"})
end)

check.case("gradients", function()
  local x = dt.tensor({1, 2}, dt.float32, true)
  check.same(x.requires_grad, true)
  check.same(x.grad, nil)
  total((x * x):sum():backward() or x)
  check.same(total(x.grad), 6)
  x.grad = nil
  check.same(x.grad, nil)
  local other = dt.ones({1}, {requires_grad = true}) -- `false` is an absent tensor, in and out
  local grads = dt.autograd.grad({(x * 3):sum()}, {x, other}, {false}, {allow_unused = true})
  check.same(total(grads[1]), 6)
  check.same(grads[2], false)
  check.same(dt.no_grad(function(y) return (y * 2).requires_grad end, x), false)
  check.error("stop", dt.no_grad, function() error("stop") end)
  check.same(dt.is_grad_enabled(), true)
end)

check.case("autocast", function()
  local x = dt.ones({2, 2})
  check.same(dt.autocast("cpu", dt.bfloat16, x.mm, x, x).dtype, dt.bfloat16)
  check.same(dt.autocast("cpu", nil, x.mm, x, x).dtype, dt.bfloat16)
  check.error("stop", dt.autocast, "cpu", dt.float16, function() error("stop") end)
  check.same(x:mm(x).dtype, dt.float32)
end)

local function backward(x) (x * 3):sum():backward() end

check.case("callbacks", function()
  local x = dt.ones({3}, {requires_grad = true})
  local calls = 0
  local hook = x:register_hook(function(grad)
    calls = calls + 1
    return grad * 2
  end)
  backward(x)
  check.same(calls, 1)
  check.same(total(x.grad), 18)
  hook:remove()
  x:register_hook(function() end) -- nothing comes back: the gradient stays
  backward(x)
  check.same(calls, 1)
  check.same(total(x.grad), 27)

  local problem = {} -- any value can be an error, and comes back as it was
  local y = dt.ones({1}, {requires_grad = true})
  y:register_hook(function() error(problem) end)
  local ok, got = pcall(y.backward, y * 1)
  check.same(ok, false)
  check.same(got, problem)
  local z = dt.ones({1}, {requires_grad = true})
  z:register_hook(function() return 7 end)
  check.error("'result' must be tensor, not number", z.backward, z * 1)
end)

-- LuaJIT has compiled check.same by now.
check.case("many errors in callbacks", function()
  for i = 1, 300 do check.same(i, i) end
  for _ = 1, 300 do
    local y = dt.ones({1}, {requires_grad = true})
    y:register_hook(function() error({}) end)
    local ok, got = pcall(y.backward, y * 1)
    check.same(ok, false)
    check.same(type(got), "table")
  end
end)

check.case("callbacks from a coroutine that is gone", function()
  local x = dt.ones({1}, {requires_grad = true})
  local calls = 0
  coroutine.wrap(function()
    x:register_hook(function() calls = calls + 1 end)
  end)()
  collectgarbage()
  coroutine.wrap(function() (x * 2):backward() end)()
  check.same(calls, 1)
end)

check.case("a callback beside one that is refused is let go", function()
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
end)

check.case("a function of one's own", function()
  local x = dt.tensor({3}, dt.float32, {requires_grad = true})
  local y = dt.no_grad(x.square, x)
  local out = dt.autograd.custom_function("Square", {x}, {y}, {x}, function(grads, saved)
    return {grads[1] * saved[1] * 2}
  end)
  out[1]:backward()
  check.same(x.grad:item(), 6.0)
end)

check.case("modules", function()
  local net = nn.Sequential(nn.Linear(3, 2, {bias = false}), nn.ReLU())
  local names, tensors = net:state_dict()
  check.same(names[1], "0.weight")
  check.same(#tensors, 1)
  check.same(net(dt.ones({5, 3})):size(1), 2)
  check.same(dt.current_stream("cpu"):native(), 0)
end)

check.case("safetensors, some tensors only, and progress", function()
  local path = os.tmpname()
  dt.save_safetensors(path, {"a", "b"}, {dt.ones({2}), dt.ones({3}) * 2})
  local names, tensors = dt.load_safetensors(path, {only = {"b"}})
  check.same(#names, 1)
  check.same(total(tensors[1]), 6)
  local seen = {}
  local watch = function(done, all) seen[#seen + 1] = done .. "/" .. all end
  dt.load_safetensors(path, {progress = watch})
  check.same(table.concat(seen, " "), "0/20 20/20")
  local stop = function(done) return done > 0 end
  local other = {dt.ones({1})}
  check.error("stop after 4 of 4 bytes", dt.save_safetensors, path, {"c"}, other, stop)
  local problem = {}
  local fail = function() error(problem) end
  local ok, got = pcall(dt.save_safetensors, path, {"c"}, other, fail)
  check.same(ok, false)
  check.same(got, problem)
  check.error("'progress' must be a function", dt.load_safetensors, path, {progress = 1})
  os.remove(path)
end)

check.case("lists of truth values and real numbers", function()
  check.same(dt.from_bools({true, false}, {2, 1}):tolist()[2][1], false)
  check.error("'data' must be a list of booleans", dt.from_bools, {1, 0})
  local x = dt.ones({1, 1, 2, 3})
  check.same(nn.functional.interpolate(x, {scale_factor = 2}):numel(), 24)
  check.same(nn.functional.interpolate(x, {scale_factor = {2, 1}}):numel(), 12)
  check.error("'scale_factor' must be a list of numbers", nn.functional.interpolate, x,
              {scale_factor = {"2"}})
  local sgd = dt.optim.SGD({x}, {lr = 0.5})
  local schedule = dt.optim.lr_scheduler.StepLR(sgd, 1)
  check.same(schedule:get_last_lr()[1], 0.5)
  for group = 1, 19 do -- more than the first buffer has room for
    sgd:add_param_group({dt.ones({1})})
    sgd:set("lr", group, group)
  end
  schedule:step()
  check.same(#schedule:get_last_lr(), 20)
  check.same(schedule:get_last_lr()[20], 19 * 0.1)
end)

check.case("absent where that is not the default", function()
  local function running_mean(momentum)
    local norm = nn.BatchNorm1d(1, {momentum = momentum})
    norm(dt.ones({4, 1}))
    norm(dt.ones({4, 1}) * 3)
    local _, buffers = norm:named_buffers()
    return buffers[1]:item()
  end
  check.same(running_mean(false), 2.0)
  check.same(running_mean(1), 3.0)
  check.same(math.abs(running_mean(0.1) - 0.39) < 1e-6, true)
end)

check.case("bytes in text", function()
  local one = {dt.ones({1})}
  local odd = os.tmpname() .. " \255\254'\n\"%s"
  dt.save_safetensors(odd, {"a"}, one)
  check.same(dt.safetensors_names(odd)[1], "a")
  check.same(os.remove(odd), true)
  check.error("save_safetensors: 'path' has an embedded null character", dt.save_safetensors,
              odd .. "\0.safetensors", {"a"}, one)
  check.error("'names' has an embedded null character", dt.save_safetensors, odd, {"a\0b"}, one)
  check.same(io.open(odd), nil)
  check.error("'dtype' has an embedded null character", dt.ones, {1}, {dtype = "float32\0"})
end)

check.case("garbage does not pile up", function()
  for _ = 1, 400 do dt.zeros({512, 512}) end -- 1 MiB each
  local allocated = dt.memory_stats()
  if allocated > 200 * 2 ^ 20 then error(allocated .. " bytes are held") end
end)

check.case("memory that runs out", function()
  local asked = 0
  dt.set_memory_hook(function(bytes)
    asked = asked + bytes
    collectgarbage()
    return true
  end)
  check.same(pcall(dt.zeros, {2 ^ 58}), false)
  check.same(asked >= 2 ^ 60, true)
  asked = 0
  dt.remove_memory_hook()
  check.same(pcall(dt.zeros, {2 ^ 58}), false)
  check.same(asked, 0)
end)

check.finish()
