"""What a program gives in PyTorch with other floats, where nothing but rounding errors may be left, or with another
call in the place of one that is wrong."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable

import torch
import torch.utils._python_dispatch
import torch.utils._pytree

from .case import Case
from .elements import beyond_tolerance, fits, numbers_of, same
from .tensors import largest


def may_be_rounding(c: Case) -> bool:
    """Whether what came out here is as near to the exact result as PyTorch's is, up to a factor of the size of other
    sums. Of what was made of both floats the exact result is not known, but how far noise moves it."""
    if not isinstance(c.theirs, torch.Tensor):
        return True
    narrow = c.theirs.dtype in (torch.float16, torch.bfloat16)
    both = c.theirs.dtype is torch.float64 and any(x.dtype is torch.float32 for x in c.floats)
    if narrow or both:
        return is_within_noise(c)
    return bool(is_rounding(c).all())


def is_rounding(c: Case) -> torch.Tensor:
    """Of which elements that holds. Of float64 the exact result is not known; but float32 errs more by as much as it is
    less precise."""
    ours, theirs = (numbers_of(t) for t in (c.difference.ours, c.difference.theirs))
    single = c.theirs.dtype is torch.float32
    other = result_in(torch.float64 if single else torch.float32, c.history, c.difference.place)
    if not isinstance(other, torch.Tensor) or other.shape != c.theirs.shape:
        return torch.zeros_like(ours, dtype=torch.bool)
    other = other.detach().double().flatten()
    if single:
        error, rounding = (ours - other).abs(), largest((theirs - other).abs())
    else:
        precision = torch.finfo(torch.float64).eps / torch.finfo(torch.float32).eps
        error, rounding = (ours - theirs).abs(), largest((other - theirs).abs()) * precision
    return (error <= 16 * rounding) | ~other.isfinite()


def is_unsteady(c: Case) -> bool:
    """Whether PyTorch gives something else with other floats, too, in all elements that differ."""
    if c.aspect != "values" or not isinstance(c.theirs, torch.Tensor):
        return False
    double = c.theirs.dtype is torch.float64
    other = result_in(torch.float32 if double else torch.float64, c.history, c.difference.place)
    if not isinstance(other, torch.Tensor) or other.shape != c.theirs.shape:
        return False
    theirs, other = numbers_of(c.difference.theirs), other.detach().double().flatten()
    steady = (theirs - other).abs() <= 1e-5 * theirs.abs().clamp_min(1)
    return not bool((beyond_tolerance(c) & steady).any())


def with_memory(arguments):
    """Zero tensors as tensors of zeros: under a mode some of PyTorch's ops read the memory that these lack."""
    return torch.utils._pytree.tree_map_only(
        torch.Tensor, lambda x: torch.zeros_like(x) if x._is_zerotensor() else x, arguments
    )


# Sums, whose terms may cancel: rounding moves them by shares of those.
SUMS = frozenset("sum mean mm addmm bmm baddbmm addbmm mv addmv dot vdot".split())

# What gives elements as they are, for which the gradient looks again.
CHOICES = frozenset("amax amin aminmax max median min nanmedian".split())


