-- A CNN on real images, trained by hand: zero_grad, forward, loss, backward, step. The programs of
-- the other languages are the same and print the same losses and accuracy.
--
--   lua train_cnn.lua [folder with the four IDX files] [steps] [cpu or cuda]
--
-- docs/lua.md says where Lua finds the module: LUA_CPATH="build/lua5.4/?.so;;" after make build.
local dt = require("dumbtorch")
local nn = dt.nn

local folder = arg[1] or "/usr/share/datasets/fashion-mnist"
local steps = tonumber(arg[2] or 100)
local device = arg[3] or "cpu"
local batch = 64
dt.set_default_device(device)

local function read(name, dtype)
  return dt.utils.data.read_idx(folder .. "/" .. name):to({device = device, dtype = dtype})
end

local function read_files(name)
  local images = (read(name .. "-images-idx3-ubyte.gz", dt.float32) / 255):unsqueeze(1)
  return images, read(name .. "-labels-idx1-ubyte.gz", dt.int64)
end

-- The share of images that it knows, in percent.
local function accuracy(model, images, labels)
  local right, count, piece = 0, #labels, 1000
  dt.set_grad_enabled(false)
  for first = 0, count - 1, piece do
    local n = math.min(piece, count - first)
    local guess = model(images:narrow(0, first, n)):argmax(1)
    right = right + guess:eq(labels:narrow(0, first, n)):sum():item()
  end
  return 100 * right / count
end

local images, labels = read_files("train")
local test_images, test_labels = read_files("t10k")

dt.manual_seed(0)
local model = nn.Sequential(
  nn.Conv2d(1, 8, 3, {padding = 1}), nn.ReLU(), nn.MaxPool2d(2),
  nn.Conv2d(8, 16, 3, {padding = 1}), nn.ReLU(), nn.MaxPool2d(2),
  nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))
local optimizer = dt.optim.Adam(model:parameters(), {lr = 0.003})
local schedule = dt.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)

for step = 0, steps - 1 do
  local first = step * batch % (#labels - batch)
  local x, target = images:narrow(0, first, batch), labels:narrow(0, first, batch)
  optimizer:zero_grad()
  local loss = nn.functional.cross_entropy(model(x), target)
  loss:backward()
  optimizer:step()
  schedule:step()
  if step % 10 == 0 or step == steps - 1 then
    print(string.format("step %d loss %.4f", step, loss:item()))
  end
end
print(string.format("test accuracy %.2f %%", accuracy(model, test_images, test_labels)))
