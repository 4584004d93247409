"""torch.fft: frequencies and shifts against PyTorch's; transforms say why they are not there."""

import dumbtorch as dt
import pytest

SETTINGS = [
    {},
    {"d": 0.5},
    {"d": 3},
    {"d": 0.0},
    {"dtype": "float64"},
    {"requires_grad": True},
    {"dtype": "int64"},
]


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_frequencies(name, settings, torch, refusals):
    def of(t, n):
        given = {k: getattr(t, v) if k == "dtype" else v for k, v in settings.items()}
        return getattr(t.fft, name)(n, **given)

    if settings.get("dtype") == "int64":
        ours, theirs = refusals(lambda t: of(t, 4), RuntimeError)
        assert ours == theirs
        return
    for n in (0, 1, 2, 5, 6, 7):
        ours, theirs = of(dt, n), of(torch, n)
        assert torch.equal(
            torch.from_dlpack(ours.detach()).nan_to_num(5, 6, 7),
            theirs.detach().nan_to_num(5, 6, 7),
        )
        assert ours.requires_grad == theirs.requires_grad and ours.is_leaf
        out = dt.empty(0, dtype=ours.dtype)
        if not settings.get("requires_grad"):
            assert getattr(dt.fft, name)(n, **{**settings, "dtype": ours.dtype}, out=out) is out
            assert dt.equal(out.nan_to_num(5, 6, 7), ours.nan_to_num(5, 6, 7))


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
@pytest.mark.parametrize("shape", [(5,), (2, 3), (4, 3, 2), (3, 0)])
def test_shifts(name, shape, torch):
    size = torch.Size(shape).numel()
    for dim in (None, 0, -1, (0,), (-1, 0) if len(shape) > 1 else (0,)):
        ours, theirs = (
            getattr(t.fft, name)(t.arange(size).reshape(shape), dim=dim) for t in (dt, torch)
        )
        assert ours.tolist() == theirs.tolist()
    with pytest.raises(IndexError, match=r"Dimension out of range .*got 5"):
        getattr(dt.fft, name)(dt.ones(shape), dim=5)


def test_transforms_say_why(torch):
    assert set(dt.fft.__all__) >= set(torch.fft.__all__) - {"Tensor"}
    for name in set(torch.fft.__all__) - {"Tensor", "fftfreq", "rfftfreq", "fftshift", "ifftshift"}:
        with pytest.raises(NotImplementedError, match=f"fft.{name}: there are no complex numbers"):
            getattr(dt.fft, name)(dt.ones(4))
