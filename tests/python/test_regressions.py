"""Mistakes that once were: each test fails without its fix."""

import math
import threading

import dumbtorch as dt
import pytest


def test_too_many_dimensions_are_an_error():
    for make in (dt.zeros, dt.ones, dt.empty):
        with pytest.raises(RuntimeError, match="at most 16 dimensions"):
            make([1] * 60)


def test_view_made_without_grad_cannot_be_changed_with_grad():
    w = dt.ones(4, requires_grad=True)
    x = w * 1
    with dt.no_grad():
        v = x[:2]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        v.mul_(5)
    assert x.tolist() == [1.0, 1.0, 1.0, 1.0]


def test_a_device_that_is_not_there():
    for make in (dt.empty, dt.zeros):
        with pytest.raises(RuntimeError, match="device 'cuda:77' is not available"):
            make(2, device="cuda:77")


# ---- gradients of users' functions


class Shaped(dt.autograd.Function):
    """Returns a gradient of the shape that it is told."""

    @staticmethod
    def forward(ctx, x, shape):
        ctx.shape = shape
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return dt.ones(ctx.shape), None


@pytest.mark.parametrize("leaf", [True, False])
def test_gradients_of_another_shape(leaf):
    for shape in ((3, 2), (4,), (1, 3), (), (6,)):
        x = dt.ones(2, 3, requires_grad=True)
        y = Shaped.apply(x if leaf else x * 1, shape).sum()
        with pytest.raises(
            RuntimeError,
            match=r"Function Shaped\w* returned an invalid gradient at index 0 - got \[.*\] "
            r"but expected shape compatible with \[2, 3\]",
        ):
            y.backward()
        assert x.grad is None
    x = dt.ones(2, 1, requires_grad=True)  # what broadcasting would have made of it is summed
    Shaped.apply(x, (5, 2, 3)).sum().backward()
    assert x.grad.tolist() == [[15.0], [15.0]]


# ---- numbers and sizes that overflow


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.arange(-(2**63), 2**63 - 1),
        lambda t: t.ones(1).expand(2**62).repeat(4),
        lambda t: t.ones(2).repeat(2**62, 2),
        lambda t: t.cat([t.ones(1).expand(2**62)] * 2),
        lambda t: t.ones(1).expand(2**40, 2**40),
        lambda t: t.zeros(3).as_strided((2**40, 2**40), (0, 0)),
        lambda t: t.zeros(2**32, 2**32),
        lambda t: t.full((2,), 2**31, dtype=t.int32),
        lambda t: t.zeros(2, dtype=t.uint8).fill_(256),
        lambda t: t.zeros(2, dtype=t.int32).masked_fill(t.ones(2, dtype=t.bool), 2**40),
        lambda t: t.full((1,), 1e39),
        lambda t: t.nn.functional.max_pool2d(t.ones(1, 1, 4, 4), 2**40),
        lambda t: t.nn.functional.conv2d(t.ones(1, 1, 4, 4), t.ones(1, 1, 2, 2), padding=2**62),
    ],
)  # fmt: skip
def test_sizes_and_numbers_that_overflow(torch, call):
    for t in (dt, torch):
        with pytest.raises((RuntimeError, ValueError)):
            call(t)


def test_more_parts_than_memory_could_hold():
    for call in (
        lambda: dt.zeros(0, 2).vsplit(2**62),
        lambda: dt.zeros(2, 2).tensor_split(2**62),
        lambda: dt.zeros(0, 2**62).unbind(1),
    ):
        with pytest.raises(dt.OutOfMemoryError, match="out of memory"):
            call()


def test_huge_sizes_of_tensors_without_elements(torch):
    """Strides have to fit, whatever the sizes."""
    for t in (dt, torch):
        x = t.zeros(0, 2**31, 2**31)
        assert x.numel() == 0 and (x + 1).stride() == (2**62, 2**31, 1)
        assert x.sum().item() == 0 and x.transpose(0, 2).shape == (2**31, 2**31, 0)
        with pytest.raises(RuntimeError, match="Stride calculation overflowed"):
            t.zeros(0, 2**62, 2**62)


def test_slices_with_huge_steps(torch):
    """Their views are recorded again after a write into the base."""
    for t in (dt, torch):
        x = t.zeros(10, requires_grad=True)
        y = x * 1
        v = y[3 :: 2**62]
        y.mul_(2)
        v.add_(1)
        y.sum().backward()
        assert y.tolist() == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0] and x.grad.tolist() == [2.0] * 10
        assert t.ones(3, 3).triu(2**62).tolist() == [[0.0] * 3] * 3
        assert t.ones(3, 3).tril(-(2**62)).tolist() == [[0.0] * 3] * 3


