"""What is known of arguments: of those that one library refuses."""

from __future__ import annotations

import math
import re

import torch

from .case import CHANGED, Case, documented, is_derivative, share_memory
from .elements import all_that_differ, differing, only_the_infinite_differs
from .exact import is_result_of, may_overflow
from .known_memory import repeats
from .tensors import strides


# Statistics that came to require grad afterwards, where PyTorch's derivative has none by them.
@documented("**More is taken**")
def _(c: Case) -> bool:
    sentence = (
        "'native_batch_norm_backward' is not differentiable with respect to argument 'running_"
    )
    return len(c.flagged) > 0 and c.only_theirs_raises(sentence)


@documented("**More is taken**")
def _(c: Case) -> bool:
    return "keepdim=" in c.statement and c.only_theirs_raises(
        r"(sum|mean|prod)\(\) (missing|received an invalid)"
    )


@documented("**More is taken**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(r"trapezoid: Currently, we only support dx as a real number")


# The variance that is a whole number.
@documented("**More is taken**")
def _(c: Case) -> bool:
    sentence = r"any\(\) received an invalid combination of arguments - got \(bool\)"
    return "gaussian_nll_loss(" in c.statement and c.only_theirs_raises(sentence)


@documented("`torch.group_norm`")
def _(c: Case) -> bool:
    return "t.group_norm(" in c.statement and c.only_ours_raises("Expected more than 1 value per")


@documented("**More is taken**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(r"cpu\(\) takes 0 positional arguments")


@documented("**More is taken**")
def _(c: Case) -> bool:
    return c.derives("HuberLoss") and c.only_theirs_raises("Found dtype .* but expected")


@documented("**More is taken**")
def _(c: Case) -> bool:
    return c.derives("Igamma", "Igammac") and c.only_theirs_raises(
        "Subtraction, the `-` operator, with a bool"
    )


@documented("**More is taken**")
def _(c: Case) -> bool:
    return "cov(" in c.statement and c.only_theirs_raises("m1 and m2 to have the same dtype")


@documented("**More is taken**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        "_embedding_bag_(per_sample_weights_)?backward|_dot_product_flash_attention"
    )


@documented("**More is taken**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        r"fake_quantize_per_tensor_affine\(\) received an invalid combination"
    )


@documented("**`scaled_dot_product_attention`** refuses a mask")
def _(c: Case) -> bool:
    operands = re.findall(r"attention\(x\d+, (x\d+), (x\d+)", c.statement)
    unequal = any(c.tensors[v].shape[-2] != c.tensors[k].shape[-2] for k, v in operands)
    return unequal and c.only_ours_raises(
        "attention: Expected size for first two dimensions of batch"
    )


# Means of nothing and of squares.
@documented("Pooling to means, `local_response_norm` and transposed convolutions of `int64`")
def _(c: Case) -> bool:
    pools = re.search(r"\b(avg_pool\dd|local_response_norm)\(", c.statement) is not None
    integral = any(x.dtype is torch.int64 for x in c.used)
    refused = c.only_ours_raises("\"avg_pool\\dd\" not implemented for 'Long'")
    return pools and integral and refused


@documented("integers by `max_pool1d` and `lp_pool`")
def _(c: Case) -> bool:
    refused = "\"(max|avg)_pool\\dd(_impl)?\" not implemented for '(Long|Int|Short|Char|Byte|Bool)'"
    pools = re.search(r"\b(max_pool1d\w*|lp_pool\dd)\(", c.statement) is not None
    return pools and c.only_theirs_raises(refused)


# A sample without a batch, taken for a batch of images.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    alone = any(x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last) for x in c.used)
    refused = "Unsupported memory format. Supports only ChannelsLast3d"
    return (
        alone
        and re.search(r"max_pool3d|MaxPool3d", c.called) is not None
        and c.only_theirs_raises(refused)
    )


# A mask of one dimension.
@documented("**`scaled_dot_product_attention`** refuses a mask")
def _(c: Case) -> bool:
    masks = re.findall(r"attention\(.*attn_mask=(x\d+)", c.statement)
    lines = any(x.dim() == 1 for x in c.named(" ".join(masks)))
    return lines and c.only_theirs_raises("^IndexError: Dimension out of range .* but got -2")


# PyTorch overwrites the inverse that its gradient needs.
@documented("**More is taken**")
def _(c: Case) -> bool:
    return "linalg.cond(" in c.history and c.only_theirs_raises(f"{CHANGED}.*LinalgInvEx")


# The states of a cell, of which the one before does not lie row by row.
@documented("**Memory order**")
def _(c: Case) -> bool:
    apart = any(x.dim() == 2 and not x.is_contiguous() for x in c.used if x is not c.theirs)
    cells = re.search(r"lstm_cell\(|LSTMCell\(", c.called) is not None
    return c.aspect == "strides" and apart and cells


# What a GPU composes is row-major.
@documented("**Memory order**")
def _(c: Case) -> bool:
    attends = c.aspect == "strides" and "scaled_dot_product_attention(" in c.statement
    composed = attends and c.device != "cpu" and c.theirs.dtype is torch.float64
    return composed and c.difference.ours == str(strides(c.theirs.detach().contiguous()))


@documented("**More is taken**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        r"(clamp|clip)_?\(\) received an invalid combination of arguments - got \(.*Tensor"
    )


@documented("integer divisors")
def _(c: Case) -> bool:
    return c.device != "cpu" and c.only_theirs_raises("ZeroDivisionError")


@documented("**Numbers that do not fit**")
def _(c: Case) -> bool:
    if not isinstance(c.theirs, torch.Tensor) or c.theirs.dtype.is_floating_point:
        return False
    used = c.used
    if any(n not in c.tensors for n in re.findall(r"\bx\d+", c.statement)):
        used = list(c.tensors.values())  # a view that may not be looked at
    floats = [x for x in used if x.dtype.is_floating_point]
    return (
        c.device != "cpu"
        and c.aspect == "values"
        and any(not fits_in(x, c.theirs.dtype) for x in floats)
    )


# What a CPU makes of a number and of many at once: beyond int32, by way of which a small integer is made.
@documented("**Numbers that do not fit**")
def _(c: Case) -> bool:
    if c.aspect != "values" or not isinstance(c.theirs, torch.Tensor):
        return False
    if c.theirs.dtype not in (torch.uint8, torch.int8, torch.int16):
        return False
    floats = [x.detach() for x in c.used if x.dtype.is_floating_point and x.shape == c.theirs.shape]
    beyond = [~fits_in_each(x, torch.int32).flatten()[differing(c)] for x in floats]
    return any(len(b) > 0 and bool(b.all()) for b in beyond)


# A source that is longer than the index.
@documented("**More is taken**")
def _(c: Case) -> bool:
    return c.only_theirs_raises("Function ScatterAdd.* returned an invalid gradient")


# Derivatives of further orders by what is multiplied.
@documented("**More is taken**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(r"(scatter|index)_reduce\(\): Double backward is unsupported")


# PyTorch writes it while it reads what shares its memory.
@documented("**`out=`** is taken")
def _(c: Case) -> bool:
    into = c.named(" ".join(re.findall(r"out=(x\d+)", c.statement)))
    reads = c.named(re.sub(r"out=x\d+", "", c.statement.partition(" = ")[2]))
    shared = any(share_memory(x, y) for x in into for y in reads)
    return c.aspect == "values" and shared


# PyTorch's has no gradient, and may be written anywhere.
@documented("**`floor_divide`** has the gradient 0")
def _(c: Case) -> bool:
    divides = re.search(r"\bfloor_divide\(.*out=", c.statement) is not None
    return divides and c.only_ours_raises("don't support automatic differentiation")


# A number as an argument, which may be larger than the dtype's.
@documented("**Numbers beyond a narrow dtype**")
def _(c: Case) -> bool:
    overflows = c.only_theirs_raises(
        "value cannot be converted to type (float|c10::Half|c10::BFloat16) without"
    )
    orders = re.findall(r".*\b(?:\w*norm|\w*dist\w*|normalize|lp_pool\dd)\(.*", c.history)
    where = "\n".join(orders) if is_derivative(c) else c.statement
    return overflows and names_number_beyond(c, where)


# The same beside a tensor, which PyTorch takes for infinite.
@documented("**Numbers beyond a narrow dtype**")
def _(c: Case) -> bool:
    by_0 = re.search(r"\balpha=(0|False)\b", c.statement) is not None
    lost = all_that_differ(c, lambda ours, theirs: (ours.isinf() | by_0) & theirs.isnan())
    return lost and names_number_beyond(c, c.statement)


# A base, an exponent or a factor that becomes infinite or 0.
@documented("**Numbers beyond a narrow dtype**")
def _(c: Case) -> bool:
    lines = c.history.split("\n")
    for i, line in enumerate(lines):
        if re.search(r"\*\*|\b(pow|xlogy|xlog1py)_?\(", line):
            lines[i] = with_numbers_of_dtype(c, line)
    return only_the_infinite_differs(c) and is_result_of(c, "\n".join(lines))


NUMBER = r"(?<![\w.])\d+\.?\d*(?:e[+-]?\d+)?(?!\w)"


def with_numbers_of_dtype(c: Case, text: str) -> str:
    """Numbers that a dtype of floats that it names makes infinite or 0 are that."""

    def as_made(number: re.Match) -> str:
        made = numbers_made(c, text, number[0]) if float(number[0]) else []
        return next((f"{n}".replace("inf", "t.inf") for n in made if is_beyond(n)), number[0])

    return re.sub(NUMBER, as_made, text)


def names_number_beyond(c: Case, text: str) -> bool:
    """Whether a dtype of floats that it names makes one of its numbers infinite or 0."""
    numbers = re.findall(NUMBER, text)
    return any(is_beyond(m) for n in numbers if float(n) for m in numbers_made(c, text, n))


def numbers_made(c: Case, text: str, number: str) -> list[float]:
    """What the dtypes of floats that it names make of it."""
    dtypes = {x.dtype for x in c.named(text) if x.is_floating_point()}
    return [float(torch.tensor(float(number)).to(d)) for d in dtypes]


def is_beyond(made: float) -> bool:
    return math.isinf(made) or made == 0


# One element, which PyTorch fills in another way.
@documented("**Numbers beyond a narrow dtype**")
def _(c: Case) -> bool:
    fills = "^RuntimeError: (fill_|(new_)?full(_like)?): value cannot be converted to type at::"
    if not c.only_ours_raises(f"{fills}(Half|BFloat16) without overflow"):
        return False
    dtype = torch.float16 if "::Half" in c.difference.ours else torch.bfloat16
    beyond = max(map(float, re.findall(NUMBER, c.statement))) > torch.finfo(dtype).max
    return beyond and any(x.numel() == 1 and x.dtype is dtype for x in c.used)


# What is converted before it is added up.
@documented("**Numbers that do not fit**")
def _(c: Case) -> bool:
    called = r"\b(?:sum|prod|cumsum|cumprod|nansum)\(.*dtype=t\.(u?int\d+)"
    converted = re.search(called, c.statement)
    whole = torch.int64 if converted and converted[1] == "int64" else torch.int32
    beyond = [x for x in c.used if x.is_floating_point() and not fits_in(x, whole)]
    return c.aspect == "values" and converted is not None and len(beyond) > 0


# What a GPU makes of powers of the base.
@documented("**Numbers that do not fit**")
def _(c: Case) -> bool:
    if not isinstance(c.theirs, torch.Tensor) or c.theirs.dtype.is_floating_point:
        return False
    return c.device != "cpu" and c.aspect == "values" and "logspace(" in c.statement


@documented("values of `masked_fill` and `index_fill`")
def _(c: Case) -> bool:
    overflows = c.only_theirs_raises("value cannot be converted to type .* without overflow")
    filled = re.search("(masked|index)_fill", c.statement) is not None
    return overflows and c.device != "cpu" and filled


def fits_in(x: torch.Tensor, dtype: torch.dtype) -> bool:
    """Whether an integer dtype, or bool, has room for all elements."""
    if dtype is torch.bool:
        return True
    return bool(fits_in_each(x.detach(), dtype).all())


def fits_in_each(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    low, high = float(torch.iinfo(dtype).min), float(torch.iinfo(dtype).max)
    return (x > low - 1) & (x < high + 1)


@documented("**Padding** of a convolution")
def _(c: Case) -> bool:
    # By name, or as the fifth argument.
    padding = r"(.*padding|(([^(),]|\([^()]*\))+,){4})" if c.device == "cpu" else ""
    padded = re.search(rf"[cC]onv\dd\({padding}", c.called) is not None
    padded = padded or c.derives("Convolution")
    given = any(not x.detach().isfinite().all() for x in c.used if x.dtype.is_floating_point)
    return padded and given and only_the_infinite_differs(c)


# A transposed one multiplies the places that a window does not reach, and PyTorch may.
@documented("**Padding** of a convolution")
def _(c: Case) -> bool:
    transposed = re.search(r"conv_transpose\dd\(|ConvTranspose\dd\(", c.called) is not None
    lost = all_that_differ(c, lambda ours, theirs: ours.isnan() | theirs.isnan())
    return transposed and lost and may_overflow(c)


@documented("**Optimizers**")
def _(c: Case) -> bool:
    return c.only_ours_raises(
        "a parameter group with duplicate parameters|is not dense: its elements"
    )


# PyTorch goes from parameter to parameter until it comes to one that it cannot write.
@documented("**Optimizers**")
def _(c: Case) -> bool:
    given = [x for x in c.named(c.stepped) if x.grad is not None]
    refused = any(map(repeats, given)) and any(c.theirs is x for x in given)
    return refused and is_result_of(c, c.history.removesuffix(c.statement) + "pass")


@documented("**Dimensions**: at most 16")
def _(c: Case) -> bool:
    return c.only_ours_raises("a tensor has at most 16 dimensions")


# Beyond its elements PyTorch's tensor has memory that held what it was made from.
@documented("**Memory order**")
def _(c: Case) -> bool:
    return (
        "as_strided" in c.statement
        and c.only_ours_raises("setStorage: .* are out of bounds for storage")
        and any(has_more_memory(x if x._base is None else x._base) for x in c.used)
    )


def has_more_memory(x: torch.Tensor) -> bool:
    return x.untyped_storage().nbytes() > x.nbytes


# PyTorch takes a bound without dimensions for a number there.
@documented("**More is taken**")
def _(c: Case) -> bool:
    if c.aspect != "dtype" or not re.search(r"\b(clamp|clip)\(", c.statement):
        return False
    given = [x for x in c.used if x is not c.theirs]
    promoted = str(torch.result_type(given[0], given[-1])).removeprefix("torch.")
    return promoted == c.difference.ours and any(x.dim() == 0 for x in given)


# Parameters of several dtypes.
@documented("**`Adafactor`** adds to the squares of a gradient")
def _(c: Case) -> bool:
    given = c.named(c.stepped) if "Adafactor(" in c.stepped else []
    return c.aspect == "values" and len(given) > 0 and c.theirs.dtype is not given[0].dtype
