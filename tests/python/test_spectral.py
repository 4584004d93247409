"""stft with real and imaginary parts in a last dimension: as PyTorch's, and its gradients."""

import math

import dumbtorch as dt
import pytest

pytestmark = [
    pytest.mark.filterwarnings("ignore:stft with return_complex=False"),
    pytest.mark.filterwarnings("ignore:A window was not provided"),
]

WINDOWS = [  # n_fft, hop_length, win_length
    (16, None, None),
    (16, 5, None),
    (16, 4, 12),
    (9, 3, None),
    (9, 2, 7),
    (7, 2, 4),
    (4, 1, 1),
]
PLACES = [  # center, pad_mode, align_to_window
    (True, "reflect", None),
    (True, "constant", None),
    (False, "reflect", None),
    (False, "reflect", True),
    (False, "reflect", False),
]


def signal(t, *sizes):
    return t.arange(math.prod(sizes), dtype=t.float64).mul(0.7).sin().reshape(sizes)


@pytest.mark.parametrize("sizes", [(50,), (2, 33)])
@pytest.mark.parametrize("n_fft, hop, win", WINDOWS)
@pytest.mark.parametrize("center, mode, align", PLACES)
def test_stft(sizes, n_fft, hop, win, center, mode, align, torch):
    if align and win and (n_fft - win) % 2:
        pytest.skip("PyTorch pads too little there and looks beyond its tensor")
    for weighted in (False, True):
        for normalized in (False, True):
            for onesided in (None, False):
                results = []
                for t in (dt, torch):
                    x = signal(t, *sizes).requires_grad_()
                    weights = t.linspace(0.2, 1, win or n_fft, dtype=t.float64).requires_grad_()
                    y = t.stft(
                        x, n_fft, hop, win, weights if weighted else None, center, mode, normalized, onesided,
                        return_complex=False, align_to_window=align,
                    )  # fmt: skip
                    loss = (y * t.arange(y.numel(), dtype=t.float64).cos().reshape(y.shape)).sum()
                    inputs = (x, weights) if weighted else (x,)
                    results.append((y, *t.autograd.grad(loss, inputs)))
                for ours, theirs in zip(*results, strict=True):
                    assert ours.shape == theirs.shape
                    assert dt.allclose(ours, dt.from_numpy(theirs.detach().numpy()), atol=1e-12)
                assert results[0][0].stride() == results[1][0].stride()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_narrow_signals(dtype):
    """A method, too; the matrix is rounded once, from float64."""
    kind = getattr(dt, dtype)
    exact = dt.stft(signal(dt, 50), 16, return_complex=False)
    y = signal(dt, 50).to(kind).stft(16, return_complex=False)
    assert y.dtype == kind and dt.allclose(y.double(), exact, atol=40 * dt.finfo(kind).eps)


REFUSALS = [
    "t.stft(t.zeros(10), 4)",
    "t.stft(t.zeros(10), 4, return_complex=False, align_to_window=True)",
    "t.stft(t.zeros(2, 2, 10), 4, return_complex=False)",
    "t.stft(t.arange(10), 4, return_complex=False)",
    "t.stft(t.zeros(10), 40, return_complex=False)",
    "t.stft(t.zeros(10), 40, center=False, return_complex=False)",
    "t.stft(t.zeros(10), 4, hop_length=0, return_complex=False)",
    "t.stft(t.zeros(10), 4, win_length=5, return_complex=False)",
    "t.stft(t.zeros(10), 4, window=t.ones(3), return_complex=False)",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals(text, refusals):
    """PyTorch's sentences say the arguments between the name and what is wrong."""
    said = refusals(lambda t: eval(text, {"t": t}), RuntimeError)
    before = ": " if "only be set" not in text else "stft"
    ours, theirs = (sentence.rpartition(before)[2] for _, sentence in said)
    assert ours and theirs and (theirs.endswith(ours) or ours.endswith(theirs))


def test_complex_results_are_refused():
    with pytest.raises(RuntimeError, match="there are no complex numbers; return_complex=False"):
        dt.stft(dt.zeros(10), 4, return_complex=True)


def test_a_wider_window(torch):
    for t in (torch, dt):
        x, window = t.arange(20.0).sin(), t.ones(8, dtype=t.float64)
        y = t.stft(x, 8, window=window, return_complex=False)
        assert str(y.dtype) == "torch.float64"
