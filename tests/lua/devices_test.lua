-- The Lua module with two GPUs: those of tests/cuda/fake_devices.cpp.
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

check.finish()
