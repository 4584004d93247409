"""Optimizers that look at whole tensors, or at the loss, and averages of models: the same numbers as PyTorch's."""

import copy
import io

import dumbtorch as dt
import pytest


def rosenbrock(t, ps):
    x, y = ps[0][0], ps[1].reshape(-1)[0]
    return (1 - x) ** 2 + 100 * (y - x * x) ** 2 + (ps[0][1] - 3) ** 4


def bowl(t, ps):
    """Of another curvature in each direction; the last parameter gets no gradient."""
    a, b = ps[0], ps[1]
    return (
        (a * a * t.tensor([1.0, 30.0], dtype=a.dtype)).sum()
        + (b * b).cosh().sum()
        + (a.sum() * b).sum()
    )


def waves(t, ps):
    """Not convex, so that searches meet peaks."""
    return (
        (ps[0] * 3).sin().sum()
        + 0.1 * (ps[0] ** 2).sum()
        + (ps[1] * 2).cos().sum() * 0.5
        + ps[1].square().sum()
    )


def line(t, ps):
    return ps[0].sum() * 2 - ps[1].sum()


LOSSES = {f.__name__: f for f in (rosenbrock, bowl, waves)}


def points(t, dtype):
    make = lambda *values: t.nn.Parameter(t.tensor(values, dtype=getattr(t, dtype)))  # noqa: E731
    return [
        make(-1.2, 1.0),
        t.nn.Parameter(t.tensor([[1.0], [0.3]], dtype=getattr(t, dtype))),
        make(7.0),
    ]


def closure_of(t, optimizer, loss, ps, seen=None):
    def closure():
        optimizer.zero_grad()
        value = loss(t, ps)
        value.backward()
        if seen is not None:
            seen.append(value.item())
        return value

    return closure


LBFGS_SETTINGS = [
    {},
    {"line_search_fn": "strong_wolfe"},
    {"lr": 0.5, "line_search_fn": "strong_wolfe"},
    {"max_iter": 3},
    {"max_iter": 4, "line_search_fn": "strong_wolfe"},
    {"max_eval": 3, "line_search_fn": "strong_wolfe"},
    {"max_eval": 1, "line_search_fn": "strong_wolfe"},
    {"max_eval": 5},
    {"tolerance_grad": 0.5, "line_search_fn": "strong_wolfe"},
    {"tolerance_change": 1e-2, "line_search_fn": "strong_wolfe"},
    {"history_size": 2, "max_iter": 5, "line_search_fn": "strong_wolfe"},
    {"history_size": 1},
]


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("settings", LBFGS_SETTINGS, ids=str)
def test_lbfgs(name, settings, both, same):
    """Some 20 to 100 evaluations: parameters, counts and every loss on the way. Longer ways make any rounding
    error large; steps of a fixed length may run away, so they are short."""
    if "line_search_fn" not in settings:
        settings = settings | {"lr": 0.03 if name == "waves" else 1e-3}

    def run(t):
        ps = points(t, "float64")
        opt = t.optim.LBFGS(ps, **settings)
        seen = []
        closure = closure_of(t, opt, LOSSES[name], ps, seen)
        first = [opt.step(closure).item() for _ in range(5)]
        state = opt.state[ps[0]]
        return (
            ps,
            (state["n_iter"], state["func_evals"], len(seen)),
            t.tensor(first),
            t.tensor(seen),
        )

    same(*both(run), rtol=1e-6, atol=1e-8)


def test_lbfgs_along_a_line(both):
    """It falls for ever: each step of the search is ten times longer, or as long as rounding errors make it."""

    def run(t):
        ps = points(t, "float64")
        opt = t.optim.LBFGS(ps, max_eval=12, line_search_fn="strong_wolfe")
        opt.step(closure_of(t, opt, line, ps))
        return opt.state[ps[0]]["func_evals"], ps[0].tolist() + ps[1].flatten().tolist()

    (count, mine), (their_count, theirs) = both(run)
    assert count == their_count and mine == pytest.approx(theirs, rel=1e-2)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_of_float32(search, both, same):
    """Until it is at the lowest point."""

    def run(t):
        ps = points(t, "float32")
        opt = t.optim.LBFGS(ps, lr=0.1 if search is None else 1, line_search_fn=search)
        for _ in range(20):
            opt.step(closure_of(t, opt, bowl, ps))
        return ps

    same(*both(run), rtol=1e-4, atol=1e-5)


def plain(t, value):
    """A state's value as lists and numbers."""
    if isinstance(value, t.Tensor):
        return plain(t, value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(t, v) for v in value]
    return pytest.approx(value, rel=1e-6, abs=1e-8) if isinstance(value, float) else value


