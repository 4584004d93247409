"""Optimizers and schedules: the same steps as PyTorch's."""

import copy
import os
import re

import dumbtorch as dt
import pytest
from dumbtorch import _ops
from meanings import class_of
from optimizer_rows import SCHEDULES, SETTINGS

NAN = float("nan")
DEVICE = os.environ.get("DT_TEST_DEVICE", "cpu")


def cases():
    for name, settings in SETTINGS.items():
        yield pytest.param(name, {}, id=name)
        yield pytest.param(name, settings, id=f"{name}-all")
        for key, value in settings.items():
            yield pytest.param(name, {key: value}, id=f"{name}-{key}")
    momentum = {"momentum": 0.9, "weight_decay": 0.1}
    yield pytest.param("SGD", momentum, id="SGD-decayed")
    yield pytest.param("SGD", momentum | {"dampening": 0.5}, id="SGD-dampened")
    yield pytest.param("SGD", momentum | {"nesterov": True}, id="SGD-nesterov")


OPTIMIZERS = list(cases())
TOLERANCES = {"float32": {"rtol": 1e-4, "atol": 1e-5}, "float64": {"rtol": 1e-7, "atol": 1e-9}}


def parameters(t):
    make = t.nn.Parameter
    return [make(t.tensor([[1.0, -2.0], [3.0, 0.5]])), make(t.tensor([0.1])), make(t.tensor([7.0]))]


def loss(ps):
    """The last parameter gets no gradient."""
    return ((ps[0] * ps[1]) ** 2).sum() + ps[0].abs().sum()


def train(t, opt, ps, steps):
    for _ in range(steps):
        opt.zero_grad()
        loss(ps).backward()
        opt.step()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name, settings", OPTIMIZERS)
def test_steps(name, settings, dtype, both, same):
    """50 steps: at a learning rate that keeps rounding errors from growing, all numbers are
    PyTorch's."""

    def run(t):
        where = DEVICE if t is dt else "cpu"
        ps = [t.nn.Parameter(p.detach().to(where, getattr(t, dtype))) for p in parameters(t)]
        opt = class_of(t, "optim", name)(ps, lr=0.01, **settings)
        train(t, opt, ps, 50)
        state = [opt.state[p] for p in ps[:2]]
        return ps, [sorted((k, v) for k, v in s.items() if v is not None) for s in state]

    same(*both(run), **TOLERANCES[dtype])


@pytest.mark.parametrize("name, settings", OPTIMIZERS)
def test_state_dict(name, settings, both, same):
    """Training that is interrupted goes on as if it had not been; the layout is PyTorch's.

    The learning rate keeps parameters away from 0, where |x| turns a rounding error into a step."""

    def run(t):
        ps = parameters(t)
        opt = class_of(t, "optim", name)(ps, lr=0.01, **settings)
        train(t, opt, ps, 3)
        state = copy.deepcopy(opt.state_dict())
        copies = [t.nn.Parameter(p.detach().clone()) for p in ps]
        again = class_of(t, "optim", name)(copies, lr=0.01, **settings)
        again.load_state_dict(state)
        train(t, opt, ps, 2)
        train(t, again, copies, 2)
        for a, b in zip(ps, copies, strict=True):
            assert a.tolist() == b.tolist()
        names = {
            k: sorted(v)
            for k, v in state["state"].items()
            if ps[k].grad is not None and any(x is not None for x in v.values())
        }
        return names, [g["params"] for g in state["param_groups"]], ps

    same(*both(run))


def test_adamw_takes_the_state_of_adam(both, same):
    """It goes on with Adam's moments and settings, but its decay stays decoupled."""

    def run(t):
        ps = parameters(t)
        adam = t.optim.Adam(ps, lr=0.1, weight_decay=0.3)
        train(t, adam, ps, 2)
        opt = t.optim.AdamW(ps)
        opt.load_state_dict(adam.state_dict())
        train(t, opt, ps, 2)
        return [g["decoupled_weight_decay"] for g in opt.param_groups], ps

    same(*both(run))


