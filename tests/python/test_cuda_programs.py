"""What random programs have found on a GPU alone, reduced; tests/python/programs has the others."""

import dumbtorch as dt
import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

from programs.compare import Settings, compare  # noqa: E402

pytestmark = pytest.mark.skipif(
    not dt.cuda.is_available(), reason=f"CUDA: {dt.cuda.why_unavailable()}"
)

# The gradient of the values does not read them, so that they may be written before; those of others do.
WRITTEN_VALUES = """
x1, x2 = t.ones(1, 1, 2, 2, dtype=t.{0}).requires_grad_({1}), t.ones(1, 1, 2, 2, dtype=t.{0})
x3 = t.ones(1, 1, 2, 2, dtype=t.{0}, requires_grad=True)
x4 = t.nn.functional.scaled_dot_product_attention(x1, x2, x3)
with t.no_grad():
    x3.mul_(2)
x5 = t.autograd.grad(x4.sum(), [{2}])
"""
# A bad index was looked at before the refusal, and reported after the statement.
LEAF = """
x1 = t.zeros(4, {0}).requires_grad_()
x2 = x1.index_reduce_(1, t.tensor([2, 2]), t.ones(4, 2), "amax", include_self=False)
x3 = x1.scatter_reduce_(1, t.full((4, 2), 2), t.ones(4, 2), "amax", include_self=False)
"""
FOUND = {
    "values of attention in float64": WRITTEN_VALUES.format("float64", False, "x3"),
    "values of attention in float64, beside a query": WRITTEN_VALUES.format("float64", True, "x3"),
    "what the query's gradient reads in float64": WRITTEN_VALUES.format("float64", True, "x1"),
    "values of attention in float32": WRITTEN_VALUES.format("float32", False, "x3"),
    "what is refused has looked at no index": LEAF.format(2),
    "what is refused has looked at no index of nothing": LEAF.format("0, 3").replace(
        "(4, 2", "(4, 2, 3"
    ),
}


@pytest.mark.parametrize("program", [pytest.param(p, id=name) for name, p in FOUND.items()])
def test_found(program):
    assert compare(program, Settings(device="cuda", errors="type")) is None
