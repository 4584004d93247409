-- GPT-2 as a Lua program runs it, for languages.py, which times the same from Python and C.
--
--   lua gpt2.lua train|generate COUNT TURNS BATCH TIME LAYERS DEVICE
--
-- In a turn COUNT steps train on tokens [BATCH, TIME], or COUNT tokens are written behind them;
-- its end is a line. On a GPU a step is recorded once and replayed.
local dt = require("dumbtorch")

local VOCABULARY = 50304
local numbers = {}
for i = 2, 6 do numbers[i - 1] = tonumber(arg[i]) end
local count, turns, batch, time, layers = (table.unpack or unpack)(numbers)
local what, device = arg[1], arg[7]

local model = dt.models.gpt2({
  vocabulary = VOCABULARY, layers = layers, dropout = 0, device = device,
})
local optimizer = dt.optim.AdamW(model:parameters(), {lr = 1e-4})
local tokens = dt.randint(0, VOCABULARY, {batch, time}, {device = device})
local next_tokens = dt.randint(0, VOCABULARY, {batch, time}, {device = device})

-- Forward and backward in bfloat16 by autocast, and AdamW in float32.
local function step()
  optimizer:zero_grad()
  local loss = dt.autocast(device, dt.bfloat16, function()
    return dt.nn.functional.cross_entropy(model(tokens):flatten(0, 1), next_tokens:flatten())
  end)
  loss:backward()
  optimizer:step()
end

local function finish_turn()
  dt.synchronize({device = device})
  print("turn")
  io.stdout:flush()
end

if what == "train" then
  for _ = 1, 3 do step() end -- kernels are chosen, the optimizer's state is made
  local run = step
  if device == "cuda" then
    local graph = dt.graph_new({device = device})
    graph:begin()
    step()
    graph:end_()
    run = function() graph:replay() end
  end
  for _ = 1, turns do
    for _ = 1, count do run() end
    finish_turn()
  end
else
  model:to({dtype = dt.bfloat16})
  model:train(false)
  for _ = 1, turns do
    model:generate(tokens, count)
    finish_turn()
  end
end
