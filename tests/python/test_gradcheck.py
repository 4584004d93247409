"""gradcheck and gradgradcheck against PyTorch's: what passes, what is refused, and in which words."""

import warnings

import dumbtorch as dt
import pytest

torch = pytest.importorskip("torch")


def own(t, backward, forward=lambda x: x**2):
    """A function of one's own; `backward` is of the gradient and the input."""

    class Own(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, grad):
            return backward(grad, *ctx.saved_tensors)

    return Own.apply


def data(t, *values, dtype="float64"):
    return t.tensor(values or (1.0, 2.0), dtype=getattr(t, dtype), requires_grad=True)


CASES = {
    "right": lambda t, c, cc: c(lambda x: x**3, data(t)) and cc(lambda x: x**3, data(t)),
    "a list of inputs": lambda t, c, cc: c(lambda x, y: x * y, [data(t), data(t)]),
    "one's own": lambda t, c, cc: c(own(t, lambda g, x: g * 2 * x), data(t)),
    "wrong": lambda t, c, cc: c(own(t, lambda g, x: g * 2 * x + 0.1), data(t)),
    "the second output": lambda t, c, cc: c(
        lambda x: (x * 2, own(t, lambda g, x: g * 3 * x)(x)), data(t)
    ),
    "the second input": lambda t, c, cc: c(
        lambda k, x, y: x * k + own(t, lambda g, x: g * x)(y), (2, data(t), data(t))
    ),
    "no exception": lambda t, c, cc: c(
        own(t, lambda g, x: g), data(t), raise_exception=False
    ),
    "tolerances": lambda t, c, cc: c(own(t, lambda g, x: g * 2.1 * x), data(t), rtol=0.2),
    "the gradient left out": lambda t, c, cc: c(
        own(t, lambda g, x: 2 * x, lambda x: (x**2).sum()), data(t)
    ),
    "no graph": lambda t, c, cc: c(lambda x: x.detach() * 2, data(t)),
    "a constant": lambda t, c, cc: c(lambda x: x.argmax(), data(t)),
    "some without a graph": lambda t, c, cc: c(
        lambda x: (x.detach(), x * 2, x.argmax()), data(t)
    ),
    "no input": lambda t, c, cc: c(lambda x: x, data(t).detach()),
    "the input itself": lambda t, c, cc: c(lambda x: x, data(t)),
    "twice the same": lambda t, c, cc: (lambda x: c(lambda x, y: x * y, (x, x)))(data(t)),
    "parts of each other": lambda t, c, cc: (
        lambda x: c(lambda x, y: x * y.sum(), (x, x[:1]))
    )(data(t)),
    "nan": lambda t, c, cc: c(lambda x: x * float("nan"), data(t)),
    "eps of 0": lambda t, c, cc: c(lambda x: x * 3, data(t), eps=0.0),
    "nothing": lambda t, c, cc: c(lambda x: x * 3, t.empty(0, dtype=t.float64).requires_grad_()),
    "a number": lambda t, c, cc: c(lambda x: x * 3, t.ones((), dtype=t.float64).requires_grad_()),
    "no outputs": lambda t, c, cc: c(lambda x: (), data(t)),
    "second derivatives": lambda t, c, cc: cc(lambda x, y: x**2 * y, (data(t), data(t))),
    "a linear function": lambda t, c, cc: cc(lambda x: x * 3, data(t)),
    "gaps": lambda t, c, cc: cc(lambda x: x**2, data(t), gen_non_contig_grad_outputs=True),
    "a constant slope": lambda t, c, cc: cc(lambda x: x.detach() * x, data(t), data(t)),
    "no input of second derivatives": lambda t, c, cc: cc(lambda x: x * 3, data(t).detach()),
    "gradients without an input": lambda t, c, cc: cc(lambda x: x * 3, data(t).detach(), data(t)),
    "another's gradient": lambda t, c, cc: (lambda w: cc(lambda x: x * w, data(t).detach()))(data(t)),
    "gradients that do not fit": lambda t, c, cc: cc(lambda x: x * 3, data(t), data(t, 1.0, 2, 3)),
    "gradients": lambda t, c, cc: cc(lambda x: x**2, (data(t),), (data(t, 0.5, -1),)),
}  # fmt: skip


