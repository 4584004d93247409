"""The modules of PyTorch that programs import from."""

import importlib
import inspect
import typing

import dumbtorch as dt
import pytest


@pytest.mark.parametrize(
    "text",
    [
        "nn.modules.conv.Conv2d", "nn.modules.batchnorm.BatchNorm1d", "nn.modules.loss.CrossEntropyLoss",
        "nn.modules.linear.Linear", "nn.modules.linear.NonDynamicallyQuantizableLinear",
        "nn.modules.activation.ReLU", "nn.modules.rnn.LSTMCell",
        "nn.modules.sparse.Embedding", "utils.data.dataloader.DataLoader", "utils.data.dataset.Subset",
        "utils.data.distributed.DistributedSampler", "utils.data.sampler.BatchSampler",
    ],
)  # fmt: skip
def test_places_of_pytorch(torch, text):
    place, name = text.rsplit(".", 1)
    ours = getattr(importlib.import_module(f"dumbtorch.{place}"), name)
    assert getattr(importlib.import_module(f"torch.{place}"), name).__name__ == ours.__name__


@pytest.mark.parametrize("place", ["nn", "optim", "optim.lr_scheduler", "distributions", ""])
def test_classes_name_their_places(torch, place):
    """Programs print, pickle and compare them."""
    elsewhere = {  # in modules that are private, or of C
        "DataParallel", "LinearCrossEntropyOptions", "OneHotCategoricalStraightThrough", "RelaxedOneHotCategorical",
        "SparseAdam",
    }  # fmt: skip
    ours, theirs = (
        importlib.import_module(f"{t.__name__}.{place}".rstrip(".")) for t in (dt, torch)
    )
    plain = "Size device dtype finfo iinfo layout memory_format Generator".split()
    for name in {"nn": torch.nn.modules.__all__, "": plain}.get(place) or theirs.__all__:
        mine, kind = getattr(ours, name, None), getattr(theirs, name)
        if isinstance(mine, type) and isinstance(kind, type) and name not in elsewhere:
            assert mine.__module__ == kind.__module__.replace("torch", "dumbtorch", 1), name
            assert mine.__qualname__ == kind.__qualname__
            assert getattr(importlib.import_module(mine.__module__), mine.__qualname__) is mine


def test_the_extension_module(both):
    def run(t):
        inner, said = t._C, []
        try:
            t.linalg.cholesky(-t.eye(2))
        except inner._LinAlgError as error:
            said.append(
                (
                    type(error) is t.linalg.LinAlgError,
                    type(error).__name__,
                    isinstance(error, RuntimeError),
                )
            )
        inner._log_api_usage_once("a.program")
        kinds = [
            inner.Generator is t.Generator,
            inner.Size is t.Size,
            issubclass(t.Tensor, inner.TensorBase),
        ]
        return said, kinds, inner._get_tracing_state()

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.parametrize(
    "text",
    ["conv._ConvNd", "conv._ConvTransposeNd", "instancenorm._InstanceNorm", "dropout._DropoutNd"],
)
def test_groups_of_layers(torch, text):
    place, name = text.split(".")
    ours, theirs = (getattr(getattr(t.nn.modules, place), name) for t in (dt, torch))
    layers = [("Conv2d", (1, 1, 1)), ("ConvTranspose1d", (1, 1, 1)), ("InstanceNorm2d", (3,)),
              ("BatchNorm2d", (3,)), ("Dropout2d", ()), ("AlphaDropout", ()), ("Linear", (1, 1))]  # fmt: skip
    for layer, args in layers:
        found = [
            isinstance(getattr(t.nn, layer)(*args), kind)
            for t, kind in ((dt, ours), (torch, theirs))
        ]
        assert found[0] == found[1], layer


