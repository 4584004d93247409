"""Wrong calls: the right type of exception and a sentence that says what was wrong."""

import gc
import json
import operator
import sys
import threading
from pathlib import Path

import dumbtorch as dt
import pytest
from dumbtorch import _ops

DESCRIPTION = json.loads((Path(__file__).parents[2] / "share/dumbtorch/dumbtorch.json").read_text())
X = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: x @ x, RuntimeError, r"matmul: .*2x3 and 2x3"),
        (lambda x: x.sum(5), IndexError, r"sum: Dimension out of range .*\[-2, 1\].* got 5"),
        (lambda x: x + dt.ones(4), RuntimeError, r"size of tensor a \(3\) must match .*b \(4\)"),
        (lambda x: x.view(7), RuntimeError, "shape '\\[7\\]' is invalid for input of size 6"),
        (
            lambda x: dt.add(x, "a"),
            TypeError,
            r"add\(\): argument 'other' \(position 2\) must be Tensor",
        ),
        (
            lambda x: dt.relu([1, 2]),
            TypeError,
            r"relu\(\): argument 'input' \(position 1\) must be Tensor, not list",
        ),
        (
            lambda x: dt.segment_reduce(
                x[0], "sum", lengths=dt.tensor([2, 2**63 - 1, 2**63 - 1, 3])
            ),
            RuntimeError,
            "Expected all rows of lengths along axis to sum to data.size",
        ),
        (lambda x: dt.cat([x, 3]), TypeError, "element of type int at pos 1"),
        (lambda x: dt.cat(x._h), TypeError, "tuple of Tensors, not int"),
        (lambda x: x.sum("a"), TypeError, r"sum\(\): argument 'dim'"),
        (lambda x: x.reshape(2.5, 2), TypeError, "element of type float at pos 0"),
        (lambda x: x.select(0, 1.5), TypeError, "'index'"),
        (lambda x: dt.zeros(2, dtype="float"), TypeError, "dtype"),
        (lambda x: dt.rand(2, generator=5), TypeError, r"rand\(\): argument 'generator' .*not int"),
        (lambda x: dt.zeros(), TypeError, "missing"),
        (lambda x: dt.zeros(2, sise=3), TypeError, "unexpected keyword"),
        (lambda x: dt.nn.functional.mse_loss(x, x, reduction="max"), ValueError, "max"),
        (lambda x: x.item(), RuntimeError, "2x3|6 elements|[Cc]annot be converted to Scalar"),
        (lambda x: x[5], IndexError, "out of bounds"),
        (lambda x: dt.full((2,), 2**70), OverflowError, "int too big to convert"),
        (lambda x: dt.tensor([1, 2**63]), ValueError, "Overflow when unpacking long long"),
        (lambda x: x.sum(2**70), ValueError, r"sum\(\): Overflow when unpacking long long"),
        (lambda x: dt.nn.functional.dropout(x, 1.5), ValueError, "1.5"),
        (lambda x: dt.device("abc"), RuntimeError, "abc"),
        (lambda x: x.to("cuda:77"), RuntimeError, "device"),
        (lambda x: dt.empty(2**40, 2**20), RuntimeError, "."),
        (lambda x: dt.safetensors.load_file("/no/such/file"), OSError, "/no/such/file"),
        (lambda x: dt.nn.functional.nll_loss(x, dt.tensor([0, 9])), IndexError, "9"),
        (lambda x: x.clamp(), RuntimeError, "."),
    ],
)
def test_wrong_calls(call, error, text):
    with pytest.raises(error, match=text):
        call(dt.tensor(X))


def test_texts_with_nul_characters():
    """C would see the text end there: another file, another name."""
    x = dt.ones(1)
    for call in (
        lambda: dt.safetensors.save_file({"w": x}, "a\0b"),
        lambda: dt.safetensors.save_file({"w\0": x}, "nowhere/x"),
        lambda: dt.safetensors.load_file("a\0b"),
        lambda: dt.utils.data.read_idx("a\0b"),
    ):
        with pytest.raises(ValueError, match="embedded null character"):
            call()


def test_lists_that_contain_themselves(torch):
    endless = []
    endless.append(endless)
    for t in (dt, torch):
        with pytest.raises(ValueError, match="too many dimensions"):
            t.tensor(endless)


def test_memory_errors_are_both_kinds():
    for kind in (RuntimeError, MemoryError, dt.OutOfMemoryError):
        with pytest.raises(kind):
            dt.empty(2**45, dtype=dt.float64).zero_()


