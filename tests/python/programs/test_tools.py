"""Would a fault be found? Faults are planted in dumbtorch; random programs must find them and become small."""

import contextlib
import functools
import itertools
import math
import os
import re
import signal
import time

import dumbtorch as dt
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

from programs import calls, exact, exact_gamma, families, known, program, workers  # noqa: E402
from programs.check import verdict  # noqa: E402
from programs.compare import Difference, Settings, compare  # noqa: E402
from programs.generate import STATEMENTS, generate  # noqa: E402
from programs.program import Program, Refused  # noqa: E402
from programs.reduce import reduce  # noqa: E402
from programs.rules_order import is_distinct  # noqa: E402
from programs.schema import ROOT  # noqa: E402

# ---- the generator


def test_a_seed_stands_for_one_program():
    assert generate(11) == generate(11) != generate(12)


def test_the_ops_of_the_schema_are_called():
    assert len(calls.FUNCTIONS) > 160


FAMILIES = [k for k in STATEMENTS if k.__module__ == families.__name__]


@pytest.mark.parametrize("kind", FAMILIES, ids=lambda kind: kind.__name__)
def test_pytorch_takes_what_families_write(kind):
    refused = 0
    for seed in range(60):
        p = Program(seed)
        p.new((2, 2), "float32")
        try:
            kind(p)
        except Refused:
            refused += 1
    assert refused < 15


@pytest.mark.parametrize("text", ["t.no_such_name(1)", "t.exp(t.ones(1), no_such_argument=1)"])
def test_what_an_older_pytorch_lacks_is_not_written(text, monkeypatch):
    def written() -> str:
        p = Program(0)
        for _ in range(100):
            with pytest.raises(Refused):
                p.assign(text)
        return str(p)

    assert text in written()
    monkeypatch.setattr(program, "is_older", lambda torch: True)
    assert text not in written()


def test_what_rounding_leaves_has_no_order():
    for values in (
        [1e-17, 2e-17],
        [1.0, 1.0],
        [torch.inf, torch.inf],
        [torch.nan, 1.0],
        [1e30, 1e20, 1.0],
    ):
        assert not is_distinct(torch.tensor(values))
    for x in (
        torch.tensor([1.0, -torch.inf, 0.5]),
        torch.tensor([2**53, 2**53 + 1]),
        torch.zeros(0),
    ):
        assert is_distinct(x)


def test_a_block_of_which_everything_is_refused_is_not_written():
    p = Program(0)
    with pytest.raises(Refused):
        p.block("with t.no_grad()", lambda: p.existing())
    p.line("x1 = t.ones(1)")
    assert p.lines == ["x1 = t.ones(1)"]


@pytest.mark.parametrize("f", [pytest.param(f, id=f.name) for f in calls.FUNCTIONS])
def test_every_function_gets_arguments_that_pytorch_takes(f):
    for seed in range(100):
        p = Program(seed)
        try:
            calls.call(p, f)
        except Refused:
            continue
        assert (f.method_name or f.torch_name) in str(p) or "operator" in calls.CALLERS[f.name]
        return
    pytest.fail(f"PyTorch refused {f.name} with 100 random arguments")


# ---- faults


def wrong_sign(x):
    return -dt.exp(x)


def wrong_dtype(x):
    return dt.exp(x).double() if x.dtype is dt.float32 else dt.exp(x).float()


def wrong_shape(x):
    return dt.exp(x).reshape(1, *x.shape)


def lost_gradient(x):
    return dt.exp(x).detach()


def wrong_gradient(x):
    return dt.exp(x.detach()) + (x - x.detach())


def changed_input(x):
    y = dt.exp(x)
    x.data.add_(1)
    return y


def error(x):
    raise RuntimeError("exp: cannot")


def death(x):
    os.kill(os.getpid(), signal.SIGSEGV)


FAULTS = [
    ("exp", wrong_sign, "values"),
    ("exp", wrong_dtype, "dtype"),
    ("exp", wrong_shape, "shape"),
    ("exp", lost_gradient, "requires_grad"),
    ("exp", wrong_gradient, "values"),
    ("exp", changed_input, "values"),
    ("exp", error, "raised"),
    ("exp", death, "crash"),
]


