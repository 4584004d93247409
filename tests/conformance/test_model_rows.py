"""Models of the core as C, C++, Lua, Go and Fortran make them, against the architectures in PyTorch's functions. The
programs are those of test_layers.py: they are printed from the rows too."""

import shutil

import pytest
from conformance.test_layers import NEEDS_LUA, PROGRAMS, lua, numbers, run_lua
from dumbtorch import models
from layer_rows import LAYERS
from model_rows import MODELS

torch = pytest.importorskip("torch")
files = pytest.importorskip("safetensors.torch")
nets = pytest.importorskip("architectures")

ROWS = dict(enumerate(MODELS, len(LAYERS)))


def weights_of(row) -> dict[str, torch.Tensor]:
    """Numbers for each name of the state dict; a variance is positive."""
    name, args, options, _, _ = row
    state = {}
    for key, value in getattr(models, name)(*args, **options).state_dict().items():
        x = (
            numbers(*value.shape)
            / max(1, value.numel() // max(1, len(value.shape) and value.shape[0])) ** 0.5
        )
        state[key] = x.square() + 0.5 if key.endswith("var") else x
        if key.endswith("num_batches_tracked"):
            state[key] = torch.tensor(0)
    return state


def input_of(row) -> torch.Tensor:
    size = row[3]
    tokens = torch.arange(torch.Size(size).numel()) * 7 % 11
    return numbers(*size) if len(size) > 2 else tokens.reshape(size)


def expected(row, state) -> torch.Tensor:
    formula, *settings = row[4]
    return getattr(nets, formula)(state, input_of(row), *settings)


def check(row, found) -> None:
    wanted = expected(row, weights_of(row))
    wanted = wanted[0] if isinstance(wanted, tuple) else wanted
    assert wanted.std() > 1e-3
    torch.testing.assert_close(
        found, wanted, rtol=1e-4, atol=1e-5 * wanted.abs().max().item(), msg=row[0]
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Weights and inputs of each row."""
    folder = tmp_path_factory.mktemp("models")
    for k, row in ROWS.items():
        files.save_file(weights_of(row), folder / f"{k}.state")
        torch.save({"1": input_of(row)}, folder / f"{k}.in")
    return folder


@pytest.mark.parametrize("compiler", PROGRAMS)
def test_models_of_compiled_languages(compiler, folder):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    PROGRAMS[compiler](folder, "models")
    for k, row in ROWS.items():
        output = folder / f"{k}.out"
        check(row, torch.load(output)["1"])
        output.unlink()


LUA_PROGRAM = """
local dt = require("dumbtorch")
local model = dt.models.{model}
model:load("state.safetensors")
model:train(false)
model = model:clone()  -- what a copy computes is what the model does
local _, inputs = dt.load_safetensors("inputs.safetensors")
dt.save_safetensors("found.safetensors", {{"y"}}, {{model:forward_outputs(inputs)[1]:detach()}})
"""


@NEEDS_LUA
@pytest.mark.parametrize("row", MODELS, ids=[row[0] for row in MODELS])
def test_models_of_lua(row, tmp_path):
    name, args, options, _, _ = row
    files.save_file(weights_of(row), tmp_path / "state.safetensors")
    files.save_file({"x": input_of(row)}, tmp_path / "inputs.safetensors")
    made = f"{name}({', '.join([*map(lua, args), lua(options)])})"
    run_lua(LUA_PROGRAM.format(model=made), tmp_path)
    check(row, files.load_file(tmp_path / "found.safetensors")["y"])
