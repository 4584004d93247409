"""The command line: print all outputs, or check that they are up to date."""

from __future__ import annotations

import argparse
import pathlib
import sys

from . import (
    abi,
    autocast,
    c,
    calls,
    check,
    conformance,
    core_ops,
    cpp,
    describe,
    dtypes,
    fortran,
    go,
    header,
    kernels,
    layer_programs,
    lua,
    misuse,
    modules,
    network_classes,
    optimizer_classes,
    optimizers,
    plan,
    python,
    python_layers,
    python_native,
    python_networks,
    python_stubs,
    reference,
    schedules,
    schema,
    shim,
    table,
)
from .model import Schema, SchemaError
from .text import GENERATED

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASED = ROOT / "capi" / "released.lock"

# Each generator returns {path from the repository's root: text}. What the library declares and computes
# comes from the schema; all that makes or takes its calls comes from the plan.
LIBRARY = (
    dtypes.generate,
    kernels.generate,
    calls.generate,
    core_ops.generate,
    autocast.generate,
    modules.generate,
    network_classes.generate,
    optimizers.generate,
    optimizer_classes.generate,
    schedules.generate,
    header.generate,
    abi.generate,
    reference.generate,
    python_layers.generate,
    python_networks.generate,
)
CALLS = (
    shim.generate,
    misuse.generate,
    python_native.generate,
    python.generate,
    python_stubs.generate,
    c.generate,
    cpp.generate,
    table.generate,
    lua.generate,
    go.generate,
    fortran.generate,
    describe.generate,
    conformance.generate,
    layer_programs.generate,
)


def outputs(model) -> dict[str, str]:
    lowered = plan.lower(model)
    files: dict[str, str] = {}
    for generated in (*(g(model) for g in LIBRARY), *(g(lowered) for g in CALLS)):
        for path, text in generated.items():
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


def load(folder: pathlib.Path, released: str, version: str) -> Schema:
    """The schema of a folder, which keeps what was released."""
    model = schema.load(folder)
    check.check(model)
    abi.check_released(model, released, version)
    return model


def main() -> int:
    parser = argparse.ArgumentParser(prog="capi/generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a committed file is stale")
    parser.add_argument("--release", action="store_true", help="promise what the ABI is")
    arguments = parser.parse_args()
    try:
        model = load(ROOT / "capi" / "schema", RELEASED.read_text(), header.version())
        if arguments.release:
            RELEASED.write_text(abi.release(model, header.version()))
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
