"""What programs find out without calling an op: orders of keys, lengths, kinds of refusals, names that are missing."""

import importlib
import pkgutil

import dumbtorch as dt
import numpy as np
import pytest

OPTIMIZERS = ["Adadelta", "Adafactor", "Adagrad", "Adam", "Adamax", "AdamW", "ASGD", "LBFGS", "NAdam", "RAdam",
              "RMSprop", "Rprop", "SGD"]  # fmt: skip


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_order_of_a_groups_keys(both, name):
    def run(t):
        optimizer = getattr(t.optim, name)([t.nn.Parameter(t.ones(1))])
        group = optimizer.param_groups[0]
        lists = (
            list(group),
            list(optimizer.defaults),
            list(optimizer.state_dict()["param_groups"][0]),
        )
        return lists, [repr(v) for k, v in group.items() if k != "params"]

    ours, theirs = both(run)
    assert ours == theirs


@pytest.mark.parametrize("max_iter", [1, 3])
def test_order_of_what_lbfgs_keeps(both, max_iter):
    def run(t):
        x = t.nn.Parameter(t.tensor([1.0, 2.0]))
        optimizer = t.optim.LBFGS([x], lr=0.1, max_iter=max_iter)

        def closure():
            optimizer.zero_grad()
            loss = (x**4).sum()
            loss.backward()
            return loss

        keys = []
        for _ in range(2):
            optimizer.step(closure)
            keys.append(list(optimizer.state_dict()["state"][0]))
        return keys

    ours, theirs = both(run)
    assert ours == theirs


SCHEDULES = {
    "StepLR": (2,), "MultiStepLR": ([1, 2],), "ExponentialLR": (0.9,), "CosineAnnealingLR": (5,),
    "CosineAnnealingWarmRestarts": (5,), "CyclicLR": (0.1, 1.0), "OneCycleLR": (0.1, 10), "ReduceLROnPlateau": (),
    "ConstantLR": (), "LinearLR": (), "PolynomialLR": (), "LambdaLR": (float,), "MultiplicativeLR": (lambda e: 1.0,),
}  # fmt: skip


@pytest.mark.parametrize("name", [*SCHEDULES, "SequentialLR", "ChainedScheduler"])
def test_order_of_a_schedules_keys(both, name):
    def run(t):
        optimizer = t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=0.1, momentum=0.9)
        schedules = t.optim.lr_scheduler
        parts = [schedules.ConstantLR(optimizer) for _ in range(2)]
        if name == "SequentialLR":
            made = schedules.SequentialLR(optimizer, parts, [2])
        elif name == "ChainedScheduler":
            made = schedules.ChainedScheduler(parts)
        else:
            given = ((lambda e: 1.0),) if name == "LambdaLR" else SCHEDULES[name]
            made = getattr(schedules, name)(optimizer, *given)
        return list(made.state_dict())

    ours, theirs = both(run)
    assert ours == theirs


@pytest.mark.parametrize("last_epoch", [0, 1, 3, 6])
@pytest.mark.parametrize("t_mult", [1, 2, 3])
def test_warm_restarts_that_are_resumed(both, last_epoch, t_mult):
    def run(t):
        p = t.nn.Parameter(t.ones(1))
        optimizer = t.optim.SGD([{"params": [p], "lr": 0.1, "initial_lr": 0.1}])
        schedule = t.optim.lr_scheduler.CosineAnnealingWarmRestarts(
            optimizer, T_0=2, T_mult=t_mult, last_epoch=last_epoch
        )
        rates = [optimizer.param_groups[0]["lr"]]
        for _ in range(8):
            optimizer.step()
            schedule.step()
            rates.append(optimizer.param_groups[0]["lr"])
        return rates, schedule.T_cur, schedule.T_i

    ours, theirs = both(run)
    assert ours[0] == pytest.approx(theirs[0])
    assert ours[1:] == theirs[1:]


