"""The layers and optimizers of the core, which C, C++ and Lua share, against PyTorch's: the same
constructor, state and input, run by a Lua program. (Python has classes of its own.) What each of the
other languages makes of a layer's arguments is asked by one program per language."""

import copy
import shutil
from pathlib import Path

import dumbtorch
import pytest
from building import BUILD, LIBRARY, ROOT, run
from fortran_program import program as fortran_program
from go.test_go import LINKED
from layer_rows import LAYERS, MANY_OUTPUTS, Layer, identity, make, results_of
from meanings import OPTIMIZERS as OPTIMIZER_MEANINGS
from meanings import class_of, layer_of
from optimizer_rows import SETTINGS

torch = pytest.importorskip("torch")
files = pytest.importorskip("safetensors.torch")

MODULE = BUILD / "lua5.4" / "dumbtorch.so"
USER_FLAGS = [
    *("-I.", "-Icapi/include", "-Iwrappers/c", "-Iwrappers/cpp"),
    *LIBRARY.split(),
    "-ldumbtorch",
]

NEEDS_LUA = pytest.mark.skipif(
    not shutil.which("lua5.4") or not MODULE.exists(), reason="the Lua module was not built"
)


def lua(value) -> str:
    """A Python argument as Lua writes it; absent is `false`."""
    if value is None or isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Layer):
        return f"dt.nn.{constructor(value)}"
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(map(lua, value)) + "}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {lua(v)}" for k, v in value.items()) + "}"
    return repr(value)


def constructor(row) -> str:
    name, args, kwargs, *_ = row
    return f"{name}({', '.join([*map(lua, args), *([lua(kwargs)] if kwargs else [])])})"


def run_lua(program: str, folder: Path) -> None:
    script = folder / "program.lua"
    script.write_text(program)
    run("lua5.4", script, at=folder, LUA_CPATH=f"{MODULE.parent}/?.so;;")


def numbers(*sizes: int) -> torch.Tensor:
    return torch.sin(torch.arange(1.0, torch.Size(sizes).numel() + 1) * 12.9898).reshape(sizes)


# In training mode, then in evaluation; the output, the gradients and the state of each are saved.
LAYER_PROGRAM = """
local dt = require("dumbtorch")
local layer = dt.nn.{layer}
layer:load("state.safetensors")
layer = layer:clone()  -- what a copy computes is what the layer does
local inputs = {{}}
local names, tensors = dt.load_safetensors("inputs.safetensors")
for i, name in ipairs(names) do inputs[tonumber(name)] = tensors[i] end
for _, mode in ipairs({{"train", "eval"}}) do
  layer:train(mode == "train")
  layer:zero_grad()
  local x = inputs[1]:clone()
  x.requires_grad = x.dtype == dt.float32
  local results
  if {many} then
    results = layer:forward_outputs({{x, table.unpack(inputs, 2)}})
  elseif #inputs > 2 then
    results = {{layer:forward_inputs({{x, table.unpack(inputs, 2)}})}}
  else
    results = {{layer(x, inputs[2])}}
  end
  local loss
  for _, y in ipairs(results) do loss = loss and loss + y:square():sum() or y:square():sum() end
  if loss.requires_grad then loss:backward() end
  local names, found = {{}}, {{}}
  for i, y in ipairs(results) do names[i], found[i] = "y" .. i, y:detach() end
  local function add(name, tensor)
    if tensor then names[#names + 1], found[#found + 1] = name, tensor end
  end
  add("x.grad", x.grad)
  local names_of, parameters = layer:named_parameters()
  for i, name in ipairs(names_of) do add(name .. ".grad", parameters[i].grad) end
  names_of, parameters = layer:state_dict()
  for i, name in ipairs(names_of) do add(name, parameters[i]:detach()) end
  dt.save_safetensors(mode .. ".safetensors", names, found)
end
"""