TWICE = """
x1 = t.tensor(0.0, requires_grad=True)
x2 = x1.exp()
x2.backward()
x2.backward()
"""
# PyTorch's pool keeps its input, ours does not: the exponential that comes first keeps its result in both.
TWICE_IN_FRONT = """
x1 = t.zeros(1, 1, 2, 2, requires_grad=True)
x2 = t.nn.functional.avg_pool2d(x1, 2).exp()
x2.backward(t.ones_like(x2))
x2.backward(t.ones_like(x2))
"""
CHANGED = """
x1 = t.ones(2, 2, requires_grad=True)
x2 = t.ones(2, 2)
x3 = x1.add(x2)
x4 = t.mm(x3, x1)
x2.add_(1)
x4.sum().backward()
"""


def keeps_its_second(x, y):
    return x + y + (x - x.detach()) * y


@pytest.mark.parametrize(
    "name, fault, program",
    [
        ("exp", wrong_gradient, TWICE),
        ("exp", wrong_gradient, TWICE_IN_FRONT),
        ("add", keeps_its_second, CHANGED),
    ],
    ids=["too little", "too little, before what PyTorch alone keeps", "too much"],
)
def test_an_op_that_keeps_the_wrong_tensors_is_found(name, fault, program, monkeypatch):
    assert compare(program) is None
    monkeypatch.setattr(dt.Tensor, name, fault)
    found = compare(program)
    assert found and found.aspect == "raised" and found.line == program.count("\n")


@pytest.fixture
def differs():
    """What a worker says of a program."""
    worker = None

    def ask(program: str) -> Difference | None:
        nonlocal worker
        worker = worker or workers.Worker(compare)
        worker.ask(program)
        return worker.answer()

    yield ask
    worker.stop()


@functools.cache
def sound_programs_with(name: str) -> list[str]:
    """They call the op. A gradient that is wrong may also be outside of the graph."""
    programs = (
        p
        for p in map(generate, range(2000))
        if re.search(rf"\.{name}\(\)", p) and "create_graph" not in p
    )
    sound = (p for p in programs if compare(p) is None)
    return sorted(itertools.islice(sound, 12), key=len)  # long ones take long to reduce


@pytest.mark.parametrize("name, fault, aspect", FAULTS, ids=[f.__name__ for _, f, _ in FAULTS])
def test_planted_faults_are_found_and_reduced(name, fault, aspect, monkeypatch, differs):
    programs = sound_programs_with(name)
    monkeypatch.setattr(dt.Tensor, name, fault)
    found = ((p, d) for p in programs if (d := differs(p)) is not None)
    program, difference = next((p, d) for p, d in found if d.aspect == aspect)
    small = reduce(program, difference, differs)
    assert f".{name}()" in small
    assert len(small.splitlines()) <= 4, small
    assert differs(small).kind == difference.kind
    monkeypatch.undo()
    assert compare(small) is None


# ---- comparing


ONE = "x1 = t.ones(3)\n"
TWO = "x1 = t.ones(2, 3)\n"


@pytest.mark.parametrize(
    "aspect, place, name, fault, program",
    [
        ("strides", "x2", "permute", lambda x, d: dt.permute(x, d).contiguous(), TWO + "x2 = x1.permute((1, 0))"),
        ("values", "x1", "t", lambda x: x.clone(), ONE + "x2 = x1.t()\nx2.zero_()"),
        ("version", "x1", "zero_", lambda x: x.data.fill_(0), ONE + "x1.zero_()"),
        ("type", "x2", "t", lambda x: None, ONE + "x2 = x1.t()"),
        ("values", "n2", "dim", lambda x: 7, ONE + "n2 = x1.dim()"),
        ("length", "x2", "size", lambda x: [3, 3], ONE + "x2 = x1.size()"),
        ("values", "x1.grad", "neg", lambda x: x.detach() * -1 + (x - x.detach()),
         ONE[:-1] + ".requires_grad_()\nx1.neg().sum().backward()"),
        ("values", "m1.weight", "fill_", lambda x, v: x,
         "m1 = t.nn.Linear(2, 3).apply(lambda m: [w.data.fill_(1) for w in m.parameters()])"),
    ],
)  # fmt: skip
def test_what_is_compared(aspect, place, name, fault, program, monkeypatch):
    monkeypatch.setattr(dt.Tensor, name, fault)
    found = compare(program)
    assert (found.aspect, found.place) == (aspect, place)
    assert found.line == program.count("\n") + 1


