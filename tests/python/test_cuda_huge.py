"""Tensors of more than 2**31 elements on a GPU, against PyTorch on the same GPU: offsets that do not fit into 32 bits.

Numbers are small and whole where sums are compared, so that their order does not matter."""

import dumbtorch as dt
import pytest

torch = pytest.importorskip("torch")
if not (dt.cuda.is_available() and torch.cuda.is_available()):
    pytest.skip("needs a GPU that PyTorch sees too", allow_module_level=True)
if torch.cuda.mem_get_info()[0] < 70 << 30:
    pytest.skip("needs 70 GiB of free GPU memory", allow_module_level=True)

HUGE = 2**31 + 2**20 + 12  # elements, of which rows of 4096 make no whole number
ROWS, COLUMNS = 2**19 + 3, 4097  # the same as a matrix of an odd width


@pytest.fixture(autouse=True)
def one_device_and_its_memory():
    torch.cuda.set_device(0)
    dt.cuda.set_device(0)
    yield
    dt.cuda.synchronize()
    dt.cuda.empty_cache()
    torch.cuda.empty_cache()


def ours(x):
    torch.cuda.synchronize()
    return dt.from_dlpack(x)


def check(result, expected, exact=True):
    dt.cuda.synchronize()
    result = torch.from_dlpack(result.detach())
    assert result.shape == expected.shape and result.dtype == expected.dtype
    if exact:
        assert torch.equal(result, expected)
    else:
        torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-6)


def whole(*shape, dtype=torch.float32, below=7):
    return torch.randint(0, below, shape, device="cuda", dtype=torch.uint8).to(dtype)


def matrix(dtype=torch.float32, below=7):
    return whole(ROWS, COLUMNS, dtype=dtype, below=below)


def test_elements_side_by_side():
    a, b = whole(HUGE), whole(HUGE, dtype=torch.uint8)
    check(ours(a) * 3 - ours(b), a * 3 - b)
    check(ours(b).to(dt.float32), b.float())
    check(ours(a)[1:] + 1, a[1:] + 1)


def test_elements_far_apart():
    x = matrix(torch.uint8)
    check(ours(x).t() + ours(x).t(), x.t() + x.t())
    check(ours(x).t().contiguous(), x.t().contiguous())
    row, column = whole(COLUMNS, dtype=torch.uint8), whole(ROWS, 1, dtype=torch.uint8)
    check(ours(row) + ours(column), row + column)
    check(ours(x)[:, ::2].clone(), x[:, ::2].clone())
    y, z = ours(x.clone()), x.clone()
    y[5:, 1:].fill_(3)
    z[5:, 1:].fill_(3)
    check(y, z)


def test_reductions():
    x = matrix(torch.uint8)
    for dim in (0, 1, None):
        dims = () if dim is None else (dim,)
        check(ours(x).sum(*dims), x.sum(*dims))
    check(ours(x).amax(1), x.amax(1))
    check(ours(x).amax(0), x.amax(0))
    flat = torch.zeros(HUGE, device="cuda", dtype=torch.uint8)
    flat[HUGE - 2] = 1
    assert ours(flat).argmax().item() == HUGE - 2
    assert ours(flat).nonzero().tolist() == [[HUGE - 2]]


def test_sums_of_floats():
    x = matrix()
    check(ours(x).sum(1), x.sum(1))
    check(ours(x).sum(0), x.sum(0), exact=False)
    check(ours(x).mean(), x.mean(dtype=torch.float64).float(), exact=False)


def test_running_sums():
    x = matrix(torch.int32, below=3)
    check(ours(x).cumsum(1).to(dt.int32), x.cumsum(1, dtype=torch.int32))
    flat = whole(HUGE, dtype=torch.uint8, below=2)
    last = ours(flat).to(dt.int32).cumsum(0)[-1]
    assert last.item() == flat.sum().item()


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_rows_of_probabilities(name):
    x = matrix()
    check(getattr(ours(x), name)(1), getattr(x, name)(1), exact=False)


def test_rows_that_are_normalised():
    x, w = matrix(), whole(COLUMNS)
    y = dt.nn.functional.layer_norm(ours(x), (COLUMNS,), ours(w))
    check(y, torch.nn.functional.layer_norm(x, (COLUMNS,), w), exact=False)


def test_losses_of_rows():
    x, target = matrix(), torch.randint(0, COLUMNS, (ROWS,), device="cuda")
    given = ours(x).requires_grad_()
    loss = dt.nn.functional.cross_entropy(given, ours(target), reduction="sum")
    loss.backward()
    x.requires_grad_()
    expected = torch.nn.functional.cross_entropy(x, target, reduction="sum")
    expected.backward()
    check(loss, expected.detach(), exact=False)
    check(given.grad, x.grad, exact=False)


def test_chosen_rows():
    x, index = matrix(torch.uint8), torch.randint(0, ROWS, (ROWS,), device="cuda")
    check(ours(x)[ours(index)], x[index])
    check(dt.index_select(ours(x), 0, ours(index)), x.index_select(0, index))
    columns = torch.randint(0, COLUMNS, (ROWS, 3), device="cuda")
    check(dt.gather(ours(x), 1, ours(columns)), x.gather(1, columns))
    mask = x == 6
    check(ours(x)[ours(mask)], x[mask])


def test_rows_that_are_written():
    x, order = torch.zeros(ROWS, COLUMNS, device="cuda"), torch.randperm(ROWS, device="cuda")
    values = matrix()
    y = dt.zeros(ROWS, COLUMNS, device="cuda").index_add_(0, ours(order), ours(values))
    check(y, x.index_add_(0, order, values))
    column = torch.full((ROWS, 1), COLUMNS - 1, device="cuda")
    check(y.scatter_(1, ours(column), 9.0), x.scatter_(1, column, 9.0))


def test_lookups():
    table, index = whole(1000, COLUMNS), torch.randint(0, 1000, (ROWS,), device="cuda")
    weight = ours(table).requires_grad_()
    out = dt.nn.functional.embedding(ours(index), weight)
    check(out, torch.nn.functional.embedding(index, table))
    out.sum().backward()
    counts = torch.bincount(index, minlength=1000).float().reshape(-1, 1).expand_as(table)
    check(weight.grad, counts)


def test_joins():
    x = whole(2**30 + 3, 1, dtype=torch.uint8)
    check(dt.cat([ours(x), ours(x)]), torch.cat([x, x]))
    check(dt.cat([ours(x), ours(x)], 1), torch.cat([x, x], 1))


def test_images():
    x = whole(2**14 + 1, 8, 128, 129)
    check(dt.nn.functional.max_pool2d(ours(x), 2), torch.nn.functional.max_pool2d(x, 2))
    y = dt.nn.functional.batch_norm(ours(x), None, None, training=True)
    mean, var = x.mean((0, 2, 3), keepdim=True), x.var((0, 2, 3), keepdim=True, unbiased=False)
    check(y, (x - mean) / (var + 1e-5).sqrt(), exact=False)


def test_convolution():
    x, w = whole(2**14 + 1, 8, 128, 129), whole(2, 8, 3, 3)
    given = ours(x).requires_grad_()
    y = dt.nn.functional.conv2d(given, ours(w), padding=1)
    y.sum().backward()
    part = slice(2**14 - 20, None)  # the last images, on the CPU: all of them would be too many
    some = x[part].cpu().requires_grad_()
    expected = torch.nn.functional.conv2d(some, w.cpu(), padding=1)
    expected.sum().backward()
    check(y[part], expected.detach().cuda(), exact=False)
    check(given.grad[part], some.grad.cuda(), exact=False)


def test_products():
    a, b = matrix(below=3), whole(COLUMNS, 8, below=3)
    check(ours(a) @ ours(b), a @ b)
    tall = whole(2**28 + 5, 9, below=3)
    w = whole(3, 9, below=3)
    check(dt.nn.functional.linear(ours(tall), ours(w)), tall @ w.t())


def test_random_numbers_go_on():
    """The element at a place depends on the place alone, so the end is that of a smaller draw's continuation."""
    dt.manual_seed(5)
    x = dt.rand(HUGE, device="cuda")
    dt.manual_seed(5)
    first = dt.rand(2**20, device="cuda")
    assert dt.equal(x[: 2**20], first)
    tail = torch.from_dlpack(x[-(2**20) :])
    assert 0.49 < tail.mean().item() < 0.51 and tail.unique().numel() > 2**19
    kept = dt.nn.functional.dropout(dt.ones(HUGE, device="cuda"), 0.5)
    assert 0.49 < (kept[-(2**20) :] != 0).to(dt.float32).mean().item() < 0.51


def test_steps():
    x, g = whole(HUGE), whole(HUGE, below=3)
    theirs = torch.nn.Parameter(x.clone())
    theirs.grad = g.clone()
    torch.optim.SGD([theirs], lr=0.5).step()
    p = dt.nn.Parameter(ours(x))
    p.grad = ours(g)
    dt.optim.SGD([p], lr=0.5).step()
    check(p.detach(), theirs.detach())
    before = p.detach()[-5:].clone()
    dt.optim.AdamW([p], lr=0.1, weight_decay=0.0).step()
    moved = (before - p.detach()[-5:]).tolist()
    assert moved == pytest.approx([0.1 * (v > 0) for v in g[-5:].tolist()], abs=1e-6)
