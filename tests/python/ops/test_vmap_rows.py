"""vmap of every row: what PyTorch gives for each entry, with its gradient, whichever arguments have entries."""

from __future__ import annotations

import numpy as np
import pytest
from by_op import by_op
from harness import as_list, assert_close, drawn, dumbtorch, needs_torch, scalar_of, torch
from rows import ROWS

pytestmark = needs_torch
SIZE = 3
DRAWN = ("rrelu", "gumbel_softmax")  # which vmap refuses
# PyTorch's gradients are wrong where a target holds the blank, or end in an error of its own.
WITHOUT_GRADIENT = ("ctc_loss", "linalg_cond", "linalg_cond_named")


def stacked(row, dtype: str) -> list[np.ndarray]:
    """For each argument its entries."""
    parts = [drawn(f"{row.id} of entry {i}", row.inputs, dtype) for i in range(SIZE)]
    return [np.stack(entries) for entries in zip(*parts, strict=True)]


def chosen(row) -> list[tuple]:
    """Which arguments have entries: all, the first, all others."""
    count = len(row.inputs)
    ways = [(True,) * count, (True, *(False,) * (count - 1)), (False, *(True,) * (count - 1))]
    return sorted({way for way in ways if any(way)})


def leaves(library, row, arrays, way, dtype: str) -> list:
    made = []
    for i, array, has_entries in zip(row.inputs, arrays, way, strict=True):
        x = library.tensor(array if has_entries else array[0])
        x = x.to(getattr(library, dtype)) if i.kind in ("value", "fixed") else x
        is_differentiated = (
            i.kind == "value"
            and min(row.orders, row.torch_orders) > 0
            and row.differentiable
            and row.op not in WITHOUT_GRADIENT
        )
        made.append(x.requires_grad_() if is_differentiated and x.is_floating_point() else x)
    return made


def of_each(library, row, arguments, way) -> list:
    """Each entry has memory of its own, at whose start storage offsets begin."""

    def entry(i):
        return [x[i].clone() if w else x for x, w in zip(arguments, way, strict=True)]

    rows = [as_list(row.call(library, *entry(i))) for i in range(SIZE)]
    return [torch.stack(part) for part in zip(*rows, strict=True)]


def gradients(library, outputs, inputs) -> list:
    inputs = [x for x in inputs if x.requires_grad]
    total = scalar_of(library, outputs, 1) if inputs else None
    return [] if total is None else library.autograd.grad(total, inputs, allow_unused=True)


def check(row, dtype: str, way: tuple) -> None:
    arrays = stacked(row, dtype)
    ours, theirs = (leaves(t, row, arrays, way, dtype) for t in (dumbtorch, torch))
    try:
        expected = of_each(torch, row, theirs, way)
    except RuntimeError:
        pytest.skip("of other sizes for each entry, or refused")
    in_dims = tuple(0 if w else None for w in way)
    found = as_list(dumbtorch.vmap(lambda *a: row.call(dumbtorch, *a), in_dims)(*ours))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert_close(a, b, row, f"{dtype}, {way}")
    pairs = zip(gradients(dumbtorch, found, ours), gradients(torch, expected, theirs), strict=True)
    for a, b in pairs:
        if a is not None and b is not None:
            assert_close(a, b, row, f"{dtype}, {way}, gradient")


def has_elements(row) -> bool:
    return bool(row.inputs) and 0 not in {n for i in row.inputs for n in i.sizes}


@by_op([r for r in ROWS if has_elements(r) and r.op not in DRAWN])
def test_vmap(row):
    for way in chosen(row):
        check(row, row.dtypes[0], way)
