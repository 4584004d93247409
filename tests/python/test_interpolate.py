"""functional.interpolate and nn.Upsample: which elements are taken, exactly, against PyTorch."""

import random

import dumbtorch
import numpy
import pytest

torch = pytest.importorskip("torch")

MODES = ("nearest", "nearest-exact")


def both(x, mode, **how):
    """(PyTorch's, ours) of a float32 tensor of PyTorch's."""
    expected = torch.nn.functional.interpolate(x, mode=mode, **how)
    ours = dumbtorch.nn.functional.interpolate(dumbtorch.tensor(x.numpy()), mode=mode, **how)
    return expected, torch.from_numpy(ours.numpy())


@pytest.mark.parametrize("mode", MODES)
def test_all_small_sizes(mode):
    for size in range(1, 33):
        x = torch.arange(float(size)).reshape(1, 1, size, 1)
        for to in range(1, 80):
            expected, ours = both(x, mode, size=(to, 1))
            assert torch.equal(ours, expected), (size, to)


def uses(library, count: int, **how):
    """How often each of `count` elements is taken."""
    x = library.zeros((1, 1, count), requires_grad=True)
    library.nn.functional.interpolate(x, **how).sum().backward()
    return x.grad.flatten().tolist()


@pytest.mark.parametrize("mode", MODES)
def test_large_sizes_and_factors(mode):
    """Compared by the gradients: PyTorch's forward has kernels that differ in the last place, one
    of which is taken by the size, and for float64."""
    draw = random.Random(7)
    for _ in range(300):
        size = draw.randint(1, 2000)
        factor = draw.choice((0.5, 1 / 3, 1.5, 2, 3, 2.7, draw.uniform(0.1, 3.9)))
        for how in ({"size": draw.randint(1, 3000)}, {"scale_factor": factor}):
            if how.get("size") or int(size * factor) > 0:
                expected = uses(torch, size, mode=mode, **how)
                assert uses(dumbtorch, size, mode=mode, **how) == expected, (size, how)


def test_large_sizes_forward():
    draw = random.Random(8)
    for _ in range(300):
        size = draw.randint(1, 2000)
        x = torch.arange(float(size)).reshape(1, 1, size)
        expected, ours = both(x, "nearest", size=draw.randint(1, 3000))
        assert torch.equal(ours, expected), size


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "shape, how",
    [
        ((2, 3, 4, 5), {"size": (7, 3)}),
        ((2, 3, 4, 5), {"size": 6}),
        ((2, 3, 4, 5), {"scale_factor": 2}),
        ((2, 3, 4, 5), {"scale_factor": (1.7, 0.6)}),
        ((1, 2, 3, 4, 5), {"size": (6, 2, 11)}),
        ((1, 2, 3, 4, 5), {"scale_factor": 1.5}),
        ((0, 2, 3), {"size": 4}),
    ],
)
def test_dimensions(mode, shape, how):
    x = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
    expected, ours = both(x, mode, **how)
    assert torch.equal(ours, expected)
    expected, ours = both(x.to(torch.uint8), mode, **how)
    assert torch.equal(ours, expected)


def test_a_factor_that_nearly_doubles():
    """PyTorch's backward, its channels-last forward and CUDA take every element twice."""
    x = torch.arange(91.0).reshape(1, 1, 91, 1).requires_grad_()
    how = {"scale_factor": (2.002294193567359, 1.0)}
    torch.nn.functional.interpolate(x, **how).sum().backward()
    y = dumbtorch.tensor(x.detach().numpy()).requires_grad_()
    dumbtorch.nn.functional.interpolate(y, **how).sum().backward()
    assert (x.grad == 2).all() and (y.grad == 2).all().item()


