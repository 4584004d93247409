"""What PyTorch's core warns of once per process: old forms, masks of bytes; and set_warn_always, which repeats it."""

import warnings

import pytest

WARNED = [
    "t.add(x, 2, x)", "x.sub_(2, x)", "t.sub(x, 2, x)", "t.addmv(2, v, 3, x, v)", "t.addmv(2, v, x, v)",
    "t.addr(2, x, v, v)", "t.addbmm(2, x, 3, x[None], x[None])", "t.addcdiv(x, 0.5, x, x)", "t.addcmul(x, 2, x, x)",
    "x.addcmul_(2, x, x)", "x.addmm_(2, 3, x, x)", "v[v.byte()]", "x[v.byte(), 0]", "x.__setitem__(v.byte(), 0 * v)",
    "t.where(v.byte(), v, v)", "v.where(v.byte(), v)", "t.add(x, x, alpha=2)", "v[v.bool()]",
]  # fmt: skip


@pytest.mark.parametrize("text", WARNED)
def test_what_is_warned_of(text, both):
    def run(t):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            t.set_warn_always(True)
            eval(text, {"t": t, "x": t.ones(2, 2), "v": t.ones(2)})
            t.set_warn_always(False)
        return [(w.category, str(w.message).partition(" (Triggered")[0], w.filename) for w in seen]

    mine, theirs = both(run)
    assert mine == theirs


def test_once_per_process(both):
    def run(t):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for _ in range(3):
                t.where(t.ones(2, dtype=t.uint8), t.ones(2), t.ones(2))
        return len(seen) < 2, t.is_warn_always_enabled()

    mine, theirs = both(run)
    assert mine == theirs == (True, False)
