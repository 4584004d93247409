"""What a graph promises, for every row: a tensor that is written after an op looked at it is an error or does no harm;
`.grad` lies in memory as its tensor does; a gradient that PyTorch can differentiate again, so can we."""

from __future__ import annotations

from by_op import by_op
from harness import (
    as_list,
    assert_close,
    dumbtorch,
    needs_torch,
    tensors,
    to_numpy,
    torch,
)
from layouts import LAYOUTS, applies
from rows import ROWS
from variants import MANY, elements

pytestmark = needs_torch

DIFFERENTIABLE = [r for r in ROWS if r.orders and elements(r) <= MANY]

# What an op, or a row of it, keeps for its gradient and PyTorch does not, by the number of the input.
# docs/differences.md has them.
KEEPS_MORE = {
    ("i0", 1),  # one formula serves i1 too, whose result it keeps
    ("kron", 0),
    ("kron", 1),
    ("cdist", 0),
    ("cdist", 1),  # PyTorch keeps copies
    ("cross_entropy", 0),  # PyTorch keeps the logarithms, a copy
    ("binary_cross_entropy_with_logits", 2),  # PyTorch keeps a product with pos_weight
    ("conv1d_padding", 0),  # of an even window: PyTorch pads a copy
    # Queries, keys, the mask and, behind that, its result, as PyTorch's fast one; its plain one keeps copies.
    *(("scaled_dot_product_attention", i) for i in (0, 1, 3, 4)),
    ("scaled_dot_product_attention-2x0x4_2x6x4_2x6x3", 2),  # values of no queries
    ("scaled_dot_product_attention-2x5x4_2x0x4_2x0x3", 2),  # no values
    ("matmul", 1),  # of a vector with a batch: PyTorch copies the batch
}
# Ops, or rows, whose constant derivatives end in an error sooner than PyTorch's, which are zeros for one order more.
ENDS_SOONER = {
    "mse_loss-3x4_3x4_3x4",  # with weights it is made of pow
    "gaussian_nll_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "rrelu",
    "cdist",
    "pdist",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "grid_sample",
    "float_power",
    "nll_loss",
    "pow",
    "segment_reduce",
    "square",
}


def total(outputs):
    """The sum of all that can be differentiated, or None."""
    parts = [
        y.sum() for y in outputs if y is not None and y.dtype.is_floating_point and y.requires_grad
    ]
    return sum(parts[1:], parts[0]) if parts else None


def call(library, row, layout="contiguous"):
    """(leaves, what the op was given, its results)."""
    leaves, arguments = tensors(library, row, "float64", layout, grad=True)
    # Leaves cannot be written; what was made of them can.
    arguments = [x * 1 if x.requires_grad and x.is_leaf else x for x in arguments]
    return leaves, arguments, as_list(row.call(library, *arguments))


def write(library, x) -> bool:
    """Gives x other values of the same kind; whether it could be written."""
    with library.no_grad():
        try:
            x.copy_(x.flip(0) if x.dim() and not x.dtype.is_floating_point else x * 0.5)
        except RuntimeError:
            return False
    return True


def gradients_after_write(library, row, target):
    """None if the tensor cannot be written, "refused", or the gradients."""
    leaves, arguments, results = call(library, row)
    loss = total(results)
    if loss is None or not write(library, (arguments + results)[target]):
        return None
    try:
        return library.autograd.grad(loss, leaves, allow_unused=True)
    except RuntimeError as error:
        # PyTorch says so in other words where it had cut the tensor into views.
        assert "modified by an inplace operation" in str(error) or (
            library is torch and "its base has been modified inplace" in str(error)
        )
        return "refused"


@by_op(DIFFERENTIABLE)
def test_written_after_use(row):
    """What PyTorch allows to be overwritten may be, and its gradients come out. What it refuses is refused, or the
    gradients are those of what the op saw: never of something else."""
    leaves, arguments, results = call(dumbtorch, row)
    loss = total(results)
    if loss is None:
        return
    untouched = dumbtorch.autograd.grad(loss, leaves, allow_unused=True)
    for target in range(len(arguments) + len(results)):
        ours = gradients_after_write(dumbtorch, row, target)
        theirs = gradients_after_write(torch, row, target)
        if theirs is None or ours is None:
            continue
        if ours == "refused":
            known = {(row.op, target), (row.id, target)} & KEEPS_MORE
            assert theirs == "refused" or known, f"tensor {target}"
            continue
        for k, (g, expected) in enumerate(zip(ours, untouched)):
            assert (g is None) == (expected is None)
            if g is not None:
                assert_close(g, torch.tensor(to_numpy(expected)), row, f"tensor {target}, {k}")


def strides(x):
    """Those that say where elements lie."""
    if x is None or x.numel() == 0:
        return None
    return [s for s, n in zip(x.stride(), x.shape) if n != 1]


@by_op([r for r in DIFFERENTIABLE if not r.op.startswith("linalg_cond") or r.torch_orders])
def test_grad_has_the_memory_order_of_its_tensor(row):
    for layout in LAYOUTS:
        if layout != "contiguous" and not (
            row.layouts and any(applies(layout, i.sizes) for i in row.inputs)
        ):
            continue
        found = []
        for library in (dumbtorch, torch):
            leaves, arguments = tensors(library, row, "float64", layout, grad=True)
            leaves += [x.detach().requires_grad_() for x in arguments if not x.is_leaf]
            moved = iter(leaves[len(leaves) - sum(not x.is_leaf for x in arguments) :])
            arguments = [x if x.is_leaf else next(moved) for x in arguments]
            loss = total(as_list(row.call(library, *arguments)))
            if loss is not None:
                loss.backward()
            found.append([strides(x.grad) for x in leaves])
        assert found[0] == found[1], layout


@by_op(DIFFERENTIABLE)
def test_constant_gradients_can_be_differentiated(row):
    """Where a gradient is constant, PyTorch gives zeros for some ops' derivatives of it and an error for the others'.
    Scripts rely on the zeros."""
    if {row.op, row.id} & ENDS_SOONER:
        return
    found = []
    for library in (dumbtorch, torch):
        leaves, _, current = call(library, row)
        orders = []
        for _ in range(min(row.orders, row.torch_orders)):
            loss = total(current)
            if loss is None:
                break
            current = library.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
            orders.append([g is not None and g.requires_grad for g in current])
        found.append(orders)
    for order, theirs in enumerate(found[1]):
        ours = found[0][order] if order < len(found[0]) else [False] * len(theirs)
        assert all(a or not b for a, b in zip(ours, theirs)), f"order {order + 1}"
