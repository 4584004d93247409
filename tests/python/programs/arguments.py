"""What may be said for each argument of the schema: Python text. The kind alone gives something sensible for most;
where it does not, there is a choice below, or a rule in rules_*.py, under the argument's name or function.argument.
Arguments need not always be right: PyTorch decides."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .leaves import DTYPES, number
from .program import Program, Refused
from .schema import SCHEMA, Argument
from .tensors import dtype_name

# A rule sees the values of the arguments before its own, by name, and that of "function".
Given = dict[str, object]
Rule = Callable[[Program, Given], str]

RULES: dict[str, Rule] = {}

CHOICES = {
    "alpha beta": ("2", "-1", "0", "0.5", "1", "3"),
    "eps": ("1e-05", "0.1", "0.001"),
    "rtol atol": ("0.0", "0.1", "1.0"),
    "threshold": ("20.0", "1.0", "0.5"),
    "softplus.beta elu.alpha elu_.alpha celu.alpha celu_.alpha negative_slope": (
        "1.0",
        "0.5",
        "2.0",
        "0.1",
    ),
    "matrix_power.n linalg_matrix_power.n": ("0", "1", "2", "3"),
    "renorm.p renorm_.p": ("2", "1", "3", "0.5", "2.0", "t.inf"),
    "norm.p": ("2", "1", "0", "t.inf", "-t.inf", "3", "0.5", "'fro'", "2.0", "-1"),
    "equation": ("'...,...'", "'...i,...i->...'", "'i...,j...->ij'", "'...->...'", "'...i->...'"),
    "compute_mode": (
        "'use_mm_for_euclid_dist_if_necessary'",
        "'use_mm_for_euclid_dist'",
        "'donot_use_mm_for_euclid_dist'",
    ),
    "quantile.interpolation nanquantile.interpolation": (
        "'linear'",
        "'lower'",
        "'higher'",
        "'nearest'",
        "'midpoint'",
    ),
    "quantile.q nanquantile.q": (
        "0.5",
        "0.0",
        "1.0",
        "0.3",
        "t.tensor([0.1, 0.75], dtype=t.float64)",
        "t.tensor([0.2])",
    ),
    "meshgrid.indexing": ("'ij'", "'xy'"),
    "repeat_interleave.repeats": ("0", "1", "2", "3", "t.tensor([2])"),
    "repeat_interleave.output_size": ("None",),
    "unfold.size unfold.step": ("1", "2", "3"),
    "searchsorted.side": ("'left'", "'right'"),
    "searchsorted.right": ("False",),
    "histc.bins histogram.bins": ("1", "4", "10"),
    "minlength": ("0", "3", "6"),
    "correction": ("0", "1", "1", "2"),
    "diagonal offset": ("0", "0", "1", "-1", "2", "-2"),
    "chunks split_size": ("1", "2", "2", "3", "5"),
    "arange.start": ("0", "1", "-2", "0.5", "3.0"),
    "arange.end": ("3", "4", "6", "2.5", "5.0"),
    "arange.step": ("1", "2", "0.5", "1.5", "-1"),
    "indexing": ("'ij'", "'xy'"),
    "rot90.k": ("-1", "0", "1", "2", "3"),
    "steps": ("0", "1", "2", "5", "12"),
    "num_classes": ("-1", "5", "6", "3"),
    "kernel_size": ("1", "2", "2", "3", "(2, 1)", "(2, 3)"),
    "stride": ("1", "2", "(1, 2)", "3"),
    "padding": ("0", "1", "(0, 1)", "(1, 0)", "2"),
    "conv2d.padding": ("0", "1", "(0, 1)", "2", "'same'", "'valid'"),
    "conv1d.padding conv3d.padding": ("0", "1", "2", "'same'", "'valid'"),
    "conv1d.stride conv3d.stride conv_transpose1d.stride conv_transpose3d.stride": ("1", "2"),
    "conv1d.dilation conv3d.dilation conv_transpose1d.dilation conv_transpose3d.dilation": (
        "1",
        "2",
    ),
    "conv_transpose1d.padding conv_transpose3d.padding": ("0", "1"),
    "output_padding": ("0", "0", "0", "1"),
    "dilation": ("1", "1", "2", "(1, 2)"),
    "momentum": ("0.1", "0.5", "1.0", "0.0"),
    "padding_idx": ("0", "1", "-1"),
    "max_norm": ("1.0", "0.5", "10.0"),
    "norm_type": ("2.0", "1.0"),
    "ignore_index": ("-100", "0", "1"),
    "label_smoothing": ("0.0", "0.1", "0.5"),
    "sparse sparse_grad": ("False",),
    "requires_grad": ("True", "True", "False"),
    "dtype": tuple("t." + d for d in ("float32", "float64", *DTYPES)),
}


def argument(p: Program, function: str, arg: Argument, given: Given) -> str:
    """Text for one argument of a function."""
    rule = RULES.get(f"{function}.{arg.name}") or RULES.get(arg.name)
    return rule(p, given) if rule else _of_kind(p, arg, given)


def rule(*names: str) -> Callable[[Rule], Rule]:
    def register(f: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, f))
        return f

    return register


for _names, _texts in CHOICES.items():
    rule(*_names.split())(lambda p, given, texts=_texts: p.rng.choice(texts))


def first(given: Given) -> torch.Tensor:
    """The first tensor among the arguments."""
    for value in given.values():
        if isinstance(value, torch.Tensor):
            return value
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], torch.Tensor):
            return value[0]
    raise Refused("no tensor is given")


# ---- by kind


def _tensor(p: Program, given: Given) -> str:
    if not any(isinstance(v, torch.Tensor) for v in given.values()):
        return p.tensor()
    return like(p, first(given))


def like(p: Program, x: torch.Tensor) -> str:
    """A tensor that an elementwise op can combine with x."""
    shape = tuple(x.shape)
    if p.chance(0.1):
        return p.tensor()
    if p.chance(0.35):  # fewer dimensions, or some of size 1
        shape = tuple(1 if p.chance(0.3) else n for n in shape)[p.rng.randint(0, len(shape)) :]
    return p.tensor(shape=shape, dtype=dtype_name(x) if p.chance(0.7) else None)


def operand(p: Program, given: Given) -> str:
    return _tensor(p, given) if p.chance(0.6) else scalar(p, given)


def scalar(p: Program, given: Given) -> str:
    return number(
        p.rng, p.choose("float32", "float32", "int32", "bool" if p.chance(0.2) else "int32")
    )


def _tensors(p: Program, given: Given) -> str:
    start = p.tensor()
    names = [start]
    for _ in range(p.choose(0, 1, 1, 2)):
        names.append(p.tensor(shape=tuple(p.value(start).shape), dtype=dtype_name(p.value(start))))
    return f"[{', '.join(names)}]"


def _numbers(p: Program, given: Given) -> str:
    return str(tuple(p.rng.choice((1, 1, 2, 3)) for _ in range(p.choose(1, 2, 2))))


KINDS: dict[tuple[str, bool], Rule] = {
    ("tensor", False): _tensor,
    ("tensor", True): _tensors,
    ("operand", False): operand,
    ("scalar", False): scalar,
    ("i64", False): lambda p, g: str(p.choose(0, 1, 1, 2, 3, -1)),
    ("f64", False): lambda p, g: str(p.choose(0.0, 0.1, 0.5, 1.0, 2.0)),
    ("bool", False): lambda p, g: str(p.chance(0.5)),
    ("i64", True): _numbers,
    ("f64", True): _numbers,
}


def _of_kind(p: Program, arg: Argument, given: Given) -> str:
    if arg.kind.base != "enum":
        return KINDS[arg.kind.base, arg.kind.list](p, given)
    if arg.kind.name == "memory_format":
        return "t." + p.choose("contiguous_format", "preserve_format", "channels_last")
    return repr(p.rng.choice([v.name for v in SCHEMA.enums[arg.kind.name].values]))


@rule("pow.exponent", "pow_.exponent", "float_power.exponent", "float_power_.exponent")
def _(p, given):
    return (
        p.choose("2", "3", "0.5", "-1", "0", "1", "2.0", "-0.5")
        if p.chance(0.7)
        else operand(p, given)
    )


@rule("pow.input", "float_power.input", "xlogy.input")
def _(p, given):
    return p.tensor() if p.chance(0.8) else scalar(p, given)


@rule("full.fill_value", "new_full.fill_value", "full_like.fill_value", "fill_.value", "masked_fill.value",
      "masked_fill_.value")  # fmt: skip
def _(p, given):
    return scalar(p, given) if p.chance(0.8) else p.tensor(shape=())
