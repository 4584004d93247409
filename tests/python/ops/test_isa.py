"""The rows under each instruction set, in a process of its own: values and first gradients against
PyTorch, one layout per row. (The other tests of this folder run the best set that there
is.)"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

RUNNER = """
import sys
sys.path.insert(0, sys.argv[1])
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
    """The layouts and dtypes take turns from row to row, so that each op sees several."""
    from harness import as_list, assert_close, derivatives, dumbtorch, tensors, torch
    from layouts import LAYOUTS, applies

    layout = LAYOUTS[number % len(LAYOUTS)]
    if not row.layouts or not any(applies(layout, i.sizes) for i in row.inputs):
        layout = "contiguous"
    floats = [d for d in row.dtypes if d.startswith("float")]
    others = [d for d in row.dtypes if d not in floats]
    for dtype in floats + others[number % 3 : number % 3 + 1]:
        results = []
        for library in (dumbtorch, torch):
            _, arguments = tensors(library, row, dtype, layout, grad=False)
            results.append(as_list(row.call(library, *arguments)))
        for y, expected in zip(*results, strict=True):
            assert_close(y, expected, row, f"{dtype}, {layout}")
    if not row.orders or "float64" not in floats:
        return
    ours, theirs = (derivatives(t, row, "float64", layout, 1) for t in (dumbtorch, torch))
    for g, expected in zip(*(sum(d, []) for d in (ours, theirs)), strict=False):
        if g is not None and expected is not None:
            assert_close(g, expected, row, f"{layout}, gradient")


def supported(isa: str) -> bool:
    flags = Path("/proc/cpuinfo").read_text()
    return {"v2": " sse4_2", "v3": " avx2"}[isa] in flags


@pytest.mark.parametrize("isa", ["v2", "v3"])
def test_rows(isa):
    if not supported(isa):
        pytest.skip(f"this processor has no x86-64-{isa}")
    done = subprocess.run(
        [
            sys.executable,
            "-X",
            "faulthandler",
            "-W",
            "ignore",
            "-c",
            RUNNER,
            str(Path(__file__).parent),
        ],
        env=os.environ | {"DT_CPU_ISA": isa},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) > 500
