"""python -m dumbtorch, and dumbtorch.as_torch: what imports torch gets dumbtorch."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys

assert sys.argv[1:] == ["--epochs", "2"] and __name__ == "__main__"
import neighbour
import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.data import DataLoader, TensorDataset

import dumbtorch
import dumbtorch.nn.functional

assert torch is dumbtorch and nn is dumbtorch.nn and F is dumbtorch.nn.functional is nn.functional
assert torch.optim is optim is dumbtorch.optim and issubclass(nn.BatchNorm1d, _BatchNorm)
assert nn.__name__ == nn.__spec__.name == "dumbtorch.nn" and not hasattr(F, "__path__")
for name in ("torch.nonsense", "torch.nn.nonsense", "torchnonsense"):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        assert repr(name) in str(error)
    else:
        raise AssertionError(name)
net = nn.Linear(2, 1)
for x, y in DataLoader(TensorDataset(torch.ones(4, 2), torch.zeros(4, 1)), batch_size=2):
    F.mse_loss(net(x), y).backward()
torch.save(net.state_dict(), sys.argv[0] + ".pt")
net.load_state_dict(torch.load(sys.argv[0] + ".pt"))
print("trained", torch.__name__)
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "neighbour.py").write_text("import torch, dumbtorch\nassert torch is dumbtorch\n")
    return tmp_path / "program.py"


def run(*arguments, cwd):
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "dumbtorch", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env)


def test_a_program(program, tmp_path_factory):
    done = run(program, "--epochs", "2", cwd=tmp_path_factory.mktemp("elsewhere"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "trained dumbtorch\n", "")


def test_a_module(program):
    done = run("-m", "program", "--epochs", "2", cwd=program.parent)
    assert (done.returncode, done.stdout, done.stderr) == (0, "trained dumbtorch\n", "")


def test_how_a_program_ends(tmp_path):
    (tmp_path / "program.py").write_text("import sys\nsys.exit(7)\n")
    assert run("program.py", cwd=tmp_path).returncode == 7
    assert "No such file" in run("nothing.py", cwd=tmp_path).stderr
    for given in ([], ["-m"], ["--help"]):
        done = run(*given, cwd=tmp_path)
        assert done.returncode == 1 and done.stderr.startswith("usage: python -m dumbtorch")


def test_it_comes_before_pytorch(tmp_path, torch):
    late = "import torch, dumbtorch.as_torch\ndumbtorch.as_torch.install()"
    twice = "import dumbtorch.as_torch as a\na.install()\na.install()\nimport torch\nprint(torch.__name__)"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for text, said in ((late, "PyTorch has been imported"), (twice, "dumbtorch")):
        done = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, cwd=tmp_path, env=env
        )
        assert said in done.stdout + done.stderr