def test_float64_takes_what_its_gradient_says():
    """PyTorch's gradient of float64 computes in float32, its forward does not."""
    x = torch.arange(11.0, dtype=torch.float64).reshape(1, 1, 11).requires_grad_()
    torch.nn.functional.interpolate(x, 451).sum().backward()
    y = dumbtorch.tensor(x.detach().numpy()).requires_grad_()
    dumbtorch.nn.functional.interpolate(y, 451).sum().backward()
    assert torch.equal(x.grad, torch.from_numpy(y.grad.numpy()))


@pytest.mark.parametrize("mode", MODES)
def test_recomputed_factors(mode):
    """The size decides which elements are taken, not the factor that it came from."""
    for size in (3, 5, 7, 10, 33):
        x = torch.arange(float(size * 4)).reshape(1, 1, size, 4)
        for factor in (0.5, 1.5, 2.0, 2.3, 0.9, 1 / 3, 2.0000001, 1.9999, (2.3, 0.7), [1.1, 1.9]):
            expected, ours = both(x, mode, scale_factor=factor, recompute_scale_factor=True)
            assert torch.equal(ours, expected), (size, factor)
    up = [
        t.nn.Upsample(None, 2.3, mode, None, True)(t.arange(5.0).view(1, 1, 5))
        for t in (torch, dumbtorch)
    ]
    assert up[0].tolist() == up[1].tolist()


def test_channels_last_stays():
    x = dumbtorch.randn(2, 3, 4, 5).contiguous(memory_format=dumbtorch.channels_last)
    y = dumbtorch.nn.functional.interpolate(x, scale_factor=2)
    assert y.stride() == (240, 1, 30, 3)
    assert dumbtorch.nn.functional.interpolate(x.contiguous(), scale_factor=2).is_contiguous()