def test_device_from_text(torch):
    """How the other languages read a device."""
    for text in ("cpu", "cpu:0", "cuda", "cuda:0", "cuda:12"):
        theirs = torch.device(text)
        expected = dt.device(theirs.type, None if theirs.type == "cpu" else theirs.index)
        assert _ops.device_from_text(text) == expected
    for text in ("cuda:", "cuda:x", "cpu:-1", "cuda:1:2", "cuda: 1", ""):
        with pytest.raises(RuntimeError) as expected:
            torch.device(text)
        with pytest.raises(RuntimeError) as caught:
            _ops.device_from_text(text)
        assert str(expected.value) in str(caught.value)
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda device type at start"):
        _ops.device_from_text("gpu")


def test_errors_belong_to_threads():
    """Threads that fail at the same time each see their own message."""
    wrong = []

    def run(size):
        x = dt.ones(size)
        for _ in range(200):
            try:
                x + dt.ones(size + 1000)
            except RuntimeError as error:
                if f"({size})" not in str(error):
                    wrong.append(str(error))

    threads = [threading.Thread(target=run, args=(n,)) for n in range(2, 8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_threads_share_tensors():
    x = dt.arange(1000.0)
    out = []

    def run():
        y = x
        for _ in range(100):
            y = (y + x) * 0.5
        out.append(y.sum().item())

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert out == [out[0]] * 4


def test_grad_mode_belongs_to_threads():
    seen = []
    with dt.no_grad():
        t = threading.Thread(target=lambda: seen.append(dt.is_grad_enabled()))
        t.start()
        t.join()
    assert seen == [True]


def test_interrupts_reach_python():
    """Ctrl-C while backward runs Python code ends it as KeyboardInterrupt."""
    import _thread
    import signal
    import time

    def hook(grad):
        _thread.interrupt_main()
        time.sleep(0.05)

    x = dt.ones(2, requires_grad=True)
    x.register_hook(hook)
    # A program that a shell started in the background ignores Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            x.sum().backward()
    finally:
        signal.signal(signal.SIGINT, before)


def test_forked_children_can_train():
    import os

    x = dt.randn(300, 300, requires_grad=True)
    (x @ x).sum().backward()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            y = dt.randn(300, 300, requires_grad=True)
            (y @ y).sum().backward()
            code = 0 if y.grad is not None else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_memory_hook():
    """What a garbage collection frees is enough for a second try; an error of the hook's comes out."""
    asked = []

    def collect(size):
        asked.append(size)
        if len(asked) == 2:
            raise KeyError("no more")
        gc.collect()
        return True

    _ops.set_memory_hook(collect)
    try:
        with pytest.raises(MemoryError, match="can't allocate memory"):
            dt.empty(1 << 58)
        with pytest.raises(KeyError, match="no more"):
            dt.empty(1 << 58)
    finally:
        _ops.remove_memory_hook()
    with pytest.raises(MemoryError):
        dt.empty(1 << 58)
    assert len(asked) == 2 and asked[0] >= 1 << 60


def test_swapped_dimensions_of_a_vector(torch):
    for t in (dt, torch):
        with pytest.raises(RuntimeError, match="only supported on matrices or batches of matrices"):
            t.ones(3).mT  # noqa: B018


def test_ratios_of_fractional_pooling(torch):
    """A number stands for all of them; PyTorch's function of two dimensions asks it for its length."""
    for t in (dt, torch):
        f, x = t.nn.functional, t.ones(1, 2, 5, 5, 5)
        assert f.fractional_max_pool3d(x, 2, output_ratio=0.5).shape == (1, 2, 2, 2, 2)
        assert t.nn.FractionalMaxPool2d(2, output_ratio=[0.5, 0.6])(x[0]).shape == (2, 5, 2, 3)
        with pytest.raises(TypeError, match="argument 'output_size' .*must be tuple of ints"):
            f.fractional_max_pool2d(x[0], 2, output_size=1.5)
    assert (
        dt.nn.functional.fractional_max_pool2d(dt.ones(1, 5, 5), 2, output_ratio=0.5).numel() == 4
    )


def test_places_of_unpooling_out_of_range(torch):
    for dims, wrong in ((1, 4), (2, 16), (3, -1)):
        for t in (dt, torch):
            x = t.ones(1, 1, *[2] * dims)
            places = t.zeros(*x.shape, dtype=t.int64)
            places[..., 1] = wrong
            with pytest.raises(RuntimeError, match=f"invalid max index: {wrong} "):
                getattr(t.nn.functional, f"max_unpool{dims}d")(x, places, 2)


@pytest.mark.parametrize(
    "layer, ratio",
    [
        ("FractionalMaxPool2d", 1.0),
        ("FractionalMaxPool2d", (0.5, 0.0)),
        ("FractionalMaxPool3d", (0.5, float("nan"), 0.5)),
        ("FractionalMaxPool3d", 0.5),
    ],
)
def test_fractional_pooling_makes_smaller(layer, ratio, both):
    def outcome(t):
        try:
            getattr(t.nn, layer)(2, output_ratio=ratio)
        except ValueError as error:
            return str(error).partition(" (got")[0]

    ours, theirs = both(outcome)
    assert ours == theirs


def functions_of_numbers():
    """Each function that takes numbers for tensors, and how many."""
    for function in DESCRIPTION["functions"].values():
        kinds = [a["kind"] for a in function["arguments"] if "default" not in a]
        if len(kinds) > 1 and set(kinds) == {"operand"} and "namespaces" in function:
            for space in function["namespaces"]:
                yield f"{space.removeprefix('torch')}.{function['free']}".strip("."), len(kinds)


@pytest.mark.parametrize("name, count", functions_of_numbers())
def test_one_of_the_operands_must_be_a_tensor(name, count):
    with pytest.raises(TypeError):
        operator.attrgetter(name)(dt)(*[2.0] * count)


def test_errors_of_signal_handlers_take_no_other_error_s_place():
    """Python runs the handler between two of its instructions: here that is wherever a traced line begins or ends."""
    a, b, x = dt.ones(2, 3), dt.ones(4, 5), dt.ones(2)

    def interrupt(frame, event, arg):
        frame.f_trace_opcodes = True
        sys.settrace(None)
        with pytest.raises(IndexError):
            x[5]
        sys.settrace(interrupt)
        return interrupt

    calls = {
        "conv1d: weight": lambda: dt.nn.functional.conv1d(a, b),
        "cat: Sizes of tensors": lambda: dt.cat([a, b]),
        "backward: element 0": lambda: dt.autograd.backward(a.sum()),
        "unbind: Dimension": lambda: dt.unbind(a, 7),
    }
    for text, call in calls.items():
        with pytest.raises((RuntimeError, IndexError), match=text):
            sys.settrace(interrupt)
            try:
                call()
            finally:
                sys.settrace(None)


def test_an_exception_outlives_those_of_drops():
    """What a hook has raised goes on as it is, though what is dropped meanwhile runs a hook that raises too."""
    numpy = pytest.importorskip("numpy")

    class Own(Exception):
        pass

    def fail(grad):
        raise Own

    def fail_otherwise(grad):
        raise KeyError

    def backward(*hooks):
        x = dt.ones(1, requires_grad=True)
        for hook in hooks:
            x.register_hook(hook)
        x.sum().backward()

    class Owner(numpy.ndarray):
        def __del__(self):
            try:
                with dt.enable_grad():
                    backward(fail_otherwise)
            except KeyError:
                dropped.append(1)

    dropped = []
    with pytest.raises(Own):
        backward(lambda grad: dt.from_numpy(numpy.ones(1, "float32").view(Owner)), fail)
    assert dropped


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.set_num_threads(0),
        lambda t: t.set_num_threads(-3),
        lambda t: t.optim.lr_scheduler.StepLR(optimizer(t), 3, last_epoch=2),
        lambda t: t.optim.lr_scheduler.CosineAnnealingLR(optimizer(t), 3, last_epoch=0),
    ],
)
def test_sentences_of_settings(call, refusals):
    mine, theirs = refusals(call, RuntimeError, KeyError)
    assert (mine[0], mine[1].removeprefix("set_num_threads: ")) == theirs


def optimizer(t):
    return t.optim.SGD([t.nn.Parameter(t.ones(1))], 0.1)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: x.max(5), "max: Dimension"),
        (lambda x: dt.nn.functional.unfold(x[0], 2), "unfold: Expected"),
        (lambda x: x.backward(), "backward: element 0"),
        (lambda x: dt.linalg.svd(x[0]), "linalg.svd: The input"),
    ],
)
def test_a_function_is_named_as_in_python(call, name):
    with pytest.raises((IndexError, RuntimeError)) as error:
        call(dt.tensor(X))
    assert str(error.value).startswith(name) and str(error.value).count(name.split(":")[0]) == 1
