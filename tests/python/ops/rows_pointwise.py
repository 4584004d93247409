"""Elementwise ops."""

from table import ALL, FLOATS, INTEGERS, NUMBERS, Row, mask, value, whole

F = lambda t: t.nn.functional  # noqa: E731

ROWS: list[Row] = []


def unary(
    op, call, *, dtypes=FLOATS + INTEGERS, low=-2.0, high=2.0, inplace=None, orders=3, **more
):
    for sizes in ((), (0,), (5,), (3, 4), (2, 3, 4), (700,)):
        ROWS.append(
            Row(
                op,
                call,
                (value(*sizes, low=low, high=high),),
                dtypes,
                min(orders, 3 if len(sizes) < 3 else 1),
                inplace,
                **more,
            )
        )


unary("neg", lambda t, x: -x, inplace=lambda t, x: x.neg_())
unary("abs", lambda t, x: x.abs(), inplace=lambda t, x: x.abs_())
unary("sign", lambda t, x: x.sign(), inplace=lambda t, x: x.sign_())
unary("floor", lambda t, x: t.floor(x), inplace=lambda t, x: x.floor_())
unary("ceil", lambda t, x: t.ceil(x), inplace=lambda t, x: x.ceil_())
unary("round", lambda t, x: t.round(x), inplace=lambda t, x: x.round_())
unary("trunc", lambda t, x: t.trunc(x), inplace=lambda t, x: x.trunc_())
unary("exp", lambda t, x: x.exp(), dtypes=ALL, inplace=lambda t, x: x.exp_())
unary("log", lambda t, x: x.log(), low=0.3, high=4.0, inplace=lambda t, x: x.log_())
unary("log1p", lambda t, x: x.log1p(), low=-0.5, high=3.0, inplace=lambda t, x: x.log1p_())
unary("sqrt", lambda t, x: x.sqrt(), low=0.3, high=4.0, inplace=lambda t, x: x.sqrt_())
unary("rsqrt", lambda t, x: x.rsqrt(), low=0.5, high=4.0, inplace=lambda t, x: x.rsqrt_())
unary("square", lambda t, x: x.square(), inplace=lambda t, x: x.square_())
unary(
    "reciprocal",
    lambda t, x: x.reciprocal(),
    low=0.5,
    high=4.0,
    inplace=lambda t, x: x.reciprocal_(),
)
unary("sin", lambda t, x: x.sin(), dtypes=ALL, inplace=lambda t, x: x.sin_())
unary("cos", lambda t, x: x.cos(), inplace=lambda t, x: x.cos_())
unary("tanh", lambda t, x: x.tanh(), inplace=lambda t, x: x.tanh_())
unary("erf", lambda t, x: x.erf(), inplace=lambda t, x: x.erf_())
unary("sigmoid", lambda t, x: x.sigmoid(), inplace=lambda t, x: x.sigmoid_())
unary("relu", lambda t, x: x.relu(), inplace=lambda t, x: x.relu_())
unary("silu", lambda t, x: F(t).silu(x), dtypes=FLOATS,
      inplace=lambda t, x: F(t).silu(x, inplace=True))  # fmt: skip
unary("gelu", lambda t, x: F(t).gelu(x), dtypes=FLOATS)
unary("gelu", lambda t, x: F(t).gelu(x, approximate="tanh"), dtypes=FLOATS)
unary("leaky_relu", lambda t, x: F(t).leaky_relu(x, 0.1), dtypes=FLOATS,
      inplace=lambda t, x: F(t).leaky_relu(x, 0.1, inplace=True))  # fmt: skip
unary(
    "elu",
    lambda t, x: F(t).elu(x, 0.7),
    dtypes=FLOATS,
    inplace=lambda t, x: F(t).elu(x, 0.7, inplace=True),
)
unary("softplus", lambda t, x: F(t).softplus(x, 2.0, 3.0), dtypes=FLOATS)
unary("logsigmoid", lambda t, x: F(t).logsigmoid(x), dtypes=FLOATS)
unary(
    "clamp",
    lambda t, x: x.clamp(-1, 1),
    dtypes=FLOATS + ("int64", "int32"),
    inplace=lambda t, x: x.clamp_(-1, 1),
)
unary("clamp", lambda t, x: x.clamp(min=0), inplace=lambda t, x: x.clamp_(min=0))
unary("clamp", lambda t, x: t.clamp(x, max=0.5), inplace=lambda t, x: x.clamp_(max=0.5))
unary("clamp_min", lambda t, x: t.clamp_min(x, 0), inplace=lambda t, x: x.clamp_min_(0))
unary("clamp_max", lambda t, x: t.clamp_max(x, 1), inplace=lambda t, x: x.clamp_max_(1))
unary("isnan", lambda t, x: t.isnan(x), orders=0)
unary("isinf", lambda t, x: t.isinf(x), orders=0)
unary("isfinite", lambda t, x: t.isfinite(x), orders=0)
unary("logical_not", lambda t, x: t.logical_not(x), dtypes=ALL, orders=0)
unary("bitwise_not", lambda t, x: ~x, dtypes=INTEGERS + ("bool",), orders=0)

