"""What random programs have found of the order in which results lie in memory, reduced."""

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

from programs.compare import Settings, compare  # noqa: E402

FOUND = {
    "places in rows that end in NaN": """
x1 = t.tensor([0.0, 1.0, 2.0, t.nan, t.nan])
x2 = t.tensor([[2.49, -1.0, 0.0, 1.0], [t.nan, t.inf, 0.5, 2.0]])
x3, x4 = t.searchsorted(x1, x2), t.searchsorted(x1, x2, right=True)
x5 = t.bucketize(x2, t.tensor([0.0, t.nan]))
x6 = t.searchsorted(t.tensor([[t.nan, t.nan, t.nan], [0.0, 1.0, t.nan]]), x2)
x7 = t.searchsorted(t.arange(300.0).log10().nan_to_num().where(t.arange(300) < 250, t.nan), x2)
""",
    "volumes with their channels last": """
x1 = t.arange(24.0).reshape(1, 2, 2, 3, 2).permute(0, 4, 1, 2, 3)
x2 = t.nn.ReplicationPad3d(0)(x1)
x3 = t.roll(x1, 1, 2)
x4 = t.cat([x1, x1], 1)
x5 = t.nn.functional.pad(x1, (1, 0))
x6 = t.nn.functional.group_norm(x1, 1)
""",
    "images that are rolled by nothing, or by parts": """
x1 = t.zeros(1, 2, 3, 1).contiguous(memory_format=t.channels_last)
x2, x3, x4 = t.roll(x1, 0, 0), t.roll(x1, (1, 3), (1, 2)), t.roll(x1, (1, -1), (1, 1))
x5 = t.roll(t.zeros(1, 3, 2, 2).permute(0, 2, 1, 3), 1, 2)
x6 = t.roll(t.arange(8.0).reshape(1, 2, 2, 2).contiguous(memory_format=t.channels_last).requires_grad_(), 0, 1)
n7, n8, n9, n10 = x2.stride()
""",
    "quantiles where they were": """
x1 = t.tensor([[[0.0, 1.0]]])
x2 = x1.nanquantile(0.0, 0, True)
x3 = t.quantile(x1.mT, t.tensor([0.1, 0.5]), 2, True)
x4 = t.quantile(x1, t.tensor([0.5]))
x5 = t.broadcast_to(x2, (1, 2, -1)).tanh()
n6, n7, n8 = x2.stride()
n9, n10, n11, n12 = x3.stride()
""",
    "attention lies as its queries do": """
x1 = t.zeros(2, 2, 3, 4)
x2 = t.zeros(2, 3, 2, 4).transpose(1, 2)
x3 = t.nn.functional.scaled_dot_product_attention(x1, x2, x2)
x4 = t.nn.functional.scaled_dot_product_attention(x2, x1, x1)
x5 = t.nn.functional.scaled_dot_product_attention(x2, x1, t.zeros(2, 2, 3, 1))
x6 = t.nn.functional.scaled_dot_product_attention(x2, x1.mT.contiguous().mT, x1)
x7 = t.nn.functional.scaled_dot_product_attention(t.zeros(2, 1, 2, 1), t.zeros(2, 1, 2, 1), t.zeros(2, 1, 2, 1))
x8 = x7.to(memory_format=t.channels_last)
x7.add_(1)
""",
    "exponentials of matrices in another order": """
x1 = t.arange(144.0).reshape(6, 2, 6, 2, 1).permute(4, 3, 1, 0, 2)
x2 = x1.matrix_exp()
""",
    "norms of channels of volumes in another order": """
x1 = t.arange(24.0).reshape(2, 3, 2, 2, 1).permute(2, 4, 1, 0, 3)
x2 = t.nn.functional.local_response_norm(x1, 2)
""",
    "the strides of what a line of argwhere broadcast to": """
x1 = t.argwhere(t.tensor([[0.5]]))
x2 = t.atan2(x1, t.tensor([0]))
n3, n4 = x2.stride()
""",
    "kron of dimensions of size 1 that are turned": """
x1 = t.ones((1, 1, 2)).mT
x2 = t.kron(x1, t.ones((1, 2, 1)))
""",
    "a diagonal assigned to what it is a part of": """
x1 = t.tensor([[[0.0, 0.5], [1.0, 2.0]]])
x2 = t.diagonal(x1)
x1[...] = x2
""",
    "an expanded view of a result is zeroed": """
x1 = t.ones((1, 1), requires_grad=True) * 2
x2 = x1.expand((1, 2))
x2.zero_()
x1.backward()
""",
    "a flag by position before a dimension": """
x1 = t.tensor([[[[0.0]]]])
x2, x3 = t.unique_consecutive(x1, False, True, 0)
""",
    "a sample that lies like a batch of images": """
x1 = t.arange(2).reshape((1, 1, 1, 2)).permute((0, 3, 1, 2))
x2 = t.nn.functional.max_pool3d_with_indices(x1, 1)
""",
    "a flag by position beside another by name": """
x1 = t.tensor([[[0.0]]], requires_grad=True)
x2 = t.unique_consecutive(x1, True, return_counts=False, dim=0)
""",
    "an exponent with other strides of size 1": """
x1 = t.tensor([[[0.0, 0.0]]]).permute((2, 0, 1))
x2 = t.tensor([[[0], [0]]])
x3 = x2.ldexp(x1)
""",
}


@pytest.mark.parametrize("program", [pytest.param(p, id=name) for name, p in FOUND.items()])
def test_found(program):
    assert compare(program, Settings(errors="type")) is None