def test_repeat_of_many_dimensions():
    x = dt.arange(6).view(1, 2, 1, 1, 3, 1, 1, 1, 1, 1)
    y = x.repeat(2, 1, 1, 3, 1, 1, 1, 2, 1, 1)
    assert y.shape == (2, 2, 1, 3, 3, 1, 1, 2, 1, 1)
    expected = x.expand(2, 2, 1, 3, 3, 1, 1, 2, 1, 1)
    assert y.tolist() == expected.tolist()


# ---- views


def test_deep_chains_of_views_are_refreshed():
    x = dt.zeros(4, requires_grad=True)
    y = x * 1
    v = y
    for _ in range(100_000):
        v = v.view(4)
    y.add_(1)
    v.mul_(3)
    y.sum().backward()
    assert v.tolist() == [3.0] * 4 and x.grad.tolist() == [3.0] * 4


def test_views_of_views_made_without_grad(torch):
    """The first link of the chain decides, also where a later one was made with grad."""
    for t in (dt, torch):
        x = t.ones(4, requires_grad=True) * 1
        with t.no_grad():
            v = x[:3]
        w = v[:2]
        with pytest.raises(RuntimeError, match="no_grad mode"):
            w.mul_(5)
        assert x.tolist() == [1.0] * 4


def test_views_that_are_leaves(torch):
    """A view of a plain tensor may be made to require grad: then it is a leaf."""
    for t in (dt, torch):
        v = t.zeros(4)[:2].requires_grad_()
        with pytest.raises(RuntimeError, match="in-place operation"):
            v.add_(1)
        with t.no_grad():
            v.add_(1)
        assert v.tolist() == [1.0, 1.0]


# ---- hooks and chosen inputs


def test_retain_grad_keeps_what_hooks_made(torch):
    """Whichever was asked for first."""
    for t in (dt, torch):
        x = t.ones(2, requires_grad=True)
        y, z = x * 3, x * 5
        y.retain_grad()
        y.register_hook(lambda g: g * 10)
        z.register_hook(lambda g: g * 10)
        z.retain_grad()
        (y + z).sum().backward()
        assert y.grad.tolist() == z.grad.tolist() == [10.0, 10.0]
        assert x.grad.tolist() == [80.0, 80.0]


def test_retained_gradients_add_up(torch):
    for t in (dt, torch):
        x = t.ones(2, requires_grad=True)
        y = x * 2
        y.retain_grad()
        first = None
        for _ in range(2):
            y.sum().backward(retain_graph=True)
            first = first if first is not None else y.grad.clone()
        assert first.tolist() == [1.0, 1.0] and y.grad.tolist() == [2.0, 2.0]


def test_backward_to_inputs_that_are_no_leaves(torch):
    for t in (dt, torch):
        x = t.ones(3, requires_grad=True)
        y = x * 2
        z = (y * y).sum()
        z.backward(inputs=[y], retain_graph=True)
        assert y.grad.tolist() == [4.0] * 3 and x.grad is None
        z.backward(inputs=[x, y])
        assert y.grad.tolist() == [8.0] * 3 and x.grad.tolist() == [8.0] * 3


