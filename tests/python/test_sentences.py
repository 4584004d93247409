"""Wrong calls end as PyTorch's do: the same kind of exception and, behind the op's name, its sentence."""

import re

import dumbtorch as dt
import pytest


def outcome(call):
    try:
        return call()
    except Exception as error:
        kind = next(
            k
            for k in (IndexError, NotImplementedError, RuntimeError, ValueError)
            if isinstance(error, k)
        )
        return kind, str(error).partition("\n")[0]


@pytest.fixture
def agree(torch, same):
    """Both libraries give the same result or the same complaint."""

    def compare(text):
        ours, theirs = (
            outcome(lambda m=m: eval(text, {"m": m, "of_dtype": of_dtype})) for m in (dt, torch)
        )
        if isinstance(theirs, tuple) and isinstance(theirs[0], type):
            kind, sentence = theirs
            assert ours[0] is kind
            # PyTorch names some ops too, as "argmax(): ".
            assert re.sub(r"^[\w.]+: ", "", ours[1]) == re.sub(
                r"^(\w+\(\):? |\w+: |where )", "", sentence
            )
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


DTYPES = ("float32", "float64", "int64", "int32", "uint8", "bool")
FUNCTIONS = "m.nn.functional."
OF_ONE = [
    *(f"m.{f}(x)" for f in ("exp", "sqrt", "sigmoid", "sign", "square", "reciprocal", "var", "norm",
                            "log1p", "erf", "bitwise_not", "argmax", "nonzero")),
    *(f"{FUNCTIONS}{f}(x)" for f in ("elu", "leaky_relu", "logsigmoid", "silu", "softplus", "gelu",
                                     "relu", "tanh", "normalize")),
    f"{FUNCTIONS}gelu(x, approximate='tanh')",
    *(f"{FUNCTIONS}{f}(x + 0, inplace=True)" for f in ("elu", "leaky_relu", "relu")),
    *(f"{FUNCTIONS}{f}(x, {d})" for f in ("softmax", "log_softmax") for d in (0, 1)),
    "m.softmax(x, 1, dtype=m.int64)",
    "m.softmax(x, 1, dtype=m.float64)",
    *(f"{FUNCTIONS}dropout(x, {p}, inplace={i})" for p in (0.0, 1.0) for i in (True, False)),
    f"{FUNCTIONS}layer_norm(x, (3,))",
    f"{FUNCTIONS}batch_norm(x, None, None, training=True)",
    f"{FUNCTIONS}batch_norm(x, m.zeros(3), m.ones(3))",
    f"{FUNCTIONS}max_pool2d(x.reshape(1, 2, 3), (1, 2))",
    "m.normal(x, 0) - x",
    "m.normal(0.0, x * 0)",
    "x.normal_(0, 0)",
    "x.uniform_(1, 1)",
    "m.randn(2, dtype=x.dtype) * 0 == 0",
    "m.rand(2, dtype=x.dtype) * 0",
    "m.randperm(1, dtype=x.dtype)",
    "m.bernoulli(x > 9 if x.dtype == m.bool else x * 0)",
    "m.linspace(0, 5, 4, dtype=x.dtype)",
    "m.clamp(x, m.tensor(True), m.tensor(True))",
    *(f"x.{f}({b})" for f in ("clamp_min", "clamp_max") for b in ("True", "1", "m.tensor(True)", "x")),
    *(f"x.clamp({b})" for b in ("True, True", "min=False", "max=True", "0, True", "x, x", "m.tensor(False), True")),
    "x.clone().clamp_(False, True)",
    "x.clone().clamp_min_(True)",
    *(f"x.clone().{f}" for f in ("square_()", "pow_(True)", "div_(2)", "exp_()", "requires_grad_()")),
    *(f"m.pow({a})" for a in ("x, True", "x, False", "True, x", "x, 2", "x, 0.5", "2, x")),
    "1 / x",
    *(f"{a} {op} {b}" for op in ("<<", ">>") for a, b in (("x", 2), ("x", -1), ("x", True), ("x", 1.5), (3, "x"))),
]  # fmt: skip
OF_TWO = [
    *(f"m.{f}(x, y)" for f in ("add", "sub", "mul", "div", "floor_divide", "remainder", "maximum",
                               "pow", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "eq",
                               "isclose", "bitwise_left_shift", "bitwise_right_shift")),
    *(f"{FUNCTIONS}{f}(x, y, reduction='{r}')" for r in ("none", "mean")
      for f in ("mse_loss", "l1_loss", "binary_cross_entropy_with_logits")),
    f"{FUNCTIONS}binary_cross_entropy(x > 9 if x.dtype == m.bool else x * 0, y > 9 if y.dtype == "
    "m.bool else y * 0)",
    f"{FUNCTIONS}binary_cross_entropy(m.zeros(2, 3), m.zeros(2, 3), weight=y)",
    f"{FUNCTIONS}binary_cross_entropy_with_logits(x, x, pos_weight=y)",
    f"{FUNCTIONS}binary_cross_entropy_with_logits(x, x, y)",
    *(f"{FUNCTIONS}{f}(x, m.zeros(2, dtype=y.dtype))" for f in ("cross_entropy", "nll_loss")),
    *(f"{FUNCTIONS}{f}(x, y)" for f in ("cross_entropy", "nll_loss")),
    *(f"{FUNCTIONS}{f}(x, m.tensor([0, 1]), weight=y[0])" for f in ("cross_entropy", "nll_loss")),
    f"{FUNCTIONS}cross_entropy(x.reshape(1, 2, 3), y.reshape(1, 2, 3))",
    f"{FUNCTIONS}layer_norm(x, (3,), y[0])",
    f"{FUNCTIONS}batch_norm(x, None, None, y[0], y[0], training=True)",
    f"{FUNCTIONS}linear(x, y)",
    "m.where(x, y, y)",
    "m.masked_fill(x, y, 1)",
]  # fmt: skip