def test_bases_of_layers(torch):
    """Each layer derives from those of PyTorch's base classes that it does there."""
    for name in dt.nn.modules.__all__:
        theirs, ours = getattr(torch.nn, name), getattr(dt.nn, name)
        for place in ("conv", "batchnorm", "instancenorm", "dropout", "loss", "pooling", "rnn"):
            bases = {k.__name__ for k in theirs.__mro__ if k.__module__.endswith(place)}
            for base in bases:
                if base != name and hasattr(getattr(dt.nn.modules, place), base):
                    assert issubclass(ours, getattr(getattr(dt.nn.modules, place), base)), (
                        name,
                        base,
                    )
    pairs = [("conv", "_ConvNd", "Conv2d"), ("loss", "_WeightedLoss", "BCELoss"), ("loss", "_Loss", "HuberLoss"),
             ("pooling", "_MaxPoolNd", "MaxPool1d"), ("rnn", "RNNCellBase", "GRUCell")]  # fmt: skip
    for place, base, layer in pairs:
        kind = getattr(getattr(dt.nn.modules, place), base)
        assert issubclass(getattr(dt.nn, layer), kind) and not issubclass(dt.nn.Linear, kind)


@pytest.mark.filterwarnings("ignore:size_average and reduce")
def test_layers_of_ones_own(both, same):
    """What programs derive from the base classes."""

    def run(t):
        nn, F = t.nn, t.nn.functional
        pair = nn.modules.utils._pair

        class Conv(nn.modules.conv._ConvNd):
            def __init__(self, i, o, k, stride=1, padding=0, dilation=1, groups=1, bias=True):
                super().__init__(
                    i,
                    o,
                    pair(k),
                    pair(stride),
                    pair(padding),
                    pair(dilation),
                    False,
                    pair(0),
                    groups,
                    bias,
                    "zeros",
                )

            def forward(self, x):
                return F.conv2d(x, self.weight, self.bias, self.stride, self.padding, groups=2)

        class Transposed(nn.modules.conv._ConvTransposeNd):
            def forward(self, x):
                return F.conv_transpose1d(x, self.weight, self.bias, groups=2)

        class Focal(nn.modules.loss._WeightedLoss):
            def __init__(self, gamma=2.0, **settings):
                super().__init__(**settings)
                self.gamma = gamma

            def forward(self, x, y):
                p = F.nll_loss(x, y, self.weight, reduction="none")
                loss = p**self.gamma
                return loss.mean() if self.reduction == "mean" else loss.sum()

        class Squares(nn.modules.loss._Loss):
            def forward(self, x, y):
                return F.mse_loss(x, y, reduction=self.reduction)

        class Cell(nn.RNNCellBase):
            def __init__(self, i, h):
                super().__init__(i, h, bias=True, num_chunks=2)

        class Norm(nn.modules.batchnorm._BatchNorm):
            def _check_input_dim(self, x):
                if x.dim() != 3:
                    raise ValueError(f"{x.dim()} dimensions")

        class Pool(nn.modules.pooling._MaxPoolNd):
            def forward(self, x):
                return F.max_pool1d(x, self.kernel_size, self.stride, self.padding)

        class Mean(nn.modules.pooling._AdaptiveAvgPoolNd):
            def forward(self, x):
                return F.adaptive_avg_pool1d(x, self.output_size)

        class Drop(nn.modules.dropout._DropoutNd):
            def forward(self, x):
                return x * (1 - self.p)

        x, y = t.arange(12.0).reshape(1, 2, 6) / 7, t.tensor([[0, 1, 1, 0, 1, 0]])
        conv, up, cell, norm = (
            Conv(2, 4, 3, padding=1, groups=2),
            Transposed(2, 4, (3,), (1,), (0,), (1,), True, (0,), 2, True, "zeros"),
            Cell(3, 4),
            Norm(2),
        )
        bounds = [
            bool(p.abs().max() <= b)
            for layer, b in ((conv, 3**-1), (up, 6**-0.5), (cell, 0.5))
            for p in layer.parameters()
        ]
        shapes = [tuple(p.shape) for layer in (conv, up, cell, norm) for p in layer.parameters()]
        with t.no_grad():
            for p in (*conv.parameters(), *up.parameters()):
                p.fill_(0.5)
        out = [
            conv(x.reshape(1, 2, 2, 3)),
            up(x),
            norm(x),
            Pool(2, 1)(x),
            Mean(2)(x),
            Drop(0.25)(x),
        ]
        out += [
            Focal(weight=t.tensor([1.0, 2.0]))(x, y),
            Focal(size_average=False)(x, y),
            Squares(reduction="sum")(x, x + 1),
        ]
        shown = [
            repr(layer)
            for layer in (conv, up, cell, norm, Pool(2), Mean(2), Drop(), Conv(2, 2, 2, bias=False))
        ]
        refused = []
        for call in (
            lambda: Conv(3, 4, 3, groups=2),
            lambda: Conv(4, 3, 3, groups=2),
            lambda: Conv(2, 2, 1, groups=0),
            lambda: Transposed(2, 4, (3,), (1,), (0,), (1,), True, (0,), 1, True, "reflect"),
            lambda: norm(x[0]),
            lambda: nn.modules.batchnorm._NormBase(3)._check_input_dim(x),
            lambda: nn.Conv2d(2, 2, 3, 2, "same"),
        ):
            with pytest.raises((ValueError, NotImplementedError)) as error:
                call()
            refused.append(str(error.value))
        return out, bounds, shapes, shown, refused, list(cell.state_dict())

    same(*both(run))


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_forward_of_convolutions(both, same, dims):
    """It goes by a method that programs call and override, of a class or of one layer."""

    def run(t):
        nn, kind = t.nn, getattr(t.nn, f"Conv{dims}d")
        x = t.arange(2.0 * 5**dims).reshape(1, 2, *[5] * dims) / 50

        class Standardized(kind):
            def forward(self, x):
                return self._conv_forward(x, self.weight - self.weight.mean(), None)

        class Doubled(kind):
            def _conv_forward(self, input, weight, bias):
                return super()._conv_forward(input, 2 * weight, bias)

        out = []
        for settings in (
            {},
            {"padding": 1},
            {"padding": "same", "dilation": 2},
            {"padding": "valid"},
        ):
            for mode in ("zeros", "circular", "reflect"):
                for made in (kind, Standardized, Doubled):
                    conv = made(2, 2, 2, padding_mode=mode, **settings)
                    with t.no_grad():
                        conv.weight.copy_(
                            t.arange(conv.weight.numel()).reshape(conv.weight.shape) / 9
                        )
                        conv.bias.fill_(0.5)
                    out += [conv(x), list(conv._reversed_padding_repeated_twice)]
                    out += [conv.transposed, conv.output_padding]
        conv._conv_forward = lambda input, weight, bias: input + 1
        back = getattr(nn, f"ConvTranspose{dims}d")(2, 2, 3, padding=1, output_padding=0)
        out += [nn.Sequential(conv, nn.ReLU())(x), back.transposed, back.output_padding]
        return [*out, list(back._reversed_padding_repeated_twice)]

    same(*both(run))


