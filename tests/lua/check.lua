-- What the Lua tests are made of.
local dt = require("dumbtorch")
local check = {}

-- Tables are the same if their entries are.
local function words(value)
  if type(value) ~= "table" then return tostring(value) end
  local parts = {}
  for i, entry in ipairs(value) do parts[i] = words(entry) end
  return "{" .. table.concat(parts, ", ") .. "}"
end

function check.same(value, expected)
  if value ~= expected and (type(expected) ~= "table" or words(value) ~= words(expected)) then
    error("expected " .. words(expected) .. ", not " .. words(value), 2)
  end
end

-- That a call fails, and its message has a text in it.
function check.error(text, body, ...)
  local ok, message = pcall(body, ...)
  if ok or not tostring(message):find(text, 1, true) then
    error("expected the error '" .. text .. "', not " .. tostring(message), 2)
  end
end

function check.tensor(x, dtype, size, data)
  check.same(x.dtype, dtype)
  check.same(table.concat(x.shape, ","), table.concat(size, ","))
  local values = x:to({dtype = dt.float64}):reshape({-1}):tolist()
  local tolerance = dtype == dt.float64 and 1e-8 or 1e-5
  for i, expected in ipairs(data) do
    if not (math.abs(values[i] - expected) <= tolerance * (1 + math.abs(expected))) then
      error(string.format("element %d is %.9g, not %.9g", i, values[i], expected), 2)
    end
  end
end

function check.finish()
  -- What LuaJIT has compiled keeps the constants of functions, tensors among them.
  if jit then jit.flush() end
  collectgarbage()
  collectgarbage()
  check.same(dt.live_handles(), 0)
end

return check
