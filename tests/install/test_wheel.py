"""`pip install .` into an environment of its own gives a package that works without the checkout.

It compiles everything in a build folder of its own, with the same flags as build/: where that one was
made through ccache this takes seconds, elsewhere minutes, and is left out."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytest.importorskip("scikit_build_core", reason="requirements/test.txt has it")

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import sys, dumbtorch as torch
net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
net(torch.ones(3, 2)).sum().backward()
print(torch.version.release, net[0].weight.grad.shape, torch.__file__)
"""


def build_settings() -> dict[str, str]:
    cache = (ROOT / "build" / "CMakeCache.txt").read_text()
    return dict(re.findall(r"^(\w+):\w+=(.*)$", cache, re.M))


def run(*command: object, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    built = build_settings()
    if not built.get("DT_CCACHE", "").startswith("/"):
        pytest.skip("build/ was made without ccache: everything would be compiled again")
    folder = tmp_path_factory.mktemp("wheel")
    settings = (f"DT_WERROR={built['DT_WERROR']}", "DT_CUDA=OFF")
    run(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"),
        *("--no-build-isolation", "--no-deps", "--wheel-dir", folder),
        *(f"--config-settings=cmake.define.{s}" for s in settings),
        ".",
        CC=built["CMAKE_C_COMPILER"],
        CXX=built["CMAKE_CXX_COMPILER"],
    )
    return next(folder.glob("dumbtorch-*-abi3-*.whl"))


def test_import_in_a_fresh_environment(wheel, tmp_path):
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path)
    python = tmp_path / "bin" / "python"
    run(
        *(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps"),
        *("--disable-pip-version-check", wheel),
    )
    # cffi, the one thing that the package needs, is lent by the environment of the tests.
    lent = sysconfig.get_path("purelib")
    out = run(python, "-c", PROGRAM, PYTHONPATH=lent).split()
    version, path = out[0], Path(out[-1])
    assert version in wheel.name
    assert path.is_relative_to(tmp_path)
