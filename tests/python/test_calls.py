"""The forms of a call: PyTorch's result, or the same kind of error."""

import pytest


def described(t, y):
    if isinstance(y, t.Tensor):
        return str(y.dtype), tuple(y.shape), repr(y.tolist()), y.requires_grad
    if isinstance(y, (tuple, list)):
        return [described(t, part) for part in y]
    return y


def outcome(t, text):
    names = {
        "t": t, "F": t.nn.functional, "inf": float("inf"), "i": t.tensor(1),
        "zero": t.tensor(0.0), "three": t.tensor(3.0), "vector": t.tensor([2.0, 3.0]),
        "matrix": t.tensor([[1.0, 4.0], [3.0, 2.0]]), "cube": t.ones(3, 2, 2),
        "leaf": t.ones(2, requires_grad=True), "result": t.ones(2, requires_grad=True) * 2,
    }  # fmt: skip
    try:
        return described(t, eval(text, names))
    except Exception as error:
        return type(error).__name__


# Numbers have no dimensions, or one that may be named.
NUMBERS = [
    "three.movedim(0, 0)", "three.movedim(-1, 0)", "three.movedim((0,), (-1,))", "three.movedim((), ())",
    "three.movedim(1, 0)", "three.movedim((0, -1), (0, -1))", "three.mT", "vector.mT", "three.T", "three.t()",
    "three.transpose(0, -1)", "three.unflatten(0, (1,))", "three.unflatten(0, ())", "three.unflatten(1, (1,))",
    "three.unbind()", "three.unbind(0)", "three.unbind(1)", "three.chunk(1)", "three.split(1)", "three.select(0, 0)",
    "three.narrow(0, 0, 1)", "three.diagonal()", "three.flip([0])", "three.squeeze(0)", "three.permute(0)",
    "three.permute(())", "three.nonzero(as_tuple=True)", "three.nonzero()", "zero.nonzero(as_tuple=True)",
    "zero.nonzero()", "t.where(three)", "t.where(zero)", "three.cumsum(0)", "three.tril()",
    "three.index_select(0, i * 0)", "three.gather(0, i * 0)", "three.flatten()", "three.expand(2)",
]  # fmt: skip
# A second tensor is compared with, whatever its dimensions; only `dim` makes it a dimension.
EXTREMA = [
    form.replace("max", name) for name in ("max", "min") for form in (
        "t.max(matrix, vector)", "t.max(matrix, i)", "matrix.max(i)", "t.max(matrix, i > 0)", "t.max(three, i)",
        "t.max(matrix, other=vector)", "matrix.max(other=i)", "t.max(matrix, dim=i)", "t.max(matrix, 1, True)",
        "t.max(input=matrix, other=vector)", "t.max(matrix, vector, keepdim=True)", "t.max(matrix, vector, True)",
        "t.max(matrix, 0, other=vector)", "t.max(matrix, other=vector, dim=0)", "t.max(matrix, keepdim=True)",
        "t.max(matrix, 2.5)", "t.max(matrix, dim=0)[1]", "t.max(matrix)", "t.max(result, i)", "t.max(leaf, result)",
    )
]  # fmt: skip
NORMS = [
    "matrix.norm()", "matrix.norm('fro')", "matrix.norm('fro', (0, 1))", "matrix.norm('fro', 0)", "cube.norm('fro')",
    "cube.norm('fro', (0, 1, 2), True)", "t.norm(cube, 'fro', [0, 1, 2])", "t.norm(cube, 2, (0, 1, 2))",
    "t.norm(cube, None, (0, 1, 2))", "matrix.norm('abc')", "F.normalize(matrix, p='fro')",
    "F.normalize(matrix, p=None, dim=0)", "F.normalize(matrix, p=inf)", "F.normalize(matrix, dim=(0, 1))",
]  # fmt: skip
RANDOM = [
    *(f"t.randint({form})" for form in (
        "high=1, size=(2,)", "low=0, high=1, size=(2,)", "1, size=(2,)", "0, high=1, size=(2,)", "0, 1, size=[2]",
        "1, (2,)", "0, 1, (2,)", "high=1, size=(2,), dtype=t.int32", "size=(2,), high=1", "low=1, size=(2,)",
        "size=(2,)", "high=1", "1", "(2,)", "0, 1", "1, (2,), low=0", "high=0, size=(2,)", "low=4, high=4, size=(2,)",
    )),
    *(f"t.randint_like(vector, {form})" for form in ("1", "high=1", "0, 1", "low=0, high=1", "low=1", "0, high=1")),
]  # fmt: skip
# Empty indices are of any dtype and of any shape.
EMPTY = [
    *(f"{x}.gather(0, t.zeros({shape}, dtype=t.{dtype}))" for x in ("vector", "matrix", "result", "three")
      for shape in ("0", "0, 2", "2, 0") for dtype in ("int64", "float32", "bool")),
    *(f"{x}.{f}(0, t.zeros({shape}, dtype=t.{dtype}), {x})" for x in ("vector", "matrix")
      for f in ("scatter", "scatter_add") for shape in ("0", "0, 2", "2, 0") for dtype in ("int64", "float32", "bool")),
    "vector.gather(1, t.zeros(0))", "vector.scatter(0, t.zeros(0), matrix.double())", "vector.gather(0, vector)",
    "t.autograd.grad(result.gather(0, t.zeros(0)).sum(), result)",
]  # fmt: skip
# What is written must not be read through another tensor; masks choose what one number fills.
WRITES = [
    *(f"(vector.__setitem__({index}, {value}), vector)[1]" for index in (
        "vector > 2", "vector > 0", "vector > 9", "i", "i > 0", "i > 5", "(i > 0).byte()", "True", "False", "(True,)",
        "(False, 0)", "[0, 1]", "slice(0, 1)", "(i > 0, 1)", "[True, False]", "t.tensor([1])")
      for value in ("vector", "vector[:1]", "vector[0]", "vector.long()", "vector[0].long()", "vector[:1].double()",
                    "vector * 2", "5", "2.5", "vector[:0]")),
    *(f"(cube.__setitem__({index}, {value}), cube)[1]" for index in ("cube[0] > 0", "True", "(True, 1)", "cube > 2")
      for value in ("cube", "cube[0]", "cube[0, 0]", "cube[1:] * 2", "cube[:, 0, 0] * 2")),
    *(f"(lambda x: {call})(t.tensor([0, 2, 1]))" for call in (
        "x.__setitem__(x, 5) or x", "x.__setitem__(x > 0, x[0]) or x", "x.index_put_((x,), x * 2)",
        "x.scatter_(0, x, 7)", "x.scatter_(0, x * 1, x)", "x.scatter_(0, x * 1, x * 2)", "x.scatter_add_(0, x * 1, x)",
        "x[:2].scatter_(0, x[:2] * 0, x[1:])", "x[:1].scatter_(0, x[:1] * 0, x[1:])", "x.index_add_(0, x, x * 1)",
        "x.index_add_(0, x * 1, x)", "x.index_add_(0, x * 1, x * 1)", "x[:1].index_add_(0, x[:1] * 0, x[1:2])",
        "x.index_put_((x * 1,), x, accumulate=True)", "x.index_put_((x * 0,), x[2:])", "x.masked_fill_(x > 0, x[2])",
        "x.masked_fill_(x > 0, x[0].double())", "x.fill_(x[1])", "x.index_put_((x > 0,), x[1])",
        "x.index_put_((i > 0,), i)", "x.double().index_put_((i > 0,), i)", "x.double().index_put_((i > 0,), x)",
        "x.double().index_put_((x > 0,), i)")),
    *(f"t.zeros(2, dtype=t.{dtype}).scatter(0, t.tensor([0]), {v})"
      for dtype in ("uint8", "int32", "int64", "bool", "float32")
      for v in ("-1", "-1.0", "300", "300.0", "-300", "2.5", "1e10", "2**40", "inf", "inf - inf", "True", "1e300")),
]  # fmt: skip
# Whether a tensor requires grad is for leaves to say.
LEAVES = [
    *(f"(setattr(vector, 'requires_grad', {v}), vector.requires_grad)" for v in ("True", "False", "1", "None", "'a'")),
    *(f"setattr({x}, 'requires_grad', {v})" for x in ("leaf", "result", "i") for v in ("True", "False")),
    "result.requires_grad_().is_leaf", "result.requires_grad_(False)", "i.requires_grad_()", "i.requires_grad_(False)",
]  # fmt: skip


GROUPS = {
    "numbers": NUMBERS, "extrema": EXTREMA, "norms": NORMS, "random": RANDOM, "empty": EMPTY, "writes": WRITES,
    "leaves": LEAVES,
}  # fmt: skip


@pytest.mark.parametrize("group", GROUPS)
def test_calls(both, group):
    for text in GROUPS[group]:
        ours, theirs = both(lambda t, text=text: outcome(t, text))
        assert ours == theirs, text
