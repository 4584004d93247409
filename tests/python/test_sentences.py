"""Wrong calls end as PyTorch's do: the same kind of exception and, behind the op's name, its sentence."""

import re

import dumbtorch as dt
import pytest


def outcome(call):
    try:
        return call()
    except Exception as error:
        kind = next(
            k for k in (IndexError, NotImplementedError, RuntimeError) if isinstance(error, k)
        )
        return kind, str(error).partition("\n")[0]


@pytest.fixture
def agree(torch, same):
    """Both libraries give the same result or the same complaint."""

    def compare(text):
        ours, theirs = (outcome(lambda m=m: eval(text, {"m": m})) for m in (dt, torch))
        if isinstance(theirs, tuple) and isinstance(theirs[0], type):
            kind, sentence = theirs
            assert ours[0] is kind
            # PyTorch names some ops too, as "argmax(): ".
            assert re.sub(r"^\w+: ", "", ours[1]) == re.sub(r"^\w+\(\): ", "", sentence)
        else:
            same(ours, theirs)

    return compare


@pytest.mark.parametrize(
    "text",
    [
        *(f"{a} - {b}" for a in ("m.ones(2)", "m.tensor([True])", "m.tensor([1])", "1", "True")
          for b in ("True", "1", "m.tensor([True, False])", "m.tensor(True)")
          if "m." in a + b),
        "m.ones(2).sub_(True)",
        "m.tensor([True]).sub_(1)",
        "m.rsub(m.tensor([True]), 1)",
        "m.sub(m.tensor([True]), m.tensor([True]))",
        "-m.tensor([True])",
        *(f"m.tensor([True]) {op} True" for op in ("+", "*", "/", "//", "%", "**", "&", "|", "^")),
        *(f"m.tensor([True]).{f}()" for f in ("abs", "sign", "floor", "ceil", "round", "trunc", "sum",
                                              "mean", "prod", "max", "argmax", "argmin", "exp", "std",
                                              "cumsum(0).sum", "relu", "neg_", "logical_not")),
        "m.div(m.tensor([True]), True, rounding_mode='trunc')",
        "m.tensor([True]).add_(1)",
        "m.tensor([1]).add_(0.5)",
        "m.tensor([1, 2]).mean()",
        "m.tensor([1, 2]).std()",
        "m.tensor([1.5]) @ m.tensor([1])",
    ],
)  # fmt: skip
def test_bool_arithmetic(text, agree):
    agree(text)


@pytest.mark.parametrize("op", ["add", "sub", "rsub"])
@pytest.mark.parametrize("x", ["m.tensor([True])", "m.tensor([3])", "m.tensor([1.5])"])
@pytest.mark.parametrize("y", ["1", "2.5", "m.tensor([4])"])
@pytest.mark.parametrize("alpha", ["True", "2", "0.5"])
def test_alpha(op, x, y, alpha, agree):
    agree(f"m.{op}({x}, {y}, alpha={alpha})")


@pytest.mark.parametrize(
    "text",
    [
        "m.ones(3)[5]",
        "m.ones(3)[-4]",
        "m.ones(2, 3)[0, 5]",
        "m.ones(2, 3)[..., 5]",
        "m.ones(2, 3)[None, 0, 5]",
        "m.ones(2, 3)[:, 5]",
        "m.ones(3)[[5]]",
        "m.ones(3)[m.tensor([-4])]",
        "m.ones(2, 3)[:, m.tensor([5])]",
        "m.ones(2, 3)[m.tensor([0]), m.tensor([5])]",
        "m.ones(2, 3)[m.tensor([0, 3]), m.tensor([5, 0])]",
        "m.ones(2, 3)[m.tensor([0, 3]), m.tensor([2, 0])]",
        "m.ones(2, 3)[m.tensor([[0], [7]]), m.tensor([0, 9])]",
        "m.ones(2, 3, 4)[m.tensor([0]), :, m.tensor([5])]",
        "m.ones(2, 3, 4)[0, :, m.tensor([5])]",
        "m.ones(3).index_put_((m.tensor([5]),), m.tensor(1.0))",
        "m.ones(3).index_put_((m.tensor([5]),), m.tensor(1.0), accumulate=True)",
        "m.ones(2, 3).index_put_((m.tensor([0]), m.tensor([-9])), m.tensor(1.0))",
        "m.ones(3).__setitem__(m.tensor([5]), 1)",
        "m.ones(2, 3).__setitem__((slice(None), m.tensor([5])), 1)",
        "m.ones(0)[m.tensor([0])]",
        "m.ones(0, 3)[0]",
        "m.nn.functional.cross_entropy(m.ones(2, 3), m.tensor([0, 5]))",
    ],
)
def test_index_ranges(text, agree):
    agree(text)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
@pytest.mark.parametrize(
    ("x", "weight", "options"),
    [
        ((1, 1, 3, 3), (1, 1, 2, 2), ""),
        ((2, 4, 9, 8), (6, 2, 3, 2), "stride=(2, 1), padding=(1, 2), groups=2"),
        ((2, 3, 9, 8), (4, 3, 3, 3), "bias=m.arange(4).to(d)"),
        ((3, 5, 5), (2, 3, 1, 1), "stride=3"),
        ((0, 3, 5, 5), (2, 3, 1, 1), ""),
    ],
)
def test_integer_convolution(dtype, x, weight, options, both, same):
    def run(m):
        d = getattr(m, dtype)

        def numbers(*size):
            return (m.arange(0, m.ones(size).numel()) * 37 % 251).to(d).reshape(size)

        text = f"m.nn.functional.conv2d(x, weight, {options})"
        names = {"m": m, "d": d, "x": numbers(*x), "weight": numbers(*weight)}
        return eval(text, names)

    same(*both(run))


def test_dilated_integer_convolution(agree):
    """PyTorch has this one for int64 alone."""
    x, weight = (
        f"(m.arange({n}) % 13).reshape({s})" for n, s in ((432, "2,3,9,8"), (54, "2,3,3,3"))
    )
    agree(f"m.nn.functional.conv2d({x}, {weight}, dilation=(2, 1))")


def test_convolution_of_two_dtypes(agree):
    agree("m.nn.functional.conv2d(m.ones(1, 1, 3, 3), m.ones(1, 1, 2, 2, dtype=m.float64))")
    agree("m.nn.functional.conv2d(m.ones(1, 1, 3, 3, dtype=m.int64), m.ones(1, 1, 2, 2))")
