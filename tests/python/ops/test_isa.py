"""The rows under each older instruction set, in a process of its own: values, in-place twins and first
gradients against PyTorch, contiguous and in one other layout per row. (The other tests of this
folder run the best set that there is.)"""

import sys
from pathlib import Path

import processors
import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

RUNNER = """
import sys
sys.path[:0] = sys.argv[1:]
from test_isa import check_all_rows
check_all_rows()
"""


def check_all_rows():
    from rows import ROWS

    failed = []
    for number, row in enumerate(ROWS):
        try:
            check(row, number)
        except Exception as error:
            failed.append(f"{row.id}: {type(error).__name__}: {str(error)[:500]}")
    print(f"{len(ROWS)} rows")
    sys.exit("\n".join(failed) or 0)


def check(row, number):
    """Row after row another layout and another dtype beside the floats, so that each op sees several."""
    from layouts import LAYOUTS, applies

    layout = LAYOUTS[1 + number % (len(LAYOUTS) - 1)]
    views = row.layouts and any(applies(layout, i.sizes) for i in row.inputs)
    floats = [d for d in row.dtypes if d.startswith("float")]
    others = [d for d in row.dtypes if d not in floats]
    for x in ["contiguous", layout] if views else ["contiguous"]:
        for dtype in floats + others[number % 3 : number % 3 + 1]:
            check_values(row, dtype, x)
        if min(row.orders, row.torch_orders) and "float64" in floats:
            check_gradient(row, x)
    if row.inplace:
        check_in_place(row, row.dtypes[number % len(row.dtypes)])


def check_values(row, dtype, layout):
    from harness import as_list, assert_close, dumbtorch, tensors, torch

    results = []
    for library in (dumbtorch, torch):
        _, arguments = tensors(library, row, dtype, layout, grad=False)
        results.append(as_list(row.call(library, *arguments)))
    for y, expected in zip(*results, strict=True):
        assert_close(y, expected, row, f"{dtype}, {layout}")


def check_gradient(row, layout):
    from harness import derivatives, dumbtorch, torch
    from test_ops import assert_gradients_close

    ours, theirs = (derivatives(t, row, "float64", layout, 1) for t in (dumbtorch, torch))
    assert_gradients_close(ours, theirs, row, layout)


def check_in_place(row, dtype):
    from harness import assert_close, dumbtorch, torch
    from test_ops import write_in_place

    ours, theirs = (write_in_place(t, row, dtype) for t in (dumbtorch, torch))
    assert (ours is None) == (theirs is None), dtype
    if ours is not None:
        assert_close(ours, theirs, row, f"{dtype}, in place")


@processors.others("v2", "v3")
def test_rows(isa):
    printed = processors.run(isa, "-W", "ignore", "-c", RUNNER, *Path(__file__).parents[:2])
    assert int(printed.split()[0]) > 500


NARROW_SUMS = """
import dumbtorch as dt, numpy as np
for rows in (1, 2, 7, 8, 9, 16, 19):
    for columns in (1, 3, 5, 8, 9, 16, 24, 33, 48, 300):
        for dtype in (dt.float16, dt.bfloat16):
            values = np.random.default_rng(rows * columns).integers(-9, 9, (rows, columns))
            x = dt.tensor(values).to(dtype)
            for dim in (0, 1):
                got, want = x.sum(dim, dtype=dt.float32), values.sum(dim)
                assert (got.numpy() == want).all(), (rows, columns, dtype, dim)
                assert (x.sum(dim).double().numpy() == want.astype(np.float32)).all() or dtype is dt.bfloat16
"""


@pytest.mark.parametrize(
    "isa", [isa for isa in ("v2", "v3", "v4") if isa in processors.supported()]
)
def test_sums_of_narrow_floats(isa):
    processors.run(isa, "-c", NARROW_SUMS)