@pytest.mark.parametrize(
    "errors, seen", [("raised", None), ("type", "error type"), ("text", "error type")]
)
def test_what_is_compared_of_errors(errors, seen, monkeypatch):
    def other_error(x, y):
        raise ValueError("matmul")

    monkeypatch.setattr(dt.Tensor, "mm", other_error)
    found = compare(ONE + "x2 = x1.mm(x1)", Settings(errors=errors))
    assert found is None if seen is None else found.aspect == seen


def bad_index(*_):
    raise IndexError("gather: index 3 is out of bounds")


def test_what_a_device_reports_late_is_a_finding(monkeypatch):
    monkeypatch.setattr(dt.Tensor, "cpu", bad_index)
    found = compare(ONE)
    assert (found.aspect, found.place, found.theirs) == ("raised", "x1", "no error")


def test_what_is_refused_and_begun_is_a_finding(monkeypatch):
    """It leaves a bad index behind, which the next statement would be blamed for."""
    monkeypatch.setattr("programs.compare._default_device", lambda _: contextlib.nullcontext())
    monkeypatch.setattr(dt.cuda, "synchronize", bad_index)
    found = compare("x1 = t.ones(3).mul_(t.ones(7))", Settings(device="cuda"))
    assert "and later IndexError: gather" in found.ours


def test_a_backward_of_nothing_is_an_error_in_both():
    """Which reducing a program may make of it."""
    assert compare("x1 = t.ones(1)\nt.autograd.backward()") is None


def test_rounding_does_not_grow(monkeypatch):
    """A result that is as good as equal is made equal: what follows is compared from there."""
    monkeypatch.setattr(dt.Tensor, "exp", lambda x: dt.exp(x) * (1 + 1e-6))
    assert compare("x1 = t.ones(3)\nx2 = x1.exp()\nx3 = x2.sub(2.718282).mul(1e6).floor()") is None


def test_what_is_ignored(monkeypatch):
    monkeypatch.setattr(dt.Tensor, "exp", wrong_sign)
    program = ONE + "x2 = x1.exp()"
    assert compare(program) is not None
    assert compare(program, Settings(ignored=(r"^values x2\n.*exp\(\)",))) is None


def test_the_result_of_a_program_is_found_in_layers_too():
    made = "m1 = t.nn.Sequential(t.nn.Linear(2, 1))\nm1(t.tensor([3.0, 4.0])).backward()"
    assert exact.result_of(made, "m1.0.weight.grad").tolist() == [[3, 4]]


def test_what_is_known_is_documented():
    pages = [p.read_text() for p in (ROOT / "docs").glob("differences*.md")]
    text = " ".join("\n".join(pages).split())
    assert known.DIFFERENCES
    for entry in known.DIFFERENCES:
        assert entry.sentence in text


KEPT = {
    "mul": "x1, x2 = t.ones(2, requires_grad=True), t.ones(2)\nx3 = t.mul(x1, x2)\nx2.zero_()\nx3.sum().backward()",
    "binary_cross_entropy_with_logits": """
x1, x2 = t.ones(2, requires_grad=True), t.ones(2)
x3 = t.nn.functional.binary_cross_entropy_with_logits(x1, x2)
x2.zero_()
x3.backward()""",
    "conv2d": """
x1, x2 = t.ones(1, 1, 2, 2), t.ones(1, 1, 1, 1, requires_grad=True)
x3 = t.nn.functional.conv2d(x1, x2)
x1.zero_()
x4, = t.autograd.grad(x3.sum(), x2)""",
}


@pytest.mark.parametrize("name", KEPT)
def test_what_ops_keep_is_not_known_to_differ_where_it_is_read(name, monkeypatch):
    """They read what was written since: an op that kept copies would not notice."""
    assert compare(KEPT[name]) is None
    module = dt if name == "mul" else dt.nn.functional
    op = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *inputs: op(*(x.clone() for x in inputs)))
    assert compare(KEPT[name]).aspect == "raised"


ROUNDED = """
x1 = t.tensor([[100.0, 0.5], [-2.0, 3.0]], requires_grad=True)
x2 = t.nn.functional.batch_norm(x1, None, None, training=True)
(x2 * 1e5 + x2 * x2).square().sum().backward()"""


