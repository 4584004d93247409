"""Products of matrices of integers wrap around as PyTorch's do: every size of a tile's edge, every layout."""

import itertools

import dumbtorch as dt
import pytest

DTYPES = ("int8", "uint8", "int16", "int32", "int64")
# rows, terms, columns: less than a tile, edges of tiles, of blocks of terms and of parts
SIZES = (
    (1, 1, 1), (1, 300, 70), (4, 0, 5), (3, 7, 129), (9, 256, 64), (65, 65, 33), (70, 600, 17),
    (8, 70, 530), (6, 513, 40), (130, 3, 1), (1, 700, 131), (1, 2100, 9), (40, 600, 5), (200, 270, 14),
)  # fmt: skip


def pair(torch, dtype: str, *sizes: int, layout: str = "rows"):
    """Of any bits; laid out by rows, by columns, or with gaps."""
    numbers = torch.randint(-(2**62), 2**62, sizes).to(getattr(torch, dtype))
    theirs, ours = numbers, dt.tensor(numbers.flatten().tolist(), dtype=getattr(dt, dtype))
    ours = ours.reshape(sizes)
    if layout == "columns":
        return theirs.mT.contiguous().mT, ours.mT.contiguous().mT
    if layout == "gaps":
        return theirs.repeat_interleave(2, -1)[..., ::2], ours.repeat_interleave(2, -1)[..., ::2]
    return theirs, ours


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_products(dtype, sizes, torch):
    m, k, n = sizes
    torch.manual_seed(m * k + n)
    for layouts in itertools.product(("rows", "columns", "gaps"), repeat=2):
        a, x = pair(torch, dtype, m, k, layout=layouts[0])
        b, y = pair(torch, dtype, k, n, layout=layouts[1])
        assert (x @ y).tolist() == (a @ b).tolist(), layouts


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_with_products(dtype, torch):
    torch.manual_seed(0)
    a, x = pair(torch, dtype, 3, 40, 50)
    b, y = pair(torch, dtype, 3, 50, 60, layout="columns")
    c, z = pair(torch, dtype, 3, 40, 60, layout="gaps")
    for alpha, beta in ((1, 1), (3, -2), (2, 0), (0, 5)):
        factors = {"alpha": alpha, "beta": beta}
        ours, theirs = dt.baddbmm(z, x, y, **factors), torch.baddbmm(c, a, b, **factors)
        assert ours.tolist() == theirs.tolist()
        ours, theirs = (
            dt.addmm(z[0, 0], x[0], y[0], **factors),
            torch.addmm(c[0, 0], a[0], b[0], **factors),
        )
        assert ours.tolist() == theirs.tolist()
        kept, own = c[1].clone(), z[1].clone()
        assert (
            own.addmm_(x[1], y[1], **factors).tolist()
            == kept.addmm_(a[1], b[1], **factors).tolist()
        )


def test_threads_share_a_product(torch):
    before = dt.get_num_threads()
    try:
        for batch, sizes in ((1, (200, 90, 700)), (7, (70, 40, 50))):
            a, x = pair(torch, "int8", batch, *sizes[:2])
            b, y = pair(torch, "int8", batch, *sizes[1:])
            for threads in (1, 3):
                dt.set_num_threads(threads)
                assert dt.bmm(x, y).tolist() == torch.bmm(a, b).tolist()
    finally:
        dt.set_num_threads(before)