def test_two_threads_into_one_leaf():
    """The first gradient of a leaf is set, the second is added: no thread may miss the other's."""
    ones = dt.ones(200_000)
    for _ in range(200):
        leaf = dt.zeros(200_000, requires_grad=True)
        start = threading.Barrier(3)

        def job(leaf=leaf, start=start):
            loss = (leaf * ones).sum()
            start.wait()
            loss.backward()

        threads = [threading.Thread(target=job) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert leaf.grad.eq(3).all().item()


def test_long_chains_of_gradients_are_freed():
    """x.grad has a grad, which has a grad, ..."""
    first = x = dt.zeros(1)
    for _ in range(300_000):
        x.grad = dt.zeros(1)
        x = x.grad
    del first, x


def test_leaves_frozen_after_their_use_get_no_gradient(torch):
    for t in (dt, torch):
        x, w = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
        y = (x * w).sum()
        w.requires_grad_(False)
        y.backward()
        assert x.grad.tolist() == [1.0, 1.0] and w.grad is None


@pytest.mark.filterwarnings("ignore:Using backward")
def test_detach_in_place_is_seen_by_every_handle(torch):
    """It made a new tensor behind one handle: a gradient kept its graph, a parameter its flag."""
    for t in (dt, torch):
        x = t.ones(2, requires_grad=True)
        (x * x).sum().backward(create_graph=True)
        x.grad.detach_()
        assert not x.grad.requires_grad
        layer = t.nn.Linear(2, 2)
        layer(t.ones(2)).sum().backward()
        for p in layer.parameters():
            p.detach_()
        assert not layer.weight.requires_grad and layer.weight.grad is not None
        assert layer.weight.contiguous().detach_().is_leaf


def test_detached_views_are_bases(torch):
    """Results of PyTorch's that are no views may be some here, so views can be detached too."""
    results = []
    for t in (dt, torch):
        x = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = x.square().repeat(2)
        y.detach_()
        assert y.is_leaf and not y.requires_grad
        y[1:3].mul_(x[:2])
        results.append(t.autograd.grad((y * y).sum(), x)[0].tolist())
    assert results[0] == results[1]
    x = dt.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    v = y[1:]
    v.detach_()[1:].mul_(x[1])
    assert y.tolist() == [1.0, 2.0, 6.0] and y.grad_fn.name() == "MulBackward0"
    assert dt.autograd.grad(v.sum(), x)[0].tolist() == [0.0, 3.0, 0.0]


def test_gradient_of_an_empty_list_that_joined(torch):
    for t in (dt, torch):
        empty, x = t.zeros(0, requires_grad=True), t.ones(2, 3, requires_grad=True)
        t.cat([empty, x, empty], dim=1).square().sum().backward()
        assert empty.grad.shape == (0,) and x.grad.tolist() == [[2.0] * 3] * 2


def test_size_of_a_number(torch):
    """It was read from where no sizes are."""
    for t in (dt, torch):
        for dim in (0, -1, 1):
            with pytest.raises(IndexError, match=f"Dimension specified as {dim} but tensor has no"):
                t.tensor(1.0).size(dim)


# ---- files and loaders


def test_safetensors_follow_links(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    dt.safetensors.save_file({"a": dt.zeros(1)}, real)
    real.chmod(0o640)
    link.symlink_to("real")
    dt.safetensors.save_file({"a": dt.ones(1)}, link)
    assert link.is_symlink() and dt.safetensors.load_file(real)["a"].item() == 1
    assert real.stat().st_mode & 0o7777 == 0o640
    for place in (tmp_path, "/dev/null"):
        with pytest.raises(OSError, match="cannot write"):
            dt.safetensors.save_file({"a": dt.ones(1)}, place)


def test_clamp_bounds_that_do_not_fit(torch):
    for t in (dt, torch):
        with pytest.raises(RuntimeError, match="without overflow"):
            t.ones(2, dtype=t.int32).clamp(max=2**40)


def test_threads_do_not_share_the_target_of_an_expanded_index():
    index = dt.zeros(1, dtype=dt.int64).expand(400000)
    threads = dt.get_num_threads()
    dt.set_num_threads(2)
    try:
        for _ in range(20):
            y = dt.zeros(1, 4)
            y.index_add_(0, index, dt.ones(400000, 4))
            assert y.tolist() == [[400000.0] * 4]
    finally:
        dt.set_num_threads(threads)


def test_max_pool2d_windows_in_the_padding(torch):
    """Dilated taps could all miss the image: the position lay before it, and backward wrote there."""
    options = dict(kernel_size=(4, 2), stride=(4, 3), padding=(4, 0), dilation=(3, 1))
    for t in (dt, torch):
        with pytest.raises(RuntimeError, match="pad should be smaller than or equal to half of"):
            t.nn.functional.max_pool2d(t.ones(1, 1, 2, 12), **options)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_max_pool2d_windows_of_padding_alone(channels_last, dtype):
    """They chose the image's first element, which got their gradient. Here the taps miss all of its columns."""
    x = dt.arange(24.0, dtype=getattr(dt, dtype)).reshape(1, 2, 3, 4)
    if channels_last:
        x = x.contiguous(memory_format=dt.channels_last)
    x.requires_grad_()
    y, indices = dt.nn.functional.max_pool2d(x, (3, 2), 1, 1, dilation=(1, 5), return_indices=True)
    assert (y == -dt.inf).all() and (indices == -1).all()
    weight = dt.ones_like(y).requires_grad_()
    (gradient,) = dt.autograd.grad(y, x, weight, create_graph=True)
    assert (gradient == 0).all()
    gradient.sum().backward()
    assert (weight.grad == 0).all()


def test_index_add_to_a_number():
    """It counted as one slice, whatever the number of indices: as many were read beyond the source."""
    for n in (0, 2, 1000):
        x = dt.tensor(4.0)
        with pytest.raises(RuntimeError, match=rf"Number of indices \({n}\)"):
            x.index_add_(0, dt.zeros(n, dtype=dt.int64), dt.tensor(1.0))
        assert x.item() == 4


def test_integers_have_no_gradient(torch):
    for t in (dt, torch):
        x = t.zeros(3, dtype=t.int64)
        w = t.tensor([1.0, 2.5, -3.0], requires_grad=True)
        x.copy_(w)
        assert x.tolist() == [1, 2, -3] and not x.requires_grad and x.is_leaf


def test_whole_indices_make_views(torch):
    for t in (dt, torch):
        x = t.ones(3, requires_grad=True)
        for y in (x[...], x[:], x[()], x.sum()[...], x.sum()[()]):
            assert not y.is_leaf and y.grad_fn is not None


@pytest.mark.filterwarnings("ignore:Using backward")
def test_gradients_that_are_kept_can_be_written(torch):
    """They were shared along the graph, or one number shown many times."""
    for t in (dt, torch):
        x = t.ones(3, requires_grad=True)
        y = x * 1
        z = y + 1
        y.retain_grad()
        z.retain_grad()
        z.sum().backward()
        y.grad.mul_(2)
        assert (x.grad.tolist(), y.grad.tolist(), z.grad.tolist()) == (
            [1.0] * 3,
            [2.0] * 3,
            [1.0] * 3,
        )
        for reduce in (t.sum, t.mean):
            x = t.ones(4, requires_grad=True)
            reduce(x).backward(create_graph=True)
            x.grad.detach().zero_()
            assert x.grad.tolist() == [0.0] * 4
        x, g = t.ones(2, requires_grad=True), t.ones(2)
        x.backward(g, create_graph=True)
        x.grad.detach().zero_()
        assert g.tolist() == [1.0, 1.0]


def test_weights_of_classes_that_were_changed(torch):
    """Backward reads them."""
    for t in (dt, torch):
        x, weight = t.ones(2, 3, requires_grad=True), t.ones(3)
        loss = t.nn.functional.cross_entropy(x, t.tensor([0, 2]), weight)
        weight.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


# ---- what PyTorch gets wrong (docs/differences.md), against the definitions


def test_remainders_by_denormal_numbers():
    for n in (1, 4, 33):
        assert (dt.ones(n, dtype=dt.float64) % 1e-310).tolist() == [math.fmod(1, 1e-310)] * n


def test_products_with_what_is_written():
    x = dt.arange(100.0 * 100).reshape(100, 100) % 7
    expected = x + x @ x
    assert x.addmm_(x, x).tolist() == expected.tolist()


def test_second_derivatives_by_frequency():
    """The gradient of a row is a mean of what arrives; so is what comes back from it a mean."""
    index, frequency = dt.tensor([0, 1, 1, 2, 1]), dt.tensor([1.0, 3.0, 3.0, 1.0, 3.0])
    table = dt.zeros(3, 2, requires_grad=True)
    arriving = dt.arange(10.0).reshape(5, 2).requires_grad_()
    y = dt.nn.functional.embedding(index, table, scale_grad_by_freq=True)
    (gradient,) = dt.autograd.grad(y, table, arriving, create_graph=True)
    weights = dt.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 7.0]])
    (gradient * weights).sum().backward()
    assert dt.equal(arriving.grad, weights[index] / frequency.unsqueeze(1))


