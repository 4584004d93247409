-- The shortest training run there is: a 2-4-1 network learns exclusive or.
--
--   lua xor.lua
--
-- docs/lua.md says where Lua finds the module: LUA_CPATH="build/lua5.4/?.so;;" after make build.
local dt = require("dumbtorch")
local nn = dt.nn

dt.manual_seed(0)
local x = dt.tensor({{0, 0}, {0, 1}, {1, 0}, {1, 1}}, dt.float32)
local y = dt.tensor({{0}, {1}, {1}, {0}}, dt.float32)

local model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
local optimizer = dt.optim.SGD(model:parameters(), {lr = 0.1})
for epoch = 1, 1000 do
  optimizer:zero_grad()
  local loss = nn.functional.mse_loss(model(x), y)
  loss:backward()
  optimizer:step()
  if epoch % 100 == 0 then
    print(string.format("epoch %d loss %.6f", epoch, loss:item()))
  end
end

local answers = dt.no_grad(function() return model(x):tolist() end)
for i, row in ipairs(x:tolist()) do
  print(string.format("%.0f xor %.0f = %.3f", row[1], row[2], answers[i][1]))
end
