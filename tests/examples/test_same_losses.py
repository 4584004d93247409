"""The example programs of all languages print the same losses for the same seed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DT_BUILD_DIR", ROOT / "build"))
FASHION = Path("/usr/share/datasets/fashion-mnist")


def programs(name: str) -> dict[str, list[str]]:
    """The commands that run an example, by language; only those that can run here."""
    found = {"python": [sys.executable, str(ROOT / "examples" / "python" / f"{name}.py")]}
    for language in ("c", "cpp"):
        found[language] = [str(BUILD / "examples" / language / name)]
    for lua in ("lua5.4", "luajit"):
        if shutil.which(lua) and (BUILD / lua / "dumbtorch.so").exists():
            found[lua] = [lua, str(ROOT / "examples" / "lua" / f"{name}.lua")]
    return found


def output(language: str, command: list[str], *arguments: object) -> str:
    environment = os.environ | {"LUA_CPATH": f"{BUILD}/{language}/?.so;;"}
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


@pytest.mark.skipif(not FASHION.is_dir(), reason="dataset-fashion-mnist is not installed")
@pytest.mark.parametrize("language", programs("train_cnn"))
def test_train_cnn(language):
    printed = output(language, programs("train_cnn")[language], FASHION, 40)
    assert printed == output("c", programs("train_cnn")["c"], FASHION, 40)
    losses = [float(line.split()[-1]) for line in printed.splitlines()]
    assert losses[-1] < 0.7 * losses[0]
