"""The command line: print all outputs, or check that they are up to date."""

from __future__ import annotations

import argparse
import pathlib
import sys

from . import (
    abi,
    c,
    calls,
    check,
    conformance,
    core_ops,
    cpp,
    dtypes,
    header,
    kernels,
    lua,
    misuse,
    modules,
    optimizer_classes,
    optimizers,
    python,
    python_layers,
    python_native,
    python_stubs,
    reference,
    schema,
    shim,
)
from .model import SchemaError
from .text import GENERATED

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Each generator returns {path from the repository's root: text}.
GENERATORS = (
    dtypes.generate,
    kernels.generate,
    calls.generate,
    core_ops.generate,
    modules.generate,
    optimizers.generate,
    optimizer_classes.generate,
    header.generate,
    abi.generate,
    shim.generate,
    misuse.generate,
    reference.generate,
    python_native.generate,
    python.generate,
    python_layers.generate,
    python_stubs.generate,
    c.generate,
    cpp.generate,
    lua.generate,
    conformance.generate,
)


def outputs(model) -> dict[str, str]:
    files: dict[str, str] = {}
    for generate in GENERATORS:
        for path, text in generate(model).items():
            if path in files:
                raise SchemaError(f"two generators print {path}")
            if GENERATED not in text.partition("\n")[0]:
                raise SchemaError(f"{path} does not say in its first line that it is generated")
            files[path] = text
    return files


def stale(files: dict[str, str]) -> list[str]:
    """Paths whose content on disk differs."""
    return [
        path
        for path, text in files.items()
        if not (ROOT / path).exists() or (ROOT / path).read_text() != text
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="capi/generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a committed file is stale")
    arguments = parser.parse_args()
    try:
        model = schema.load(ROOT / "capi" / "schema")
        check.check(model)
        files = outputs(model)
    except SchemaError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    changed = stale(files)
    if arguments.check:
        for path in changed:
            print(f"stale: {path} (run python3 capi/generate)", file=sys.stderr)
        return 1 if changed else 0
    for path in changed:
        # Only what changed is written: an unchanged file rebuilds nothing.
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(files[path])
        print(f"wrote {path}")
    return 0