def test_lbfgs_state(both, torch):
    """It has PyTorch's names and kinds, and training goes on from it as if it had not been interrupted."""

    def run(t):
        ps = points(t, "float64")
        opt = t.optim.LBFGS(ps, max_iter=4, line_search_fn="strong_wolfe")
        for _ in range(2):
            opt.step(closure_of(t, opt, waves, ps))
        return ps, opt.state_dict()

    (mine, state), (_, theirs) = both(run)
    assert state["param_groups"] == theirs["param_groups"]
    assert {k: plain(dt, v) for k, v in state["state"][0].items()} == {
        k: plain(torch, v) for k, v in theirs["state"][0].items()
    }
    copies = [dt.nn.Parameter(p.detach().clone()) for p in mine]
    again = dt.optim.LBFGS(copies)
    again.load_state_dict(copy.deepcopy(state))
    opt = dt.optim.LBFGS(mine)
    opt.load_state_dict(state)
    for o, ps in ((opt, mine), (again, copies)):
        o.step(closure_of(dt, o, waves, ps))
    assert [p.tolist() for p in mine] == [p.tolist() for p in copies]
    assert again.state[copies[0]]["n_iter"] > 4


def test_lbfgs_goes_on_from_pytorchs_state(torch, same):
    """By way of a file, as checkpoints go."""

    def trained(t, steps, ps, state=None):
        opt = t.optim.LBFGS(ps, max_iter=4, line_search_fn="strong_wolfe")
        if state is not None:
            opt.load_state_dict(state)
        for _ in range(steps):
            opt.step(closure_of(t, opt, waves, ps))
        return opt

    theirs = points(torch, "float64")
    opt = trained(torch, 2, theirs)
    file = io.BytesIO()
    torch.save((opt.state_dict(), [p.detach() for p in theirs]), file)
    file.seek(0)
    state, values = dt.load(file, weights_only=True)
    mine = [dt.nn.Parameter(v) for v in values]
    trained(dt, 3, mine, state)
    trained(torch, 3, theirs, opt.state_dict())
    same(mine, theirs, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    "make",
    [
        lambda t, w: t.optim.LBFGS([w], lr=-1),
        lambda t, w: t.optim.LBFGS([w], lr=t.ones(2)),
        lambda t, w: t.optim.LBFGS([{"params": [w]}, {"params": [t.nn.Parameter(t.ones(2))]}]),
        lambda t, w: t.optim.LBFGS([]),
        lambda t, w: t.optim.LBFGS([w], line_search_fn="wolfe").step(lambda: _backward(w)),
        lambda t, w: t.optim.Adafactor([w], lr=-1),
        lambda t, w: t.optim.Adafactor([w], lr=t.ones(2)),
        lambda t, w: t.optim.Adafactor([w], beta2_decay=0.5),
        lambda t, w: t.optim.Adafactor([w], eps=(-1, 1)),
        lambda t, w: t.optim.Adafactor([w], eps=(None, -1)),
        lambda t, w: t.optim.Adafactor([w], d=0.5),
        lambda t, w: t.optim.Adafactor([w], weight_decay=-1),
        lambda t, w: t.optim.Muon([w]),
        lambda t, w: t.optim.Muon([w], lr=-1),
        lambda t, w: t.optim.Muon([w], momentum=-1),
        lambda t, w: t.optim.Muon([w], weight_decay=-1),
        lambda t, w: t.optim.Muon([w], adjust_lr_fn="x"),
    ],
)
def test_refusals(make, torch):
    def message(t):
        with pytest.raises((ValueError, RuntimeError)) as error:
            make(t, t.nn.Parameter(t.ones(3)))
        return type(error.value), str(error.value)

    assert message(dt) == message(torch)


def _backward(w):
    loss = (w * w).sum()
    loss.backward()
    return loss


def test_sparse_adam_is_refused():
    with pytest.raises(NotImplementedError, match="no sparse gradients"):
        dt.optim.SparseAdam([dt.nn.Parameter(dt.ones(2))])


ADAFACTOR = [
    {}, {"lr": 0.1}, {"beta2_decay": -0.3}, {"eps": (1e-3, 0.1)}, {"d": 1.5}, {"weight_decay": 0.1}, {"maximize": True},
    {"lr": 0.05, "beta2_decay": -0.5, "eps": (0.01, 0.5), "d": 2.0, "weight_decay": 0.2, "maximize": True},
]  # fmt: skip
MUON = [
    {}, {"lr": 0.1}, {"weight_decay": 0.5}, {"momentum": 0.5}, {"nesterov": False}, {"ns_steps": 2}, {"eps": 0.5},
    {"ns_coefficients": (3.0, -4.0, 2.0)}, {"adjust_lr_fn": "original"}, {"adjust_lr_fn": "match_rms_adamw"},
]  # fmt: skip