def test_adamw_has_no_choice_of_decay(both):
    def run(t):
        with pytest.raises(TypeError, match="unexpected keyword argument 'decoupled_weight_decay'"):
            t.optim.AdamW(parameters(t), decoupled_weight_decay=False)

    both(run)


def test_groups(both, same):
    def run(t):
        ps = parameters(t)
        opt = t.optim.SGD([{"params": ps[:1]}, {"params": ps[1], "lr": 0.5}], lr=0.1, momentum=0.5)
        opt.add_param_group({"params": [ps[2]], "momentum": 0.0})
        train(t, opt, ps, 3)
        opt.param_groups[0]["lr"] = 0.0
        train(t, opt, ps, 1)
        return ps, [g["lr"] for g in opt.param_groups]

    same(*both(run))


def test_late_parameters_start_with_their_gradient(both, same):
    """A momentum buffer begins when its parameter first has a gradient."""

    def run(t):
        a, b = t.nn.Parameter(t.ones(2)), t.nn.Parameter(t.ones(2))
        opt = t.optim.SGD([a, b], lr=0.1, momentum=0.9, dampening=0.3)
        for i in range(4):
            opt.zero_grad()
            (a.sum() if i < 2 else (a * b * b).sum()).backward()
            opt.step()
        return a, b

    same(*both(run))


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_state_of_another_memory_order(name, both, same):
    """A checkpoint of a row-major model goes on in a channels_last one."""

    def run(t):
        x = t.arange(120.0).reshape(2, 3, 4, 5)
        row_major = t.nn.Parameter(x.clone())
        options = {"momentum": 0.9} if name == "SGD" else {}
        opt = class_of(t, "optim", name)([row_major], lr=0.1, **options)
        (row_major * x).sum().backward()
        opt.step()
        p = t.nn.Parameter(row_major.detach().contiguous(memory_format=t.channels_last))
        again = class_of(t, "optim", name)([p], lr=0.1, **options)
        again.load_state_dict(opt.state_dict())
        (p * x).sum().backward()
        again.step()
        return p

    same(*both(run))


def test_a_step_that_failed_was_no_step():
    """Its parameters have no state, so that dampening does not count at their first step."""
    p = dt.nn.Parameter(dt.ones(2))
    opt = dt.optim.SGD([p], lr=1.0, momentum=0.5, dampening=0.5)
    p.grad = dt.full((2,), 0.25)
    with pytest.raises(RuntimeError, match="lr must be one floating point number"):
        opt.param_groups[0]["lr"] = dt.ones(2)
        opt.step()
    opt.param_groups[0]["lr"] = 1.0
    opt.step()
    assert p.tolist() == [0.75, 0.75]


def test_gradients_that_overlap_and_leave_holes_are_clipped_alone(both, same):
    """Their elements reach as far as there are elements, but are not those between."""

    def run(t):
        memory = t.full((8,), 3.0)
        p = t.nn.Parameter(t.zeros(2, 2, 2))
        p.grad = t.as_strided(memory, (2, 2, 2), (1, 1, 5)).detach()
        t.nn.utils.clip_grad_norm_([p], 0.5)
        return memory[3:5]

    same(*both(run))


def test_closure_and_zero_grad():
    p = dt.nn.Parameter(dt.ones(2))
    opt = dt.optim.SGD([p], lr=0.5)

    def closure():
        opt.zero_grad()
        out = (p * p).sum()
        out.backward()
        return out

    assert opt.step(closure).item() == 2 and p.tolist() == [0, 0]
    opt.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0, 0]
    opt.zero_grad()
    assert p.grad is None
    opt.step()  # nothing to do


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda p: dt.optim.SGD([], lr=0.1), ValueError),
        (lambda p: dt.optim.SGD(p, lr=0.1), TypeError),
        (lambda p: dt.optim.SGD([p, 5], lr=0.1), TypeError),
        (lambda p: dt.optim.SGD([p], lr=-1), ValueError),
        (lambda p: dt.optim.SGD([p], lr=1, nesterov=True), ValueError),
        (lambda p: dt.optim.SGD([p * 2], lr=1), ValueError),
        (lambda p: dt.optim.SGD([p, p], lr=1), ValueError),
        (lambda p: dt.optim.SGD([{"params": [p]}, {"params": [p]}], lr=1), ValueError),
        (lambda p: dt.optim.Adam([p], betas=(1.0, 0.9)), ValueError),
        (lambda p: dt.optim.AdamW([p], eps=-1), ValueError),
        (lambda p: dt.optim.lr_scheduler.StepLR(p, 1), TypeError),
        (
            lambda p: dt.optim.SGD([p], lr=1).load_state_dict({"state": {}, "param_groups": []}),
            ValueError,
        ),
    ],
)
def test_refuses(make, error):
    with pytest.raises(error):
        make(dt.nn.Parameter(dt.ones(2)))


