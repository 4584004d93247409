"""More elementwise ops: mathematical functions, activations, other names."""

from rows_pointwise import ROWS, F, at_jumps, binary, unary
from table import ALL, FLOATS, INTEGERS, NUMBERS, Row, value, whole


def method(name):
    return lambda t, *args: getattr(args[0], name)(*args[1:])


def function(name):
    return lambda t, *args: getattr(t, name)(*args)


def unary_of_both(name, **more):
    unary(name, function(name), dtypes=ALL, inplace=method(name + "_"), **more)


for name in ("tan", "atan", "sinh", "cosh", "deg2rad", "rad2deg", "expm1", "exp2"):
    unary_of_both(name, low=-1.4, high=1.4)
for name in ("asin", "acos"):
    unary_of_both(name, low=-0.9, high=0.9)
for name in ("log2", "log10"):
    unary_of_both(name, low=1.2, high=4.0)
unary_of_both("sinc", low=0.3, high=1.4)
# In place, PyTorch has no derivative of these.
for names, low, high in (
    (("asinh", "arcsinh"), -1.4, 1.4),
    (("acosh", "arccosh"), 1.2, 4.0),
    (("atanh", "arctanh"), -0.9, 0.9),
):
    for name in names:
        unary(name, function(name), low=low, high=high)
        unary_of_both(name, low=low, high=high, orders=0)
unary("logit", lambda t, x: t.logit(x), dtypes=ALL, low=0.1, high=0.9,
      inplace=lambda t, x: x.logit_())  # fmt: skip
unary("logit", lambda t, x: x.logit(0.3), dtypes=ALL, low=-0.5, high=1.5,
      inplace=lambda t, x: x.logit_(eps=0.3))  # fmt: skip
unary("frac", lambda t, x: t.frac(x), dtypes=FLOATS, inplace=lambda t, x: x.frac_())
for decimals, orders in ((5, 0), (2, 3), (0, 3), (-1, 3)):
    unary("round_decimals", lambda t, x, d=decimals: t.round(x, decimals=d), dtypes=FLOATS, low=-30,
          high=30, orders=orders, inplace=lambda t, x, d=decimals: x.round_(decimals=d))  # fmt: skip
unary("positive", lambda t, x: t.positive(x))
unary("signbit", lambda t, x: t.signbit(x), dtypes=ALL, orders=0)
for name in ("isposinf", "isneginf", "isreal"):
    unary(name, function(name), dtypes=ALL, orders=0)
unary("nan_to_num", lambda t, x: t.nan_to_num(x), dtypes=ALL, inplace=method("nan_to_num_"))
unary("nan_to_num", lambda t, x: (x / 0).nan_to_num(0.5, 2.0, -3.0), dtypes=FLOATS, orders=0)

binary("atan2", lambda t, a, b: t.atan2(a, b), dtypes=ALL, low=0.2, high=2.0,
       inplace=lambda t, a, b: a.atan2_(b))  # fmt: skip
binary("hypot", lambda t, a, b: t.hypot(a, b), dtypes=FLOATS, low=0.2, high=2.0,
       inplace=lambda t, a, b: a.hypot_(b))  # fmt: skip
binary("xlogy", lambda t, a, b: t.xlogy(a, b), dtypes=ALL, low2=0.3, high2=3.0,
       inplace=lambda t, a, b: a.xlogy_(b))  # fmt: skip
unary("xlogy", lambda t, x: t.xlogy(2.5, x), dtypes=ALL, low=0.3, high=3.0)
unary("xlogy", lambda t, x: x.xlogy(2), dtypes=ALL, inplace=lambda t, x: x.xlogy_(2))
binary("logaddexp", lambda t, a, b: t.logaddexp(a, b), dtypes=FLOATS)
binary("logaddexp2", lambda t, a, b: t.logaddexp2(a, b), dtypes=FLOATS)
binary("float_power", lambda t, a, b: t.float_power(a, b), dtypes=ALL, low=0.4, high=2.0,
       inplace=lambda t, a, b: a.float_power_(b))  # fmt: skip
unary("float_power", lambda t, x: x.float_power(2), dtypes=ALL,
      inplace=lambda t, x: x.float_power_(2))  # fmt: skip
unary("float_power", lambda t, x: t.float_power(2, x), dtypes=ALL)
binary("ldexp", lambda t, a, b: t.ldexp(a, b), dtypes=ALL, inplace=lambda t, a, b: a.ldexp_(b))
binary("copysign", lambda t, a, b: t.copysign(a, b), dtypes=ALL,
       inplace=lambda t, a, b: a.copysign_(b))  # fmt: skip
unary("copysign", lambda t, x: x.copysign(-1), dtypes=ALL, inplace=lambda t, x: x.copysign_(-1))
binary("fmod", lambda t, a, b: t.fmod(a, b), low=-7, high=8, low2=1, high2=3, orders=1,
       inplace=lambda t, a, b: a.fmod_(b))  # fmt: skip
unary("fmod", lambda t, x: x.fmod(-1.5), low=-8, high=8)
for name in ("gcd", "lcm"):
    binary(name, function(name), dtypes=INTEGERS, low=-12, high=12, orders=0,
           inplace=method(name + "_"))  # fmt: skip
binary("heaviside", lambda t, a, b: t.heaviside(a, b), dtypes=ALL, orders=0,
       inplace=lambda t, a, b: a.heaviside_(b))  # fmt: skip
binary("fmax", lambda t, a, b: t.fmax(a, b), dtypes=ALL)
binary("fmin", lambda t, a, b: t.fmin(a, b), dtypes=ALL)

binary("lerp", lambda t, a, b: t.lerp(a, b, 0.3), dtypes=FLOATS,
       inplace=lambda t, a, b: a.lerp_(b, 0.3))  # fmt: skip