def test_norms_whose_check_is_overridden(both, same):
    """Also where Sequential has one kernel for a norm and what follows it."""

    def run(t):
        nn, x, out = t.nn, t.arange(24.0).reshape(2, 3, 4), []

        class AnyNorm(nn.BatchNorm2d):
            def _check_input_dim(self, input):
                out.append(input.dim())

        class AnyInstance(nn.InstanceNorm1d):
            def _check_input_dim(self, input):
                out.append(input.dim())

        one = nn.BatchNorm2d(3)
        one._check_input_dim = lambda input: out.append("asked")
        for norm in (AnyNorm(3), one, AnyInstance(3)):
            out += [norm(x), nn.Sequential(norm, nn.ReLU())(x)]
        return out

    same(*both(run))


def test_export_is_refused():
    """Programs that only import torch.onnx run."""
    onnx = importlib.import_module("dumbtorch.onnx")
    assert not onnx.is_in_onnx_export()
    with pytest.raises(NotImplementedError, match="networks are not exported"):
        onnx.export(dt.nn.Linear(1, 1), dt.ones(1, 1), "x.onnx")


@pytest.mark.parametrize(
    "text",
    ["optim.adam.Adam", "optim.sgd.SGD", "optim.adamw.AdamW", "optim.lbfgs.LBFGS", "functional.einsum",
     "functional.norm", "nn.parallel.DistributedDataParallel", "nn.parallel.distributed.DistributedDataParallel",
     "cuda.amp.grad_scaler.GradScaler", "cuda.amp.autocast_mode.autocast",
     "autograd.profiler.profile", "optim.optimizer.required"],
)  # fmt: skip
def test_places_of_functions(torch, text):
    place, name = text.rsplit(".", 1)
    ours, theirs = (
        getattr(importlib.import_module(f"{t.__name__}.{place}"), name) for t in (dt, torch)
    )
    assert getattr(ours, "__name__", repr(ours)) == getattr(theirs, "__name__", repr(theirs))


