"""The Go package: its own tests (`go test`), what `go vet` and gofmt think of it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DT_BUILD_DIR", ROOT / "build"))
MODULES = ["wrappers/go", "tests/go", "examples/go"]

pytestmark = pytest.mark.skipif(
    not shutil.which("go"), reason="Go is not installed (make test LANGUAGES=all installs it)"
)


def run(folder: str, *command: str) -> str:
    environment = os.environ | {
        "CGO_LDFLAGS": f"-L{BUILD} -Wl,-rpath,{BUILD}",
        "GOFLAGS": "-count=1",
        "GOPROXY": "off",
    }
    result = subprocess.run(
        command, cwd=ROOT / folder, env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_package():
    """Recorded calls, errors, callbacks, goroutines; pointers are checked as strictly as Go can."""
    run("tests/go", "env", "GODEBUG=cgocheck=2", "go", "test", "./...")


@pytest.mark.parametrize("folder", MODULES)
def test_vet(folder):
    run(folder, "go", "vet", "./...")


@pytest.mark.parametrize("folder", MODULES)
def test_format(folder):
    assert run(folder, "gofmt", "-l", ".") == ""