for sizes in (((3, 4), (4,), (3, 1)), ((5,), (5,), (5,)), ((), (), ()), ((0,), (0,), (0,))):
    three = tuple(value(*s) for s in sizes)
    divided = (*three[:2], value(*sizes[2], low=0.5, high=3.0))
    ROWS += [
        Row("lerp", lambda t, a, b, w: t.lerp(a, b, w), three, FLOATS,
            inplace=lambda t, a, b, w: a.lerp_(b, w)),
        Row("addcmul", lambda t, a, b, c: t.addcmul(a, b, c), three, NUMBERS,
            inplace=lambda t, a, b, c: a.addcmul_(b, c)),
        Row("addcmul", lambda t, a, b, c: a.addcmul(b, c, value=2.5), three, NUMBERS),
        Row("addcdiv", lambda t, a, b, c: t.addcdiv(a, b, c, value=-2), divided, FLOATS,
            inplace=lambda t, a, b, c: a.addcdiv_(b, c, value=-2)),
    ]  # fmt: skip

# ---- activations


def activation(name, *args, dtypes=FLOATS, inplace=True, **more):
    unary(name, lambda t, x: getattr(F(t), name)(x, *args), dtypes=dtypes, low=-4, high=4,
          inplace=(lambda t, x: getattr(F(t), name)(x, *args, inplace=True)) if inplace else None,
          **more)  # fmt: skip


activation("hardtanh")
activation("hardtanh", 0, 2.5, dtypes=NUMBERS)
activation("relu6", dtypes=NUMBERS)
# PyTorch has no second derivative, and its first has the digits of a float32; finite differences have all.
activation("hardsigmoid", torch_orders=1, rtol={"float64": 1e-7})
activation("hardswish")
activation("hardshrink", 0.7, inplace=False)
activation("softshrink", 0.7, inplace=False)
activation("tanhshrink", dtypes=NUMBERS, inplace=False)
activation("softsign", dtypes=NUMBERS, inplace=False)
activation("threshold", 0.5, 2.5, dtypes=NUMBERS)
activation("selu")
activation("celu", 0.5)


def scaled(t, x, inplace=False):
    """PyTorch shows its scales of elu in place alone."""
    if inplace:
        return F(t).elu_(x, 0.7, 1.5, 0.5)
    elu = getattr(F(t), "elu_scaled", None) or t._C._nn.elu
    return elu(x, alpha=0.7, scale=1.5, input_scale=0.5)


unary("elu_scaled", scaled, dtypes=FLOATS, low=-4, high=4,
      inplace=lambda t, x: scaled(t, x, inplace=True))  # fmt: skip
activation("mish")
for sizes, dim in (((4,), -1), ((3, 4), 1), ((4, 3, 2), 0), ((2, 0), 1)):
    ROWS.append(Row("glu", lambda t, x, d=dim: F(t).glu(x, d), (value(*sizes),)))
for sizes, count in (((2, 3), (3,)), ((2, 3, 4), (3,)), ((5,), (1,)), ((), (1,)), ((2, 3), ())):
    ROWS.append(Row("prelu", lambda t, x, w: F(t).prelu(x, w), (value(*sizes), value(*count))))
for sizes in ((3, 4), (2, 3, 4)):
    ROWS.append(Row("softmin", lambda t, x: F(t).softmin(x, 1), (value(*sizes),)))

# ---- where a derivative jumps

for op, call in {
    "frac": lambda t, x: t.frac(x),
    "sinc": lambda t, x: t.sinc(x),
    "hardtanh": lambda t, x: F(t).hardtanh(x),
    "relu6": lambda t, x: F(t).relu6(x * 3),
    "hardsigmoid": lambda t, x: F(t).hardsigmoid(x * 1.5),
    "hardswish": lambda t, x: F(t).hardswish(x * 1.5),
    "hardshrink": lambda t, x: F(t).hardshrink(x, 1.0),
    "softshrink": lambda t, x: F(t).softshrink(x, 1.0),
    "softsign": lambda t, x: F(t).softsign(x),
    "threshold": lambda t, x: F(t).threshold(x, 1.0, 5.0),
    "selu": lambda t, x: F(t).selu(x),
    "celu": lambda t, x: F(t).celu(x, 0.5),
    "logit": lambda t, x: x.logit(0.25),
}.items():
    at_jumps(op, call, whole(30), torch_orders=1 if op in ("sinc", "logit", "hardsigmoid") else 3,
             rtol={"float64": 1e-7} if op == "hardsigmoid" else {})  # fmt: skip
for op in ("fmax", "fmin", "copysign", "hypot", "atan2", "xlogy"):
    at_jumps(op, function(op), whole(6, 7), whole(6, 7), torch_orders=1)
at_jumps("prelu", lambda t, x, w: F(t).prelu(x, w), whole(6, 7), whole(1), torch_orders=1)

# ---- other names

for alias in ("absolute", "negative", "sgn", "fix", "arctan"):
    unary(alias, function(alias), inplace=method(alias + "_"))
for alias in ("arcsin", "arccos"):
    unary(alias, function(alias), low=-0.9, high=0.9, inplace=method(alias + "_"))
unary("clip", lambda t, x: t.clip(x, -1, 1), inplace=lambda t, x: x.clip_(-1, 1))
for alias in ("subtract", "multiply", "divide", "arctan2"):
    binary(alias, function(alias), low2=0.5, high2=3.0, inplace=method(alias + "_"))
for alias in ("greater", "greater_equal", "less", "less_equal", "not_equal"):
    binary(alias, function(alias), dtypes=ALL, orders=0, inplace=method(alias + "_"))
