"""The Go package: its own tests (`go test`), what `go vet` and gofmt think of it."""

import shutil
import subprocess
from os import environ
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(environ.get("DT_BUILD_DIR", ROOT / "build"))
LINKED = {"CGO_LDFLAGS": f"-L{BUILD} -Wl,-rpath,{BUILD}", "GOFLAGS": "-count=1", "GOPROXY": "off"}

pytestmark = pytest.mark.skipif(
    not shutil.which("go"), reason="Go is not installed (make test LANGUAGES=all installs it)"
)


@pytest.mark.parametrize("folder", ["wrappers/go", "tests/go", "examples/go"])
@pytest.mark.parametrize("command", ["go test ./...", "go vet ./...", "gofmt -l ."])
def test_go(folder, command):
    """Recorded calls, errors, callbacks, goroutines; pointers are checked as strictly as Go can."""
    env = environ | LINKED | {"GODEBUG": "cgocheck=2"}
    run = subprocess.run(
        command.split(), cwd=ROOT / folder, env=env, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert command != "gofmt -l ." or not run.stdout