def test_required_settings(both):
    """An optimizer of one's own, as programs write it."""

    def run(t):
        required = importlib.import_module(f"{t.__name__}.optim.optimizer").required

        class Descent(t.optim.Optimizer):
            def __init__(self, params, lr=required, momentum=0.0):
                if lr is not required and lr < 0.0:
                    raise ValueError(f"Invalid learning rate: {lr}")
                super().__init__(params, {"lr": lr, "momentum": momentum})

            @t.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        p.add_(p.grad, alpha=-group["lr"])

        p, q = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
        with pytest.raises(ValueError) as error:
            Descent([p])
        steps = Descent([{"params": [p], "lr": 0.5}, {"params": [q], "lr": 0.25}])
        (p * 2 + q * 3).sum().backward()
        steps.step()
        return str(error.value), p.tolist(), q.tolist()

    mine, theirs = both(run)
    assert mine == theirs


def test_assert(both):
    def run(t):
        t._assert(t.ones(1) == 1, "not said")
        with pytest.raises(AssertionError) as error:
            t._assert(2 == 3, "two is not three")
        return str(error.value).partition("\n")[0]

    mine, theirs = both(run)
    assert mine == theirs


def test_alone(both):
    """Programs ask whether they are one of several processes, and go on."""

    def run(t):
        dist = importlib.import_module(f"{t.__name__}.distributed")
        DDP = t.nn.parallel.DistributedDataParallel
        several = dist.is_available() and dist.is_initialized()
        with pytest.raises(ValueError) as error:
            dist.get_rank()
        for place in ("nn", "nn.functional"):
            here = importlib.import_module(f"{dist.__name__}.{place}")
            for name in ("all_gather", "all_reduce", "broadcast", "gather", "reduce", "scatter"):
                assert callable(getattr(here, name))
        kinds = [kind.lower() for kind in ("SUM", "MAX", "AVG") if hasattr(dist.ReduceOp, kind)]
        return (
            several,
            dist.group.WORLD,
            str(error.value),
            kinds,
            isinstance(t.nn.Linear(1, 1), DDP),
        )

    mine, theirs = both(run)
    assert mine == theirs
    with pytest.raises(NotImplementedError, match="processes do not work together"):
        dt.distributed.init_process_group("gloo")
    with pytest.raises(NotImplementedError, match="processes do not work together"):
        dt.nn.parallel.DistributedDataParallel(dt.nn.Linear(1, 1))


def test_data_parallel_function(torch):
    """PyTorch's wants a GPU; here it is the module, as the layer is in both without one."""
    ours, theirs = (inspect.signature(t.nn.parallel.data_parallel) for t in (dt, torch))
    assert [(p.name, p.default) for p in ours.parameters.values()] == [
        (p.name, p.default) for p in theirs.parameters.values()
    ]
    bilinear, linear, x = dt.nn.Bilinear(2, 3, 4), dt.nn.Linear(2, 3), dt.ones(5, 2)
    parallel = dt.nn.parallel.data_parallel
    assert parallel(linear, x).equal(linear(x))
    assert parallel(bilinear, (x, linear(x))).equal(bilinear(x, linear(x)))
    named = {"input1": x, "input2": linear(x)}
    assert parallel(bilinear, None, module_kwargs=named).equal(bilinear(**named))
    with pytest.raises(NotImplementedError, match="one device"):
        parallel(linear, x, [0, 1])