@pytest.mark.parametrize("program", [ROUNDED, ROUNDED.replace("]],", "]], dtype=t.float64,")])
def test_what_rounding_leaves_is_not_known_to_differ_where_it_is_wrong(program, monkeypatch):
    """The gradient is nearly 0: there the libraries differ, and a fault is told by other floats alone."""
    assert compare(program) is None
    op = dt.nn.functional.batch_norm

    def wrong(x, *others, **options):
        return op(x, *others, **options) + (x - x.detach())

    monkeypatch.setattr(dt.nn.functional, "batch_norm", wrong)
    assert compare(program).place == "x1.grad"


# Gradients in which nothing cancels, small ones among them, and some beside those in which much does.
FAINT = {
    "mean": "x1 = t.arange(81.0, dtype=t.float64).requires_grad_()\nt.mean(x1).backward()",
    "exp": "x1 = t.tensor([-3.0, 0.5], requires_grad=True)\nt.exp(x1).sum().backward()",
    "div": """
x1, x2 = t.tensor([3.0], dtype=t.float64, requires_grad=True), t.tensor([1e3], dtype=t.float64)
t.div(x1, x2).sum().backward()""",
    "softmax": """
x1 = t.tensor([1.0, -2.0, 0.5], dtype=t.float64, requires_grad=True)
x2 = (t.softmax(x1, 0) * t.tensor([1e-3, 2e-3, 4e-3], dtype=t.float64)).sum()
x2.backward()""",
    "mul": """
x1 = t.tensor([1.0, 2.0], dtype=t.float64, requires_grad=True)
x2 = x1 / x1
t.mul(x1, x2 - 1 + 1e-3).sum().backward()""",
    "sub": """
x1 = t.tensor([1e8, 3.0], dtype=t.float64, requires_grad=True)
x2 = x1.square() - t.sub(x1, 1e-5).square()
x2.sum().backward()""",
}


@pytest.mark.parametrize("name", FAINT)
def test_a_faint_fault_of_a_gradient_is_no_rounding(name, monkeypatch):
    assert compare(FAINT[name]) is None
    op = getattr(dt, name)

    def wrong(*given):
        y = op(*given)
        return y + 0.003 * (y - y.detach())

    monkeypatch.setattr(dt, name, wrong)
    assert compare(FAINT[name]).place == "x1.grad"


# ---- workers


def test_a_death_is_an_answer_and_the_others_go_on():
    def answer(n):
        return n if n != 3 else os.kill(os.getpid(), signal.SIGABRT)

    answers = dict(workers.each(answer, range(8), 2))
    assert answers.pop(3).ours == "SIGABRT"
    assert answers == {n: n for n in range(8) if n != 3}


def test_exact_values_far_below_0_take_no_longer():
    """There the trigamma has almost the period 1."""
    far = torch.tensor([-1e9 - 0.25, -1e7 - 0.75], dtype=torch.float64)
    near = torch.tensor([-3.25, -1.75], dtype=torch.float64)
    assert exact_gamma.exact_polygamma(1, far).sub(2 * math.pi**2).abs().max() < 1e-6
    assert exact_gamma.exact_polygamma(2, near).allclose(torch.polygamma(2, near))


@pytest.mark.parametrize("limit, wait", [("LIMIT_S", 0), ("PATIENCE_S", 60)])
def test_endless_programs_end(limit, wait, monkeypatch):
    def answer(n):
        while n == 1:
            if wait:  # asleep it uses up no processor's time
                time.sleep(wait)
        return n

    monkeypatch.setattr(workers, limit, 1)
    answers = dict(workers.each(answer, range(3), 1))
    assert answers[1].ours == "no answer" and answers[2] == 2


def test_a_fault_of_the_tools_ends_no_run():
    answers = dict(workers.each(lambda n: 2 // n, [1, 0, 2], 1))
    assert answers[0].aspect == "tools" and "ZeroDivisionError" in answers[0].ours
    assert answers[1] == 2 and answers[2] == 1


def test_a_difference_on_a_gpu_is_sorted_by_what_the_cpu_does():
    found = Difference("values", "x1", "float32 1.0", "float32 2.0", "x1 = t.exp(x2)")
    other = Difference("raised", "", "no error", "RuntimeError: no", "x1 = t.exp(x2)")
    assert "so it is the device's" in verdict(found, None)
    assert "the same, so it is not" in verdict(found, found)
    assert "another one, raised" in verdict(found, other)
