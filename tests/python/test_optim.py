"""Optimizers and schedules: the same steps as PyTorch's."""

import copy
import inspect
import math
import os
import re
import sys

import dumbtorch as dt
import pytest
from dumbtorch import _ops
from dumbtorch.optim import optimizers
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


@pytest.mark.parametrize("name", ["Adam", "SGD", "LBFGS"])
def test_what_a_state_dict_has_besides(name, both):
    """It is kept, and comes out again."""

    def run(t):
        optimizer = getattr(t.optim, name)([t.nn.Parameter(t.ones(2))], lr=0.1)
        saved = optimizer.state_dict()
        first = {"mine": 3, "tensor": t.ones(3), "step": t.tensor(1.0)}
        saved["state"] = {0: first, 9: {"other": 1}, "notes": "x"}
        saved["param_groups"][0]["label"] = "first"
        optimizer.load_state_dict(saved)
        found = optimizer.state_dict()
        found["state"][0] = {
            k: getattr(v, "tolist", lambda v=v: v)() for k, v in found["state"][0].items()
        }
        return found["state"], found["param_groups"][0]["label"]

    ours, theirs = both(run)
    assert ours == theirs


def test_what_a_state_dict_lacks(both):
    """Settings stay as they are, and states begin anew; PyTorch's next step is a KeyError."""
    p = dt.nn.Parameter(dt.ones(2))
    optimizer = dt.optim.Adam([p], lr=0.1)
    saved = optimizer.state_dict()
    del saved["param_groups"][0]["lr"]
    saved["state"][0] = {"step": dt.tensor(0.0)}
    optimizer.load_state_dict(saved)
    p.grad = dt.ones(2)
    optimizer.step()
    assert abs(p[0].item() - 0.9) < 1e-6


@pytest.mark.parametrize("setting", ["lr", "momentum", "weight_decay", "dampening"])
def test_settings_of_sgd_may_be_nan(setting, both, same):
    def run(t):
        p = t.nn.Parameter(t.ones(2))
        optimizer = t.optim.SGD([p], **{"lr": 0.1, "momentum": 0.5, setting: NAN})
        for _ in range(2):
            p.grad = t.ones(2)
            optimizer.step()
        return p

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


# Schedules of Python alone: with an optimizer that has a momentum, and the functions of one.
def members(s, opt):
    return [s.LinearLR(opt, 0.5, total_iters=3), s.StepLR(opt, 2, 0.5), s.CosineAnnealingLR(opt, 5)]


PYTHON_SCHEDULES = {
    "LambdaLR": lambda s, opt: s.LambdaLR(opt, lambda epoch: 1 / (epoch + 1)),
    "MultiplicativeLR": lambda s, opt: s.MultiplicativeLR(opt, [lambda e: 0.9, lambda e: 1 / e]),
    "CosineAnnealingWarmRestarts": lambda s, opt: s.CosineAnnealingWarmRestarts(opt, 3, 2, 0.01),
    "one length": lambda s, opt: s.CosineAnnealingWarmRestarts(opt, 4),
    "OneCycleLR": lambda s, opt: s.OneCycleLR(opt, 0.5, 25),
    "three phases": lambda s, opt: s.OneCycleLR(
        opt, [0.5, 0.3], epochs=5, steps_per_epoch=5, three_phase=True, anneal_strategy="linear"
    ),
    "CyclicLR": lambda s, opt: s.CyclicLR(opt, 0.01, [0.1, 0.2], 3, 4),
    "triangular2": lambda s, opt: s.CyclicLR(opt, 0.01, 0.1, 3, mode="triangular2"),
    "exp_range": lambda s, opt: s.CyclicLR(opt, 0.01, 0.1, 3, mode="exp_range", gamma=0.9),
    "a scale": lambda s, opt: s.CyclicLR(opt, 0.01, 0.1, 3, scale_fn=lambda x: 1 / x),
    "SequentialLR": lambda s, opt: s.SequentialLR(opt, members(s, opt), [4, 9]),
    "ChainedScheduler": lambda s, opt: s.ChainedScheduler(members(s, opt), opt),
    "nested": lambda s, opt: s.SequentialLR(
        opt, [s.ChainedScheduler(members(s, opt)), s.MultiStepLR(opt, [2, 4])], [5]
    ),
}


def schedule(t, name, optimizer):
    if name in PYTHON_SCHEDULES:
        return PYTHON_SCHEDULES[name](t.optim.lr_scheduler, optimizer)
    return class_of(t, "optim.lr_scheduler", name)(optimizer, *SCHEDULES[name])