@pytest.mark.parametrize("create_graph", [False, True])
def test_rows_that_are_ignored_have_no_gradient(create_graph):
    x = dt.tensor([[0.0, math.inf], [math.nan, 1.0], [0.0, 1.0]], requires_grad=True)
    target = dt.tensor([0, 0, 1])
    for smoothing in (0.0, 0.5):
        loss = dt.nn.functional.cross_entropy(x, target, ignore_index=0, label_smoothing=smoothing)
        (gradient,) = dt.autograd.grad(loss, x, create_graph=create_graph)
        assert gradient[:2].tolist() == [[0.0, 0.0]] * 2 and gradient[2, 0].item() > 0


@pytest.mark.parametrize("stride", [0, (1, 0)])
def test_windows_that_do_not_move(stride):
    sentence = "stride should be greater than zero"
    with pytest.raises(RuntimeError, match=sentence):
        dt.nn.functional.fold(dt.ones(1, 4, 9), (4, 4), 2, stride=stride)
    with pytest.raises(RuntimeError, match=sentence):
        dt.nn.functional.unfold(dt.ones(1, 1, 4, 4), 2, stride=stride)


def test_a_power_without_opposite():
    x = dt.tensor([[2.0, 0.0], [0.0, 1.0]])
    assert dt.linalg.matrix_power(x, -(2**63)).tolist() == [[0.0, 0.0], [0.0, 1.0]]


def test_a_factor_whose_square_is_too_large():
    with pytest.raises(ValueError, match="upscale factor is too large"):
        dt.pixel_shuffle(dt.ones(1, 4, 2, 2), 2**32)


def test_padding_of_sequences_of_two_dtypes():
    for other in (dt.ones(1, dtype=dt.int64), dt.ones(1, dtype=dt.bool)):
        y = dt.nn.utils.rnn.pad_sequence([dt.ones(2), other], padding_value=1.5)
        assert y.tolist() == [[1.0, 1.0], [1.0, 1.5]]
