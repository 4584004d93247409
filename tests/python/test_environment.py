"""Environment variables: what they set, and that a wrong value is an error, not ignored."""

import os
import shutil
import subprocess
import sys

import pytest
from building import BUILD, ROOT, needs

PROGRAM = """
import dumbtorch as dt
for _ in range(2):
    try:
        print((dt.ones(3) + 1).sum().item(), dt.get_num_threads())
    except ValueError as error:
        print(error)
"""


def run(**variables):
    environment = {**os.environ, **variables}
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout.splitlines()


@pytest.mark.parametrize("given", ["1", "3", " 2"])
def test_number_of_threads(given):
    assert run(DT_NUM_THREADS=given) == [f"6.0 {int(given)}"] * 2


def test_no_number_of_threads():
    assert run(DT_NUM_THREADS="") == run(DT_NUM_THREADS=str(len(os.sched_getaffinity(0))))


@pytest.mark.parametrize("given", ["abc", "0", "-2", "2x", "1.5"])
def test_wrong_number_of_threads(given):
    """Every call says it, not only the first one."""
    first, second = run(DT_NUM_THREADS=given)
    assert f"DT_NUM_THREADS must be a whole number from 1 on, got '{given}'" in first
    assert first == second


def test_wrong_instruction_set():
    first, second = run(DT_CPU_ISA="v9")
    assert "DT_CPU_ISA must be v2, v3, v4 or v4-no-amx, got 'v9'" in first and first == second


def test_missing_cuda_plugin():
    """The sentence says what to do."""
    program = "import dumbtorch as dt; print(dt.cuda.why_unavailable())"
    said = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "DT_CUDA_PLUGIN": "/no/such/plugin.so"},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert "/no/such/plugin.so" in said and "make build CUDA=1" in said


@needs("cc")
def test_where_the_cuda_plugin_is_looked_for(tmp_path):
    """Beside the library, and then where the loader looks; a plugin that is there but broken is said too.
    On a machine without a driver a plugin would be of no use, and only that is said."""
    shutil.copy(BUILD / "libdumbtorch.so", tmp_path)
    (tmp_path / "libdumbtorch_cuda.so").write_text("no library")
    program = """
import sys
from pathlib import Path
from generic import Library
print(Library(sys.argv[1], Path(sys.argv[2])).cuda_reason())
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tests" / "bindings")}
    environment.pop("DT_CUDA_PLUGIN", None)
    description = ROOT / "share" / "dumbtorch" / "dumbtorch.json"
    driver = tmp_path / "driver" / "libcuda.so.1"
    driver.parent.mkdir()

    def reason() -> str:
        return subprocess.run(
            [sys.executable, "-c", program, tmp_path / "libdumbtorch.so", description],
            env=environment | {"LD_LIBRARY_PATH": str(driver.parent)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    driver.write_text("no library")
    assert reason() == (
        "no NVIDIA driver was found on this machine (libcuda.so.1), and CUDA needs one\n"
    )
    subprocess.run(["cc", "-shared", "-x", "c", os.devnull, "-o", driver], check=True)
    said = reason()
    assert f"{tmp_path}/libdumbtorch_cuda.so: file too short; libdumbtorch_cuda.so: " in said
    assert "make build CUDA=1" in said and "driver" not in said
