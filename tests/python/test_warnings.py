"""What PyTorch's core warns of once per process: old forms, masks of bytes; and set_warn_always, which repeats it."""

import importlib
import warnings

import dumbtorch as dt
import pytest

WARNED = [
    "t.add(x, 2, x)", "x.sub_(2, x)", "t.sub(x, 2, x)", "t.addmv(2, v, 3, x, v)", "t.addmv(2, v, x, v)",
    "t.addr(2, x, v, v)", "t.addbmm(2, x, 3, x[None], x[None])", "t.addcdiv(x, 0.5, x, x)", "t.addcmul(x, 2, x, x)",
    "x.addcmul_(2, x, x)", "x.addmm_(2, 3, x, x)", "v[v.byte()]", "x[v.byte(), 0]", "x.__setitem__(v.byte(), 0 * v)",
    "t.where(v.byte(), v, v)", "v.where(v.byte(), v)", "t.add(x, x, alpha=2)", "v[v.bool()]",
    "t.cross(t.ones(4, 3), t.ones(4, 3))", "t.ones(4, 3).cross(t.ones(4, 3))", "t.cross(t.ones(3), t.ones(3), dim=0)",
    "t.meshgrid(v, v)", "t.meshgrid(v, v, indexing='xy')", "t.range(1, 3)", "t.chain_matmul(x, x)", "v.T", "x.T",
    "t.tensor(1.0).T", "t.ones(2, requires_grad=True).mul(2).grad", "t.ones(2, requires_grad=True).grad",
    "v.grad", "(2 * t.ones(2, requires_grad=True)).detach().grad", "g.backward(create_graph=True)", "g.backward()",
    "t.autograd.backward(g, create_graph=True)", "t.autograd.detect_anomaly()",
    "t.nn.functional.upsample(v[None, None], 4)", "t.nn.functional.upsample_nearest(x[None, None], 4)",
    "t.nn.functional.upsample_bilinear(x[None, None], 4)", "t.nn.utils.weight_norm(t.nn.Linear(1, 1))",
    "t.nn.utils.clip_grad_norm(t.nn.Parameter(v), 1)", "t.cuda.amp.autocast()", "t.cuda.amp.GradScaler()",
    "t.cpu.amp.autocast()", "t.cpu.amp.GradScaler()",
    *(f"t.nn.functional.{name}_loss(x, v)" for name in ("mse", "l1", "smooth_l1", "huber")),
    *(f"t.nn.functional.{name}_loss(x, v.expand(2, 2))" for name in ("mse", "l1", "smooth_l1", "huber")),
    "t.utils.checkpoint.checkpoint(t.exp, t.ones(2, requires_grad=True))",
    "t.utils.checkpoint.checkpoint(t.exp, t.ones(2, requires_grad=True), use_reentrant=False)",
    "t.utils.checkpoint.checkpoint_sequential([t.exp, t.exp], 1, t.ones(2, requires_grad=True))",
]  # fmt: skip


@pytest.mark.parametrize("text", WARNED)
def test_what_is_warned_of(text, both):
    def run(t):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            t.set_warn_always(True)
            importlib.import_module(f"{t.__name__}.utils.checkpoint")
            loss = t.ones(2, requires_grad=True).exp().sum()
            eval(text, {"t": t, "x": t.ones(2, 2), "v": t.ones(2), "g": loss})
            t.set_warn_always(False)
        if t is dt:
            assert {w.filename for w in seen[:1]} <= {"<string>"}  # the line that did it
        return [(w.category, str(w.message).partition(" (Triggered")[0]) for w in seen]

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.parametrize("name", ["MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss"])
def test_layers_of_losses(name, both):
    def run(t):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            getattr(t.nn, name)()(t.ones(2, 1), t.ones(2))
        return [(w.category, str(w.message)) for w in seen]

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.parametrize(
    "text",
    ["t.range(1, 3)", "t.chain_matmul(x, x)", "x[v.byte()]", "t.meshgrid(v, v)", "v.T"],
)
def test_two_calls(text, both):
    """Warn each or once, but for what other tests had warned of before."""

    def run(t):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for _ in range(2):
                eval(text, {"t": t, "x": t.ones(2, 2), "v": t.ones(2)})
        return len(seen) == 2

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