def test_what_is_compiled_elsewhere(both):
    """Programs with the decorators of torch.jit give the same numbers."""

    def run(t):
        @t.jit.script
        def swish(x, beta: float = 2.0):
            return x * t.sigmoid(beta * x)

        @t.jit.ignore
        def seen(x):
            return x

        class Net(t.nn.Module):
            scale: t.jit.Final[int] = 3

            def __init__(self):
                super().__init__()
                self.layer = t.nn.Linear(2, 2)

            def forward(self, x):
                if t.jit.is_scripting():
                    return x
                return swish(x) * self.scale

            @t.jit.unused
            def other(self, x):
                return x

            @t.jit.export
            def third(self, x):
                return x

        net, x = Net(), t.arange(4.0)
        ask = t.jit.isinstance
        asked = [
            ([1.0], list[float]),
            ([1], list[float]),
            ({"a": 1}, dict[str, int]),
            ((1, "b"), tuple[int, str]),
        ]
        kinds = [ask(*each) for each in asked]
        task = t.jit.fork(swish, x)
        return (swish(x).tolist(), net(x).tolist(), t.jit.wait(task).tolist(), seen(x).tolist(),
                t.jit.trace(swish, (x,))(x + 1).tolist(), t.jit.annotate(int, 3), kinds,
                isinstance(net, t.jit.ScriptModule), t.jit.script(net).layer.in_features)  # fmt: skip

    mine, theirs = both(run)
    assert [m == pytest.approx(t) for m, t in zip(mine, theirs)]
    with pytest.raises(NotImplementedError, match="no archives of programs"):
        dt.jit.save(dt.nn.Linear(1, 1), "x.pt")