def test_recursive_undo(both):
    def run(t):
        optimizer = t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=0.1)
        schedules = t.optim.lr_scheduler
        parts = [schedules.ConstantLR(optimizer) for _ in range(3)]
        made = schedules.SequentialLR(optimizer, parts[:2], [2])
        made.recursive_undo()
        made.recursive_undo(parts[2])
        return [p.last_epoch for p in parts]

    ours, theirs = both(run)
    assert ours == theirs


@pytest.mark.parametrize(
    "options", [{}, {"num_workers": 1}, {"shuffle": True}, {"batch_size": None}]
)
def test_length_of_an_epoch(both, options):
    def run(t):
        data = t.utils.data
        sets = [data.TensorDataset(t.arange(5)), t.arange(5)]
        loaders = [data.DataLoader(d, **({"batch_size": 2} | options)) for d in sets]
        epochs = [iter(loader) for loader in loaders]
        return [len(e) for e in epochs], [len(list(e)) for e in epochs]

    ours, theirs = both(run)
    assert ours == theirs


def test_datasets_beyond_their_ends(refusals, both):
    for i in (-4, 3):
        run = lambda t, i=i: t.utils.data.ConcatDataset([range(3)])[i]  # noqa: E731
        ours, theirs = refusals(run, ValueError, IndexError)
        assert ours[0] is theirs[0]
    ours, theirs = both(
        lambda t: [t.utils.data.ConcatDataset([[1], [2, 3]])[i] for i in (-3, -1, 0, 2)]
    )
    assert ours == theirs


def test_a_conditions_graph_of_bytes(both, same):
    def run(t):
        x = t.tensor([1.0, 2, 3], requires_grad=True)
        y = t.where(t.tensor([2, 0, 1], dtype=t.uint8), x**3, x**2).sum()
        (first,) = t.autograd.grad(y, x, create_graph=True)
        return first.detach(), *t.autograd.grad(first.sum(), x)

    same(*both(run))


REFUSED = [
    "t.from_numpy(np.float32(1))", "t.autograd.functional.jacobian(abs, x, strategy='x')",
    "t.autograd.functional.hessian(sum, x, outer_jacobian_strategy='x')",
    "t.cat([x, x], out=t.zeros(4, dtype=t.int32))", "t.stack([x, x], out=t.zeros(2, 2, dtype=t.int32))",
    "t.hstack([x, x], out=t.zeros(4, dtype=t.int32))", "t.add(x, x, out=t.zeros(2, dtype=t.int32))",
    "t.linalg.householder_product(m, m[0])", "t.linalg.householder_product(m, t.ones(3, dtype=t.int64))",
    "t.linalg.householder_product(m, x)", "t.linalg.householder_product(m[0], x)",
    "t.linalg.solve_triangular(m, m, upper=True)", "t.linalg.solve_triangular(m, m[:1], upper=True)",
    "t.geqrf(m)", "t.ormqr(m, m[0], m)", "t.orgqr(m, m[0])", "t.triangular_solve(m, m)", "t.cholesky_solve(m, m)",
    "t.cholesky_inverse(m)", "t.Generator().get_offset()", "t.Generator().set_offset(4)",
    "t.amp.GradScaler('cpu').scale(3.0)", "t.func.functionalize(abs, remove='x')(x)", "five(t).backward()",
]  # fmt: skip


