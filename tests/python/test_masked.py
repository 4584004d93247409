"""torch.masked's reductions and normalisations, with gradients, against PyTorch's."""

import warnings

import dumbtorch as dt
import numpy as np
import pytest

MASKS = {
    "whole": np.array([[True, False, True], [False, False, False]]),
    "row": np.array([True, True, False]),
    "none": None,
}
CALLS = [
    "m.sum(x, mask=k)", "m.sum(x, 1, keepdim=True, mask=k)", "m.sum(x, (0, 1), mask=k)", "m.prod(x, 1, mask=k)",
    "m.prod(x, mask=k)", "m.cumsum(x, 1, mask=k)", "m.cumprod(x, -1, mask=k)", "m.amax(x, 1, mask=k)",
    "m.amin(x, (), keepdim=True, mask=k)", "m.argmax(x, 1, mask=k)", "m.argmin(x, mask=k)", "m.mean(x, 1, mask=k)",
    "m.mean(x, mask=k)", "m.median(x, 1, mask=k)", "m.logsumexp(x, 1, mask=k)", "m.norm(x, 2, 1, mask=k)",
    "m.norm(x, float('-inf'), 1, mask=k)", "m.var(x, 1, mask=k)", "m.std(x, 0, unbiased=False, mask=k)",
    "m.var(x, correction=0.5, keepdim=True, mask=k)", "m.softmax(x, 1, mask=k)", "m.log_softmax(x, -1, mask=k)",
    "m.softmin(x, 1, mask=k)", "m.normalize(x, 2., 1, mask=k)", "m.logaddexp(x, x * 2, input_mask=k)",
    "m.sum(x, 1, dtype=t.float32, mask=k)",
]  # fmt: skip
OF_INTEGERS = [
    "m.sum(i, 1, mask=k)", "m.prod(i, 0, mask=k)", "m.amax(i, 1, mask=k)", "m.amin(i, 0, mask=k)",
    "m.cumsum(i, 0, mask=k)",
    "m.var(i, 0, mask=k)", "m.mean(i, 0, dtype=t.float64, mask=k)", "m.argmax(i, 0, mask=k)", "m.median(i, 1, mask=k)",
]  # fmt: skip


def found(t, text, mask):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = __import__(f"{t.__name__}.masked", fromlist=["sum"])
        x = t.tensor([[0.5, -1.25, 2.0], [1.5, 0.25, -3.0]], dtype=t.float64, requires_grad=True)
        i = t.tensor([[5, -1, 2], [1, 7, -3]], dtype=t.int32)
        k = None if MASKS[mask] is None else t.from_numpy(MASKS[mask])
        try:
            y = eval(text, {"t": t, "m": m, "x": x, "i": i, "k": k})
        except ValueError as error:
            return "ValueError", str(error).replace("torch.", "")
        if y.requires_grad:
            y.sum().backward()
        return str(y.dtype), y.detach().numpy(), None if x.grad is None else x.grad.numpy()


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("text", CALLS + OF_INTEGERS)
def test_values(text, mask, torch):
    ours, theirs = (found(t, text, mask) for t in (dt, torch))
    assert ours[0] == theirs[0]
    if ours[0] == "ValueError":
        assert ours == theirs
        return
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-12, atol=1e-14)
    assert (ours[2] is None) == (theirs[2] is None)
    if ours[2] is not None:
        np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-12, atol=1e-14)


REFUSED = [
    ("m.sum(x, 5)", IndexError), ("m.sum(x, (0, 0))", RuntimeError), ("m.mean(i)", ValueError),
    ("m.sum(x, mask=x[None] > 0)", IndexError), ("m.var(x, 0, True, correction=1)", AssertionError),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind"), REFUSED)
def test_refusals(text, kind, torch):
    said = []
    for t in (dt, torch):
        m = __import__(f"{t.__name__}.masked", fromlist=["sum"])
        with pytest.raises(kind) as caught:
            eval(text, {"m": m, "x": t.ones(2, 3), "i": t.ones(2, dtype=t.int64)})
        said.append(str(caught.value))
    assert said[0] == said[1]
