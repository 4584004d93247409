"""Reads the rows of element types and prints kernels/dtype.def, the table that core, the kernels and
the wrappers know them from."""

from __future__ import annotations

from .model import DType, Schema, SchemaError
from .text import GENERATED

_CATEGORIES = ("bool", "integer", "floating")
_KEYS = ("c", "bytes", "category", "compute", "torch", "typeid", "c10", "safetensors", "dlpack")


def parse(schema: Schema, name: str, row: dict) -> None:
    """A row of [dtype] stands beside the value of the public enum with its name."""
    if set(row) - {"code"} != set(_KEYS):
        raise SchemaError(f"the keys are {', '.join(_KEYS)} and, for Python, code")
    if row["category"] not in _CATEGORIES:
        raise SchemaError(f"category '{row['category']}' is not {', '.join(_CATEGORIES)}")
    values = schema.enums["dtype"].values
    number = len(schema.dtypes) + 1
    if number > len(values) or (values[number - 1].name, values[number - 1].number) != (
        name,
        number,
    ):
        raise SchemaError("[enum.dtype.values] has no such value in this place")
    schema.dtypes[name] = DType(name=name, code=row.get("code", ""), **{k: row[k] for k in _KEYS})


def check(schema: Schema) -> None:
    for value in schema.enums["dtype"].values:
        if value.name not in schema.dtypes:
            raise SchemaError(f"[dtype] lacks {value.name}, a value of [enum.dtype]")
    for t in schema.dtypes.values():
        if t.compute not in schema.dtypes or schema.dtypes[t.compute].compute != t.compute:
            raise SchemaError(f"[dtype] {t.name}: no arithmetic is done in {t.compute}")


def generate(schema: Schema) -> dict[str, str]:
    return {"kernels/dtype.def": _INTRO + "".join(_row(t) for t in schema.dtypes.values())}


_INTRO = f"""\
/* {GENERATED}
 * Element types, one row each, in the order of the public enum `dt_dtype` (1, 2, 3, ...).
 * DT_DTYPE_ROW(NAME, name, C++ type, bytes, category, compute, torch, typeid, c10, safetensors, dlpack)
 *   category  BOOL < INTEGER < FLOATING: PyTorch's promotion ranks
 *   compute   the type arithmetic is done in, sums included: narrow types are widened tile by tile
 *   torch, typeid, c10   the words that PyTorch's sentences use
 *   dlpack    0 int, 1 unsigned, 2 float, 4 bfloat, 6 bool (dlpack.h) */
"""


def _row(t: DType) -> str:
    words = ", ".join(f'"{word}"' for word in (t.torch, t.typeid, t.c10, t.safetensors))
    names = f"{t.name.upper()}, {t.name}, {t.c}, {t.bytes}"
    return (
        f"DT_DTYPE_ROW({names}, {t.category.upper()}, {t.compute.upper()}, {words}, {t.dlpack})\n"
    )