def outcome(t, case):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            found = CASES[case](t, t.autograd.gradcheck, t.autograd.gradgradcheck)
        except Exception as error:
            words = str(error).removeprefix("gradcheck: ").removeprefix("gradgradcheck: ")
            found = type(error).__name__, words.replace("torch.Size(", "").replace("])", "]")
    return found, [str(w.message) for w in seen]


@pytest.mark.parametrize("case", CASES)
def test_as_pytorch(case):
    assert outcome(dt, case) == outcome(torch, case)


def test_inputs_of_few_digits():
    """PyTorch's warning and sentence; here the error says once more why."""
    for t in (dt, torch):
        with (
            pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double prec"),
            pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to"),
        ):
            t.autograd.gradcheck(lambda x: x**3, data(t, dtype="float32"))


def test_outputs_that_change():
    for t in (dt, torch):
        with pytest.raises(
            AssertionError,
            match="same shape when inputs are perturbed on index .0,?. by 1e-06, but got: shapes",
        ):
            t.autograd.gradcheck(lambda x: x[:1] if x[0] < 1 else x, data(t))


def test_a_function_that_raises():
    class Mine(Exception):
        pass

    def fail(x):
        raise Mine("from the function")

    x = data(dt)
    with pytest.raises(Mine, match="from the function"):
        dt.autograd.gradcheck(fail, x, raise_exception=False)
    with pytest.raises(AttributeError):
        dt.autograd.gradcheck(lambda x: 5, x)
    assert x.tolist() == [1, 2]


def test_inputs_are_put_back():
    x, values = data(dt), []

    def function(x):
        values.append(x.tolist())
        if len(values) == 3:
            raise KeyError
        return x * x

    with pytest.raises(KeyError):
        dt.autograd.gradcheck(function, x)
    assert x.tolist() == [1, 2] and values[1] != [1, 2] and x._version == 0


def test_gradients_are_off():
    for t in (dt, torch):
        with t.no_grad(), pytest.raises(RuntimeError, match="for function expected to be zero"):
            t.autograd.gradcheck(lambda x: x**2, data(t))
    with dt.no_grad(), pytest.raises(RuntimeError, match="gradients are off"):
        dt.autograd.gradgradcheck(lambda x: x**2, data(dt))


