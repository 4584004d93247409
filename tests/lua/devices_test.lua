-- The Lua module with two devices: those of tests/cuda/fake_devices.cpp.
local dt = require("dumbtorch")
local check = require("check")

check.case("garbage does not pile up on any device", function()
  local much = {} -- beside it the tensors are few bytes to Lua
  for i = 1, 100000 do much[i] = {i} end
  for i = 1, 800 do dt.zeros({512, 512}, {device = "cuda:" .. i % 2}) end -- 1 MiB each
  for _, device in ipairs({"cuda:0", "cuda:1"}) do
    local allocated = dt.memory_stats(device)
    if allocated > 200 * 2 ^ 20 then error(allocated .. " bytes are held on " .. device) end
  end
end)

check.case("a model on two devices", function()
  local front, back = dt.nn.Linear(3, 4), dt.nn.Linear(4, 2)
  front:to("cuda:0")
  back:to("cuda:1")
  local parameters = front:parameters()
  for _, p in ipairs(back:parameters()) do parameters[#parameters + 1] = p end
  local optimizer = dt.optim.SGD(parameters, {lr = 0.5})
  local before = back:parameters()[2]:detach():clone()
  local y = back(front(dt.ones({5, 3}, {device = "cuda:0"})):to("cuda:1"))
  check.same(y.device, "cuda:1")
  y:sum():backward()
  optimizer:step()
  local moved = before - back:parameters()[2]
  check.same(math.abs(moved:sum():item() - 2 * 0.5 * 5) < 1e-5, true)
  check.same(front:parameters()[1].grad.device, "cuda:0")
end)

check.finish()
