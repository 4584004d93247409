"""The schema of the C API, as capi/generate reads it."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "capi"))
from generate import schema  # noqa: E402
from generate.model import Argument, Function  # noqa: E402

SCHEMA = schema.load(ROOT / "capi" / "schema")

__all__ = ["ROOT", "SCHEMA", "Argument", "Function"]