def two_groups(t, kind="SGD", **settings):
    ps = [t.ones(2, requires_grad=True), t.ones(3, requires_grad=True)]
    groups = [{"params": ps[:1]}, {"params": ps[1:], "lr": 0.2}]
    return getattr(t.optim, kind)(groups, lr=0.1, **settings)


def walk(opt, schedule, steps, disturb=None):
    """The rates and momentums of each epoch."""
    seen = []
    for epoch in range(steps):
        seen.append(
            (schedule.get_last_lr(), [g.get("momentum", g.get("betas")) for g in opt.param_groups])
        )
        opt.step()
        schedule.step()
        if epoch == disturb:  # as another schedule would
            opt.param_groups[0]["lr"] *= 3
    return seen


def flat(seen):
    return [x for rates, momentums in seen for x in (*rates, *momentums)]


def assert_same_rates(ours, theirs):
    for a, b in zip(flat(ours), flat(theirs), strict=True):
        assert a == pytest.approx(b, rel=1e-12)


@pytest.mark.parametrize("name", [*SCHEDULES, *PYTHON_SCHEDULES])
def test_schedules(name, both):
    def run(t):
        opt = two_groups(t, momentum=0.5)
        return walk(opt, schedule(t, name, opt), 20, disturb=12)

    assert_same_rates(*both(run))


@pytest.mark.parametrize("name", [*SCHEDULES, *PYTHON_SCHEDULES])
def test_schedules_go_on(name, both):
    """From a state dict, and from last_epoch; the state has PyTorch's names."""

    def run(t):
        opt = two_groups(t, "Adam")
        first = schedule(t, name, opt)
        walk(opt, first, 7)
        other = two_groups(t, "Adam")
        again = schedule(t, name, other)
        again.load_state_dict(first.state_dict())
        other.load_state_dict(opt.state_dict())
        return walk(other, again, 5), {*first.state_dict()}

    (ours, names), (theirs, wanted) = both(run)
    assert_same_rates(ours, theirs)
    assert names - {"_scale_fn_ref"} == wanted - {"_scale_fn_ref"}


@pytest.mark.parametrize("name", [*SCHEDULES, "LambdaLR", "CosineAnnealingWarmRestarts"])
def test_schedules_resume(name, both):
    def run(t):
        opt = two_groups(t)
        for group in opt.param_groups:
            group["initial_lr"] = 0.3
        kind = class_of(t, "optim.lr_scheduler", name)
        settings = SCHEDULES.get(name, [lambda e: 1 / (e + 1)] if name == "LambdaLR" else [3, 2])
        return walk(opt, kind(opt, *settings, last_epoch=4), 10)

    assert_same_rates(*both(run))


@pytest.mark.filterwarnings("ignore:The epoch parameter")
@pytest.mark.parametrize("name", [*SCHEDULES, "CosineAnnealingWarmRestarts"])
def test_schedules_jump(name, both):
    def run(t):
        opt = two_groups(t)
        rates = schedule(t, name, opt)
        opt.step()
        seen = []
        for epoch in (3, 9, 0, 12, 1):
            rates.step(epoch)
            seen.append((rates.get_last_lr(), []))
        return seen

    assert_same_rates(*both(run))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"mode": "max", "threshold": 0.5, "threshold_mode": "abs", "patience": 1},
        {"patience": 0, "cooldown": 2, "min_lr": [0.01, 0.05], "factor": 0.3},
        {"patience": 1, "threshold": 0.1, "eps": 0.05},
    ],
    ids=str,
)
def test_plateau(settings, both):
    def run(t):
        opt = two_groups(t)
        rates = t.optim.lr_scheduler.ReduceLROnPlateau(opt, **{"patience": 2, **settings})
        seen = []
        for epoch in range(30):
            rates.step(2 + math.cos(epoch) - epoch / 20)
            seen.append((rates.get_last_lr(), [rates.num_bad_epochs, rates.best]))
        return seen, {*rates.state_dict()}

    (ours, names), (theirs, wanted) = both(run)
    assert_same_rates(ours, theirs)
    assert names == wanted


