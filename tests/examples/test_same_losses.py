"""The example programs of all languages print the same losses for the same seed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from building import BUILD, ROOT
from go.test_go import LINKED

FASHION = Path(os.environ.get("DATA") or "/usr/share/datasets/fashion-mnist")
DEVICE = os.environ.get("DT_TEST_DEVICE", "cpu")


def programs(name: str) -> dict[str, list[str]]:
    """The commands that run an example, by language; only those that can run here."""
    found = {"python": [sys.executable, str(ROOT / "examples" / "python" / f"{name}.py")]}
    for language in ("c", "cpp"):
        found[language] = [str(BUILD / "examples" / language / name)]
    for lua in ("lua5.4", "luajit"):
        if shutil.which(lua) and (BUILD / lua / "dumbtorch.so").exists():
            found[lua] = [lua, str(ROOT / "examples" / "lua" / f"{name}.lua")]
    if shutil.which("go"):
        found["go"] = ["env", "-C", str(ROOT / "examples" / "go"), "go", "run", f"./{name}"]
    if shutil.which("gfortran"):
        source = ROOT / "examples" / "fortran" / f"{name}.f90"
        found["fortran"] = [sys.executable, str(ROOT / "tests/fortran_program.py"), str(source)]
    return found


def output(language: str, command: list[str], *arguments: object) -> str:
    environment = os.environ | {"LUA_CPATH": f"{BUILD}/{language}/?.so;;"} | LINKED
    result = subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, env=environment
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("language", programs("xor"))
def test_xor(language):
    printed = output(language, programs("xor")[language])
    assert printed == output("c", programs("xor")["c"])
    assert "1 xor 0 = 1.0" in printed and "1 xor 1 = 0.0" in printed
    losses = [float(line.split()[-1]) for line in printed.splitlines() if "loss" in line]
    assert losses[0] > 0.1 and losses == sorted(losses, reverse=True)  # one sees it fall


needs_images = pytest.mark.skipif(
    not FASHION.is_dir(), reason="dataset-fashion-mnist is not installed"
)


def assert_learned(printed: str) -> None:
    *steps, last = printed.splitlines()
    losses = [float(line.split()[-1]) for line in steps]
    assert losses[-1] < 0.7 * losses[0]
    assert float(re.fullmatch(r"test accuracy (\d+\.\d\d) %", last)[1]) > 40


@needs_images
@pytest.mark.parametrize("language", programs("train_cnn"))
def test_train_cnn(language):
    printed = output(language, programs("train_cnn")[language], FASHION, 40)
    assert printed == output("c", programs("train_cnn")["c"], FASHION, 40)
    assert_learned(printed)


@needs_images
@pytest.mark.skipif(DEVICE == "cpu", reason="DT_TEST_DEVICE=cuda runs these")
@pytest.mark.parametrize("language", programs("train_cnn"))
def test_train_cnn_on_device(language):
    """The first loss is the CPU's; later ones differ from it as sums in another order do, but not
    from language to language."""
    command = programs("train_cnn")[language]
    printed = output(language, command, FASHION, 40, DEVICE)
    assert printed == output("c", programs("train_cnn")["c"], FASHION, 40, DEVICE)
    assert printed.splitlines()[0] == output(language, command, FASHION, 1).splitlines()[0]
    assert_learned(printed)
