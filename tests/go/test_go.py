"""The Go package: its own tests (`go test`), what `go vet` and gofmt think of it."""

import shutil

import pytest
from building import BUILD, ROOT, run

LINKED = {"CGO_LDFLAGS": f"-L{BUILD} -Wl,-rpath,{BUILD}", "GOFLAGS": "-count=1", "GOPROXY": "off"}

pytestmark = pytest.mark.skipif(
    not shutil.which("go"), reason="Go is not installed (make test LANGUAGES=all installs it)"
)


@pytest.mark.parametrize("folder", ["wrappers/go", "tests/go", "examples/go"])
@pytest.mark.parametrize("command", ["go test ./...", "go vet ./...", "gofmt -l ."])
def test_go(folder, command):
    """Recorded calls, errors, callbacks, goroutines; pointers are checked as strictly as Go can."""
    printed = run(*command.split(), at=ROOT / folder, GODEBUG="cgocheck=2", **LINKED)
    assert command != "gofmt -l ." or not printed
