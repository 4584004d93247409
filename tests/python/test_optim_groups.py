"""Groups of optimizers: the settings in them, and classes that share another optimizer's."""

import dumbtorch as dt
import pytest


@pytest.mark.parametrize(
    "name", "Adadelta Adagrad Adam AdamW Adamax ASGD NAdam RAdam RMSprop Rprop SGD".split()
)
def test_settings_of_a_group(both, name):
    """They are PyTorch's, also those that change nothing here; files that lack them are loaded."""

    def run(t):
        opt = getattr(t.optim, name)([t.nn.Parameter(t.ones(2))], lr=0.5, foreach=False)
        (group,) = opt.state_dict()["param_groups"]
        return opt, group, [line.split(":")[0] for line in repr(opt).splitlines()]

    (mine, group, shown), (_, theirs, shown_there) = both(run)
    assert group == theirs and shown == shown_there
    del group["foreach"], group["maximize"]
    mine.load_state_dict({"state": {}, "param_groups": [group | {"lr": 0.25}]})
    assert mine.param_groups[0]["lr"] == 0.25 and mine.param_groups[0]["foreach"] is False
    mine.load_state_dict({"state": {}, "param_groups": [theirs | {"fused": True}]})
    assert mine.param_groups[0]["fused"] is True
    mine.step()


def test_a_wrapper_that_leaves_init_out(both, same):
    """Lookahead, as programs write it: groups, state and defaults are another optimizer's."""

    def run(t):
        class Lookahead(t.optim.Optimizer):
            def __init__(self, inner):
                self.inner, self.seen = inner, []
                self.param_groups, self.state = inner.param_groups, inner.state
                self.defaults = inner.defaults
                self.slow = [p.detach().clone() for g in self.param_groups for p in g["params"]]

            def step(self, closure=None):
                loss = self.inner.step(closure)
                with t.no_grad():
                    for slow, p in zip(
                        self.slow, (p for g in self.param_groups for p in g["params"])
                    ):
                        slow.lerp_(p, 0.5)
                        p.copy_(slow)
                return loss

        p = t.nn.Parameter(t.tensor([1.0, -2.0]))
        opt = Lookahead(t.optim.SGD([p], lr=0.1, momentum=0.9))
        rates = t.optim.lr_scheduler.StepLR(opt, 2)
        for _ in range(3):
            opt.zero_grad()
            (p * p).sum().backward()
            opt.step()
            rates.step()
        opt.zero_grad()
        again = t.optim.Optimizer.state_dict(opt.inner)["param_groups"][0]["lr"]
        return p, p.grad, again, repr(opt)

    same(*both(run))
    opt = dt.optim.SGD([dt.nn.Parameter(dt.ones(1))], lr=0.1)
    wrapper = dt.optim.Optimizer.__new__(type("Wrapper", (dt.optim.SGD,), {}))
    wrapper.param_groups, wrapper.state, wrapper.defaults = opt.param_groups, opt.state, {}
    called = []
    wrapper.register_step_pre_hook(lambda *given: called.append(1))
    wrapper.register_state_dict_post_hook(lambda *given: called.append(2))
    wrapper.step()
    assert wrapper.state_dict()["param_groups"][0]["lr"] == 0.1 and called == [1, 2]


def test_what_an_extended_optimizer_adds_to_a_file(both):
    def run(t):
        class Extended(t.optim.Adam):
            def __setstate__(self, state):
                super().__setstate__(state)
                for group in self.param_groups:
                    group.setdefault("extra", 7)

        p = t.nn.Parameter(t.ones(2))
        opt = Extended([p])
        p.sum().backward()
        opt.step()
        opt.load_state_dict(opt.state_dict())
        opt.step()
        return opt.param_groups[0]["extra"], opt.state[p]["step"].item()

    ours, theirs = both(run)
    assert ours == theirs == (7, 2)


def test_a_group_that_a_schedule_has_not_seen(both):
    """Where a rate begins is asked for only when a half of the cosine ends."""

    def run(t):
        opt = t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=0.5)
        rates = t.optim.lr_scheduler.CosineAnnealingLR(opt, 2)
        opt.add_param_group({"params": [t.nn.Parameter(t.ones(1))], "lr": 0.25})
        seen = []
        for _ in range(4):
            opt.step()
            try:
                rates.step()
                seen.append([group["lr"] for group in opt.param_groups])
            except ValueError as error:
                seen.append(str(error))
        return seen

    ours, theirs = both(run)
    assert ours == theirs
    assert [len(rates) for rates in ours[:2]] == [2, 2] and "zip" in ours[2]
