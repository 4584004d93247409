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

-- ---- indices: x[2], x["1:3"], x[{0, "1:", {1, 3}, mask}] as the text that the library reads

local function is_index(key)
  return type(key) ~= "string" or key == "..." or key == "None" or key:find(":", 1, true) ~= nil
end

local function bound(value)
  if not value then return "" end
  if type(value) ~= "number" or value % 1 ~= 0 then
    error("slice indices must be integers or false", 0)
  end
  return string.format("%d", value)
end

-- {start, stop, step}
local function slice(bounds)
  if #bounds > 3 then error("a slice has at most three numbers", 0) end
  local last = bounds[3] and ":" .. bound(bounds[3]) or ""
  return bound(bounds[1]) .. ":" .. bound(bounds[2]) .. last
end

local function item(key, tensors, may_be_table)
  local kind = type(key)
  if kind == "number" and key % 1 == 0 then return string.format("%d", key) end
  if kind == "string" then return key end
  if kind == "table" and may_be_table then return slice(key) end
  if is_tensor(key) then
    tensors[#tensors + 1] = key
    return "?"
  end
  local got = kind == "number" and "a number with a fraction" or kind
  error('only integers, slices ("1:3" or {1, 3}), "...", "None" and tensors are valid indices (got '
    .. got .. ")", 0)
end

local function subscript(key)
  local tensors, items = {}, {}
  if type(key) ~= "table" then return item(key, tensors), tensors end
  for i = 1, #key do items[i] = item(key[i], tensors, true) end
  return table.concat(items, ","), tensors
end

-- ---- classes

local function make_class(name, meta, methods, properties, operators)
  local may_be_index = name == "tensor"

  function meta.__index(self, key)
    local method = methods[key]
    if method then return method end
    local property = properties[key]
    if property then return property(self) end
    if may_be_index and is_index(key) then return torch.at(self, subscript(key)) end
    error(("a %s has no field '%s'"):format(name, tostring(key)), 2)
  end

  -- object.name = value calls the method set_name, or name_.
  function meta.__newindex(self, key, value)
    if may_be_index and is_index(key) then
      local index, tensors = subscript(key)
      return torch.set_at(self, index, value, tensors)
    end
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

-- ---- tables in and out

-- The sizes of nested tables, from the first element of each level.
local function shape_of(data)
  local shape = {}
  while type(data) == "table" do
    shape[#shape + 1] = #data
    data = data[1]
  end
  return shape
end

local function flatten(data, shape, dim, out)
  if dim > #shape then
    if type(data) ~= "number" and type(data) ~= "boolean" then
      error("tensor: an element is a " .. type(data), 0)
    end
    out[#out + 1] = data
    return
  end
  local got = type(data) == "table" and #data or "a " .. type(data)
  if got ~= shape[dim] then
    local sentence = "tensor: expected sequence of length %d at dim %d (got %s)"
    error(sentence:format(shape[dim], dim - 1, got), 0)
  end
  for i = 1, #data do flatten(data[i], shape, dim + 1, out) end
end

-- Whether all are truth values, or all whole numbers; truth values among numbers are 0 and 1.
local function kind_of(values)
  local bools, whole = 0, true
  for _, v in ipairs(values) do
    if type(v) == "boolean" then
      bools = bools + 1
    elseif math.type then
      whole = whole and math.type(v) == "integer"
    else
      whole = whole and v % 1 == 0 and math.abs(v) < 2 ^ 63
    end
  end
  if bools == #values then return torch.from_bools end
  for i, v in ipairs(values) do
    if type(v) == "boolean" then values[i] = v and 1 or 0 end
  end
  return whole and torch.from_ints or torch.from_numbers
end

-- tensor(data, dtype, requires_grad), the last two also by name
function torch.tensor(data, dtype, requires_grad)
  if type(dtype) == "table" then dtype, requires_grad = dtype.dtype, dtype.requires_grad end
  if type(requires_grad) == "table" then requires_grad = requires_grad.requires_grad end
  local shape, values = shape_of(data), {}
  if shape[#shape] ~= 0 then flatten(data, shape, 1, values) end
  local make = #values == 0 and torch.from_numbers or kind_of(values)
  local x = make(values, {size = shape, dtype = make ~= torch.from_bools and dtype or nil})
  if dtype then x = methods.to(x, {dtype = dtype}) end
  return requires_grad and methods.requires_grad_(x) or x
end

local function nest(values, shape, dim, taken)
  if dim > #shape then return values[taken + 1], taken + 1 end
  local list = {}
  for i = 1, shape[dim] do list[i], taken = nest(values, shape, dim + 1, taken) end
  return list, taken
end

function methods.tolist(self)
  local dtype, values = tensor.properties.dtype(self)
  if dtype:find("float", 1, true) then
    values = torch.to_numbers(self)
  else
    values = torch.to_ints(self)
  end
  if dtype == "bool" then
    for i, v in ipairs(values) do values[i] = v ~= 0 end
  end
  return (nest(values, tensor.properties.shape(self), 1, 0))
end

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
