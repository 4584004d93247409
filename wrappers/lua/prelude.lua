-- The part of the Lua module that is about Lua: names, classes, operators, indices, scopes. row(i)
-- says where a function is found, with the words of wrappers/table/table.h. It is printed behind
-- `keywords`, the words of Lua's own.
local row, classes, collect = ... -- a class is its metatable

for _, class in pairs(classes) do
  class.method, class.property, class.operator = {}, {}, {}
end

-- torch, torch.nn, torch.nn.functional, ...
local torch = {}
local function space(path)
  local found = torch
  for part in path:gsub("^torch", ""):gmatch("[^.]+") do
    found[part] = found[part] or {}
    found = found[part]
  end
  return found
end

for i = 0, math.huge do
  local how, where, name, f = row(i)
  if not how then break end
  local places = classes[where] and classes[where][how] or space(where)
  places[keywords[name] and name .. "_" or name] = f or name -- repeat_; a word stands for itself
end
torch.nn.functional = torch.functional

-- ---- classes

-- x[2], x["1:3"], x[{0, "1:", {1, 3}, mask}]: what is no name is an index.
local function is_index(key)
  return type(key) ~= "string" or key == "..." or key == "None" or key:find(":", 1, true) ~= nil
end

-- Python's special methods as Lua's. Of comparisons Lua makes truth values.
local events = {
  call = "__call", add = "__add", sub = "__sub", mul = "__mul", truediv = "__div", mod = "__mod",
  floordiv = "__idiv", pow = "__pow", lshift = "__shl", rshift = "__shr", neg = "__unm",
  and_ = "__band", or_ = "__bor", xor = "__bxor", invert = "__bnot",
}

for name, class in pairs(classes) do
  local methods, may_be_index = class.method, name == "tensor"

  local function refuse(key, purpose)
    if type(key) ~= "string" then
      error(("a %s is indexed by the names of its fields, not by a %s"):format(name, type(key)), 3)
    end
    error(("a %s has no field '%s'%s"):format(name, key, purpose), 3)
  end

  function class.__index(self, key)
    local method = methods[key]
    if method then return method end
    local property = class.property[key]
    if property then return property(self) end
    if may_be_index and is_index(key) then return torch.at(self, key) end
    refuse(key, "")
  end

  -- object.name = value calls the method set_name, or name_.
  function class.__newindex(self, key, value)
    if may_be_index and is_index(key) then return torch.set_at(self, key, value) end
    local set = type(key) == "string" and (methods["set_" .. key] or methods[key .. "_"])
    if not set then refuse(key, " to set") end
    set(self, value)
  end

  for operator, forward in pairs(class.operator) do
    local is_unary = operator == "neg" or operator == "invert" -- Lua passes the operand twice
    local event = is_unary and function(a) return forward(a) end or forward
    class[events[operator] or operator] = event
  end
  class.__name, class.__gc, class.__close = name, collect, collect
end

local tensor, methods = classes.tensor, classes.tensor.method
tensor.__eq = methods.is_same -- it has to be true or false in Lua: whether both are one tensor
tensor.__len = function(a) return methods.size(a, 0) end
tensor.__tostring = methods.to_string

-- ---- the module
-- What pcall gave, after `undo`.
local function finish(undo, ok, ...)
  undo()
  if not ok then error((...), 0) end
  return ...
end

-- no_grad(f, ...): calls f without recording for backward and gives back its results.
function torch.no_grad(f, ...)
  local mode = torch.is_grad_enabled()
  torch.set_grad_enabled(false)
  return finish(function() torch.set_grad_enabled(mode) end, pcall(f, ...))
end

-- autocast(device_type, dtype, f, ...): calls f with its ops in the dtype of their policy and gives
-- back its results. Without a dtype it is the device's: bfloat16 on the CPU, float16 on CUDA.
function torch.autocast(device_type, dtype, f, ...)
  torch.autocast_begin(device_type, dtype)
  return finish(torch.autocast_end, pcall(f, ...))
end

local sequential = torch.nn.Sequential

-- nn.Sequential(a, b, c)
function torch.nn.Sequential(...)
  local module = sequential()
  for _, child in ipairs({...}) do module:append(child) end
  return module
end

return torch
