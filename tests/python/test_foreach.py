"""torch._foreach_add_ and its kin, against PyTorch's."""

import dumbtorch as dt
import pytest
from dumbtorch import _foreach

DATA = [[0.5, 0.25], [[0.75], [0.125]]]
CALLS = [
    "_foreach_add(x, 1.5)", "_foreach_add_(x, y, alpha=0.5)", "_foreach_add(x, [1., 2.])",
    "_foreach_sub(x, y, alpha=2)",
    "_foreach_mul_(x, 0.99)", "_foreach_mul(x, t.tensor(3.))", "_foreach_div_(x, y)", "_foreach_div(x, [2., 4.])",
    "_foreach_pow(x, 2)", "_foreach_pow(x, y)", "_foreach_pow(2., x)", "_foreach_lerp_(x, y, 0.25)",
    "_foreach_lerp(x, y, y)", "_foreach_copy_(x, y)", "_foreach_addcmul_(x, y, y, 0.5)", "_foreach_addcdiv(x, x, y)",
    "_foreach_addcmul(x, y, y, [1., 2.])", "_foreach_addcdiv(x, x, y, t.tensor([1., 2.]))", "_foreach_maximum(x, y)",
    "_foreach_maximum_(x, 0.3)", "_foreach_clamp_min(x, [0.2, 0.3])", "_foreach_clamp_max_(x, y)",
    "_foreach_minimum(x, 0.3)",
    "_foreach_norm(x)", "_foreach_norm(x, 1)", "_foreach_max(x)", "_foreach_zero_(x)", "_foreach_clone(x)",
]  # fmt: skip
CALLS += [f"{name}(x)" for name in _foreach.names() if name.split("_")[2] in _foreach._ALONE]


@pytest.mark.parametrize("text", sorted(set(CALLS)))
def test_values(text, torch):
    found = []
    for t in (dt, torch):
        x, y = ([t.tensor(v, dtype=t.float64) * k for v in DATA] for k in (1, 0.75))
        result = eval(f"t.{text}", {"t": t, "x": x, "y": y})
        same = result is x if "_(" in text else isinstance(result, tuple)
        found.append(([v.tolist() for v in result], [v.tolist() for v in x], same))
    flat = [str(part).replace(" ", "") for part in found]
    if flat[0] != flat[1]:
        for ours, theirs in zip(found[0][0], found[1][0], strict=True):
            dt.testing.assert_close(dt.tensor(ours), dt.tensor(theirs))
    assert found[0][2]


def test_refusals(torch):
    calls = (
        lambda t: t._foreach_add([], 1.0),
        lambda t: t._foreach_mul([t.ones(1)] * 2, [t.ones(1)]),
    )
    for call in calls:
        said = []
        for t in (dt, torch):
            with pytest.raises(RuntimeError) as caught:
                call(t)
            said.append(str(caught.value))
        assert said[0] == said[1]


@pytest.mark.parametrize("name", "add sub mul div maximum minimum clamp_min clamp_max pow".split())
@pytest.mark.parametrize("ending", ["", "_"])
def test_numbers_in_tensors(name, ending, torch):
    """A tensor without dimensions stands for its number: it promotes as one. Others are refused, or have entries."""
    found = []
    for t in (dt, torch):
        one, two = t.tensor(1.5), t.tensor([2.0, 3.0], dtype=t.float16)
        lists = [one, two], [t.tensor(2), t.tensor([3], dtype=t.int32)], [t.tensor(True)]
        others = 2.5, t.tensor(2.0, dtype=t.float64), t.tensor(3), t.tensor([2.5]), [one, two], [3]
        for tensors in lists:
            for other in others:
                copies = [x.clone() for x in tensors]
                try:
                    y = getattr(t, f"_foreach_{name}{ending}")(copies, other)
                    found.append([(str(v.dtype), v.tolist()) for v in y])
                except (RuntimeError, TypeError) as error:
                    found.append(type(error))
    half = len(found) // 2
    assert found[:half] == found[half:]
