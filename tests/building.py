"""Where tests find what is built, and how they run the tools and programs of other languages."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("DT_BUILD_DIR", ROOT / "build"))

# Where a program finds the library, when it is linked and when it runs.
LIBRARY = f"-L{BUILD} -Wl,-rpath,{BUILD}"

# Two GPUs of the host's memory (tests/cuda/fake_devices.cpp).
FAKE_DEVICES = {"DT_CUDA_PLUGIN": str(BUILD / "tests" / "libdt_fake_devices.so")}


def needs(program: str) -> pytest.MarkDecorator:
    """The mark of tests that are left out, and counted, where a program is not installed."""
    reason = f"{program} is not installed (make test LANGUAGES=all installs it)"
    return pytest.mark.skipif(not shutil.which(program), reason=reason)


def run(*command: object, at: Path = ROOT, **variables: str) -> str:
    """What a command prints that must not fail."""
    words, env = list(map(str, command)), os.environ | variables
    result = subprocess.run(words, cwd=at, env=env, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout
