"""Version counters: what counts as a change in place, and what a backward makes of it."""

import dumbtorch as dt
import pytest


def test_who_shares_a_counter(both, same):
    def run(t):
        x = t.zeros(2, 3)
        view, detached, data = x[0], x.detach(), x.data
        detached.add_(1)
        view.add_(1)
        data.add_(1)
        data.view(6).add_(1)
        data.detach().add_(1)
        again = x.data
        return x, x._version, view._version, detached._version, data._version, again._version

    same(*both(run))


def test_data_of_data(both, same):
    def run(t):
        x = t.zeros(2)
        a = x.data
        b = a.data
        b.add_(1)
        a.add_(1)
        return x, x._version, a._version, b._version

    same(*both(run))


def test_saved_tensor_changed_through_data(both, same):
    """PyTorch computes with the new value."""

    def run(t):
        x = t.tensor([1.0, 2.0], requires_grad=True)
        y = (x * x).sum()
        x.data.add_(10)
        y.backward()
        return x.grad, x._version

    same(*both(run))


@pytest.mark.parametrize("change", [lambda x: x.detach().add_(1), lambda x: x.detach()[0].zero_()])
def test_saved_tensor_changed_through_detach(change, both):
    def run(t):
        x = t.tensor([1.0, 2.0], requires_grad=True)
        y = (x * x).sum()
        change(x)
        with pytest.raises(
            RuntimeError, match="modified by an inplace operation.*expected version 0"
        ):
            y.backward()

    both(run)


def test_assigned_data(both, same):
    """The tensor stays itself: its counter, its grad, its place in a graph, its hooks."""

    def run(t):
        x = t.tensor([1.0, 2.0], requires_grad=True)
        seen = []
        x.register_hook(lambda g: seen.append(g.tolist()))
        x.grad = t.ones(2)
        y = (x * x).sum()
        other = t.tensor([5.0, 7.0])
        x.data = other
        versions = [x._version]
        other.add_(1)
        versions.append(x._version)
        y.backward()
        with t.no_grad():
            x.add_(1)
        return x, x.grad, seen, versions, x._version, other._version, other, x.is_leaf

    same(*both(run))


def test_assigned_data_of_another_shape():
    x = dt.ones(2, requires_grad=True)
    y = (x * x).sum()
    x.data = dt.ones(3)
    assert x.shape == (3,) and x.requires_grad
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_assigned_data_ends_a_view(both, same):
    def run(t):
        x = t.zeros(4)
        v = x[:2]
        v.data = t.ones(2)
        v.mul_(t.full((2,), 3.0))
        return x, v

    same(*both(run))


def test_optimizer_writes_what_is_saved(both):
    def run(t):
        x = t.ones(2, requires_grad=True)
        y = (x * x).sum()
        y.backward(retain_graph=True)
        x.data = x.data + 1
        t.optim.SGD([x], lr=0.1).step()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()

    both(run)


def test_data_must_be_a_tensor():
    x = dt.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match="has to be a tensor, but got int"):
        x.data = 3
    with pytest.raises(RuntimeError, match="must be floating point"):
        x.data = dt.ones(2, dtype=dt.int64)


FORGOTTEN = {
    # What only the other input's gradient would need may be overwritten.
    "weight": lambda t, x, w: (x * w, [w]), "divisor's result": lambda t, x, w: (w / x, [0]),
    "number's result": lambda t, x, w: (w / 2, [0]), "quotient": lambda t, x, w: (w / (w + 1), [0]),
    "dividend": lambda t, x, w: (w / x, [w]), "exponent": lambda t, x, w: (w**2, [0]),
    "base": lambda t, x, w: (x.exp() ** w, [w]), "chosen": lambda t, x, w: (t.where(x > 0, w, x), [w, x]),
    "masked": lambda t, x, w: ((w / 3).masked_fill_(x > 0, 0), [0]),
    "in place": lambda t, x, w: ((w * 1).mul_(x), [0, w]),
    "in place twice": lambda t, x, w: ((w * 1).div_(w + 1).mul_(2), [0]),
    "sum": lambda t, x, w: (t.add(w, x, alpha=2), [0, w, x]),
    # These are needed.
    "factor": lambda t, x, w: (x * w, [x]), "result": lambda t, x, w: (w.exp(), [0]),
    "both": lambda t, x, w: (w.maximum(x), [x]), "divisor": lambda t, x, w: (w / x, [x]),
    "square": lambda t, x, w: (w**2, [w]), "sigmoid": lambda t, x, w: (w.sigmoid(), [0]),
}  # fmt: skip


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("name", FORGOTTEN)
def test_what_is_kept_for_the_gradient(name, twice, both, same):
    """Only what the gradients that will be asked for read; 0 stands for the result."""

    def run(t):
        x, w = t.tensor([1.0, -2.0, 3.0]), t.tensor([0.5, 2.0, -1.5], requires_grad=True)
        y, changed = FORGOTTEN[name](t, x, w)
        z = y.cos() if twice else y.clone()
        with t.no_grad():
            for c in changed:
                (y if isinstance(c, int) else c).add_(1)
        try:
            (grad,) = t.autograd.grad(z.sum(), [w], create_graph=twice)
            return t.autograd.grad(grad.sum(), [w])[0] if twice and grad.requires_grad else grad
        except RuntimeError as error:
            assert "modified by an inplace operation" in str(error)
            return "changed"

    same(*both(run))