def some_parameters(t, dtype, shapes):
    out = []
    for k, shape in enumerate(shapes):
        n = 1
        for size in shape:
            n *= size
        values = (t.arange(n, dtype=getattr(t, dtype)) * 0.7 + k).sin()
        out.append(t.nn.Parameter(values.reshape(shape)))
    return out


def descend(t, opt, ps, steps):
    for _ in range(steps):
        opt.zero_grad()
        sum(((p - 0.3) ** 2 * (p.cos() + 2)).sum() for p in ps[:-1]).backward()
        opt.step()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("settings", ADAFACTOR, ids=str)
def test_adafactor(settings, dtype, both, same):
    """The last parameter gets no gradient."""

    def run(t):
        ps = some_parameters(t, dtype, [(3, 4), (5,), (), (2, 3, 4), (1, 6), (2,)])
        opt = t.optim.Adafactor(ps, **settings)
        descend(t, opt, ps, 20)
        return ps, [sorted(opt.state[p].items()) for p in ps[:-1]], len(opt.state)

    same(*both(run), rtol=1e-4 if dtype == "float32" else 1e-6, atol=1e-5)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("of", ["gradient", "parameter"])
def test_adafactor_leaves_out_what_is_no_number(bad, of, both, same):
    def run(t):
        p = t.nn.Parameter(t.tensor([0.5, bad if of == "parameter" else 1.0, 2.0]))
        opt = t.optim.Adafactor([p])
        for _ in range(2):
            p.grad = t.tensor([0.1, bad if of == "gradient" else 1.0, -3.0])
            opt.step()
        return p

    same(*both(run))


@pytest.mark.parametrize("settings", MUON, ids=str)
def test_muon(settings, both, same):
    """Its iteration is one of bfloat16 numbers, which the libraries round at other places."""

    def run(t):
        ps = some_parameters(t, "float32", [(3, 4), (4, 3), (2, 2), (2, 3)])
        opt = t.optim.Muon(ps, **settings)
        descend(t, opt, ps, 3)
        return ps, [sorted(opt.state[p].items()) for p in ps[:-1]]

    lr = settings.get("lr", 1e-3)
    same(*both(run), rtol=1e-3, atol=0.05 * lr)


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_interrupted(name):
    ps = some_parameters(dt, "float32", [(3, 4), (4, 3), (2, 3)])
    opt = getattr(dt.optim, name)(ps)
    descend(dt, opt, ps, 3)
    state = copy.deepcopy(opt.state_dict())
    copies = [dt.nn.Parameter(p.detach().clone()) for p in ps]
    again = getattr(dt.optim, name)(copies)
    again.load_state_dict(state)
    descend(dt, opt, ps, 2)
    descend(dt, again, copies, 2)
    assert [p.tolist() for p in ps] == [p.tolist() for p in copies]


# ---- averages


def small_net(t):
    net = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.BatchNorm1d(4), t.nn.Linear(4, 2))
    for k, p in enumerate(net.parameters()):
        with t.no_grad():
            p.copy_((t.arange(float(p.numel())) + k).sin().reshape(p.shape))
    return net


def batches(t, count=4):
    return [((t.arange(15.0) * 0.3 + k).sin().reshape(5, 3) * (k + 1)) for k in range(count)]


def moved(t, net, optimizer):
    for x in batches(t):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
        yield


AVERAGES = {
    "mean": lambda t: {},
    "ema": lambda t: {"avg_fn": t.optim.swa_utils.get_ema_avg_fn(0.7)},
    "swa": lambda t: {"avg_fn": t.optim.swa_utils.get_swa_avg_fn()},
    "multi ema": lambda t: {"multi_avg_fn": t.optim.swa_utils.get_ema_multi_avg_fn(0.7)},
    "multi swa": lambda t: {"multi_avg_fn": t.optim.swa_utils.get_swa_multi_avg_fn()},
    "own": lambda t: {"avg_fn": lambda average, p, n: average * 0.5 + p * n},
}