MORE = {
    "batched": lambda t, c, cc: c(
        lambda x, y: (x * y, y.sin()), (data(t), data(t)), check_batched_grad=True
    ),
    "forward": lambda t, c, cc: c(
        lambda x, y: (x * y, y.sin()), (data(t), data(t)), check_forward_ad=True
    ),
    "forward and batched": lambda t, c, cc: c(
        lambda x: x.sum() * x, data(t), check_forward_ad=True, check_batched_forward_grad=True
    ),
    "batched without forward": lambda t, c, cc: c(
        lambda x: x, data(t), check_batched_forward_grad=True
    ),
    "batched without backward": lambda t, c, cc: c(
        lambda x: x, data(t), check_backward_ad=False, check_batched_grad=True, check_forward_ad=True
    ),
    "nothing": lambda t, c, cc: c(lambda x: x, data(t), check_backward_ad=False),
    "forward alone": lambda t, c, cc: c(
        lambda x: x * x[:1], data(t), check_backward_ad=False, check_forward_ad=True
    ),
    "numbers and constants": lambda t, c, cc: c(
        lambda x, k: (x.unbind(k)[0], x.detach(), x * 2), (data(t), 0), check_batched_grad=True
    ),
    "no elements": lambda t, c, cc: c(
        lambda x: x[:0] * 2, data(t), check_batched_grad=True, check_forward_ad=True
    ),
    "second": lambda t, c, cc: cc(
        lambda x, y: (x * y, y.sin()), (data(t), data(t)), check_batched_grad=True, check_fwd_over_rev=True
    ),
    "second with weights": lambda t, c, cc: cc(
        lambda x: x**3, data(t), data(t, 0.5, 2.0), check_fwd_over_rev=True
    ),
    "second forward alone": lambda t, c, cc: cc(
        lambda x: x**3, data(t), check_rev_over_rev=False, check_undefined_grad=False, check_fwd_over_rev=True
    ),
    "undefined without reverse": lambda t, c, cc: cc(
        lambda x: x, data(t), check_rev_over_rev=False, check_fwd_over_rev=True
    ),
    "fast": lambda t, c, cc: c(
        lambda x, y: (x * y, y.sin()), (data(t), data(t)), fast_mode=True, check_batched_grad=True
    ),
    "fast and wrong": lambda t, c, cc: c(
        own(t, lambda g, x: g * 3 * x), data(t), fast_mode=True, raise_exception=False
    ),
    "fast and constant": lambda t, c, cc: c(lambda x: (x.argmax(), x.detach()), data(t), fast_mode=True),
    "fast without an input": lambda t, c, cc: c(lambda x: x, data(t).detach(), fast_mode=True),
    "fast second": lambda t, c, cc: cc(lambda x, y: x**2 * y, (data(t), data(t)), fast_mode=True),
    "fast, of what the function holds": lambda t, c, cc: (
        lambda x, w: c(lambda x, _: x * w.exp(), (x, w), fast_mode=True)
        and cc(lambda x, _: x * w.exp(), (x, w), fast_mode=True)
    )(data(t), data(t)),
    "fast, of a module": lambda t, c, cc: (
        lambda m: cc(lambda x, *_: m(x), (data(t), *m.parameters()), fast_mode=True)
    )(t.nn.Linear(2, 3, dtype=t.float64)),
    "fast, the input itself": lambda t, c, cc: c(lambda x: x, data(t), fast_mode=True),
    "fast, with a gradient inside": lambda t, c, cc: c(
        lambda x: t.autograd.grad((x**3).sum(), x, create_graph=True), data(t), fast_mode=True
    ),
    "fast, of few digits": lambda t, c, cc: c(
        lambda x: t.nn.functional.layer_norm(x, (90_000,)),
        t.linspace(-1, 1, 180_000).view(2, 90_000).requires_grad_(),
        fast_mode=True,
    ),
    "fast and expanded": lambda t, c, cc: c(
        lambda x: x * 3, data(t).detach().expand(3, 2).requires_grad_(), fast_mode=True
    ),
    "fast and large": lambda t, c, cc: c(
        lambda x: x.exp(), t.ones(300_000, dtype=t.float64).requires_grad_(), fast_mode=True
    ),
    "fast, second and large": lambda t, c, cc: cc(
        lambda x: x.exp(), t.ones(300_000, dtype=t.float64).requires_grad_(), fast_mode=True
    ),
    "second of nothing": lambda t, c, cc: cc(lambda x: x, data(t), check_rev_over_rev=False),
}  # fmt: skip


@pytest.mark.parametrize("case", MORE)
def test_more_checks(both, case):
    def run(t):
        try:
            return MORE[case](t, t.autograd.gradcheck, t.autograd.gradgradcheck)
        except Exception as error:
            return type(error).__name__, str(error).removeprefix("gradcheck: ")

    ours, theirs = both(run)
    assert ours == theirs


def test_products_that_disagree():
    with pytest.raises(RuntimeError, match="mismatch for output 0 with respect to input 0"):
        dt.autograd.gradcheck(
            own(dt, lambda g, x: g * 3 * x),
            data(dt),
            check_backward_ad=False,
            check_forward_ad=True,
        )


def test_batches_that_disagree():
    """The backward gives something else each time."""
    from dumbtorch.autograd._more_checks import Checks

    calls = []
    function = own(dt, lambda g, x: calls.append(0) or g * len(calls))
    checks = Checks(function, (data(dt),), 1e-6, {"atol": 1e-5, "rtol": 1e-3})
    with pytest.raises(RuntimeError, match="For output 0 and input 0.*batched gradient"):
        checks.check_batched_gradients()


def test_fast_mode_names_the_element():
    with pytest.raises(
        RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"
    ):
        dt.autograd.gradcheck(own(dt, lambda g, x: g * 3 * x), data(dt), fast_mode=True)
