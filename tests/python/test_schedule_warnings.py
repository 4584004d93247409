"""Schedules: what they warn of, and that tensors which they were given stay the caller's."""

import copy
import types
import warnings

import dumbtorch as dt
import pytest

torch = pytest.importorskip("torch")


def optimizer(t, lr=0.1):
    return t.optim.SGD([t.nn.Parameter(t.ones(2))], lr=lr, momentum=0.9)


def steps(s, opt, order, epochs):
    for word in order:
        opt.step() if word == "o" else s.step(*epochs)


SCHEDULES = {
    "StepLR": lambda t, opt: t.optim.lr_scheduler.StepLR(opt, 3),
    "CyclicLR": lambda t, opt: t.optim.lr_scheduler.CyclicLR(opt, 0.1, 0.2),
    "SequentialLR": lambda t, opt: t.optim.lr_scheduler.SequentialLR(
        opt,
        [t.optim.lr_scheduler.ConstantLR(opt), t.optim.lr_scheduler.ExponentialLR(opt, 0.9)],
        [2],
    ),
    "ChainedScheduler": lambda t, opt: t.optim.lr_scheduler.ChainedScheduler(
        [t.optim.lr_scheduler.ConstantLR(opt), t.optim.lr_scheduler.ExponentialLR(opt, 0.9)]
    ),
    "CosineAnnealingWarmRestarts": lambda t, opt: t.optim.lr_scheduler.CosineAnnealingWarmRestarts(
        opt, 4
    ),
    "SWALR": lambda t, opt: t.optim.swa_utils.SWALR(opt, 0.05),
}


@pytest.mark.parametrize("epochs", [(), (3,)], ids=["", "epoch"])
@pytest.mark.parametrize("order", ["so", "sos", "osos"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_warnings(name, order, epochs):
    if epochs and name in ("SequentialLR", "ChainedScheduler"):
        pytest.skip("its step takes no epoch")

    def said(t):
        opt = optimizer(t)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            steps(SCHEDULES[name](t, opt), opt, order, epochs)
        return [(w.category, str(w.message)) for w in caught]

    assert said(dt) == said(torch)


@pytest.mark.parametrize("order", ["sos", "oss"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_step_that_is_overridden(name, order):
    """Afterwards, or before the schedule is made."""

    def said(t, late):
        opt = optimizer(t)
        schedule = SCHEDULES[name](t, opt) if late else None
        opt.step = types.MethodType(lambda self: type(self).step(self), opt)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            steps(schedule or SCHEDULES[name](t, opt), opt, order, ())
        return [(w.category, str(w.message)) for w in caught]

    for late in (True, False):
        assert said(dt, late) == said(torch, late)


def test_plateau_warns_of_an_epoch():
    for t in (dt, torch):
        s = t.optim.lr_scheduler.ReduceLROnPlateau(optimizer(t))
        with pytest.warns(UserWarning, match="The epoch parameter") as caught:
            s.step(1.0, 2)
        assert [str(w.message) for w in caught] == [t.optim.lr_scheduler.EPOCH_DEPRECATION_WARNING]


TENSORS = {
    "CyclicLR": lambda t, opt, a, b: t.optim.lr_scheduler.CyclicLR(
        opt, a, b, 4, base_momentum=a, max_momentum=b
    ),
    "OneCycleLR": lambda t, opt, a, b: t.optim.lr_scheduler.OneCycleLR(
        opt, b, 10, base_momentum=a, max_momentum=b
    ),
    "SWALR": lambda t, opt, a, b: t.optim.swa_utils.SWALR(opt, a),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_stay_the_callers(name):
    def seen(t):
        a, b = t.tensor(0.25), t.tensor(0.5)
        opt = optimizer(t, t.tensor(0.25))
        s = TENSORS[name](t, opt, a, b)
        out = []
        for _ in range(3):
            opt.step()
            s.step()
            groups = copy.deepcopy(opt.param_groups)
            out += [
                (k, round(float(v), 5))
                for g in groups
                for k, v in sorted(g.items())
                if "lr" in k or "momentum" in k
            ]
            a.mul_(0.5)
            b.mul_(0.5)
        return out

    assert seen(dt) == seen(torch)


@pytest.mark.parametrize("mode", ["triangular", "triangular2", "exp_range"])
def test_the_height_of_a_cycle_follows_from_the_mode(mode):
    def seen(t):
        opt = optimizer(t)
        s = t.optim.lr_scheduler.CyclicLR(opt, 0.1, 0.2, 3, mode=mode, gamma=0.5)
        other = t.optim.lr_scheduler.CyclicLR(opt, 0.1, 0.2, 3)
        other.load_state_dict(s.state_dict())
        heights = [x.scale_fn(n) for x in (s, other) for n in (1, 2, 5)]
        is_function = isinstance(s._scale_fn_ref, types.FunctionType)
        return heights, is_function, "_scale_fn_ref" in s.state_dict(), s._scale_fn_ref(3)

    assert seen(dt) == seen(torch)


def test_older_base_class():
    """A schedule of one's own, as programs of before PyTorch 2.0 write it."""

    def run(t):
        class Warmup(t.optim.lr_scheduler._LRScheduler):
            def __init__(self, optimizer, epochs, last_epoch=-1):
                self.epochs = epochs
                super().__init__(optimizer, last_epoch)

            def get_lr(self):
                return [lr * min(1, (self.last_epoch + 1) / self.epochs) for lr in self.base_lrs]

        opt, rates = optimizer(t), []
        schedule = Warmup(opt, 3)
        for _ in range(4):
            rates.append(schedule.get_last_lr())
            opt.step()
            schedule.step()
        kinds = [isinstance(schedule, t.optim.lr_scheduler.LRScheduler),
                 issubclass(t.optim.lr_scheduler.StepLR, t.optim.lr_scheduler._LRScheduler)]  # fmt: skip
        return rates, kinds, schedule.state_dict()["epochs"]

    assert run(dt) == run(torch)