@pytest.mark.parametrize("use_buffers", [False, True])
@pytest.mark.parametrize("name", AVERAGES)
def test_averaged_model(name, use_buffers, both, same):
    if name == "multi swa" and use_buffers:
        pytest.skip("PyTorch cannot divide counts of batches in place")

    def run(t):
        net = small_net(t)
        averaged = t.optim.swa_utils.AveragedModel(
            net, use_buffers=use_buffers, **AVERAGES[name](t)
        )
        for _ in moved(t, net, t.optim.SGD(net.parameters(), lr=0.1)):
            averaged.update_parameters(net)
        averaged.eval()
        return (
            list(averaged.state_dict()),
            list(averaged.state_dict().values()),
            averaged(batches(t)[0]),
        )

    same(*both(run))


def test_counts_are_averaged_too():
    net = small_net(dt)
    swa = dt.optim.swa_utils
    averaged = swa.AveragedModel(net, multi_avg_fn=swa.get_swa_multi_avg_fn(), use_buffers=True)
    for count in (0, 4):
        net[1].num_batches_tracked.fill_(count)
        averaged.update_parameters(net)
    assert averaged.module[1].num_batches_tracked.item() == 2


def test_refusals_of_averages(torch):
    for make in (
        lambda s, t: s.AveragedModel(t.nn.Linear(1, 1), avg_fn=min, multi_avg_fn=max),
        lambda s, t: s.get_ema_avg_fn(1.5),
        lambda s, t: s.get_ema_multi_avg_fn(-1),
        lambda s, t: s.SWALR(t.optim.SGD([t.nn.Parameter(t.ones(1))]), 0.1, anneal_strategy="x"),
        lambda s, t: s.SWALR(t.optim.SGD([t.nn.Parameter(t.ones(1))]), 0.1, anneal_epochs=-1),
        lambda s, t: s.SWALR(t.optim.SGD([t.nn.Parameter(t.ones(1))]), [0.1, 0.2]),
    ):
        messages = []
        for t in (dt, torch):
            with pytest.raises((ValueError, AssertionError)) as error:
                make(t.optim.swa_utils, t)
            messages.append((type(error.value), str(error.value)))
        assert messages[0] == messages[1]


@pytest.mark.parametrize("training", [True, False])
def test_update_bn(training, both, same):
    def run(t):
        net = small_net(t).train(training)
        net(batches(t)[0])
        data = [(x, 0) for x in batches(t)] if training else batches(t)
        t.optim.swa_utils.update_bn(data, net)
        none = t.optim.swa_utils.update_bn(iter(()), t.nn.Linear(1, 1))
        return list(net.state_dict().values()), net.training, net[1].momentum, none

    same(*both(run))


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 1, 4])
def test_swalr(strategy, epochs, both):
    """After another schedule, and again from its state."""

    def run(t):
        w, v = (t.nn.Parameter(t.ones(1)) for _ in range(2))
        opt = t.optim.SGD([{"params": [w]}, {"params": [v], "lr": 0.5}], lr=1.0)
        decay = t.optim.lr_scheduler.ExponentialLR(opt, 0.9)
        rates = []
        for _ in range(2):
            opt.step()
            decay.step()
        swa = t.optim.swa_utils.SWALR(opt, [0.05, 0.1], epochs, strategy)
        for _ in range(3):
            opt.step()
            swa.step()
            rates += swa.get_last_lr()
        state = swa.state_dict()
        swa = t.optim.swa_utils.SWALR(opt, 0.7, 9)
        swa.load_state_dict(state)
        for group, lr in zip(opt.param_groups, rates[-2:], strict=True):
            group.update(lr=lr, swa_lr=0.1)
        for _ in range(4):
            opt.step()
            swa.step()
            rates += [group["lr"] for group in opt.param_groups]
        return rates, sorted(state)

    (mine, keys), (theirs, their_keys) = both(run)
    assert mine == pytest.approx(theirs, rel=1e-9) and keys == their_keys


def test_a_momentum_that_was_saved_as_none():
    torch = pytest.importorskip("torch")
    steps = []
    for t in (dt, torch):
        p = t.nn.Parameter(t.tensor([1.0, -2.0]))
        opt = t.optim.SGD([p], lr=0.1, momentum=0.9)
        saved = opt.state_dict()
        saved["state"] = {0: {"momentum_buffer": None}}
        opt.load_state_dict(saved)
        for _ in range(3):
            opt.zero_grad()
            (p * p).sum().backward()
            opt.step()
        steps.append(p.detach().tolist())
    assert steps[0] == pytest.approx(steps[1], rel=1e-6)