def expected(name, layer, inputs) -> dict[str, torch.Tensor]:
    layer.zero_grad()
    x = inputs[0].clone().requires_grad_(inputs[0].is_floating_point())
    results = results_of(name, layer, x, *inputs[1:])
    loss = sum(y.square().sum() for y in results)
    if loss.requires_grad:
        loss.backward()
    found = {f"y{i}": y.detach() for i, y in enumerate(results, start=1)} | {"x.grad": x.grad}
    found |= {f"{name}.grad": p.grad for name, p in layer.named_parameters()}
    found |= layer.state_dict()
    return {name: x for name, x in found.items() if x is not None}


def torch_layer(row):
    """PyTorch's layer of a row, with known parameters, and the inputs."""
    name, args, kwargs, inputs = row
    layer = layer_of(torch, name, args, kwargs)
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(numbers(*p.shape))
    return layer, [make(torch, i) for i in inputs]


@NEEDS_LUA
@pytest.mark.parametrize("row", LAYERS, ids=map(identity, LAYERS))
def test_layer(row, tmp_path):
    name = row[0]
    layer, inputs = torch_layer(row)
    files.save_file(layer.state_dict(), tmp_path / "state.safetensors")
    numbered = {str(i): x.clone() for i, x in enumerate(inputs, start=1)}
    files.save_file(numbered, tmp_path / "inputs.safetensors")
    run_lua(LAYER_PROGRAM.format(layer=constructor(row), many=lua(name in MANY_OUTPUTS)), tmp_path)
    for mode in ("train", "eval"):
        layer.train(mode == "train")
        got = files.load_file(tmp_path / f"{mode}.safetensors")
        torch.testing.assert_close(got, expected(name, layer, inputs), rtol=1e-4, atol=1e-5)