@pytest.mark.parametrize(
    "make",
    [
        lambda s, opt: s.ConstantLR(opt, 2.0),
        lambda s, opt: s.LinearLR(opt, 0.0),
        lambda s, opt: s.LinearLR(opt, 0.5, 2.0),
        lambda s, opt: s.LambdaLR(opt, [lambda e: 1] * 3),
        lambda s, opt: s.MultiplicativeLR(opt, 3),
        lambda s, opt: s.ReduceLROnPlateau(opt, factor=1.0),
        lambda s, opt: s.ReduceLROnPlateau(opt, mode="avg"),
        lambda s, opt: s.ReduceLROnPlateau(opt, threshold_mode="avg"),
        lambda s, opt: s.ReduceLROnPlateau(opt, min_lr=[1.0]),
        lambda s, opt: s.CosineAnnealingWarmRestarts(opt, 0),
        lambda s, opt: s.CosineAnnealingWarmRestarts(opt, 2, 0),
        lambda s, opt: s.CosineAnnealingWarmRestarts(opt, 2, 1, "a"),
        lambda s, opt: s.OneCycleLR(opt, 0.1),
        lambda s, opt: s.OneCycleLR(opt, 0.1, 0),
        lambda s, opt: s.OneCycleLR(opt, 0.1, epochs=0, steps_per_epoch=3),
        lambda s, opt: s.OneCycleLR(opt, 0.1, 5, pct_start=2.0),
        lambda s, opt: s.OneCycleLR(opt, 0.1, 5, anneal_strategy="sin"),
        lambda s, opt: s.OneCycleLR(opt, [0.1], 5),
        lambda s, opt: s.CyclicLR(opt, 0.1, 0.2, mode="square"),
        lambda s, opt: s.CyclicLR(opt, [0.1], 0.2),
        lambda s, opt: s.SequentialLR(opt, [], []),
        lambda s, opt: s.SequentialLR(opt, members(s, opt), [4]),
        lambda s, opt: s.SequentialLR(opt, [s.ReduceLROnPlateau(opt)], []),
        lambda s, opt: s.ChainedScheduler([]),
        lambda s, opt: s.StepLR(opt, 1, last_epoch=3),
    ],
)
def test_schedules_refuse(make, both):
    def run(t):
        with pytest.raises((ValueError, TypeError, AttributeError, KeyError)) as error:
            make(t.optim.lr_scheduler, two_groups(t, momentum=0.5))
        return error.type, str(error.value).partition(" when resuming")[0]

    ours, theirs = both(run)
    assert ours == theirs


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


def test_hooks_of_steps(both):
    def run(t):
        seen = []
        w = t.ones(1, requires_grad=True)
        opt, other = t.optim.SGD([w], lr=0.5), t.optim.Adam([w])
        module = sys.modules[f"{t.__name__}.optim.optimizer"]
        handles = [
            module.register_optimizer_step_pre_hook(
                lambda o, a, k: seen.append(("any", len(a), dict(k)))
            ),
            module.register_optimizer_step_post_hook(lambda o, a, k: seen.append("after any")),
            opt.register_step_pre_hook(lambda o, a, k: seen.append((o is opt, len(a)))),
            opt.register_step_pre_hook(
                lambda o, a, k: (a, {"closure": lambda: seen.append("closure")})
            ),
            opt.register_step_post_hook(lambda o, a, k: seen.append(("after", sorted(k)))),
        ]
        w.grad = t.ones(1)
        opt.step()
        other.step()
        for handle in handles:
            handle.remove()
        opt.step()
        opt.register_step_pre_hook(lambda o, a, k: 3)
        with pytest.raises(RuntimeError, match="must return None or a tuple"):
            opt.step()
        return seen, w.tolist()

    ours, theirs = both(run)
    assert ours[0] == theirs[0] and ours[1] == pytest.approx(theirs[1], rel=1e-6)


def test_hooks_of_the_state(both):
    def run(t):
        seen = []
        opt = t.optim.SGD([t.ones(1, requires_grad=True)], lr=0.5)
        opt.register_state_dict_pre_hook(lambda o: seen.append("before"))
        opt.register_state_dict_post_hook(lambda o, d: seen.append(sorted(d)))
        opt.register_state_dict_post_hook(lambda o, d: d | {"more": 1}, prepend=True)
        opt.register_load_state_dict_pre_hook(lambda o, d: seen.append(d.pop("more")))
        opt.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
        state = opt.state_dict()
        opt.load_state_dict(state)
        return seen, "more" in state

    ours, theirs = both(run)
    assert ours == theirs


@pytest.mark.parametrize("kind", [getattr(dt.optim, name) for name in optimizers.__all__])
def test_each_argument_is_explained(kind):
    explained = kind.__doc__.partition("Args:")[2]
    assert all(
        re.search(rf"\b{name}\b.*:", explained) for name in inspect.signature(kind).parameters
    )