class _Noise(torch.utils._python_dispatch.TorchDispatchMode):
    """Every float that PyTorch computes is off by as much as rounding may move it."""

    def __init__(self, seed: int):
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)
        self.share = 2.0 ** -(8 * (seed // SAMPLES))  # of what rounding moves sums by

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        if not function._schema.is_mutable:
            arguments = with_memory(arguments)
        made = function(*arguments, **(named or {}))
        if function._schema.is_mutable or any(r.alias_info for r in function._schema.returns):
            return made
        tensors = [x for x in arguments if isinstance(x, torch.Tensor) and x.is_floating_point()]
        name = function.overloadpacket.__name__
        if not tensors or name == "_to_copy" or name in CHOICES:
            return made  # rounded once, if at all
        if name in SUMS and not made.is_meta:
            terms = [x.abs() if isinstance(x, torch.Tensor) else x for x in arguments]
            return self._moved(made, function(*terms, **(named or {})) * self.share)
        return torch.utils._pytree.tree_map_only(torch.Tensor, self._moved, made)

    def _moved(self, x: torch.Tensor, of: torch.Tensor | None = None) -> torch.Tensor:
        """By a last place of `of`, or of itself."""
        if not x.is_floating_point() or x._is_zerotensor() or x.is_meta:
            return x  # of a zero tensor PyTorch asks the meta device for the shape
        with torch.no_grad():
            signs = torch.rand(x.shape, generator=self.generator).sub(0.5).sign().to(x.dtype)
            step = (x if of is None else of) * signs * torch.finfo(x.dtype).eps
            return torch.where(x.isfinite() & step.isfinite(), x + step, x)


# How many times a program is run with noise, and how much farther than that ours may be off: an op that sums has a
# rounding error for each of its terms, of which the noise on its result knows nothing. A run in which an element
# becomes infinite or NaN does not tell how far it moves, and is followed by others, up to so many, in which sums err
# less, so that what huge ones leave does not overflow.
SAMPLES, LEEWAY, MOST_SAMPLES = 12, 4, 120


def is_within_noise(c: Case, overflowing: bool = False) -> bool:
    """Whether rounding alone may move PyTorch's elements as far as ours are from them.

    It is sound since nothing but PyTorch is asked: each element that differs has to be one that PyTorch itself gives
    otherwise when what it computes on the way is off by the last place, by as much as that moves it. Where terms do
    not cancel that is some last places, so that a fault of a few per mille is beyond it. What becomes infinite by noise
    tells nothing; if it is asked for, it has moved as far as the largest number."""
    if not isinstance(c.theirs, torch.Tensor) or not c.theirs.is_floating_point():
        return False
    ours, theirs = (numbers_of(t) for t in (c.difference.ours, c.difference.theirs))
    moved, told = torch.zeros_like(theirs), torch.zeros_like(theirs)
    of_other_kind = torch.zeros_like(theirs, dtype=torch.bool)
    most, differs = torch.finfo(c.theirs.dtype).max, beyond_tolerance(c)
    lost = is_of_other_kind(ours, theirs) | ~differs  # how far these move nobody asks
    for seed in range(MOST_SAMPLES):
        with _Noise(seed):
            other = result_of(c.history, c.difference.place)
        if not isinstance(other, torch.Tensor) or other.shape != c.theirs.shape:
            return False
        other = other.detach().double().flatten()
        of_other_kind |= is_of_other_kind(other, theirs)
        if overflowing:
            other = other.clamp(-most, most)
        moved = torch.maximum(moved, (other - theirs).abs().nan_to_num(0, 0, 0))
        beyond = (ours - theirs).abs() > LEEWAY * moved
        beyond = torch.where(is_of_other_kind(ours, theirs), ~of_other_kind, beyond)
        if not (differs & beyond).any():
            return True  # and stays so, whatever further samples are
        told += lost | ~is_of_other_kind(other, theirs)
        if told.min() >= SAMPLES:
            break
    return False


def is_of_other_kind(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Where one of the two is infinite or NaN, and the other is not, or otherwise."""
    return ~same(x, y) & ~(x.isfinite() & y.isfinite())


def result_in(dtype: torch.dtype, program: str, place: str) -> object:
    """What PyTorch calls so after the program with other floats; None where that cannot be said."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        name = str(dtype).removeprefix("torch.")
        return result_of(re.sub("float32|float64", name, program), place)
    finally:
        torch.set_default_dtype(before)


def result_of(program: str, place: str, **functions: Callable) -> object:
    """What PyTorch calls so after a program, which may call these functions, too."""
    names: dict = {"t": torch, **functions}
    _run(ast.parse(program).body, names)
    with contextlib.suppress(Exception):
        # A layer is named by its number, as in m1.0.weight.
        return eval(re.sub(r"\.(\d+)\b", r"[\1]", place), names)
    return None


NOTHING = contextlib.nullcontext()


def _run(
    nodes: list[ast.stmt],
    names: dict,
    last_in: contextlib.AbstractContextManager = NOTHING,
) -> None:
    """Each statement, as well as it can; an error in a block does not end it. The last one runs in such a context."""
    for node in nodes:
        within = last_in if node is nodes[-1] else NOTHING
        with contextlib.suppress(Exception):
            if isinstance(node, ast.With):
                context = compile(ast.Expression(node.items[0].context_expr), "<program>", "eval")
                with eval(context, names):
                    _run(node.body, names, within)
            else:
                with within:
                    exec(compile(ast.Module([node], []), "<program>", "exec"), names)


class _Lost(torch.utils._python_dispatch.TorchDispatchMode):
    """What some ops give of such operands is a number of its own."""

    def __init__(self, ops: str, such: Callable[[torch.Tensor], torch.Tensor], number: float):
        super().__init__()
        self.ops, self.such, self.number = ops, such, number

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        in_place = function._schema.is_mutable
        arguments = arguments if in_place else with_memory(arguments)
        name = function.overloadpacket.__name__
        if not re.fullmatch(self.ops, name):
            return function(*arguments, **(named or {}))
        operands = arguments[name.endswith("_backward") :]  # not what arrives
        given = [x for x in torch.utils._pytree.tree_leaves(operands) if is_plain_float(x)]
        lost = [self.such(x) for x in given]
        made = function(*arguments, **(named or {}))

        def without(x: torch.Tensor) -> torch.Tensor:
            for at in lost if is_plain_float(x) else ():
                at = at if fits(at.shape, x.shape) else at.any()
                x = (x.masked_fill_ if in_place else x.masked_fill)(at, self.number)
            return x

        return torch.utils._pytree.tree_map_only(torch.Tensor, without, made)


def is_plain_float(x: object) -> bool:
    return isinstance(x, torch.Tensor) and x.is_floating_point() and not x.is_meta


def made_of(
    c: Case, ops: str, such: Callable[[torch.Tensor], torch.Tensor] = torch.isnan
) -> torch.Tensor:
    """Which elements are made of what PyTorch's ops of these names give where an operand is such."""
    unknown = []
    for number in (torch.nan, 0.5):  # what is NaN with either is so by itself
        with _Lost(ops, such, number):
            reached = result_of(c.history, c.difference.place)
        if not isinstance(reached, torch.Tensor) or reached.shape != c.theirs.shape:
            return torch.zeros(c.theirs.numel(), dtype=torch.bool)
        unknown.append(reached.detach().isnan().flatten())
    return unknown[0] & ~unknown[1]


class _Watched(torch.utils._python_dispatch.TorchDispatchMode):
    """Notes what ops are given: each with the name that it has in ATen."""

    def __init__(self):
        super().__init__()
        self.calls: list[tuple[str, tuple]] = []

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        if not function._schema.is_mutable:
            arguments = with_memory(arguments)
        now = torch.utils._pytree.tree_map_only(
            torch.Tensor, lambda x: x.detach().clone(), with_memory(arguments)
        )
        self.calls.append((function.overloadpacket.__name__, now))
        return function(*arguments, **(named or {}))


def calls_within(c: Case) -> list[tuple[str, tuple]]:
    """The ops that PyTorch calls for the statement, forwards and backwards, with their arguments by position."""
    watched = _Watched()
    _run(ast.parse(c.history).body, {"t": torch}, last_in=watched)
    return watched.calls


def operands_within(c: Case, ops: str = r"\w+") -> list[torch.Tensor]:
    """The floats that these ops are given there; those without a memory, of which PyTorch asks sizes alone, are not."""
    calls = [given for name, given in calls_within(c) if re.fullmatch(ops, name)]
    return [x for x in torch.utils._pytree.tree_leaves(calls) if is_plain_float(x)]


def may_overflow(c: Case, ops: str = r"\w+", power: int = 2) -> bool:
    """Whether one of them has an element that is not finite, or of which a sum of powers may not be."""
    return any(bool(may_overflow_at(x, power).any()) for x in operands_within(c, ops))


def may_overflow_at(x: torch.Tensor, power: int = 2) -> torch.Tensor:
    return ~(x.abs() < torch.finfo(x.dtype).max ** (1 / power) / 16)


def magnitudes(c: Case) -> torch.Tensor | None:
    """What a statement gives of absolute values, those of its layers too: of each element of a product the size of its
    terms. None where that cannot be said."""
    names = {"t": torch, **c.tensors}
    _run(ast.parse("\n".join(re.findall(r"^ *(m\d+ = .*)", c.history, re.M))).body, names)
    for layer in names.values():
        if isinstance(layer, torch.nn.Module):
            layer.requires_grad_(False).apply(lambda m: [w.abs_() for w in m.parameters()])
    names |= {n: x.detach().abs() if x.is_floating_point() else x for n, x in c.tensors.items()}
    _, made, of = re.sub("(alpha|beta)=-", r"\1=", c.statement).partition(" = ")
    sizes = None
    if made:
        with contextlib.suppress(Exception):
            sizes = eval(of, names)
    return sizes if isinstance(sizes, torch.Tensor) and sizes.shape == c.theirs.shape else None


def is_result_of(c: Case, program: str, **functions: Callable) -> bool:
    """Whether ours is what PyTorch gives after another program, which says the same otherwise."""
    if c.aspect != "values" or program == c.history:
        return False
    other = result_of(program, c.difference.place, **functions)
    if not isinstance(other, torch.Tensor):
        return False
    ours, other = numbers_of(c.difference.ours), other.detach().double().flatten()
    if ours.shape != other.shape:
        return False
    same = (ours == other) | (ours.isnan() & other.isnan())
    floats = [
        x for x in (c.theirs, *c.used) if isinstance(x, torch.Tensor) and x.is_floating_point()
    ]
    rounding = max([1e-4, *(torch.finfo(x.dtype).eps for x in floats)])
    return bool((same | ((ours - other).abs() <= rounding * max(1.0, largest(other)))).all())


def converted(c: Case, call: str, which: Callable[[torch.Tensor], bool], by: str) -> str:
    """The history, in which such operands of such calls are converted first, by a method."""

    def operand(name: re.Match) -> str:
        x = c.tensors.get(name[0])
        return f"{name[0]}.{by}" if x is not None and which(x) else name[0]

    lines = c.history.split("\n")
    for i, line in enumerate(lines):
        if re.search(call, line):
            written, of = re.fullmatch(r"((?:.*? \S{0,2}= )?)(.*)", line).groups()
            lines[i] = written + re.sub(r"\bx\d+\b", operand, of)
    return "\n".join(lines)


def is_unsigned(x: torch.Tensor) -> bool:
    return x.dtype in (torch.uint8, torch.bool)


def is_integral(x: torch.Tensor) -> bool:
    return not x.is_floating_point()