BROADCASTS = (
    ((), ()),
    ((5,), (5,)),
    ((3, 4), (4,)),
    ((3, 1), (1, 4)),
    ((2, 3, 4), ()),
    ((0, 3), (3,)),
    ((2, 3, 4), (3, 1)),
)


def binary(
    op,
    call,
    *,
    dtypes=NUMBERS,
    low=-2.0,
    high=2.0,
    low2=None,
    high2=None,
    inplace=None,
    orders=3,
    **more,
):
    low2, high2 = (low if low2 is None else low2), (high if high2 is None else high2)
    for a, b in BROADCASTS:
        for x, y in ((a, b), (b, a)) if a != b else ((a, b),):
            fits = len(x) >= len(y) and all(
                m == n or n == 1 for m, n in zip(reversed(x), reversed(y))
            )
            ROWS.append(
                Row(op, call, (value(*x, low=low, high=high), value(*y, low=low2, high=high2)), dtypes, orders,
                    inplace if fits else None, **more)
            )  # fmt: skip


binary("add", lambda t, a, b: a + b, dtypes=ALL, inplace=lambda t, a, b: a.add_(b))
binary("add", lambda t, a, b: t.add(a, b, alpha=3), inplace=lambda t, a, b: a.add_(b, alpha=3))
binary(
    "add",
    lambda t, a, b: t.add(a, b, alpha=-1),
    dtypes=ALL,
    orders=1,
    inplace=lambda t, a, b: a.add_(b, alpha=-1),
)
binary("sub", lambda t, a, b: a - b, inplace=lambda t, a, b: a.sub_(b))
binary("sub", lambda t, a, b: t.sub(a, b, alpha=3), inplace=lambda t, a, b: a.sub_(b, alpha=3))
binary("rsub", lambda t, a, b: t.rsub(a, b))
binary("rsub", lambda t, a, b: t.rsub(a, b, alpha=3))
binary("mul", lambda t, a, b: a * b, dtypes=ALL, inplace=lambda t, a, b: a.mul_(b))
binary("div", lambda t, a, b: a / b, low2=0.5, high2=3.0, inplace=lambda t, a, b: a.div_(b))
binary("true_divide", lambda t, a, b: t.true_divide(a, b), low2=0.5, high2=3.0,
       inplace=lambda t, a, b: a.true_divide_(b))  # fmt: skip
binary(
    "div",
    lambda t, a, b: t.div(a, b, rounding_mode="floor"),
    low=-8,
    high=8,
    low2=1,
    high2=3,
    orders=1,
)
binary(
    "div",
    lambda t, a, b: t.div(a, b, rounding_mode="trunc"),
    low=-8,
    high=8,
    low2=1,
    high2=3,
    orders=1,
)
binary("floor_divide", lambda t, a, b: a // b, low=-8, high=8, low2=1, high2=3, orders=0,
       inplace=lambda t, a, b: a.floor_divide_(b))  # fmt: skip
binary("remainder", lambda t, a, b: a % b, low=-8, high=8, low2=1, high2=3, orders=1,
       inplace=lambda t, a, b: a.remainder_(b))  # fmt: skip
binary("pow", lambda t, a, b: a**b, low=0.4, high=2.0, dtypes=FLOATS, rtol={"float32": 1e-4},
       inplace=lambda t, a, b: a.pow_(b))  # fmt: skip
binary(
    "pow",
    lambda t, a, b: a**b,
    low=-3,
    high=3,
    low2=0,
    high2=3,
    dtypes=("int64", "int32"),
    orders=0,
)
binary("maximum", lambda t, a, b: t.maximum(a, b))
binary("minimum", lambda t, a, b: t.minimum(a, b))
binary("logical_and", lambda t, a, b: t.logical_and(a, b), dtypes=ALL, orders=0)
binary("logical_or", lambda t, a, b: t.logical_or(a, b), dtypes=ALL, orders=0)
binary("logical_xor", lambda t, a, b: t.logical_xor(a, b), dtypes=ALL, orders=0)
binary("bitwise_and", lambda t, a, b: a & b, dtypes=INTEGERS + ("bool",), orders=0,
       inplace=lambda t, a, b: a.bitwise_and_(b))  # fmt: skip
binary("bitwise_or", lambda t, a, b: a | b, dtypes=INTEGERS + ("bool",), orders=0,
       inplace=lambda t, a, b: a.bitwise_or_(b))  # fmt: skip
binary("bitwise_xor", lambda t, a, b: a ^ b, dtypes=INTEGERS + ("bool",), orders=0,
       inplace=lambda t, a, b: a.bitwise_xor_(b))  # fmt: skip
binary("bitwise_left_shift", lambda t, a, b: a << b, dtypes=INTEGERS, low=-5, high=99, orders=0,
       inplace=lambda t, a, b: a.bitwise_left_shift_(b))  # fmt: skip