def of_dtype(m, dtype):
    x = m.tensor([[1, 2, 3], [1, 2, 1]])
    return x > 1 if dtype == "bool" else x.to(getattr(m, dtype))


@pytest.mark.parametrize("text", OF_ONE)
def test_dtypes_of_one_operand(text, agree):
    for a in DTYPES:
        agree(f"(lambda x: {text})(of_dtype(m, '{a}'))")


@pytest.mark.parametrize("text", OF_TWO)
def test_dtypes_of_two_operands(text, agree):
    for a in DTYPES:
        for b in DTYPES:
            agree(f"(lambda x, y: {text})(of_dtype(m, '{a}'), of_dtype(m, '{b}'))")


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


@pytest.mark.parametrize("padding", [2, 4])
def test_transposed_convolution_to_nothing(agree, padding):
    x, weight = "m.ones(1, 1, 4, 3).double()", "m.ones(1, 1, 1, 2).double()"
    agree(f"m.conv_transpose2d({x}, {weight}, padding={padding})")
    agree(f"m.conv_transpose3d({x}[None], {weight}[None], padding={padding})")


def test_convolution_of_two_dtypes(agree):
    agree("m.nn.functional.conv2d(m.ones(1, 1, 3, 3), m.ones(1, 1, 2, 2, dtype=m.float64))")
    agree("m.nn.functional.conv2d(m.ones(1, 1, 3, 3, dtype=m.int64), m.ones(1, 1, 2, 2))")


@pytest.mark.parametrize("loss", ["nll_loss", "cross_entropy"])
@pytest.mark.parametrize("size, target", [("3", "2"), ("2, 3", "[0, 2]"), ("1, 3, 2", "[[0, 2]]")])
def test_weights_of_classes_have_no_gradient(loss, size, target, agree):
    weight = "m.ones(3, requires_grad=True)"
    text = f"m.nn.functional.{loss}(m.ones({size}), m.tensor({target}), {weight}"
    agree(text + ")")
    agree(text + ".detach())")
    if loss == "cross_entropy":
        agree(text + ", label_smoothing=0.5)")


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool"])
def test_results_outside_of_the_graph(dtype, agree):
    for op in ("sum(", "prod(", "cumsum(0, "):
        if (op, dtype) != ("cumsum(0, ", "bool"):
            agree(f"m.ones(2, requires_grad=True).{op}dtype=m.{dtype})")
            agree(f"m.ones(2).{op}dtype=m.{dtype})")


@pytest.mark.parametrize("given", ["float32", "float64", "int64"])
@pytest.mark.parametrize("wanted", ["float32", "float64", "int64"])
def test_dtypes_of_a_norm(given, wanted, agree):
    agree(f"m.ones(2, dtype=m.{given}).norm(dtype=m.{wanted})")


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("which", ["mean", "var"])
def test_running_statistics_have_no_gradient(which, training, agree):
    statistics = ["m.ones(3, requires_grad=True)", "m.ones(3)"][:: 1 if which == "mean" else -1]
    agree(f"m.nn.functional.batch_norm(m.ones(2, 3), {', '.join(statistics)}, training={training})")


