"""The Go package: its own tests (`go test`), what `go vet` and gofmt think of it."""

import zlib

import pytest
from building import FAKE_DEVICES, LIBRARY, ROOT, needs, run

# Go compiles again what has changed in a package's own folder: of the table it has to be told.
TABLE = zlib.crc32(b"".join(p.read_bytes() for p in sorted((ROOT / "wrappers/table").iterdir())))
LINKED = {
    "CGO_LDFLAGS": LIBRARY,
    "CGO_CFLAGS": f"-O2 -DTABLE={TABLE}",
    "GOFLAGS": "-count=1",
    "GOPROXY": "off",
}

pytestmark = needs("go")


@pytest.mark.parametrize("folder", ["wrappers/go", "tests/go", "examples/go"])
@pytest.mark.parametrize("command", ["go test ./...", "go vet ./...", "gofmt -l ."])
def test_go(folder, command):
    """Recorded calls, errors, callbacks, goroutines; pointers are checked as strictly as Go can."""
    strictly = {"GODEBUG": "cgocheck=2"} | FAKE_DEVICES | LINKED
    printed = run(*command.split(), at=ROOT / folder, **strictly)
    assert command != "gofmt -l ." or not printed


def test_the_pages_program(tmp_path):
    page = (ROOT / "docs" / "go.md").read_text()
    (tmp_path / "main.go").write_text(page.split("```go\n")[1].split("```")[0])
    run(*"go mod init program".split(), at=tmp_path)
    there = f"dumbtorch={ROOT}/wrappers/go"
    run(*"go mod edit -require dumbtorch@v0.0.0 -replace".split(), there, at=tmp_path)
    printed = run(*"go run .".split(), at=tmp_path, **LINKED)
    assert printed.endswith("cannot be multiplied (2x3 and 2x3)\n")
    assert not run(*"gofmt -l .".split(), at=tmp_path)
