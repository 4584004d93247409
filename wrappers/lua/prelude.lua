-- The part of the Lua module that is about Lua: classes, operators, indices, tables in and out. It
-- is printed behind a table `names`, which says where in the table of functions each one is.
local call, metatable, collect, live_handles = ...

local function bind(places)
  local functions = {}
  for name, place in pairs(places) do functions[name] = call(place) end
  return functions
end

-- torch, torch.nn, torch.nn.functional, ...
local torch = {}
for path, places in pairs(names.namespaces) do
  local space = torch
  for part in path:gsub("^torch", ""):gmatch("[^.]+") do
    space[part] = rawget(space, part) or {}
    space = space[part]
  end
  for name, f in pairs(bind(places)) do space[name] = f end
end
torch.nn.functional = torch.functional
torch.live_handles = live_handles
for _, name in ipairs(names.dtypes) do torch[name] = name end

local tensor -- its class

local function is_tensor(x) return getmetatable(x) == tensor.metatable end

-- x[2], x["1:3"], x[{0, "1:", {1, 3}, mask}]: what is no name is an index.
local function is_index(key)
  return type(key) ~= "string" or key == "..." or key == "None" or key:find(":", 1, true) ~= nil
end

-- ---- classes

local function make_class(name, meta, methods, properties, operators)
  local may_be_index = name == "tensor"

  function meta.__index(self, key)
    local method = methods[key]
    if method then return method end
    local property = properties[key]
    if property then return property(self) end
    if may_be_index and is_index(key) then return torch.at(self, key) end
    error(("a %s has no field '%s'"):format(name, tostring(key)), 2)
  end

  -- object.name = value calls the method set_name, or name_.
  function meta.__newindex(self, key, value)
    if may_be_index and is_index(key) then return torch.set_at(self, key, value) end
    local set = methods["set_" .. key] or methods[key .. "_"]
    if not set then error(("a %s has no field '%s' to set"):format(name, key), 2) end
    set(self, value)
  end

  meta.__name, meta.__call = name, operators.call
  meta.__gc, meta.__close = collect, collect
  return {metatable = meta, methods = methods, properties = properties, operators = operators}
end

for i, class in ipairs(names.classes) do
  local made = make_class(class.name, metatable(i - 1), bind(class.methods),
                          bind(class.properties), bind(class.operators))
  if class.name == "tensor" then tensor = made end
end

-- ---- operators of tensors: forward(a, b), or backward(b, a) where a number comes first

local function binary(forward, backward)
  return function(a, b)
    if is_tensor(a) then return forward(a, b) end
    if not backward then error("the first operand must be a tensor", 2) end
    return backward(b, a)
  end
end

local meta, op, methods = tensor.metatable, tensor.operators, tensor.methods
meta.__add, meta.__mul = binary(op.add, op.add), binary(op.mul, op.mul)
meta.__sub = binary(op.sub, methods.rsub)
meta.__div = binary(op.truediv, function(b, a) return op.mul(methods.reciprocal(b), a) end)
meta.__mod, meta.__idiv = binary(op.mod), binary(op.floordiv)
meta.__pow = op.pow
meta.__band, meta.__bor = binary(op.and_, op.and_), binary(op.or_, op.or_)
meta.__bxor = binary(op.xor, op.xor)
meta.__shl, meta.__shr = binary(op.lshift), binary(op.rshift)
meta.__unm = function(a) return op.neg(a) end -- Lua passes the operand twice
meta.__bnot = function(a) return op.invert(a) end
meta.__eq = methods.is_same -- it has to be true or false in Lua: whether both are one tensor
meta.__len = function(a) return methods.size(a, 0) end
meta.__tostring = methods.to_string

torch.tensor, methods.tolist = call(names.tensor), call(names.tolist)

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
