"""Names of torch and Tensor that scripts use and that are a few lines of Python: as PyTorch has them."""

import importlib
import math
import multiprocessing
import warnings

import dumbtorch as dt
import numpy as np
import pytest


def outcome(run, *args):
    try:
        return run(*args)
    except Exception as error:
        return type(error), str(error)


# ---- fillings


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize(
    "shape",
    [(3, 3), (2, 5), (7, 3), (8, 3), (6, 2), (3, 3, 3), (0, 3), (3, 0), (1, 1), (2, 3, 4), (3,)],
)
def test_fill_diagonal(wrap, shape, both, same):
    def run(t):
        def fill():
            base = t.zeros(*shape, 2)
            x = base[..., 1]
            assert x.fill_diagonal_(5, wrap=wrap) is x
            return base, t.zeros(shape, dtype=t.int32).t().fill_diagonal_(2) if len(
                shape
            ) == 2 else 0

        return outcome(fill)

    same(*both(run))


def test_fill_diagonal_has_a_gradient(both, same):
    def run(t):
        x = t.ones(4, 3, requires_grad=True)
        y = x * 2
        y.fill_diagonal_(7.0, wrap=True)
        (y * y).sum().backward()
        return y, x.grad

    same(*both(run))


N = 40_000


def mean(x):
    return x.double().mean().item()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_continuous_distributions(dtype):
    """Shares of the numbers below the quantiles that the distribution functions give, within five standard errors."""
    x = dt.empty(N, dtype=getattr(dt, dtype))
    functions = [
        (x.clone().exponential_(2.0), lambda p: -math.log(1 - p) / 2),
        (x.clone().cauchy_(1.0, 3.0), lambda p: 1 + 3 * math.tan(math.pi * (p - 0.5))),
    ]
    for drawn, quantile in functions:
        for p in (0.1, 0.5, 0.9):
            share = mean(drawn.double() < quantile(p))
            assert abs(share - p) < 5 * math.sqrt(p * (1 - p) / N) + (0.02 if "16" in dtype else 0)
    logs = x.double().log_normal_(0.5, 0.25).log()
    assert mean(logs) == pytest.approx(0.5, abs=0.01) and logs.std().item() == pytest.approx(
        0.25, abs=0.01
    )
    assert x.exponential_().min().item() > 0


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32"])
def test_geometric(dtype):
    x = dt.empty(N, dtype=getattr(dt, dtype)).geometric_(0.3)
    for k in range(1, 5):
        p = 0.3 * 0.7 ** (k - 1)
        assert abs(mean(x == k) - p) < 5 * math.sqrt(p * (1 - p) / N)
    assert x.min().item() == 1


@pytest.mark.parametrize("given", [(7,), (3, 9), ("to",), ("from", "to")], ids=str)
def test_bounds_of_random(given, both):
    def run(t):
        x = t.empty(2000, dtype=t.int64)
        named = {"to": 7} if given == ("to",) else {"from": 3, "to": 9} if "from" in given else {}
        x.random_(**named) if named else x.random_(*given)
        return sorted(set(x.tolist()))

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "bfloat16", "uint8", "int8", "bool", "int64", "float64"]
)
def test_all_that_a_dtype_holds(dtype, both):
    def run(t):
        x = t.empty(N, dtype=getattr(t, dtype)).random_()
        whole = x.double()
        return whole.min().item() >= 0, whole.max().item()

    (positive, mine), (_, theirs) = both(run)
    assert positive and mine == pytest.approx(theirs, rel=1e-2)


def test_generators_of_fillings():
    for fill in ("exponential_", "cauchy_", "log_normal_", "random_"):
        a, b = (
            getattr(dt.empty(5), fill)(generator=dt.Generator().manual_seed(3)) for _ in range(2)
        )
        assert a.tolist() == b.tolist()


def test_fillings_cut_the_graph(both, same):
    def run(t):
        x = t.ones(3, requires_grad=True)
        y = x * 2
        y.exponential_()
        y.sum().backward()
        return x.grad

    same(*both(run))


