"""Errors that a rule for a documented one might hide: here they are raised where the rule does not say so."""

import dumbtorch as dt
import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

from programs.compare import compare  # noqa: E402

REFUSED = {
    "local_response_norm: \"avg_pool2d\" not implemented for 'Long'": (
        NotImplementedError,
        "x1 = t.ones(1, 2, 2, 2)\nx2 = t.nn.functional.local_response_norm(x1, 2)",
    ),
    "conv1d: expected scalar type Double but found Float": (
        RuntimeError,
        "x1 = t.ones(1, 1, 2)\nx2 = t.conv1d(x1, x1)",
    ),
    "scaled_dot_product_attention: Expected size for first two dimensions of batch2": (
        RuntimeError,
        "x1 = t.ones(1, 2, 2, 1)\nx2 = t.nn.functional.scaled_dot_product_attention(x1, x1, x1)",
    ),
    "ctc_loss: Target 1 is out of bounds.": (
        IndexError,
        "x1, x2 = t.zeros(3, 1, 2), t.tensor([[1]])\nx3 = t.ctc_loss(x1, x2, t.tensor([3]), t.tensor([1]))",
    ),
    "where: value cannot be converted to type at::Half without overflow": (
        RuntimeError,
        "x1 = t.ones(2, dtype=t.float16)\nx2 = t.where(x1 > 0, x1, 6e4)",
    ),
    "fill_: value cannot be converted to type at::Half without overflow": (
        RuntimeError,
        "x1 = t.ones(1, dtype=t.float16)\nx1.fill_(6e4)",
    ),
    "conv_transpose2d: output padding must be smaller than either stride or dilation": (
        RuntimeError,
        "x1, x2 = t.ones(1, 1, 4, 4), t.ones(1, 1, 2, 2)\nx3 = t.conv_transpose2d(x1, x2)",
    ),
    "histogram: \"histogramdd\" not implemented for 'Half'": (
        NotImplementedError,
        "x1 = t.ones(3)\nx2, x3 = x1.histogram(2)",
    ),
    "index_add: index 1 is out of bounds for dimension 0 with size 2": (
        IndexError,
        "x1, x2 = t.zeros(2), t.tensor([1])\nx3 = x1.index_add(0, x2, t.ones(1))",
    ),
    "cummax: Dimension out of range (expected to be in range of [-2, 1], but got 0)": (
        IndexError,
        "x1 = t.ones(2, 3)\nx2, x3 = x1.cummax(0)",
    ),
    "conv_transpose2d: Given input size per channel: (4 x 4). Output size is too small": (
        RuntimeError,
        "x1, x2 = t.ones(1, 1, 4, 4), t.ones(1, 1, 2, 2)\nx3 = t.conv_transpose2d(x1, x2)",
    ),
    "inner: \"dot\" not implemented for 'Bool'": (
        NotImplementedError,
        "x1, x2 = t.ones(3), t.ones(3)\nx3 = x1.inner(x2)",
    ),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_is_refused_of_nothing_is_not_refused_of_something(sentence, monkeypatch):
    kind, program = REFUSED[sentence]
    name = sentence.partition(":")[0]
    module = dt.Tensor if f".{name}" in program and f"t.{name}" not in program else dt
    if f"functional.{name}" in program:
        module = dt.nn.functional
    assert compare(program) is None

    def refuse(*given):
        raise kind(sentence)

    monkeypatch.setattr(module, name, refuse)
    assert compare(program).aspect == "raised"
