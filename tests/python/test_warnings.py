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


def image(t, *sizes):
    return t.arange(float(t.zeros(sizes).numel())).reshape(sizes)


def schedule(t, kind=None, *given):
    optimizer = t.optim.SGD([t.nn.Parameter(t.ones(1))], 0.1, momentum=0.5)
    return getattr(t.optim.lr_scheduler, kind)(optimizer, *given)


SCHEDULES = {
    "StepLR": (1,),
    "ExponentialLR": (0.9,),
    "LambdaLR": (abs,),
    "MultiplicativeLR": (abs,),
    "CosineAnnealingWarmRestarts": (2,),
    "CyclicLR": (0.1, 0.2),
    "OneCycleLR": (0.1, 4),
}
# Of layers, schedules and loaders, each time.
EACH_TIME = {
    "InstanceNorm1d": lambda t: t.nn.InstanceNorm1d(3)(image(t, 2, 4, 5)),
    "InstanceNorm2d without a batch": lambda t: t.nn.InstanceNorm2d(3)(image(t, 4, 5, 5)),
    "InstanceNorm1d as named": lambda t: t.nn.InstanceNorm1d(4)(image(t, 2, 4, 5)),
    "KLDivLoss": lambda t: t.nn.KLDivLoss()(image(t, 2, 2), image(t, 2, 2)),
    "KLDivLoss of batches": lambda t: t.nn.KLDivLoss(reduction="batchmean")(image(t, 2, 2), image(t, 2, 2)),
    "kl_div": lambda t: t.nn.functional.kl_div(image(t, 2), image(t, 2)),
    "kl_div by position": lambda t: t.kl_div(image(t, 2), image(t, 2), 1),
    "older kl_div": lambda t: t.nn.functional.kl_div(image(t, 2), image(t, 2), True),
    "older mean": lambda t: t.nn.functional.mse_loss(image(t, 2), image(t, 2), reduction="elementwise_mean"),
    "older mean of a layer": lambda t: t.nn.L1Loss(reduction="elementwise_mean")(image(t, 2), image(t, 2)),
    "number of a mean": lambda t: t.nn._reduction.get_enum("elementwise_mean"),
    "grid_sample": lambda t: t.nn.functional.grid_sample(image(t, 1, 1, 2, 2), t.zeros(1, 1, 1, 2)),
    "grid_sample of corners": lambda t: t.nn.functional.grid_sample(
        image(t, 1, 1, 2, 2), t.zeros(1, 1, 1, 2), align_corners=False
    ),
    "affine_grid": lambda t: t.nn.functional.affine_grid(t.zeros(1, 2, 3), (1, 1, 2, 2)),
    "affine_grid of a line": lambda t: t.nn.functional.affine_grid(t.zeros(1, 2, 3), (1, 1, 1, 2), True),
    **{
        f"{kind} of {n}": lambda t, kind=kind, n=n: getattr(t.nn, kind)()(image(t, *[2] * n))
        for kind in ("Dropout2d", "Dropout3d") for n in range(2, 7)
    },
    "dropout2d": lambda t: t.nn.functional.dropout2d(image(t, 2, 2), 0.5, False),
    "dropout3d in place": lambda t: t.nn.functional.dropout3d(image(t, 2, 2, 2), inplace=True),
    "gumbel_softmax": lambda t: t.nn.functional.gumbel_softmax(image(t, 2, 2), eps=1e-9),
    "tensor of a tensor": lambda t: t.tensor(t.ones(2)),
    "tensor of a parameter": lambda t: t.tensor(t.nn.Parameter(t.ones(2)), dtype=t.int64),
    "tensor of elements": lambda t: t.tensor([t.tensor(1.0).item(), *t.ones(2)]),
    "new_tensor": lambda t: t.ones(2).new_tensor(t.ones(2), requires_grad=True),
    "new_tensor of a list": lambda t: t.ones(2).new_tensor([1, 2]),
    "other copies": lambda t: [f(t.ones(2)) for f in (t.asarray, t.as_tensor, t.Tensor, t.FloatTensor)],
    "state_dict": lambda t: t.nn.Linear(1, 1).state_dict({}, "a.", True),
    "dropout of one layer": lambda t: t.nn.LSTM(2, 3, dropout=0.5),
    "DataLoader": lambda t: t.utils.data.DataLoader(range(3), num_workers=1000),
    "pin_memory": lambda t: list(t.utils.data.DataLoader(range(3), pin_memory=True)),
    "checkpoint": lambda t: t.utils.checkpoint.checkpoint(t.exp, t.ones(1), use_reentrant=True),
    **{f"get_lr of {k}": lambda t, k=k, v=v: schedule(t, k, *v).get_lr() for k, v in SCHEDULES.items()},
    **{f"step of {k}": lambda t, k=k, v=v: schedule(t, k, *v) for k, v in SCHEDULES.items()},
    "SWALR": lambda t: t.optim.swa_utils.SWALR(t.optim.SGD([t.nn.Parameter(t.ones(1))], 0.1), 0.05),
}  # fmt: skip


def given_by(f, t):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        f(t)
    return [(w.category, str(w.message).partition(" (Triggered")[0]) for w in seen]


@pytest.mark.parametrize("name", EACH_TIME)
def test_what_is_warned_of_each_time(name, both):
    if name == "pin_memory" and dt.cuda.is_available():
        pytest.skip("there is a GPU")
    mine, theirs = both(lambda t: given_by(EACH_TIME[name], t))
    assert mine == theirs


def test_positional_arguments_of_state_dicts(both):
    def run(t):
        into = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = t.nn.Sequential(t.nn.Linear(1, 1)).state_dict(into, "a.", True)
        return out is into, list(out), [x.requires_grad for x in out.values()]

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.parametrize(
    "text", ["t.set_default_tensor_type('torch.FloatTensor')", "t.ones(1).storage()"]
)
def test_what_is_warned_of_once(text):
    """PyTorch has warned of storages by then, in files."""
    dt.set_warn_always(True)
    mine = given_by(lambda t: eval(text, {"t": t}), dt)
    dt.set_warn_always(False)
    assert [category for category, _ in mine] == [UserWarning]
    assert "deprecated" in mine[0][1]