REFUSALS = [
    "t.ones(2).exponential_(0)", "t.ones(2).long().exponential_()", "t.ones(2).cauchy_(0, -1)",
    "t.ones(2).int().cauchy_()",
    "t.ones(2).geometric_(1)", "t.ones(2).geometric_(0)", "t.ones(2).log_normal_(1, 0)",
    "t.ones(2, requires_grad=True).exponential_()",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals(text, both):
    mine, theirs = both(lambda t: outcome(eval, text, {"t": t}))
    words = [text.split(": ")[-1].split(" you specified ")[0] for text in (mine[1], theirs[1])]
    assert mine[0] == theirs[0] and words[0] == words[1]


def test_unknown_bounds():
    for call in (lambda x: x.random_(high=3), lambda x: x.random_(1, 2, 3)):
        with pytest.raises(TypeError, match="random_"):
            call(dt.ones(2))


# ---- windows

WINDOWS = ["hann_window", "hamming_window", "blackman_window", "bartlett_window"]


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("length", [0, 1, 2, 3, 8, 101])
def test_windows(name, length, both, same):
    def run(t):
        window = getattr(t, name)
        return (
            window(length),
            window(length, False),
            window(length, periodic=True, dtype=t.float64),
            window(length, requires_grad=True).requires_grad,
        )

    same(*both(run), rtol=1e-4, atol=1e-6)


def test_windows_of_other_shares(both, same):
    same(*both(lambda t: t.hamming_window(9, True, 0.6, 0.3)), atol=1e-6)
    for name in WINDOWS:
        with pytest.raises(RuntimeError, match=f"{name} expects floating point dtypes"):
            getattr(dt, name)(3, dtype=dt.int64)
        with pytest.raises(RuntimeError, match="non-negative window_length"):
            getattr(dt, name)(-1)


SIGNAL_WINDOWS = [
    "bartlett({})", "blackman({})", "cosine({})", "exponential({})", "exponential({}, tau=2.5)", "gaussian({})",
    "gaussian({}, std=3)", "general_cosine({}, a=[0.4, 0.3, 0.2, 0.1])", "general_hamming({}, alpha=0.6)",
    "hamming({})", "hann({})", "kaiser({})", "kaiser({}, beta=0)", "nuttall({})",
]  # fmt: skip


@pytest.mark.parametrize("text", SIGNAL_WINDOWS)
@pytest.mark.parametrize("length", [0, 1, 2, 9, 100])
def test_signal_windows(text, length, both, same):
    def run(t):
        calls = [text.format(length), text.format(f"{length}, sym=False, dtype=t.float64")]
        return [eval(f"t.signal.windows.{call}", {"t": t}) for call in calls]

    same(*both(run), rtol=1e-4, atol=1e-5)


SIGNAL_REFUSALS = [
    "cosine(-1)", "exponential(3, tau=0)", "exponential(3, center=1.0)", "gaussian(3, std=0)",
    "kaiser(3, beta=-1)", "general_cosine(3, a=0.5)", "general_cosine(3, a=[])",
]  # fmt: skip


@pytest.mark.parametrize("text", SIGNAL_REFUSALS)
def test_refused_signal_windows(text, both):
    mine, theirs = both(lambda t: outcome(eval, f"t.signal.windows.{text}", {"t": t}))
    assert mine == theirs


def test_a_window_around_another_center(both, same):
    def run(t):
        window = t.signal.windows.exponential(9, center=2.5, sym=False, requires_grad=True)
        return window, window.requires_grad

    same(*both(run), atol=1e-6)


# ---- functions


@pytest.mark.filterwarnings("ignore:.*torch.range")
@pytest.mark.parametrize(
    "text",
    [
        "t.range(3)", "t.range(1, 4)", "t.range(1, 2.5, 0.5)", "t.range(5, 1, -2)",
        "t.range(0, 3, dtype=t.int64)", "t.range(0.5, 1, dtype=t.int64)", "t.range(0, 3.7, 1.5, dtype=t.int32)",
        "t.range(3.9, 0.5, -1.5, dtype=t.int16)", "t.range(1.9, 5, out=t.empty(0, dtype=t.int64))",
        "t.range(1, 1)", "t.range(0, 3, out=t.empty(0, dtype=t.float64))", "t.range(0, 1, 0)", "t.range(1, 0)",
        "t.cond(True, lambda x: x + 1, lambda x: x, (t.ones(2),))",
        "t.fill(t.ones(2, 3, dtype=t.int16), 7)", "t.fill(t.ones(2), value=t.tensor(2.0))",
        "t.fill(t.ones(2), t.ones(2))",
        "t.unsafe_split(t.arange(5), 2)", "t.unsafe_chunk(t.arange(6), 2)", "t.arange(6.0).unsafe_chunk(3)",
        "t.conj_physical_(t.ones(2))", "t.ones(2).conj_physical_()",
        "t.is_inference(t.ones(1))", "t.compiled_with_cxx11_abi()", "t.empty_permuted((2, 3, 4), (2, 0, 1)).stride()",
        "t.empty_permuted((2, 3), (0, 1), dtype=t.int8).dtype", "t.cpu.is_available()", "t.cpu.device_count()",
        "t.cpu.current_device()", "t.cpu.synchronize()", "t.get_device_module('cpu').__name__.split('.')[-1]",
        "t.get_device_module(t.device('cuda')).__name__.split('.')[-1]",
    ],
)  # fmt: skip
def test_functions(text, both, same):
    mine, theirs = both(lambda t: outcome(eval, text, {"t": t}))
    if isinstance(theirs, tuple) and isinstance(theirs[0], type):
        assert mine[0] == theirs[0]
    elif text.endswith(("dtype", "stride()")):
        assert str(mine) == str(theirs)
    else:
        same(mine, theirs)


@pytest.mark.parametrize(
    "text",
    [
        "t.unsafe_split_with_sizes(t.arange(5), [2, 3])", "t.arange(6.0).unsafe_split_with_sizes((1, 5))",
        "t.arange(6.0).view(2, 3).unsafe_split_with_sizes([1, 2], dim=1)", "t.unsafe_split_with_sizes(t.ones(3), [1])",
        "t.device('cpu:01')", "t.device('cuda:00')", "t.device('')", "t.device('cpu:')", "str(t.device('cuda:10'))",
        "t.device('cpu:1') == t.device('cpu')", "t.ones(2, device='cpu:1').device", "t.ones(2).to('cpu:3').tolist()",
        "(t.ones(2, device='cpu:1') + t.ones(2)).sum().item()", "t.device('cpu:-1')",
        "t.Size([1, 2]) + (3,)", "(3,) + t.Size([1, 2])", "t.Size([1]) + [2]", "t.Size([1]) + 2", "t.Size([1]) + None",
        "t.broadcast_shapes((1, 2), (3,))", "t.broadcast_shapes(3, (2,))", "t.broadcast_shapes((2, -1))",
        "t.broadcast_shapes((2,), (-1,))", "t.broadcast_shapes((4, 1, 2), (3, 1), 2)", "t.broadcast_shapes()",
        "t.broadcast_shapes((1.5,))", "t.broadcast_shapes((2, 2), (3, 1, 2), (3, 4, 2))",
        "t.broadcast_shapes(1.5, (2,))", "t.broadcast_shapes(t.tensor(2))", "t.broadcast_shapes(None, (2,))",
        "t.use_deterministic_algorithms(False, warn_only=1)", "t.set_num_interop_threads('a')",
        "t.set_num_interop_threads(2**31)", "t.set_num_interop_threads(-(2**63) - 1)",
        "t.ones(2).as_subclass(int)", "t.ones(2).as_subclass(3)", "t.utils.deterministic.fill_uninitialized_memory",
        "setattr(t.utils.deterministic, 'fill_uninitialized_memory', 1)",
        "t.set_warn_always(1)", "t.set_warn_always(None)",
    ],
)  # fmt: skip
def test_small_parts_and_their_sentences(text, both, same):
    mine, theirs = both(lambda t: outcome(eval, text, {"t": t}))
    if "unsafe" in text and "ones(3)" not in text:
        same(mine, theirs)
    else:
        assert str(mine).replace("dumbtorch.", "torch.").replace("split_with_sizes: ", "") == str(
            theirs
        )


def test_cond_is_a_branch(both):
    def run(t):
        x = t.tensor(3.0, requires_grad=True)
        t.cond(x > 2, lambda x: x * x, lambda x: x, (x,)).backward() if t is dt else (
            x * x
        ).backward()
        return x.grad.item()

    mine, theirs = both(run)
    assert mine == theirs


# ---- memory of several processes


def add_one(x, done):
    x.add_(1)
    done.set()


@pytest.mark.parametrize("shape", ["rows", "columns"])
def test_shared_memory(shape):
    """What a fork writes, the parent sees."""
    x = dt.arange(6.0).reshape(2, 3)
    x = x if shape == "rows" else x.t()
    assert not x.is_shared()
    before = x.tolist()
    assert x.share_memory_() is x and x.is_shared() and x.tolist() == before and x[1:].is_shared()
    address = x.data_ptr()
    assert x.share_memory_().data_ptr() == address
    context = multiprocessing.get_context("fork")
    done = context.Event()
    process = context.Process(target=add_one, args=(x, done))
    process.start()
    process.join()
    assert done.is_set() and x.tolist() == [[n + 1 for n in row] for row in before]
    assert not dt.ones(2).is_shared() and dt.ones(0).share_memory_().numel() == 0


def test_modules_in_shared_memory():
    net = dt.nn.Sequential(dt.nn.Linear(2, 2), dt.nn.BatchNorm1d(2))
    weight = net[0].weight
    before = {name: x.tolist() for name, x in net.state_dict().items()}
    assert net.share_memory() is net and net[0].weight is weight
    assert all(x.is_shared() for x in [*net.parameters(), *net.buffers()])
    assert {name: x.tolist() for name, x in net.state_dict().items()} == before
    net(dt.ones(3, 2)).sum().backward()
    dt.optim.SGD(net.parameters(), lr=0.1).step()
    assert weight.is_shared()


# ---- amp


def steps(t, scaler, settings=()):
    """A step that fits, one whose gradients overflow, one more by hand, and one after clipping."""
    w = t.nn.Parameter(t.tensor([1.0, -2.0]))
    opt = t.optim.SGD([w], lr=0.1)
    out = []
    for factor in (1.0, math.inf, 0.5, 2.0, 1.0):
        opt.zero_grad()
        loss = scaler.scale((w * w * factor).sum())
        loss.backward()
        if factor == 2.0:
            scaler.unscale_(opt)
            t.nn.utils.clip_grad_norm_([w], 0.5)
        scaler.step(opt)
        scaler.update()
        out += [w.tolist(), scaler.get_scale()]
    return out, scaler.state_dict(), scaler.is_enabled()


@pytest.mark.parametrize(
    "settings",
    [{}, {"init_scale": 8.0, "growth_interval": 2},
     {"growth_factor": 3.0, "backoff_factor": 0.25, "growth_interval": 1},
     {"enabled": False}],
    ids=str,
)  # fmt: skip
def test_grad_scaler(settings, both):
    def run(t):
        scaler = t.amp.GradScaler("cpu", **settings)
        first = steps(t, scaler)
        again = t.amp.GradScaler("cpu", enabled=settings.get("enabled", True))
        again.load_state_dict(scaler.state_dict())
        names = ("growth_factor", "backoff_factor", "growth_interval") if again.is_enabled() else ()
        return first, again.state_dict(), [getattr(again, f"get_{name}")() for name in names]

    mine, theirs = both(run)
    for a, b in zip(mine[0][0], theirs[0][0], strict=True):
        assert a == pytest.approx(b, rel=1e-5, nan_ok=True)
    assert mine[0][1:] == theirs[0][1:]
    assert mine[1:] == theirs[1:]


def test_grad_scaler_refuses(both):
    def run(t):
        out = []

        def attempt(call):
            with pytest.raises((RuntimeError, AssertionError)) as error:
                call()
            out.append((type(error.value), str(error.value)))

        scaler = t.amp.GradScaler("cpu")
        w = t.nn.Parameter(t.ones(1))
        opt = t.optim.SGD([w], lr=0.1)
        attempt(lambda: scaler.step(opt))
        scaler = t.amp.GradScaler("cpu")
        scaler.scale((w * 2).sum()).backward()
        attempt(scaler.update)
        scaler.unscale_(opt)
        attempt(lambda: scaler.unscale_(opt))
        scaler.step(opt)
        attempt(lambda: scaler.step(opt))
        attempt(lambda: scaler.unscale_(opt))
        attempt(lambda: t.amp.GradScaler("cpu").load_state_dict({}))
        attempt(lambda: t.amp.GradScaler("cpu", growth_factor=1.0))
        attempt(lambda: t.amp.GradScaler("cpu", backoff_factor=1.0))
        return out

    mine, theirs = both(run)
    assert mine == theirs


def test_grad_scaler_without_a_gpu():
    if not dt.cuda.is_available():
        with pytest.warns(UserWarning, match="CUDA is not available"):
            assert not dt.amp.GradScaler().is_enabled()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dt.GradScaler(enabled=False).scale(3) == 3


# ---- modules, autograd


def test_running_statistics(both, same):
    def run(t):
        out = []
        for kind in (
            t.nn.BatchNorm1d(2),
            t.nn.InstanceNorm1d(2, track_running_stats=True),
            t.nn.BatchNorm1d(2, affine=False),
        ):
            kind(t.arange(12.0).reshape(2, 2, 3))
            kind.reset_running_stats()
            out += [*kind.buffers(), isinstance(kind, t.nn.modules.batchnorm._BatchNorm),
                    isinstance(kind, t.nn.modules.batchnorm._NormBase)]  # fmt: skip
        bare = t.nn.BatchNorm1d(2, track_running_stats=False)
        bare.reset_running_stats()
        return [*out, isinstance(t.nn.Linear(1, 1), t.nn.modules.batchnorm._NormBase)]

    same(*both(run))


def test_data_parallel(both, same):
    def run(t):
        net = t.nn.Linear(2, 1)
        with t.no_grad():
            net.weight.fill_(2)
            net.bias.fill_(1)
        whole = t.nn.DataParallel(net)
        return whole(t.ones(3, 2)), list(whole.state_dict()), whole.module is net

    same(*both(run))
    with pytest.raises(NotImplementedError, match="one device"):
        dt.nn.DataParallel(dt.nn.Linear(1, 1), device_ids=[0, 1])


def test_arguments_by_position(both, same):
    def run(t):
        x = t.ones(2, requires_grad=True)
        y = (x * x).sum()
        (g,) = t.autograd.grad(y, x, None, True, True, True, False)
        unused = t.autograd.grad(
            y, [x, t.ones(1, requires_grad=True)], None, True, False, True, True
        )
        t.autograd.backward(y, None, True, False, None, [x])
        return g, unused[1], x.grad

    same(*both(run))


@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_old_names_of_arguments(both):
    def run(t):
        x = t.ones(2, requires_grad=True)
        t.autograd.backward((x * x), grad_variables=[t.ones(2)])
        with pytest.raises(RuntimeError) as error:
            t.autograd.backward((x * x), [t.ones(2)], grad_variables=[t.ones(2)])
        return x.grad.tolist(), str(error.value)

    mine, theirs = both(run)
    assert mine == theirs


def test_gradcheck_of_sparse_tensors():
    x = dt.ones(2, dtype=dt.float64, requires_grad=True)
    check = dt.autograd.gradcheck
    assert check(lambda x: x * x, x, check_grad_dtypes=True)
    with pytest.raises(NotImplementedError, match="gradcheck"):
        check(lambda x: x * x, x, masked=True)


def test_events_of_this_process():
    dt.cuda.Event(False, True, device="cpu")
    with pytest.raises(NotImplementedError, match="process"):
        dt.cuda.Event(interprocess=True, device="cpu")


@pytest.mark.parametrize(
    "place", ["", ".nn", ".nn.functional", ".nn.init", ".optim", ".linalg", ".special"]
)
def test_a_missing_name_says_what_lists_the_others(place):
    module = importlib.import_module(f"dumbtorch{place}")
    with pytest.raises(AttributeError) as caught:
        module.no_such_name  # noqa: B018
    assert str(caught.value) == (
        f"module 'dumbtorch{place}' has no attribute 'no_such_name'; dir(dumbtorch{place}) lists those that are there"
    )
    assert not hasattr(module, "no_such_name") and not hasattr(module, "__no_such_name__")


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
@pytest.mark.parametrize("sizes", [(), (3,), (2, 3), (2, 3, 2), (2, 3, 2, 2)])
def test_softmax_of_no_dimension(name, sizes, torch, same):
    """Older programs leave it out."""
    numbers = np.linspace(-1, 1, math.prod(sizes)).reshape(sizes)
    with pytest.warns(
        UserWarning, match=f"Implicit dimension choice for {name} has been deprecated"
    ):
        ours = getattr(dt.nn.functional, name)(dt.tensor(numbers))
        theirs = getattr(torch.nn.functional, name)(torch.tensor(numbers))
    same(ours, theirs)


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "bool", "int64"]
)
@pytest.mark.parametrize(
    "low, high",
    [
        (0, 2**8 + 2), (-(2**12) - 1, 2**12 + 1), (0, 65505), (0, 65506), (-65505, 3), (-65504, 3), (2**24 + 1, 2**25),
        (-(2**40), 2**40), (-(2**54) - 1, -(2**53)), (-(2**63), 2**63 - 1), (2**62, 2**63 - 1), (-129, 2), (0, 3),
    ],
)  # fmt: skip
def test_random_integers_of_floats_stay_within(both, dtype, low, high):
    """As far as the dtype reaches, although it does not hold all integers there."""

    def run(t):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch warns of gaps
            try:
                x = t.empty(4000, dtype=getattr(t, dtype)).random_(low, high)
            except RuntimeError as error:
                return str(error).removeprefix("random_: ")
        return x

    mine, theirs = both(run)
    if isinstance(theirs, str):
        assert mine == theirs
    else:
        values = [int(v) for v in mine.tolist()]
        assert all(low <= v < high for v in values) and len(set(values)) > 1


def test_random_integers_that_a_dtype_lacks():
    with pytest.raises(
        RuntimeError, match="'from' casted to dtype .* from=16777217 >= to=16777218"
    ):
        dt.empty(2).random_(2**24 + 1, 2**24 + 2)


@pytest.mark.parametrize("name", ["linspace", "logspace"])
def test_ends_that_require_grad(both, same, name):
    """They are numbers: the result has no graph."""

    def run(t):
        end = t.tensor(3.0, requires_grad=True)
        y = getattr(t, name)(end * 0, end, 4)
        assert not y.requires_grad
        return y

    same(*both(run))


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "int16", "bool"])
def test_size_of_an_element(both, dtype):
    ours, theirs = both(lambda t: t._utils._element_size(getattr(t, dtype)))
    assert ours == theirs


def test_size_of_an_element_of_none(refusals):
    ours, theirs = refusals(lambda t: t._utils._element_size(None), RuntimeError)
    assert ours == theirs


def test_warning_of_changed_sources(both):
    ours, theirs = both(lambda t: t.serialization.SourceChangeWarning.__mro__[1:])
    assert ours == theirs