def changed_output(t):
    y = t.ones(2, requires_grad=True).exp()
    y.add_(1)
    return y


def changed_input(t):
    y = t.ones(2, 3, requires_grad=True, dtype=t.float64) * 2
    z = y * y
    y.add_(1).add_(1)
    return z


def changed_second_output(t):
    x = t.ones(4, 3, requires_grad=True)
    y, _ = x.max(dim=1)
    z = y * y
    y.mul_(2)
    return z


def changed_constant(t):
    w = t.ones(3)
    y = t.ones(3, requires_grad=True) * w
    w.add_(1)
    return y


def changed_number(t):
    y = t.tensor(2.0, requires_grad=True) * 3
    z = y * y
    y.detach().add_(1)
    return z


def changed_weight(t):
    w = t.ones(3, 5, requires_grad=True)
    y = t.ones(4, 3, requires_grad=True) @ w
    with t.no_grad():
        w.add_(1)
    return y


def changed_index(t):
    i = t.zeros(1, 3, dtype=t.int64)
    y = t.gather(t.ones(5, 3, requires_grad=True), 0, i)
    i.add_(1)
    return y


def changed_mask(t):
    m = t.tensor([True, False])
    y = t.where(m, t.ones(2, requires_grad=True), 0.0)
    m.fill_(True)
    return y


CHANGES = [v for k, v in list(globals().items()) if k.startswith("changed_")]


@pytest.mark.parametrize("make", CHANGES)
def test_whole_sentence(make, both):
    """The type, the function that made it, the versions and the hint are PyTorch's."""

    def run(t):
        with pytest.raises(RuntimeError, match="modified by an inplace operation") as error:
            make(t).sum().backward()
        return str(error.value)

    ours, theirs = both(run)
    assert ours.removeprefix("backward: ") == theirs


def test_no_hint_at_what_is_on_already():
    with dt.autograd.set_detect_anomaly(True):
        y = changed_output(dt)
        with pytest.raises(RuntimeError, match=r"expected version 0 instead\.$"):
            y.sum().backward()


def test_a_batch_that_changes_after_a_vector_was_multiplied_with_it(both, same):
    """The product has kept a copy."""

    def run(t):
        v, batch = t.ones(2, requires_grad=True), t.arange(8.0).reshape(2, 2, 2)
        y = v @ batch
        batch.zero_()
        y.sum().backward()
        return y, v.grad

    same(*both(run))


@pytest.mark.parametrize("numbers", [(2.0, 3.0, 4.0), (2.0, 0.0, 4.0)])
def test_running_product_written_since(numbers, both):
    """Its gradient is refused also where zeros are found, which never reads the result."""

    def run(t):
        x = t.tensor(numbers, requires_grad=True)
        y = x.cumprod(0)
        y.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()

    both(run)


def test_count_of_what_is_resized(both):
    """It goes on where the memory is another one."""

    def run(t):
        x, counts = t.zeros(1), []
        for size in ((1, 2), (3,), (3,), (9,), (2,)):
            counts.append((x.add_(1)._version, x.resize_(size)._version))
        return counts, x.resize_as_(t.ones(20))._version

    ours, theirs = both(run)
    assert ours == theirs


def test_backward_of_what_was_resized(both):
    """Also one whose new memory has been written as often as the old one."""

    def run(t):
        x = t.ones(2, requires_grad=True)
        kept = t.ones(2).add_(1)
        y = (x * kept).sum()
        kept.resize_(5)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()
        return kept._version

    ours, theirs = both(run)
    assert ours == theirs
