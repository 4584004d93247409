-- x[index] and x[index] = value. Shapes and elements are PyTorch's for the same index of
-- torch.arange(24).reshape(2, 3, 4): in Python {1, 3} is 1:3, and {} and ":" are a colon.
local dt = require("dumbtorch")
local check = require("check")

local x = dt.arange(0, 24):reshape({2, 3, 4})

-- {index, shape, elements}
local cases = {
  {1, {3, 4}, {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
  {-1, {3, 4}, {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
  {{1, 2}, {4}, {20, 21, 22, 23}},
  {{1, -1, 3}, {}, {23}},
  {{}, {2, 3, 4},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
  {"1:", {1, 3, 4}, {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
  {":", {2, 3, 4},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
  {"::2", {1, 3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
  {"-1:", {1, 3, 4}, {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
  {":-1", {1, 3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
  {"5:9", {0, 3, 4}, {}},
  {" 0 : 2 : 2 ", {1, 3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
  {"...", {2, 3, 4},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
  {"None", {1, 2, 3, 4},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
  {{":", {1, 3}}, {2, 2, 4}, {4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 20, 21, 22, 23}},
  {{":", {}, {false, false, 3}}, {2, 3, 2}, {0, 3, 4, 7, 8, 11, 12, 15, 16, 19, 20, 23}},
  {{{1}, {false, -1}, {-3, -1}}, {1, 2, 2}, {13, 14, 17, 18}},
  {{0, {2, 2}}, {0, 4}, {}},
  {{"...", 0}, {2, 3}, {0, 4, 8, 12, 16, 20}},
  {{0, "...", 1}, {3}, {1, 5, 9}},
  {{"None", 0, "None", "..."}, {1, 1, 3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
  {{1, "None", {0, 2}, "None", "1:"}, {1, 2, 1, 3}, {13, 14, 15, 17, 18, 19}},
  {dt.tensor({1, 0, 1}), {3, 3, 4},
    {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
    13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
  {{dt.tensor({1, 0}), dt.tensor({2, 0})}, {2, 4}, {20, 21, 22, 23, 0, 1, 2, 3}},
  {{"1:", dt.tensor({{0, 2}, {1, 1}})}, {1, 2, 2, 4},
    {12, 13, 14, 15, 20, 21, 22, 23, 16, 17, 18, 19, 16, 17, 18, 19}},
  {{dt.tensor({1, 0}), "...", dt.tensor({3, 0})}, {2, 3}, {15, 19, 23, 0, 4, 8}},
  {{"None", dt.tensor({1}), 2}, {1, 1, 4}, {20, 21, 22, 23}},
  {x:gt(20), {3}, {21, 22, 23}},
  {{1, x[1]:lt(15)}, {3}, {12, 13, 14}},
  {{x:sum({1, 2}):gt(100), 0}, {1, 4}, {12, 13, 14, 15}},
  {{":", dt.tensor({true, false, true}), "1:3"}, {2, 2, 2}, {1, 2, 9, 10, 13, 14, 21, 22}},
  {dt.tensor(1), {3, 4}, {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
  {{0, dt.tensor(2)}, {4}, {8, 9, 10, 11}},
}

local function values(t)
  return table.concat(t:reshape({-1}):tolist(), " ")
end

-- What x holds after a function has been applied to the chosen elements.
local function expected(elements, change)
  local all = {}
  for i = 0, 23 do all[i + 1] = i end
  for _, v in ipairs(elements) do all[v + 1] = change(v) end
  return table.concat(all, " ")
end

for number, case in ipairs(cases) do
  local index, shape, elements = case[1], case[2], case[3]
  check.case("index " .. number, function()
    local y = x[index]
    check.same(table.concat(y.shape, " "), table.concat(shape, " "))
    check.same(values(y), table.concat(elements, " "))
    local z = x:clone()
    z[index] = -1
    check.same(values(z), expected(elements, function() return -1 end))
    z = x:clone()
    z[index] = y * 2 + 1
    check.same(values(z), expected(elements, function(v) return 2 * v + 1 end))
  end)
end

check.case("views share memory, and gradients go through", function()
  local z = x:clone()
  z[0]["1:"]:fill_(7)
  check.same(z:sum():item(), 276 - 60 + 56)
  z["..."]:zero_()
  check.same(z:sum():item(), 0)
  check.same(z[{}] == z, false)
  local w = dt.ones({3}, {requires_grad = true})
  local y = w * 1
  y[1] = 5
  y[dt.tensor({0})] = w[{{2, 3}}] * 3
  y:sum():backward()
  check.same(values(w.grad), table.concat(dt.tensor({0, 0, 4}, dt.float32):tolist(), " "))
end)

check.case("values that broadcast", function()
  local z = x:clone()
  z[{1, ":", "1:3"}] = dt.tensor({-1, -2})
  check.same(values(z[1]), "12 -1 -2 15 16 -1 -2 19 20 -1 -2 23")
  z[0] = dt.ones({1, 1, 4}, dt.int64) -- ones in front may be too many
  check.same(z[0]:sum():item(), 12)
  z[x:gt(20)] = dt.tensor(0)
  check.same(values(z[{1, 2}]), "20 0 0 0")
  z[x:gt(20)] = true
  check.same(values(z[{1, 2}]), "20 1 1 1")
end)

check.case("fields stay fields", function()
  local y = dt.ones({2}, {requires_grad = true})
  check.same(y.requires_grad, true)
  y.requires_grad = false
  check.same(y.requires_grad, false)
  check.same(y.shape[1], 2)
end)

check.case("wrong indices", function()
  local function get(t, index) return t[index] end
  local function put(t, index, value) t[index] = value end
  check.error("index 2 is out of bounds for dimension 0 with size 2", get, x, 2)
  check.error("index -4 is out of bounds for dimension 1 with size 3", get, x, {0, -4})
  check.error("index 9 is out of bounds for dimension 0 with size 2", put, x, 9, 1)
  check.error("too many indices for tensor of dimension 3", get, x, {0, 0, 0, 0})
  check.error("too many indices for tensor of dimension 3", get, x, {x:gt(3), 0})
  check.error("invalid index of a 0-dim tensor. Use x:item()", get, dt.tensor(1), 0)
  check.error("a single ellipsis", get, x, {"...", 0, "..."})
  check.error("step must be greater than zero", get, x, "::-1")
  check.error("step must be greater than zero", get, x, {{0, 2, 0}})
  check.error("slice indices must be integers or false", get, x, {{0, "2"}})
  check.error("a slice has at most three numbers", get, x, {{0, 1, 2, 3}})
  check.error("valid indices (got a number with a fraction)", get, x, 0.5)
  check.error("valid indices (got boolean)", get, x, true)
  check.error("valid indices (got function)", get, x, {print})
  for _, text in ipairs({"1:2:3:4", "a:", "1 2:", ":::"}) do
    check.error("'" .. text .. "' is no index", get, x, text)
  end
  check.error("'1' is no index", get, x, {"1"})
  check.error("a tensor has no field 'shpe'", get, x, "shpe")
  check.error("a tensor has no field 'shpe' to set", put, x, "shpe", 1)
  check.error("'value' must be a tensor or a number, not table", put, x, 0, {1, 2})
  check.error("'value' must be a tensor or a number, not nil", put, x, 0, nil)
  check.error("must match the size of tensor b (3)", put, x, {0, 0}, dt.ones({3}))
  check.error("a leaf Variable that requires grad", put, dt.ones({2}, {requires_grad = true}), 0, 1)
end)

x, cases = nil, nil
check.finish()