@pytest.mark.parametrize("shape", [(3,), (2, 3), (4, 2, 3)])
@pytest.mark.parametrize("bias", ["None", "m.tensor(2.0)", "m.ones(1)", "m.ones(3)"])
def test_linear_with_a_vector_for_its_weight(shape, bias, agree):
    agree(f"m.nn.functional.linear(m.ones({shape}), m.ones(3), {bias})")


@pytest.mark.parametrize("alpha", [0, 1, 0.5])
@pytest.mark.parametrize("beta", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_what_addmm_multiplies_by_zero(dtype, beta, alpha, agree):
    x, y = (f"m.tensor([[{n}, 1], [1, 2]]).to(m.{dtype})" for n in ("m.nan", "m.inf"))
    if dtype == "int64":
        x = y = "m.tensor([[3, 1], [1, 2]])"
    agree(f"m.addmm({x}, {y}, m.ones(2, 2, dtype=m.{dtype}), beta={beta}, alpha={alpha})")


def test_a_number_that_requires_grad(torch):
    for call in (lambda t, x: t.full((2,), x), lambda t, x: t.ones(2).new_full((2,), x),
                 lambda t, x: t.ones(2).add(1, alpha=x)):  # fmt: skip
        for t in (dt, torch):
            call(t, t.tensor(1.0))
            with pytest.raises(TypeError, match="must be Number, not Tensor"):
                call(t, t.tensor(1.0, requires_grad=True))


LOSSES = """
f.smooth_l1_loss(x, x, beta=-1)
f.huber_loss(x, x, delta=0)
f.smooth_l1_loss(l, l)
f.huber_loss(l, l)
f.smooth_l1_loss(x, l)
f.huber_loss(x, x.double())
f.huber_loss(x, x + 3, weight=x[0])
f.huber_loss(x, x[:, :2])
f.huber_loss(n, n.flip(0), reduction="none")
f.smooth_l1_loss(n, n.flip(0), reduction="none")
f.kl_div(l, l)
f.kl_div(x, x > 0)
f.kl_div(x[0, 0], x[0, 0], reduction="batchmean")
f.kl_div(x[:0], x[:0], reduction="batchmean")
f.poisson_nll_loss(l, l, full=True)
f.poisson_nll_loss(n, n, full=True, reduction="none")
f.gaussian_nll_loss(x, x, -1.0)
f.gaussian_nll_loss(x[:0], x[:0], -1.0)
f.gaussian_nll_loss(l, l, 2.0)
f.gaussian_nll_loss(x, x, m.ones(3))
f.gaussian_nll_loss(m.ones(2, 3), m.ones(2, 3), m.ones(2, 5))
f.gaussian_nll_loss(x, x, x * 0, reduction="none")
f.hinge_embedding_loss(l * 0, -l, margin=1.5, reduction="none")
f.hinge_embedding_loss(x, x > 0)
f.margin_ranking_loss(x > 0, x > 0, x > 0)
f.triplet_margin_loss(x, x, x[0])
f.triplet_margin_loss(x, x, x, margin=0)
f.triplet_margin_loss(x, x.double(), x)
f.triplet_margin_loss(x, -x, x + 1, p=-1, swap=True)
f.triplet_margin_with_distance_loss(x, x + 1, x * 2, margin=0.5, swap=True)
f.triplet_margin_with_distance_loss(x, x, x[0])
f.triplet_margin_with_distance_loss(x, x, x, margin=0)
f.triplet_margin_with_distance_loss(x, x, x + 1, distance_function=lambda a, b: (a - b).abs().sum(1))
m.nn.TripletMarginWithDistanceLoss(swap=True)(x, x + 1, x * 2)
m.nn.TripletMarginWithDistanceLoss(margin=0)
f.cosine_embedding_loss(x, x, x)
f.cosine_embedding_loss(x[0], x[0], x[0])
f.cosine_embedding_loss(x, x, x[0, 0])
f.soft_margin_loss(-1000 * m.ones(1), m.ones(1))
f.soft_margin_loss(l, l)
f.soft_margin_loss(l, x)
f.soft_margin_loss(x[0], x)
f.soft_margin_loss(x.double(), x, reduction="none")
f.soft_margin_loss(x, x.clone().requires_grad_())
f.multi_margin_loss(x, i, p=3)
f.multi_margin_loss(x, i, weight=x)
f.multi_margin_loss(x, i, weight=m.ones(2))
f.multi_margin_loss(x, i, weight=m.ones(3).double())
f.multi_margin_loss(x, i.int())
f.multi_margin_loss(l, i)
f.multi_margin_loss(x, l[0])
f.multi_margin_loss(x[None], i)
f.multi_margin_loss(x[:, :0], i)
f.multilabel_margin_loss(x, l + 5)
f.multilabel_margin_loss(x, l[:1])
f.multilabel_margin_loss(x[0, 0], i[:1], reduction="none")
f.multilabel_soft_margin_loss(x[0, 0], x[0, 0])
m.nn.TripletMarginLoss(margin=-1)
m.nn.MultiMarginLoss(weight=x)
"""


@pytest.mark.parametrize("text", LOSSES.strip().splitlines())
def test_losses(agree, text):
    names = {
        "f": "m.nn.functional",
        "x": "m.tensor([[0.5, -1.2, 2.0], [1.0, 0.25, -0.75]])",
        "n": "m.tensor([float('nan'), float('inf'), 0.0, 1.0, -float('inf')])",
        "l": "m.ones((2, 3), dtype=m.int64)",
        "i": "m.tensor([0, 1])",
    }
    given = ", ".join(f"{name}={value}" for name, value in names.items())
    agree(f"(lambda {given}: {text})()")


@pytest.mark.parametrize("pivots", [[0, 1], [-1, 2], [1, 3], [1, 2]])
def test_pivots(agree, pivots):
    given = f"m.eye(2), m.tensor({pivots}, dtype=m.int32)"
    agree(f"m.linalg.lu_solve({given}, m.ones(2, 1))")


@pytest.mark.parametrize("dims", range(1, 7))
@pytest.mark.parametrize("layer", [1, 2, 3])
def test_circular_pads_of_other_dimensions(layer, dims, torch):
    def run(m):
        try:
            return tuple(getattr(m.nn, f"CircularPad{layer}d")(1)(m.ones([2] * dims)).shape)
        except ValueError as error:
            return str(error).partition(" (got")[0]

    assert run(dt) == run(torch)


@pytest.mark.parametrize(
    "sizes", [2, 2.5, None, "a", (2, 2.5), [2, "a"], (("a", 2),), (2, True), [3, -1], ()]
)
def test_unflatten_refuses_sizes_at_once(sizes, torch):
    def run(m):
        try:
            return repr(m.nn.Unflatten(1, sizes))
        except TypeError as error:
            return str(error)

    assert run(dt) == run(torch)


@pytest.mark.parametrize(
    "text",
    [
        "t.moveaxis(t.ones(2, 3), (0, 0), (1, 0))", "t.movedim(t.ones(2, 3), (0, 1), (1, 1))",
        "t.ones(2, 3).moveaxis((0, 1), (1,))", "t.ones(2, 3).unflatten(1, (2, 2))",
        "t.ones(2, 3).unflatten(-1, (-1, 2))", "t.ones(2, 3).unflatten(1, (1, 3, 2))",
        "t.ones(2, 3).unflatten(3, (1, 3))",
        "t.empty_strided((2, 2), (2**62, 2**62))", "t.empty_strided((2**40, 2**20), (2**40, 2**30))",
        "t.empty_strided((2, 2), (-1, 1))", "t.zeros(0).resize_([2, 4, 2**29, 2**29])", "t.zeros(0).resize_(2**62)",
        "t.FloatTensor(t.zeros(2, dtype=t.int32).storage())", "t.ones(2).new(t.ones(2, dtype=t.bool).storage())",
        "t.ones(2).__dlpack__(stream='a')", "t.ones(2).__dlpack__(stream=3)",
    ],
)  # fmt: skip
def test_what_is_refused(text, both):
    def run(t):
        with pytest.raises((RuntimeError, IndexError, TypeError, AssertionError)) as caught:
            eval(text, {"t": t})
        return type(caught.value), re.sub(
            r"^(empty_strided|resize_|unflatten|moveaxis|new): ", "", str(caught.value)
        )

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.parametrize("dtype", ["float64", "float16", "int64"])
@pytest.mark.parametrize(
    "call",
    [
        *(f"m.nn.Linear(2, 2, bias={bias})(m.ones({size}, dtype=DTYPE))"
          for bias in (True, False) for size in ((2,), (3, 2), (4, 3, 2))),
        *(f"m.nn.Conv{d}d(1, 1, 1)(m.ones({(1, 1) + (2,) * d}, dtype=DTYPE))" for d in (1, 2, 3)),
        "m.nn.ConvTranspose2d(1, 1, 1)(m.ones(1, 1, 2, 2, dtype=DTYPE))",
        "m.addmm(m.ones(2), m.ones(3, 2, dtype=DTYPE), m.ones(2, 2))",
        "m.nn.functional.linear(m.ones(3, 2), m.ones(2, 2), m.ones(2, dtype=DTYPE))",
    ],
)  # fmt: skip
def test_layers_of_another_dtype(call, dtype, agree):
    """The input's is not the weight's, or not the bias's."""
    if "Transpose" in call and dtype != "float64":
        return  # PyTorch looks at these dtypes themselves first, in another kernel
    agree(call.replace("DTYPE", f"m.{dtype}"))


@pytest.mark.parametrize(
    "text",
    [
        "t.nn.Linear(1, 1).__setattr__('weight', t.ones(1))",
        "t.nn.Sequential(t.nn.ReLU()).__setattr__('0', t.ones(1).half())",
        "t.nn.BatchNorm1d(1).__setattr__('running_mean', 3)",
        "t.nn.Module().register_parameter('a', t.ones(1).int())", "t.nn.Module().add_module('a', t.ones(1).double())",
        "t.nn.Sequential(t.ones(1))", "t.optim.SGD(t.ones(1).double(), 0.1)",
        "t.optim.SGD(t.nn.Parameter(t.ones(1)), 0.1)",
    ],
)  # fmt: skip
def test_tensors_are_called_by_their_type(text, refusals):
    mine, theirs = refusals(lambda t: eval(text, {"t": t}), TypeError)
    assert mine == theirs


@pytest.mark.parametrize("dtype", ["", ", dtype=t.float32", ", dtype=t.int64"])
@pytest.mark.parametrize(
    "data",
    [
        "[1, [2]]", "[1.0, [2]]", "[True, [2]]", "[1, (2,)]", "[1, 2.0, [2]]", "[[1, [2]]]", "[[1], [[2]]]", "[[1], 2]",
        "[[1], [2, 3]]", "[1, 'a']", "[1, None]", "[1, {}]", "[[1, 2], 'ab']", "'a'",
        "(lambda z: z.append(z) or z)([0])",
    ],
)  # fmt: skip
def test_lists_of_what_are_no_numbers(data, dtype, refusals):
    if "lambda" in data and dtype:
        return  # PyTorch looks for lists within themselves where it infers the dtype
    mine, theirs = refusals(
        lambda t: eval(f"t.tensor({data}{dtype})", {"t": t}), TypeError, ValueError, RuntimeError
    )
    assert mine == theirs


@pytest.mark.parametrize(
    "text",
    [
        "t.Tensor(t.ones(1), device='cpu')", "t.FloatTensor(t.ones(1), device='cpu')",
        "t.nn.utils.rnn.pack_padded_sequence(t.zeros(0, 1, 2), t.ones(2, 2))",
        "t.nn.utils.rnn.pack_padded_sequence(t.zeros(0), t.ones(2))",
        "t.empty(0, 4, 2**61)", "t.zeros(2, 2**62, 0, 4)", "t.empty(1).resize_(0, 4, 2**61)",
        "t.zeros(0).view(0, 4, 2**61)", "t.tensor([[t.ones(3).numpy(), 1.5]])",
    ],
)  # fmt: skip
def test_what_is_looked_at_first(text, refusals):
    mine, theirs = refusals(lambda t: eval(text, {"t": t}), RuntimeError, TypeError)
    sentence = re.sub(r"^[\w.]+: | with sizes=.*", "", mine[1])
    assert mine[0] is theirs[0] and sentence == re.sub(" +", " ", theirs[1])


def test_sizes_behind_which_there_is_none(both):
    """Their product is too large, but for the 0 that comes last."""
    ours, theirs = both(lambda t: t.empty(4, 2**61, 0).stride())
    assert ours == theirs


@pytest.mark.parametrize("order", [1, 2.0, 1.5, float("inf")])
def test_order_of_a_norm_that_is_not_finite(order, refusals):
    def run(t):
        x = t.nn.Parameter(t.ones(2))
        x.grad = t.full((2,), float("nan"))
        t.nn.utils.clip_grad_norm_([x], 1.0, order, error_if_nonfinite=True)

    mine, theirs = refusals(run, RuntimeError)
    assert mine[1].endswith(theirs[1])


LINE, LINES = "m.ones(6)", "m.ones(1, 2, 3)"


@pytest.mark.parametrize(
    "call",
    [
        *(f"{f}({x}, 2)" for f in ("max_pool1d", "avg_pool1d", "adaptive_avg_pool1d", "adaptive_max_pool1d")
          for x in (LINE, "m.ones(1, 2, 3, 4)")),
        *(f"lp_pool1d({x}, 2, 2)" for x in (LINE, "m.ones(1, 2, 3, 4)")),
        *(f"max_pool1d({x}, {a})" for x in (LINES, LINES + ".requires_grad_()")
          for a in ("5", "0", "2, 0", "2, padding=2", "2, padding=-1", "2, dilation=0", "(2, 2)", "(2,), (1, 1)",
                    "(2,), (1,), (1, 1)", "2, dilation=(1, 1)")),
        *(f"max_pool1d({LINES}, {a}, return_indices=True)"
          for a in ("5", "0", "2, 0", "2, padding=2", "(2, 2)", "(2,), (1, 1)", "2, dilation=(1, 1)")),
        f"max_pool1d({LINE}, 2, return_indices=True)",
        f"max_pool1d({LINES} > 0, 2)",
        f"max_pool1d({LINES} > 0, 2, return_indices=True)",
        *(f"avg_pool1d({LINES}, {a})" for a in ("5", "0", "2, 0", "2, padding=2", "(2, 2)", "(2,), (1, 1)",
                                                "(2,), (1,), (1, 1)")),
        *(f"adaptive_{k}_pool1d({LINES}, {a})" for k in ("max", "avg") for a in ("(2, 2)", "()")),
        *(f"{k}_pool2d(m.ones({s}), 2)" for k in ("max", "avg") for s in ("0, 3, 3", "1, 0, 3")),
        "max_pool1d(m.ones(0, 3), 2)",
    ],
)  # fmt: skip
def test_pooling_of_lines(call, agree):
    agree(FUNCTIONS + call)


@pytest.mark.parametrize("call", ["cartesian_prod()", "meshgrid()", "meshgrid([])"])
def test_nothing_given(call, agree):
    agree("m." + call)


@pytest.mark.parametrize(
    "text",
    [
        *(f"m.nn.functional.fold(m.ones(1, {c}, {n}), (4, 5), {k}, dilation={d}, stride={s})"
          for c, n, k, d, s in ((12, 12, 2, 8, 1), (12, 11, 2, 8, 1), (12, 1, 2, 8, 3), (10, 2, (5, 2), 1, 3),
                                (12, 3, 2, 1, 1))),
        *(f"m.nn.functional.unfold(m.ones(1, 2, 3, 4), {k}, dilation={d}, stride={s})"
          for k, d, s in (((5, 2), 1, 1), ((5, 6), 4, 3), (4, 1, 7))),
        *(f"m.nn.functional.{f}(m.ones(10), m.zeros({n}, dtype=m.int64))"
          for f in ("nll_loss", "cross_entropy") for n in ("3", "0", "1, 1", "1")),
        "m.nn.functional.nll_loss(m.ones(10), m.zeros(2, dtype=m.int64), weight=m.ones(3))",
    ],
)  # fmt: skip
def test_windows_and_targets(text, agree):
    agree(text)


@pytest.mark.parametrize(
    "weights", ["w(n + 1, 3), w(n, 4)", "w(n, 3), w(n + 1, 4)", "w(n + 1, 3), w(n + 1, 4)"]
)
@pytest.mark.parametrize("gates, name", [(4, "lstm"), (3, "gru"), (1, "rnn_tanh"), (1, "rnn_relu")])
def test_weights_of_cells(name, gates, weights, agree):
    state = "(w(2, 4), w(2, 4))" if name == "lstm" else "w(2, 4)"
    agree(f"(lambda w, n: m.{name}_cell(w(2, 3), {state}, {weights}))(m.ones, {4 * gates})")
