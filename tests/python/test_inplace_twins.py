"""In-place twins that copy what their op computes over its first operand, against PyTorch's."""

import numpy as np
import pytest

DTYPES = ["float32", "float64", "int64", "int32", "uint8", "bool"]
COMPARISONS = ["eq_", "ne_", "lt_", "le_", "gt_", "ge_"]
LOGIC = ["logical_and_", "logical_or_", "logical_xor_"]


def outcome(call):
    """What a call gives, or its error with the sentence as far as both libraries write it alike."""
    try:
        return call()
    except Exception as error:
        return type(error), str(error).split(": ")[-1].split(" size [")[0]


def check(both, same, run):
    mine, theirs = both(run)
    for a, b in zip(mine, theirs, strict=True):
        if isinstance(b, tuple):
            assert a == b
        else:
            same(a, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "name", [*COMPARISONS, *LOGIC, "logical_not_", "tril_", "triu_", "cumsum_"]
)
def test_values(both, same, name, dtype):
    """On whole tensors and on views, whose base must see the change."""

    def run(t):
        numbers = t.tensor([[0, 1, 2], [3, 1, 0]])
        other = t.tensor([[1, 1, 1], [0, 1, 5]])
        arguments = {
            **{n: [(2,), (0.5,), (other,), (other[0].to(t.float32),), (other[0, 0],)] for n in COMPARISONS},
            **{n: [(other,), (other[0].to(t.float32),)] for n in LOGIC},
            "logical_not_": [()], "tril_": [(), (1,), (-5,)], "triu_": [(), (1,), (9,)],
            "cumsum_": [(0,), (-1,)],
        }[name]  # fmt: skip
        out = []
        for given in arguments:
            x = numbers.to(getattr(t, dtype))
            base = t.stack([x, x], -1)
            view = base[..., 1]
            if dtype == "bool" and name == "cumsum_":
                out.append(outcome(lambda x=x, given=given: getattr(x, name)(*given))[:1])
                continue
            assert getattr(x, name)(*given) is x
            getattr(view, name)(*given)
            out += [x, base]
        return out

    check(both, same, run)


@pytest.mark.parametrize("name", COMPARISONS + ["tril_", "triu_", "cumsum_", "addmm_"])
def test_gradients(both, same, name):
    data = np.random.default_rng(0).normal(size=(3, 3))

    def run(t):
        out = []
        for through_view in (False, True):
            x = t.tensor(data, requires_grad=True)
            other = t.tensor(data[::-1].copy(), requires_grad=True)
            y = (x * x)[1:] if through_view else x * x
            given = {
                "tril_": (-1,),
                "triu_": (),
                "cumsum_": (0,),
                "addmm_": (other[: len(y)], other),
            }
            options = {"beta": 2, "alpha": -0.5} if name == "addmm_" else {}
            getattr(y, name)(*given.get(name, (0.1,)), **options)
            (y * x[: len(y)]).sum().backward()
            out += [x.grad] + ([other.grad] if name == "addmm_" else [])
        return out

    check(both, same, run)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("name", ["div_", "atan2_", "addcdiv_"])
def test_gradients_of_wider_operands(both, same, name, graph, dtype):
    """They are beyond the dtype of what is written, and so are the digits of an integer beside them."""

    def run(t):
        x = t.tensor([1.0, 2.0, 4.0], dtype=getattr(t, dtype))
        wide = t.tensor([1e-30, 0.25, 1e30], dtype=t.float64, requires_grad=True)
        factor = [t.tensor([1, 2**24 + 1, 1])] if name == "addcdiv_" else []
        getattr(x, name)(*factor, wide).sum().backward(create_graph=graph)
        grad = wide.grad.detach()
        return [grad, grad[1] % 32]  # the last digit of the integer, times 16

    check(both, same, run)


def test_refusals(both, same):
    def run(t):
        row, rows = t.ones(3), t.ones(2, 3)
        leaf = t.ones(2, 2, requires_grad=True)
        ints = t.ones(3, dtype=t.int64)
        return [
            outcome(lambda: row.eq_(rows)), outcome(lambda: row.logical_and_(rows)),
            outcome(lambda: rows[0].addmm_(t.ones(2, 3), t.ones(3, 3))),
            outcome(lambda: t.ones(1, 3).addmm_(t.ones(2, 3), t.ones(3, 3))),
            outcome(lambda: ints.cumsum_(0, dtype=t.float32)),
            outcome(lambda: leaf.eq_(1)), outcome(lambda: leaf.tril_()), outcome(lambda: leaf.cumsum_(0)),
            outcome(lambda: row.tril_()), row, ints,
        ]  # fmt: skip

    check(both, same, run)


def test_old_values_that_are_needed_are_missed(both):
    def run(t):
        x = t.ones(2, 2, requires_grad=True)
        y = x * 2
        z = y * y
        y.gt_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()

    both(run)


def test_other_names(both, same):
    def run(t):
        return [
            t.tensor([1.0, -2.0]).multiply_(3).subtract_(1).negative_().absolute_().divide_(2),
            t.tensor([1.0, 2.0]).greater_(1), t.tensor([1.0, 2.0]).less_equal_(1),
            t.tensor([1.0, 2.0]).not_equal_(1),
        ]  # fmt: skip

    check(both, same, run)


def test_a_factor_that_is_the_written_memory_seen_otherwise(both, same):
    """Strides of dimensions of size 1 say nothing."""

    def run(t):
        x = t.arange(4.0).reshape(2, 2)
        y = x.select(1, 0)[:1]
        y[...] *= y
        y.view(1, 1)[:, 0].add_(y)
        y[None].copy_(y[None, :])
        return x

    same(*both(run))


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("grad_of", ["self", "other", "both", "none"])
def test_comparisons_take_part_in_the_graph(both, same, name, grad_of):
    """With whatever requires grad, and the gradient 0."""

    def run(t):
        x = t.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=grad_of in ("self", "both"))
        other = t.tensor([3.0, 2.0], requires_grad=grad_of in ("other", "both"))
        y = x * 1
        getattr(y, name)(other)
        out = [y.requires_grad, y.is_leaf]
        if y.requires_grad:
            (y * other).sum().backward()
        return out, y, x.grad, other.grad

    same(*both(run))


@pytest.mark.parametrize("name", ["tril_", "triu_"])
@pytest.mark.parametrize("diagonal", [-3, -1, 0, 1, 3])
def test_triangles_of_expanded_memory(both, same, name, diagonal):
    """They write nothing but zeros, so it does not matter how often."""

    def run(t):
        row, column = t.arange(1.0, 4.0), t.arange(1.0, 4.0).reshape(3, 1)
        batch = t.arange(1.0, 7.0).reshape(2, 3)
        views = (
            row.expand(3, 3),
            column.expand(3, 4),
            batch.expand(4, 2, 3),
            t.ones(()).expand(2, 2),
        )
        return [getattr(v, name)(diagonal) for v in views] + [row, column, batch]

    same(*both(run))