def test_parameters_with_names(both):
    def run(t):
        layer, other = t.nn.Linear(2, 2), t.nn.Linear(1, 1)
        names, plain = list(layer.named_parameters()), list(other.parameters())
        optimizer = t.optim.SGD(iter(names), lr=0.1)
        optimizer.add_param_group({"params": other.named_parameters("o"), "lr": 1.0})
        packed = optimizer.state_dict()["param_groups"]
        found = [(group["param_names"], group["params"], group["lr"]) for group in packed]
        resumed = t.optim.SGD([*names, *other.named_parameters()], lr=0.2)
        refused = []
        for wrong in (
            lambda: optimizer.add_param_group({"params": t.nn.Parameter(t.ones(1))}),
            lambda: t.optim.SGD(plain).add_param_group({"params": names}),
            lambda: t.optim.SGD([names[0], plain[0]]),
        ):
            with pytest.raises(ValueError) as caught:
                wrong()
            refused.append(str(caught.value))
        packed[0]["param_names"] = ["a", "b"]
        packed[0]["params"], packed[1:] = [0, 1, 2, 3], []
        resumed.load_state_dict({"state": {}, "param_groups": packed})
        return found, refused, resumed.param_groups[0]["param_names"], resumed.param_groups[0]["lr"]

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.parametrize(
    "name",
    [
        "SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop", "ASGD", "LBFGS",
        "Adafactor", "Muon",
    ],
)  # fmt: skip
def test_rates_of_several_elements(name, refusals):
    def run(t):
        getattr(t.optim, name)([t.nn.Parameter(t.ones(2, 2))], lr=t.tensor([1.0, 2.0]))

    ours, theirs = refusals(run, ValueError)
    assert ours == theirs


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_without_a_slope(search, both, same):
    """A tolerance below 0 lets it go on where the gradient is 0."""

    def run(t):
        p = t.nn.Parameter(t.ones(2))
        opt = t.optim.LBFGS([p], lr=0.1, tolerance_grad=-1.0, line_search_fn=search)

        def closure():
            p.grad = t.zeros(2)
            return t.tensor(1.0)

        return opt.step(closure), p.detach()

    same(*both(run))


def test_parameters_in_a_tuple(both, same):
    """What somebody has put into a group is any sequence, also where the optimizer keeps a state."""

    def run(t):
        p, q = (t.nn.Parameter(t.tensor([1.0, -2.0])) for _ in range(2))
        for opt in (t.optim.SGD([p], lr=0.1), t.optim.Adam([q], lr=0.1)):
            opt.param_groups[0]["params"] = tuple(opt.param_groups[0]["params"])
            (p * q).sum().backward()
            opt.step()
        return p, q

    same(*both(run))


def test_a_velocity_begins_with_the_gradient_whatever_else_is_kept(both, same):
    def run(t):
        p = t.nn.Parameter(t.tensor([1.0, -2.0]))
        opt = t.optim.SGD([p], lr=0.1)
        opt.state[p]["note"] = 1
        opt.param_groups[0].update(momentum=0.9, dampening=0.5)
        for i in range(4):
            opt.zero_grad()
            (p * p).sum().backward()
            opt.step()
            if i == 1:
                opt.state[p]["momentum_buffer"] = None
        return p, opt.state[p]["momentum_buffer"]

    same(*both(run))


@pytest.mark.parametrize("masters", [False, True])
def test_a_velocity_that_is_wanted_later(masters):
    """With masters that were made before, too; the steps of float32 are the truth."""

    def run(dtype):
        p = dt.nn.Parameter(dt.tensor([1.0, -2.0], dtype=dtype))
        opt = dt.optim.SGD([p], lr=0.125)
        if masters:
            opt.use_master_weights()
        for _ in range(3):
            p.grad = dt.tensor([0.5, -0.25], dtype=dtype)
            opt.step()
            opt.param_groups[0].update(momentum=0.5, dampening=0.5)
        return p.float().tolist()

    assert run(dt.bfloat16) == pytest.approx(run(dt.float32), rel=2**-8)


def test_a_step_that_failed_leaves_the_state_alone():
    p = dt.nn.Parameter(dt.ones(2))
    opt = dt.optim.SGD([p], lr=1.0, momentum=0.5)
    opt.state[p]["note"] = 1
    p.grad = dt.full((2,), 0.25)
    opt.param_groups[0]["lr"] = dt.ones(2)
    with pytest.raises(RuntimeError, match="lr must be one floating point number"):
        opt.step()
    assert dict(opt.state) == {p: {"note": 1}}


def test_the_first_setting_that_is_no_number_is_the_error():
    class Number:
        def __float__(self):
            return 0.5

    p = dt.nn.Parameter(dt.ones(2))
    p.grad = dt.ones(2)
    opt = dt.optim.Adam([p])
    opt.param_groups[0]["betas"] = None, Number()
    with pytest.raises(TypeError, match="must be real number, not NoneType"):
        opt.step()
