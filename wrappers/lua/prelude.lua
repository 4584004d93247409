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

-- x[2], x["1:3"], x[{0, "1:", {1, 3}, mask}]: what is no name is an index.
local function is_index(key)
  return type(key) ~= "string" or key == "..." or key == "None" or key:find(":", 1, true) ~= nil
end

-- ---- classes

-- An operator: forward(a, b), or where a number stands first what the plan says, which are the
-- other functions one after another.
local function operator(meta, event, forward, first, second)
  if event == "unm" or event == "bnot" then -- Lua passes the operand twice
    return function(a) return forward(a) end
  end
  if not first then return forward end
  return function(a, b)
    if getmetatable(a) == meta then return forward(a, b) end
    if second then return second(first(b), a) end
    return first(b, a)
  end
end

local function make_class(name, meta, methods, properties)
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

  meta.__name, meta.__gc, meta.__close = name, collect, collect
end

local tensor, methods -- its metatable and its methods
for i, class in ipairs(names.classes) do
  local meta, own = metatable(i - 1), bind(class.methods)
  make_class(class.name, meta, own, bind(class.properties))
  for event, places in pairs(class.operators) do
    local f = bind(places)
    meta["__" .. event] = operator(meta, event, f[1], f[2], f[3])
  end
  if class.name == "tensor" then tensor, methods = meta, own end
end

tensor.__eq = methods.is_same -- it has to be true or false in Lua: whether both are one tensor
tensor.__len = function(a) return methods.size(a, 0) end
tensor.__tostring = methods.to_string

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