# ---- the programs that capi/generate prints from the rows: each makes all layers and keeps what they compute


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Parameters and inputs of each row."""
    folder = tmp_path_factory.mktemp("layers")
    for k, row in enumerate(LAYERS):
        layer, inputs = torch_layer(row)
        files.save_file(layer.state_dict(), folder / f"{k}.state")
        outputs = [y.detach() for y in results_of(row[0], layer, *inputs)]
        for end, tensors in (("in", inputs), ("like", outputs)):
            torch.save({str(i): x for i, x in enumerate(tensors, start=1)}, folder / f"{k}.{end}")
    return folder


def run_c(folder: Path, rows: str) -> None:
    run("cc", "-O0", f"tests/c/{rows}.c", *USER_FLAGS, "-lm", "-o", folder / "program")
    run(folder / "program", folder)


def run_cpp(folder: Path, rows: str) -> None:
    source = f"tests/cpp/{rows}.cpp"
    run("c++", "-O0", "-std=c++20", source, *USER_FLAGS, "-o", folder / "program")
    run(folder / "program", folder)


def run_fortran(folder: Path, rows: str) -> None:
    here = ROOT / "tests" / "fortran"
    run(fortran_program(here / "check.f90", here / f"{rows}.f90", own="-O0"), at=folder)


def run_go(folder: Path, rows: str) -> None:
    test = f"Test{rows.capitalize()}"
    run("go", "test", "-run", test, at=ROOT / "tests" / "go", DT_LAYERS=str(folder), **LINKED)


PROGRAMS = {"cc": run_c, "c++": run_cpp, "gfortran": run_fortran, "go": run_go}


@pytest.mark.parametrize("compiler", PROGRAMS)
def test_layers_of_compiled_languages(compiler, folder):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    PROGRAMS[compiler](folder, "layers")
    for k, row in enumerate(LAYERS):
        if None in row[2].values():
            continue  # not every language has a word for what is absent against its default
        layer, inputs = torch_layer(row)
        layer.load_state_dict(files.load_file(folder / f"{k}.state"))
        expected = results_of(row[0], layer, *inputs)
        output = folder / f"{k}.out"
        got = torch.load(output)
        output.unlink()
        torch.testing.assert_close(
            list(got.values()),
            [y.detach() for y in expected],
            rtol=1e-4,
            atol=1e-5,
            msg=identity(row),
        )


COPY_PROGRAM = """
local dt = require("dumbtorch")
local linear, norm = dt.nn.Linear(2, 2, {bias = false}), dt.nn.BatchNorm1d(2)
local net = dt.nn.Sequential(linear, norm, linear)
net:load("state.safetensors")
local x = dt.tensor({{1, 2}, {3, 5}}, {dtype = dt.float32})
net(x):square():sum():backward()
norm:requires_grad_(false)
norm:train(false)
local copy = net:clone()
local parameters = copy:parameters()
local found = {count = dt.tensor({#parameters}), no_grad = dt.tensor({parameters[1].grad and 1 or 0})}
parameters[1]:detach():fill_(3)
copy(x):square():sum():backward()
local function add(head, module)
  local names, tensors = module:state_dict()
  for i, name in ipairs(names) do found[head .. name] = tensors[i]:detach() end
end
add("net.", net)
add("copy.", copy)
found.grad, found.frozen = parameters[1].grad, dt.tensor({parameters[2].grad and 1 or 0})
local names, tensors = {}, {}
for name, tensor in pairs(found) do names[#names + 1], tensors[#tensors + 1] = name, tensor end
dt.save_safetensors("found.safetensors", names, tensors)
local holder = dt.module_new("Holder")
holder:register_buffer("product", dt.ones({2}, {requires_grad = true}) * 2)
local ok, sentence = pcall(holder.clone, holder)
assert(not ok and tostring(sentence):find("graph leaves", 1, true), sentence)
"""

SHARING_PROGRAM = """
local dt = require("dumbtorch")
local holder = dt.module_new("Holder")
local x = dt.arange(0, 6, 1, {dtype = dt.float32})
holder:register_buffer("end", x:narrow(0, 2, 4))
holder:register_buffer("all", x)
holder:register_buffer("bytes", x:view_dtype(dt.uint8))
holder:register_buffer("turned", x:view({2, 3}):t())
holder:register_buffer("same", dt.ones({1}):expand({3}))
local weights = dt.ones({3})
holder:register_parameter("first", weights:narrow(0, 0, 2))
holder:register_parameter("last", weights:narrow(0, 1, 2))
local copy = holder:clone()
local names, tensors = copy:state_dict()
local of = {}
for i, name in ipairs(names) do of[name] = tensors[i]:detach() end
of["end"]:fill_(9)
of.first:fill_(7)
local strides = {}
for _, name in ipairs({"turned", "same"}) do
  for _, stride in ipairs(of[name]:stride()) do strides[#strides + 1] = stride end
end
for i, name in ipairs(names) do tensors[i] = tensors[i]:detach():contiguous():clone() end
names[#names + 1], tensors[#tensors + 1] = "strides", dt.tensor(strides)
names[#names + 1], tensors[#tensors + 1] = "before", x
dt.save_safetensors("found.safetensors", names, tensors)
"""


@NEEDS_LUA
def test_a_copy_is_what_deepcopy_makes(tmp_path):
    """A module that is there twice is so in the copy; modes and frozen weights stay, gradients do not."""
    linear, norm = torch.nn.Linear(2, 2, bias=False), torch.nn.BatchNorm1d(2)
    net = torch.nn.Sequential(linear, norm, linear)
    state = {name: x.clone() for name, x in net.state_dict().items()}
    files.save_file(state, tmp_path / "state.safetensors")
    x = torch.tensor([[1.0, 2], [3, 5]])
    net(x).square().sum().backward()
    norm.requires_grad_(False).eval()
    twin = copy.deepcopy(net)
    parameters = list(twin.parameters())
    found = {"count": torch.tensor([len(parameters)]), "no_grad": torch.tensor([0])}
    assert parameters[0].grad is None
    with torch.no_grad():
        parameters[0].fill_(3)
    twin(x).square().sum().backward()
    found |= {f"net.{name}": x for name, x in net.state_dict().items()}
    found |= {f"copy.{name}": x for name, x in twin.state_dict().items()}
    found |= {"grad": parameters[0].grad, "frozen": torch.tensor([0])}
    assert parameters[1].grad is None
    run_lua(COPY_PROGRAM, tmp_path)
    got = files.load_file(tmp_path / "found.safetensors")
    torch.testing.assert_close(got, found, rtol=1e-4, atol=1e-5, check_dtype=False)


@NEEDS_LUA
def test_buffers_of_one_memory_share_it_in_a_copy(tmp_path):
    """Parameters do not: each is one by itself in PyTorch's deepcopy."""
    holder, x, weights = torch.nn.Module(), torch.arange(6.0), torch.ones(3)
    holder.register_buffer("end", x[2:])
    holder.register_buffer("all", x)
    holder.register_buffer("bytes", x.view(torch.uint8))
    holder.register_buffer("turned", x.view(2, 3).t())
    holder.register_buffer("same", torch.ones(1).expand(3))
    holder.first = torch.nn.Parameter(weights[:2])
    holder.last = torch.nn.Parameter(weights[1:])
    twin = copy.deepcopy(holder)
    twin.end.fill_(9)
    twin.first.data.fill_(7)
    found = twin.state_dict()
    found["strides"] = torch.tensor([*twin.turned.stride(), *twin.same.stride()])
    found["before"] = x
    run_lua(SHARING_PROGRAM, tmp_path)
    got = files.load_file(tmp_path / "found.safetensors")
    torch.testing.assert_close(got, dict(found), rtol=0, atol=0, check_dtype=False)


REFUSING_PROGRAM = """
local dt = require("dumbtorch")
local x, y, sizes, order = dt.ones({3, 2}), dt.ones({3, 1, 2}), dt.tensor({2, 1}), dt.tensor({1, 0})
local state, nn = dt.ones({1, 2, 3}), dt.nn
local function refused(words, layer, ...)
  local ok, sentence = pcall(layer.forward_outputs, layer, {...})
  assert(not ok and tostring(sentence):find(words, 1, true), sentence)
end
refused("both or not at all", nn.GRU(2, 3), x, sizes, order, false)
refused("Expected hidden size (1, 2, 3)", nn.GRU(2, 3), x, sizes, order, order, dt.ones({1, 2, 2}))
refused("input 5 is missing", nn.LSTM(2, 3), x, sizes, order, order, state)
refused("input 1 is missing", nn.LSTM(2, 3), x, false, order, order)
refused("input 2 is missing", nn.LSTM(2, 3), y, dt.ones({1, 1, 3}))
refused("takes 2 inputs, but 3 were given", nn.RNN(2, 3), x, sizes, order)
refused("out of bounds", nn.RNN(2, 3), x, sizes, dt.tensor({5, 0}), order, state)
refused("batch_sizes add up", nn.RNN(2, 3), dt.ones({2, 2}), sizes, order, order)
refused("Linear.forward takes 1 input", nn.TransformerEncoder(nn.Linear(2, 2), 1), y, dt.ones({3, 3}))
refused("takes 2 inputs", nn.TransformerEncoder(nn.TransformerDecoderLayer(2, 1), 1), y)
refused("index 0 is out of range", nn.TransformerEncoder(nn.TransformerEncoderLayer(2, 1), -1), y)
refused("takes 2 inputs, but 1 was", nn.TransformerDecoder(nn.TransformerDecoderLayer(2, 1), 1), y)
local transformer = nn.Transformer({d_model = 2, nhead = 1, dim_feedforward = 2})
refused("the batch number of src and tgt must be equal", transformer, y, dt.ones({3, 2, 2}))
refused("the feature number of src and tgt must be equal to d_model", transformer, y, dt.ones({3, 1, 4}))
refused("takes 6 inputs, but 7 were", nn.TransformerDecoder(nn.TransformerDecoderLayer(2, 1), 1), y, y, y, y, y, y, y)
"""


@NEEDS_LUA
def test_what_layers_refuse(tmp_path):
    run_lua(REFUSING_PROGRAM, tmp_path)


SEEDED_PROGRAM = """
local dt = require("dumbtorch")
dt.manual_seed(7)
dt.nn.{layer}:save("state.safetensors")
"""

DRAWN = (
    "Linear",
    "Conv2d",
    "Embedding",
    "BatchNorm2d",
    "LSTM",
    "Transformer",
    "TransformerDecoder",
    "MultiheadAttention",
)
SEEDED = [row for row in LAYERS if row[0] in DRAWN]


@NEEDS_LUA
@pytest.mark.parametrize("row", SEEDED, ids=map(identity, SEEDED))
def test_same_initial_values_as_python(row, tmp_path):
    name, args, kwargs, _ = row
    dumbtorch.manual_seed(7)
    wanted = layer_of(dumbtorch, name, args, kwargs).state_dict()
    run_lua(SEEDED_PROGRAM.format(layer=constructor(row)), tmp_path)
    got = files.load_file(tmp_path / "state.safetensors")
    assert got.keys() == wanted.keys()
    for key, x in wanted.items():
        assert got[key].tolist() == x.tolist(), key


OPTIMIZERS = [(name, {}) for name in SETTINGS] + list(SETTINGS.items())

OPTIMIZER_PROGRAM = """
local dt = require("dumbtorch")
local layer = dt.nn.Linear(4, 3)
layer:load("state.safetensors")
local _, inputs = dt.load_safetensors("inputs.safetensors")
local optimizer = dt.optim.{optimizer}(layer:parameters(), {settings})
local schedule = dt.optim.lr_scheduler.StepLR(optimizer, 2, {{gamma = 0.5}})
for step = 1, 6 do
  optimizer:zero_grad()
  layer(inputs[1]):square():sum():backward()
  dt.nn.utils.clip_grad_norm_(layer:parameters(), 5.0)
  optimizer:step()
  schedule:step()
end
layer:save("trained.safetensors")
"""


# PyTorch's pairs are two settings outside Python.
PAIRS = {
    "betas": ("beta1", "beta2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_size_min", "step_size_max"),
}


def without_pairs(settings):
    flat = {}
    for name, value in settings.items():
        flat |= dict(zip(PAIRS[name], value, strict=True)) if name in PAIRS else {name: value}
    return flat


@NEEDS_LUA
@pytest.mark.parametrize("name, settings", OPTIMIZERS, ids=map(str, OPTIMIZERS))
def test_optimizer(name, settings, tmp_path):
    settings = {"lr": 0.05} | settings
    layer = torch.nn.Linear(4, 3)
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(numbers(*p.shape))
    files.save_file(layer.state_dict(), tmp_path / "state.safetensors")
    rows = make(torch, "rows")
    files.save_file({"x": rows}, tmp_path / "inputs.safetensors")
    program = OPTIMIZER_PROGRAM.format(optimizer=name, settings=lua(without_pairs(settings)))
    run_lua(program, tmp_path)

    optimizer = class_of(torch, "optim", name)(layer.parameters(), **settings)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)
    for _ in range(6):
        optimizer.zero_grad()
        layer(rows).square().sum().backward()
        torch.nn.utils.clip_grad_norm_(layer.parameters(), 5.0)
        optimizer.step()
        schedule.step()
    got = files.load_file(tmp_path / "trained.safetensors")
    torch.testing.assert_close(got, dict(layer.state_dict()), rtol=1e-4, atol=1e-5)


def test_what_an_optimizer_means_goes_with_a_schedule(monkeypatch):
    """A schedule keeps the rate that it began with where the settings are."""
    monkeypatch.setitem(OPTIMIZER_MEANINGS, "Plain", lambda p, grad, state, lr: p.sub_(lr * grad))
    found = []
    for optimizer_of in (class_of(torch, "optim", "Plain"), torch.optim.SGD):
        p = torch.nn.Parameter(torch.ones(2))
        optimizer = optimizer_of([p], lr=0.5)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
        for _ in range(3):
            p.grad = torch.ones(2)
            optimizer.step()
            schedule.step()
        found.append(p.tolist())
    assert found[0] == found[1]