binary("bitwise_right_shift", lambda t, a, b: a >> b, dtypes=INTEGERS, low=-99, high=99, orders=0,
       inplace=lambda t, a, b: a.bitwise_right_shift_(b))  # fmt: skip
for name in ("eq", "ne", "lt", "le", "gt", "ge"):
    binary(name, lambda t, a, b, name=name: getattr(t, name)(a, b), dtypes=ALL, orders=0)

for name, call in {
    "add": lambda t, x: x + 2,
    "sub": lambda t, x: 3 - x,
    "mul": lambda t, x: x * 1.5,
    "div": lambda t, x: x / 4,
    "pow": lambda t, x: x**3,
}.items():
    unary(name, call, low=0.5, high=3.0, dtypes=("float32", "float64", "int64"))
unary("pow", lambda t, x: 2.0**x)
unary("pow", lambda t, x: x**0.5, low=0.3, high=3.0, dtypes=FLOATS)
unary("pow", lambda t, x: x**2)
unary("pow", lambda t, x: x**-1.5, low=0.5, high=3.0, dtypes=FLOATS, rtol={"float32": 1e-4})
unary("gt", lambda t, x: x > 0.5, dtypes=ALL, orders=0)

for sizes, cond in (((3, 4), (3, 4)), ((3, 4), (4,)), ((), ()), ((2, 3), (3, 2, 3)), ((0,), (0,))):
    ROWS.append(
        Row(
            "where",
            lambda t, c, a, b: t.where(c, a, b),
            (mask(*cond), value(*sizes), value(*sizes)),
            ALL,
        )
    )
    ROWS.append(
        Row("where", lambda t, c, a: t.where(c, a, 0.0), (mask(*cond), value(*sizes)), FLOATS)
    )
    if sizes == cond or len(cond) < len(sizes):
        ROWS.append(
            Row("masked_fill", lambda t, x, m: x.masked_fill(m, 2), (value(*sizes), mask(*cond)), NUMBERS,
                inplace=lambda t, x, m: x.masked_fill_(m, 2))
        )  # fmt: skip
ROWS.append(
    Row("masked_fill", lambda t, x, m, v: x.masked_fill(m, v), (value(3, 4), mask(3, 4), value()))
)

# ---- where a derivative jumps: at ties, at bounds and at 0


def at_jumps(op, call, *inputs, **more):
    # Where a derivative jumps there is no further one: what it is by convention is PyTorch's.
    ROWS.append(Row(op, call, inputs, differentiable=False, **more))


for op, call in {
    "abs": lambda t, x: x.abs(),
    "sign": lambda t, x: x.sign(),
    "relu": lambda t, x: x.relu(),
    "leaky_relu": lambda t, x: F(t).leaky_relu(x, 0.1),
    "elu": lambda t, x: F(t).elu(x, 0.7),
    "softplus": lambda t, x: F(t).softplus(x, 1.0, 1.0),
    "logsigmoid": lambda t, x: F(t).logsigmoid(x),
}.items():
    at_jumps(op, call, whole(30))

at_jumps("maximum", lambda t, a, b: t.maximum(a, b), whole(6, 7), whole(6, 7))
at_jumps("minimum", lambda t, a, b: t.minimum(a, b), whole(6, 7), whole(6, 7))
# The base 0 and the exponents 0 and 1 are special; the logarithm of a negative base is NaN.
# PyTorch's second derivative by an exponent is NaN where the base is 0; ours is 0.
at_jumps("pow", lambda t, a, b: a**b, whole(9, 9), whole(9, 9, low=0, high=3), torch_orders=1)
for exponent in (0, 1, 2, 3):
    at_jumps("pow", lambda t, x, e=exponent: x**e, whole(30))
for base in (0, 1, 2):
    at_jumps(
        "pow",
        lambda t, x, b=base: b**x,
        whole(30, low=0, high=3),
        torch_orders=3 if base else 1,
    )

at_jumps("clamp_min", lambda t, x: t.clamp_min(x, 0), whole(30))
at_jumps("clamp_max", lambda t, x: t.clamp_max(x, 1), whole(30))
for low, high in ((-1, 1), (0, 0), (1, -1), (None, 1), (0, None)):
    at_jumps("clamp", lambda t, x, low=low, high=high: t.clamp(x, low, high), whole(30))
# Bounds that are tensors are differentiated too; some are equal, some are crossed.
at_jumps("clamp_min", lambda t, x, low: t.clamp_min(x, low), whole(6, 7), whole(7))
at_jumps("clamp_max", lambda t, x, high: t.clamp_max(x, high), whole(6, 7), whole(7))
at_jumps("clamp", lambda t, x, low: t.clamp(x, min=low), whole(6, 7), whole(6, 1))
at_jumps("clamp", lambda t, x, high: t.clamp(x, max=high), whole(6, 7), whole(6, 1))
at_jumps(
    "clamp", lambda t, x, low, high: t.clamp(x, low, high), whole(8, 9), whole(8, 9), whole(8, 9)
)
