"""Sobol sequences against PyTorch's, whose table goes to more dimensions; scrambled ones by what they keep."""

import dumbtorch as dt
import pytest


@pytest.mark.parametrize("dimension", [1, 2, 3, 13, 200, 1111])
def test_points(dimension, torch):
    ours, theirs = (t.quasirandom.SobolEngine(dimension) for t in (dt, torch))
    for n in (1, 5, 0, 64):
        assert ours.draw(n).tolist() == theirs.draw(n).tolist()
    for engine in (ours, theirs):
        engine.fast_forward(1000)
    assert ours.draw(3, dtype=dt.float64).tolist() == theirs.draw(3, dtype=torch.float64).tolist()
    assert ours.quasi.tolist() == theirs.quasi.tolist()
    assert repr(ours) == repr(theirs) and ours.num_generated == theirs.num_generated
    assert ours.reset().draw(2).tolist() == theirs.reset().draw(2).tolist()
    assert ours.reset().draw_base2(3).tolist() == theirs.reset().draw_base2(3).tolist()
    for engine, t in ((ours, dt), (theirs, torch)):
        out = t.empty(0)
        assert engine.reset().fast_forward(7).draw(2, out=out) is out
    assert ours.quasi.tolist() == theirs.quasi.tolist()


def test_scrambled():
    """Each of 64 intervals has one of 64 points, in each dimension; a seed repeats; points differ."""
    one, two, other = (dt.quasirandom.SobolEngine(20, scramble=True, seed=s) for s in (3, 3, 4))
    points = one.draw(64)
    assert (points * 64).floor().sort(0).values.equal(dt.arange(64.0).unsqueeze(-1).expand(64, 20))
    assert points.equal(two.draw(64)) and not points.equal(other.draw(64))
    assert one.draw(64).min() >= 0 and one.draw(64).max() < 1
    assert repr(one) == "SobolEngine(dimension=20, scramble=True, seed=3)"


def test_refusals(torch):
    for call in (
        lambda t: t.quasirandom.SobolEngine(0),
        lambda t: t.quasirandom.SobolEngine(3).fast_forward(3).draw_base2(3),
    ):
        said = []
        for t in (dt, torch):
            with pytest.raises(ValueError) as caught:
                call(t)
            said.append(str(caught.value).replace("21201", "1111"))
        assert said[0] == said[1]
    with pytest.raises(ValueError, match=r"\[1, 1111\]"):
        dt.quasirandom.SobolEngine(1112)
