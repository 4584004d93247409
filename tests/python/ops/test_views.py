"""Every row, also with an empty dimension and 0-dim: is the result a view where PyTorch's is one, and may it be written
where PyTorch's may?"""

from __future__ import annotations

from by_op import by_op
from harness import as_list, dumbtorch, needs_torch, tensors, torch
from rows import ROWS
from test_variants import REFUSALS
from variants import emptied, flattened, variants

pytestmark = needs_torch

WITH_VARIANTS = [*ROWS, *variants(ROWS, emptied), *variants(ROWS, flattened)]

# docs/differences.md: PyTorch shows a hidden tensor of another shape.
HIDDEN = {
    "linear", "nll_loss", "cross_entropy", "bilinear", "cdist", "chain_matmul", "dropout3d", "einsum", "inner",
    "instance_norm", "linalg_multi_dot", "lstm", "multi_head_attention_forward", "tensordot", "tensordot_dims",
    "unique", "unique_consecutive",
}  # fmt: skip


def check(row, dtype, grad, ask, of_a_tensor) -> None:
    """Both libraries answer alike, but where PyTorch's result is a view of a hidden tensor: there ours is what
    `of_a_tensor` says."""
    ours, theirs = outcome(row, dtype, grad, ask)
    if None in (ours, theirs):
        return
    if row.op in HIDDEN:
        # Not always: `einsum` of one operand is a view of it here too.
        of_tensors = [(False, t[1]) if isinstance(t, tuple) else of_a_tensor for t in theirs]
        theirs = [t if o == t else tensor for o, t, tensor in zip(ours, theirs, of_tensors)]
    assert ours == theirs, f"{dtype}, {grad}"


def outcome(row, dtype, grad, ask) -> list:
    """What ask(library, result, arguments) says of each result in either library; None for a refusal."""
    answers = []
    for library in (dumbtorch, torch):
        _, arguments = tensors(library, row, dtype, "contiguous", grad)
        try:
            with library.set_grad_enabled(grad):
                results = as_list(row.call(library, *arguments))
        except REFUSALS:
            answers.append(None)
        else:
            answers.append([ask(library, y, arguments) for y in results])
    return answers


def views(_library, y, arguments):
    """Whether it is a view, and whether it begins where an argument does."""
    assert y._is_view() == (y._base is not None)
    places = [a.data_ptr() for a in arguments if a.numel()]
    return y._is_view(), y.numel() > 0 and y.data_ptr() in places


@by_op(WITH_VARIANTS)
def test_views(row):
    for dtype in {row.dtypes[0], row.dtypes[-1]}:
        for grad in {False, bool(row.orders) and dtype.startswith("float")}:
            check(row, dtype, grad, views, (False, False))


def can_be_written(library, y, _arguments) -> bool:
    factor = library.tensor(2.0, dtype=y.dtype if y.dtype.is_floating_point else None)
    try:
        y.mul_(factor.requires_grad_())
    except RuntimeError:
        return False
    return y.requires_grad


@by_op(WITH_VARIANTS)
def test_writes_after_no_grad(row):
    """What was computed without recording is written with recording, unless it is a view."""
    check(row, row.dtypes[0], False, can_be_written, True)
