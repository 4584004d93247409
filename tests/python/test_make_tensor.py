"""testing.make_tensor: the shapes, layouts, bounds and errors of PyTorch's."""

import dumbtorch as dt
import dumbtorch.testing
import pytest

DTYPES = "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split()
CALLS = (
    "2, 3", "(2, 3)", "()", "2, 3, low=1, high=4", "2, 3, noncontiguous=True", "1, noncontiguous=True",
    "(40,), low=-0.5, high=1.5", "2, 3, low=-1e300, high=1e300", "(50,), low=-1, high=2, exclude_zero=True",
    "2, 3, 4, 5, memory_format=t.channels_last", "2, 3, low=3, high=1", "2, 3, low=300, high=301",
    "2, 3, low=2, high=2",
    "2, 3, low=float('nan')", "2, 3, requires_grad=True", "2, 3, noncontiguous=True, memory_format=t.channels_last",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:Passing `low==high`")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("call", CALLS)
def test_make_tensor(both, call, dtype):
    def run(t):
        try:
            text = f"t.testing.make_tensor({call}, dtype=t.{dtype}, device='cpu')"
            x = eval(text, {"t": t})
        except ValueError as error:
            return str(error)
        values = [float(v) for v in x.detach().flatten().tolist()]
        return tuple(x.shape), x.stride(), str(x.dtype)[-5:], x.requires_grad, 0.0 in values, values

    mine, theirs = both(run)
    if isinstance(theirs, str):
        assert mine == theirs
        return
    assert mine[:4] == theirs[:4]
    if "exclude_zero" in call:
        assert not mine[4]
    low, high = (1, 4) if "low=1" in call else (-1, 2) if "0,)" in call else (-9, 10)
    assert "300" in call or all(low <= v <= high for v in mine[5])


def test_assert_close_without_subclasses(torch):
    for t in (dt, torch):
        x, p = t.ones(2), t.nn.Parameter(t.ones(2))
        t.testing.assert_close(x, p)
        t.testing.assert_close(p, p, allow_subclasses=False)
        with pytest.raises(
            TypeError, match="No comparison pair was able to handle inputs of type .*Parameter"
        ):
            t.testing.assert_close([x], [p], allow_subclasses=False)