def test_repr(both):
    ours, theirs = both(
        lambda t: repr(
            t.optim.lr_scheduler.StepLR(
                t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=0.1), 2
            ).optimizer
        )
    )
    assert ours.splitlines()[:2] == theirs.splitlines()[:2] and "    lr: 0.1" in ours


def schedule(t, name, optimizer):
    kind, settings = class_of(t, "optim.lr_scheduler", name), SCHEDULES.get(name)
    return kind(optimizer, *(settings or [lambda epoch: 1 / (epoch + 1)]))


@pytest.mark.parametrize("name", [*SCHEDULES, "LambdaLR"])
def test_schedules(name, both):
    def run(t):
        ps = parameters(t)
        opt = t.optim.SGD([{"params": ps[:2]}, {"params": ps[2:], "lr": 0.2}], lr=0.1)
        rates = schedule(t, name, opt)
        seen = [rates.get_last_lr()]
        for epoch in range(20):
            train(t, opt, ps, 1)
            rates.step()
            seen.append(rates.get_last_lr())
            if epoch == 12:  # as another schedule would
                opt.param_groups[0]["lr"] *= 3
        return seen

    ours, theirs = both(run)
    for a, b in zip(ours, theirs, strict=True):
        assert a == pytest.approx(b, rel=1e-12)


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_of_the_core(name, both):
    """Those of C, C++ and Lua give the same rates as Python's and PyTorch's."""
    weight = dt.ones(1, requires_grad=True)
    optimizer = _ops.optim_sgd([weight], lr=0.1)
    for group in range(1, 20):  # more than the first buffer has room for
        optimizer.add_param_group([dt.ones(1, requires_grad=True)])
        optimizer.set("lr", 0.1 * (group + 1), group)
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    core = getattr(_ops, f"optim_{snake}")(optimizer, *SCHEDULES[name])

    def run(t):
        groups = [
            {"params": [t.ones(1, requires_grad=True)], "lr": 0.1 * (g + 1)} for g in range(20)
        ]
        return schedule(t, name, t.optim.SGD(groups))

    ours, theirs = both(run)
    for _ in range(20):
        rates = list(core.get_last_lr())
        for other in (ours, theirs):
            assert rates == pytest.approx(other.get_last_lr(), rel=1e-12)
            other.optimizer.step()
            other.step()
        core.step()


def test_schedule_state():
    def make():
        opt = dt.optim.SGD([dt.nn.Parameter(dt.ones(1))], lr=1.0)
        return opt, dt.optim.lr_scheduler.StepLR(opt, 2)

    (opt, schedule), (other, again) = make(), make()
    for _ in range(3):
        opt.step()
        schedule.step()
    other.load_state_dict(opt.state_dict())
    again.load_state_dict(schedule.state_dict())
    schedule.step()
    again.step()
    assert again.get_last_lr() == schedule.get_last_lr() and again.last_epoch == 4


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
@pytest.mark.parametrize(
    "options",
    [{"lr": NAN}, {"eps": NAN}, {"weight_decay": NAN}, {"betas": (0.9, NAN)}, {"lr": -1.0}],
    ids=str,
)
def test_settings_that_are_no_numbers(torch, name, options):
    def message(t):
        with pytest.raises(ValueError) as error:
            class_of(t, "optim", name)([t.zeros(1, requires_grad=True)], **options)
        return str(error.value)

    assert message(dt) == message(torch)