@pytest.mark.parametrize(
    "shape, how, sentence",
    [
        ((2, 3, 4, 5), {}, "either size or scale_factor should be defined"),
        ((2, 3, 4, 5), {"size": 2, "scale_factor": 2}, "only one of size or scale_factor"),
        ((2, 3, 4, 5), {"size": (2,)}, "Input and output must have the same number of spatial"),
        ((2, 3, 4, 5), {"scale_factor": (1.0, 2.0, 3.0)}, "Input and scale_factor must have"),
        ((2, 3), {"size": 2}, r"Only 3D, 4D and 5D input Tensors supported \(got 2D\)"),
        ((2, 3, 1, 1, 1, 1), {"size": 2}, r"Only 3D, 4D and 5D input Tensors supported \(got 6D"),
        ((2, 3, 4, 5), {"size": 0}, "Input and output sizes should be greater than 0"),
        ((2, 3, 4, 5), {"scale_factor": -1.0}, "Input and output sizes should be greater than 0"),
        ((2, 3, 4, 0), {"size": 2}, "Input and output sizes should be greater than 0"),
        ((2, 0, 4, 5), {"size": 2}, "Non-empty 4D data tensor expected but got a tensor with size"),
        ((2, 3, 4, 5), {"scale_factor": float("nan")}, "value cannot be converted to type int64_t"),
        ((2, 3, 4, 5), {"scale_factor": float("inf")}, "value cannot be converted to type int64_t"),
        ((2, 3, 4, 5), {"size": 2, "recompute_scale_factor": True}, "is not meaningful with an"),
        ((2, 3, 4, 5), {"size": 2, "align_corners": True}, "align_corners option can only be set"),
        ((2, 3, 4, 5), {"size": 2, "antialias": True}, "Anti-alias option is restricted to"),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_refusals(mode, shape, how, sentence):
    with pytest.raises(Exception, match=sentence) as expected:
        torch.nn.functional.interpolate(torch.zeros(shape), mode=mode, **how)
    with pytest.raises(expected.type, match=sentence):
        dumbtorch.nn.functional.interpolate(dumbtorch.zeros(shape), mode=mode, **how)


OF_DIMS = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3, "area": 0, "lanczos": 2}


def strides(x) -> list:
    """Of each dimension of more than one element."""
    return [(n, s) for n, s in zip(x.shape, x.stride(), strict=True) if n > 1]


def weighted_cases(count: int, seed: int):
    draw = random.Random(seed)
    for _ in range(count):
        mode = draw.choice(list(OF_DIMS))
        dims = OF_DIMS[mode] or draw.randint(1, 3)
        shape = (
            draw.randint(1, 2),
            draw.randint(1, 3),
            *(draw.randint(1, 40) for _ in range(dims)),
        )
        how = {"mode": mode}
        if draw.random() < 0.5:
            how["size"] = tuple(draw.randint(1, 60) for _ in range(dims))
        else:
            how["scale_factor"] = tuple(draw.choice((0.3, 1, 2, 1.6, 3.3)) for _ in range(dims))
            how["recompute_scale_factor"] = draw.choice((None, True, False))
            if any(int(n * f) == 0 for n, f in zip(shape[2:], how["scale_factor"], strict=True)):
                continue
        if mode == "lanczos" or (dims == 2 and mode != "area" and draw.random() < 0.4):
            how["antialias"] = True
        if mode not in ("area", "lanczos") and draw.random() < 0.4:
            how["align_corners"] = True
        if how.get("antialias") and 1 in (shape[-1], how.get("size", (0,))[-1]):
            continue  # PyTorch repeats the first row of an image of one column
        if how.get("antialias") and int(shape[-1] * how.get("scale_factor", (2,))[-1]) == 1:
            continue
        yield shape, how, draw.random() < 0.3


def test_weighted_elements_and_their_gradients():
    for shape, how, last in weighted_cases(400, 11):
        x = torch.randn(shape, dtype=torch.float64)
        if last and len(shape) == 4:
            x = x.contiguous(memory_format=torch.channels_last)
        ours_x = dumbtorch.from_numpy(x.numpy()).requires_grad_()
        x.requires_grad_()
        expected = torch.nn.functional.interpolate(x, **how)
        ours = dumbtorch.nn.functional.interpolate(ours_x, **how)
        assert strides(ours) == strides(expected), (shape, how)
        weights = torch.randn(expected.shape, dtype=torch.float64)
        (expected * weights).sum().backward()
        (ours * dumbtorch.from_numpy(weights.numpy())).sum().backward()
        for a, b in ((ours.detach(), expected.detach()), (ours_x.grad, x.grad)):
            numpy.testing.assert_allclose(
                a.numpy(), b.numpy(), rtol=1e-9, atol=1e-9, err_msg=f"{shape} {how}"
            )


def test_float32_and_bytes():
    for shape, how, last in weighted_cases(200, 12):
        x = torch.randint(0, 256, shape).float()
        layout = {"memory_format": torch.channels_last} if last and len(shape) == 4 else {}
        x = x.contiguous(**layout)
        expected, ours = both(x, **how)
        torch.testing.assert_close(ours, expected, rtol=1e-5, atol=2e-3, msg=f"{shape} {how}")
        if how["mode"] in ("bilinear", "bicubic", "lanczos"):
            expected, ours = both(x.byte(), **how)
            assert torch.equal(ours, expected), (shape, how)


def test_infinities_stay_where_they_are():
    """Elements that an element is not made of have no say, also not by a weight of 0."""
    x = torch.zeros(1, 1, 1, 40)
    x[..., 20] = numpy.inf
    for how in ({"size": (1, 97)}, {"size": (1, 13)}, {"size": (1, 13), "antialias": True}):
        for mode in ("bilinear", "bicubic"):
            expected, ours = both(x, mode=mode, **how)
            assert torch.equal(ours == 0, expected == 0), (how, mode)


@pytest.mark.parametrize("mode", OF_DIMS)
@pytest.mark.parametrize("dims", (0, 1, 2, 3, 4))
def test_modes_of_other_dimensions(mode, dims):
    for library in (torch, dumbtorch):
        x = library.zeros((1, 2) + (3,) * dims)
        how = {"antialias": True} if mode == "lanczos" and dims == 2 else {}
        if OF_DIMS[mode] in (0, dims) and 1 <= dims <= 3:
            library.nn.functional.interpolate(x, size=4, mode=mode, **how)
            continue
        words = {"linear": "3D", "bilinear": "4D", "trilinear": "5D"}
        sentence = (
            f"Got {dims + 2}D input, but {mode} mode needs {words[mode]} input"
            if 1 <= dims <= 3 and mode in words
            else f"Only 3D, 4D and 5D input Tensors supported .got {dims + 2}D."
        )
        with pytest.raises(NotImplementedError, match=sentence):
            library.nn.functional.interpolate(x, size=4, mode=mode, **how)


@pytest.mark.parametrize(
    "how, sentence",
    [
        ({"mode": "area", "align_corners": False}, "align_corners option can only be set"),
        ({"mode": "area", "antialias": True}, "Anti-alias option is restricted to"),
        ({"mode": "lanczos"}, "Lanczos mode requires antialias=True"),
        ({"mode": "lanczos", "antialias": True, "align_corners": True}, "does not support align_c"),
        ({"mode": "bicubic", "recompute_scale_factor": True}, "is not meaningful with an explicit"),
    ],
)
def test_refused_options(how, sentence):
    for library in (torch, dumbtorch):
        with pytest.raises(ValueError, match=sentence):
            library.nn.functional.interpolate(library.zeros(1, 1, 2, 2), size=3, **how)


@pytest.mark.parametrize("mode", OF_DIMS)
@pytest.mark.parametrize("dtype", ("int64", "bool", "uint8"))
def test_refused_dtypes(mode, dtype):
    dims = OF_DIMS[mode] or 2
    if dtype == "uint8" and dims == 2 and mode != "area":
        return
    found = []
    for library in (torch, dumbtorch):
        x = library.zeros((1, 2) + (3,) * dims, dtype=getattr(library, dtype))
        with pytest.raises(NotImplementedError) as refused:
            library.nn.functional.interpolate(x, size=4, mode=mode, antialias=mode == "lanczos")
        found.append(str(refused.value))
    assert found[1].endswith(found[0])


def test_what_is_missing_is_refused():
    x = dumbtorch.zeros(1, 1, 2, 2)
    with pytest.raises(NotImplementedError, match="upsample_nearest2d.*'Long'"):
        dumbtorch.nn.functional.interpolate(x.long(), size=3)
    with pytest.raises(ValueError, match="cubic is not a valid value for interpolation"):
        dumbtorch.nn.functional.interpolate(x, size=3, mode="cubic")


def test_upsample_takes_what_interpolate_takes():
    x = numpy.arange(4.0, dtype=numpy.float32).reshape(1, 1, 2, 2)
    for library in (dumbtorch, torch):
        make, tensor = library.nn.Upsample, library.tensor(x)
        up = make(scale_factor=2, align_corners=None, recompute_scale_factor=False)
        assert up(tensor)[0, 0, 3].tolist() == [2, 2, 3, 3]
        assert (up.align_corners, up.recompute_scale_factor) == (None, False)
        up = make(3, None, "nearest", True)
        with pytest.raises(ValueError, match="align_corners option can only be set"):
            up(tensor)


REFUSED = [
    "size=(2.0, 2.0)", "size=(2, 2.0)", "size=(None, 2)", "size=(t.tensor(2.0), 2)", "size=(2, 2, 2)", "size=[2]",
    "scale_factor=(2, 2, 2)", "scale_factor=[2.0]",
]  # fmt: skip


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "area"])
@pytest.mark.parametrize("text", REFUSED)
def test_sizes_that_are_none(text, mode, refusals):
    def run(t):
        x, f = t.ones(1, 1, 2, 2), t.nn.functional.interpolate
        eval(f"f(x, mode=mode, {text})", {"t": t, "x": x, "f": f, "mode": mode})

    (kind, said), theirs = refusals(run, TypeError, ValueError)
    assert (kind, said.replace("dumbtorch.", "torch.")) == theirs