def _five(t):
    """A tensor whose backward gives a number."""

    class Five(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return 5

    return Five.apply(t.ones(1, requires_grad=True))


@pytest.mark.parametrize("text", REFUSED)
def test_kinds_of_refusals(refusals, text):
    def run(t):
        m = t.ones(2, 2, dtype=t.int64)
        eval(text, {"t": t, "x": t.ones(2), "m": m, "np": np, "five": _five})

    errors = (TypeError, RuntimeError, ValueError, AssertionError)
    ours, theirs = refusals(run, *errors)
    assert ours[0] is theirs[0]
    assert ours[1].endswith(theirs[1]) or "Valid options" in theirs[1]


def test_scaled_iterables(both, same):
    def run(t):
        scaler = t.amp.GradScaler("cpu", init_scale=2.0)
        outputs = {"a": t.ones(1), "b": t.ones(2)}
        return list(scaler.scale(outputs.values())), scaler.scale([t.ones(1), (t.ones(2),)])

    same(*both(run))


def test_hooks_after_a_load_that_fails(both):
    def run(t):
        heard = []
        net = t.nn.Linear(2, 1)
        net.register_load_state_dict_post_hook(lambda module, keys: heard.append(list(keys[0])))
        for state in ({}, {"weight": t.ones(3, 3), "bias": t.ones(1)}, net.state_dict()):
            try:
                net.load_state_dict(state)
            except RuntimeError as error:
                heard.append(str(error).count("\n"))
        return heard

    ours, theirs = both(run)
    assert ours == theirs


def test_modules_compile_in_place():
    """PyTorch's is not asked: its compiler turns the checks of all distributions off for good."""
    assert dt.nn.Linear(1, 1).compile() is None


def test_functionalize(both, same):
    same(*both(lambda t: t.func.functionalize(lambda x: x.clone().add_(1))(t.ones(2))))


def test_name_of_a_leafs_node(both):
    def run(t):
        node = (t.ones(1, requires_grad=True) * 2).grad_fn.next_functions[0][0]
        return node.name(), type(node).__name__

    ours, theirs = both(run)
    assert ours == theirs


def test_tensordot_to_one_number_under_autocast(both):
    def run(t):
        a = t.ones(2, 3)
        with t.autocast("cpu"):
            found = [t.tensordot(a, a, 2), t.tensordot(a[0], a[0], 1), t.tensordot(a, a.t(), 1)]
            found += [t.tensordot(a.half(), a.half(), 2), t.tensordot(a.double(), a.double(), 2)]
        return [str(x.dtype).rpartition(".")[2] for x in found], [x.tolist() for x in found]

    ours, theirs = both(run)
    assert ours == theirs


def test_checkpoint_names(both):
    def run(t):
        checkpoint = importlib.import_module(f"{t.__name__}.utils.checkpoint")
        with checkpoint.set_checkpoint_debug_enabled(False):
            return issubclass(checkpoint.CheckpointError, RuntimeError)

    ours, theirs = both(run)
    assert ours and theirs


# Generated modules whose names others show.
_INNER = ("dumbtorch.models.networks", "dumbtorch.optim.optimizers")


def _modules():
    for module in pkgutil.walk_packages(dt.__path__, "dumbtorch."):
        if module.name not in _INNER and not any(p.startswith("_") for p in module.name.split(".")):
            yield module.name


@pytest.mark.parametrize("name", _modules())
def test_missing_names_are_told(name):
    module = importlib.import_module(name)
    internal = name.count(".") > 2 or not hasattr(module, "__all__")
    with pytest.raises(AttributeError, match="has no attribute 'foo'") as caught:
        module.foo  # noqa: B018
    said = str(caught.value)
    assert internal or "; did you mean" in said or "; dir(" in said or name == "dumbtorch.sparse"


def test_what_is_shown_of_groups_and_modes(both):
    def run(t):
        x, y = (t.nn.Parameter(t.ones(1)) for _ in "xy")
        groups = t.optim.SGD([{"params": [x], "lr": 3}, {"params": y}], lr=0.1, momentum=0.9)
        shown = repr(t.set_grad_enabled(True)).partition(".")[2]
        return repr(groups), repr(t.optim.Adam([x])), shown

    mine, theirs = both(run)
    assert mine == theirs


def test_names_that_warn_or_refuse(both, refusals):
    def run(t):
        with pytest.warns(Warning, match="renamed"):
            return t.utils.data.ConcatDataset([range(3), range(5)]).cummulative_sizes

    mine, theirs = both(run)
    assert mine == theirs
    mine, theirs = refusals(lambda t: t.ones(1).is_coalesced(), RuntimeError)
    assert mine == theirs