@pytest.mark.parametrize(
    "text",
    [
        "1, Optional[int]", "None, Optional[int]", "'a', Optional[int]", "1, Union[int, str]", "1.5, Union[int, str]",
        "1, int | None", "None, int | None", "'a', int | None", "[1, None], List[Optional[int]]",
        "[1, 'a'], List[Optional[int]]", "{'a': [1]}, Dict[str, List[int]]", "{1: [1]}, Dict[str, List[int]]",
        "(1, [2]), Tuple[int, List[int]]", "(1,), Tuple[int, int]", "[1], (str, List[int])", "True, int",
        "[], list[int]", "(1,), list[int]", "[[1]], list[list]", "[1], Optional[List[int]]",
        "[1.5], Optional[List[int]]",
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:The inner type of a container")
def test_jit_isinstance(both, text):
    names = {name: getattr(typing, name) for name in "Dict List Optional Tuple Union".split()}
    mine, theirs = both(lambda t: eval(f"ask({text})", names | {"ask": t.jit.isinstance}))
    assert mine is theirs


@pytest.mark.parametrize(
    "kind",
    [list, dict, tuple, typing.List, typing.Dict, typing.Optional, typing.List[list], [int]],  # noqa: UP006
)
def test_jit_isinstance_refuses_bare_types(both, kind):
    def run(t):
        try:
            return t.jit.isinstance([[1]], kind)
        except RuntimeError as error:
            return str(error)

    mine, theirs = both(run)
    assert mine == theirs


def test_older_profiler():
    with dt.autograd.profiler.profile(record_shapes=True) as prof:
        dt.ones(3, 3) @ dt.ones(3, 3)
    names = [event.name for event in prof.function_events]
    assert "matmul" in str(prof) and "matmul" in prof.table(sort_by="self_cpu_time_total")
    assert any("matmul" in name for name in names) and prof.self_cpu_time_total > 0
    with dt.autograd.profiler.profile(enabled=False) as off:
        dt.ones(1)
    assert off.function_events is None


def test_benchmark(both):
    """Times by a clock that ticks once for each look."""

    def run(t):
        benchmark = importlib.import_module(f"{t.__name__}.utils.benchmark")
        clock, seen = iter(range(1000)), []
        words = {"label": "sums", "sub_label": "of two", "description": "here"}
        named = {"f": t.sum, "seen": seen}
        timer = benchmark.Timer(
            "seen.append(f(torch.ones(n)))",
            "n = 2",
            timer=lambda: next(clock),
            globals=named,
            **words,
        )
        one = timer.timeit(50)
        parts = [
            getattr(one, name)
            for name in "mean median times raw_times iqr number_per_run num_threads".split()
        ]
        said = [
            getattr(one, name) for name in "title label sub_label description stmt setup".split()
        ]
        table = str(benchmark.Compare([one]))
        return timer, (parts, said, seen[0].item(), [word in table for word in words.values()])

    (timer, mine), (_, theirs) = both(run)
    assert mine == theirs
    several = timer.blocked_autorange(min_run_time=5)
    assert several.raw_times == [1] * 5 and several.median == 1 / several.number_per_run


def test_measurements(both):
    def run(t):
        benchmark = importlib.import_module(f"{t.__name__}.utils.benchmark")
        tasks = [
            benchmark.TaskSpec("f(x)", "pass", label="f", description=d) for d in ("old", "new")
        ]
        times = [[0.04, 0.05, 0.06], [1.0, 1.001, 1.002, 1.0015], [0.3] * 5, [2.0, 3.0]]
        found = [
            benchmark.Measurement(2, its, tasks[i % 2]) for i, its in enumerate(times, start=1)
        ]
        merged = benchmark.Measurement.merge(found)
        shown = [
            (m.number_per_run, m.raw_times, m.description, m.significant_figures, m.has_warnings)
            for m in found + merged
        ]
        table = benchmark.Compare(found)
        table.colorize(rowwise=True)
        with pytest.raises(ValueError) as caught:
            table.extend_results(["f"])
        # The median of all that were measured, not the last of them, in the one unit.
        cells = [f"{m.median * 1e3:.1f}" in str(table) for m in merged]
        return shown, [m.meets_confidence(0.5) for m in found], cells, str(caught.value)

    mine, theirs = both(run)
    assert mine == theirs


def test_how_long_a_timer_runs(both):
    def run(t):
        benchmark = importlib.import_module(f"{t.__name__}.utils.benchmark")
        steady, uneven = iter(range(10000)), iter(k * k for k in range(10000))
        timer = benchmark.Timer("pass", timer=lambda: next(steady))
        called = []
        found = [
            timer.blocked_autorange(min_run_time=0).median,
            timer.blocked_autorange(lambda *given: called.append(given), 0.5).raw_times,
            timer.adaptive_autorange(min_run_time=3, max_run_time=100).raw_times,
            timer.adaptive_autorange(min_run_time=8, max_run_time=100).raw_times,
            called,
        ]
        runs = benchmark.Timer("pass", timer=lambda: next(uneven)).adaptive_autorange(
            threshold=1e-9, max_run_time=500
        )
        found.append(sum(runs.raw_times[:-1]) <= 500 < sum(runs.raw_times))
        with pytest.raises(ValueError) as caught:
            benchmark.Timer("pass", global_setup="x = 1")
        return found, str(caught.value)

    mine, theirs = both(run)
    assert mine == theirs


def test_restored_locations(both, tmp_path):
    """A map_location of a program's own, made of the usual one."""

    def run(t):
        place = importlib.import_module(f"{t.__name__}.serialization").default_restore_location
        t.save({"x": t.arange(3)}, tmp_path / "x.pt")
        loaded = t.load(
            tmp_path / "x.pt", map_location=lambda storage, where: place(storage, "cpu")
        )
        with pytest.raises(RuntimeError) as error:
            place(loaded["x"].untyped_storage(), "elsewhere")
        return loaded["x"].tolist(), str(error.value)

    mine, theirs = both(run)
    assert mine == theirs
