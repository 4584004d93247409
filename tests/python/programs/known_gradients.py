"""What is known of gradients and their graphs."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable
from unittest import mock

import torch
from torch.autograd.graph import Node

from .case import (
    CHANGED,
    SECOND_TIME,
    UNUSED,
    Case,
    documented,
    graph_behind,
    graph_of,
    has_node,
    is_derivative,
    keeps,
    names_changed,
    share_memory,
)
from .exact import is_result_of
from .known_saved import earlier_derivatives

PRODUCTS = ("Mm", "Addmm", "Addbmm", "Bmm", "Mv", "Dot")


@documented("**Writing into one of several views**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        "is a view and (is being modified inplace|its base or another view)"
    )


def is_leaf_by_view(x: object) -> bool:
    """Whether it is a view that leads to no node, of what requires a gradient."""
    return isinstance(x, torch.Tensor) and x._is_view() and x.is_leaf and x._base.requires_grad


def is_view_without_history(c: Case) -> bool:
    return c.aspect in ("requires_grad", "is_leaf") and is_leaf_by_view(c.theirs)


# Within the block.
@documented("**Views made under `no_grad`** require no gradient", final=False)
def _(c: Case) -> bool:
    return not c.grad_enabled and is_view_without_history(c)


@documented("**Views made under `no_grad`** require no gradient")
def _(c: Case) -> bool:
    return c.grad_enabled and is_view_without_history(c)


# What only a tensor that requires grad may do, and what it may not.
@documented("**Views made under `no_grad`** require no gradient")
def _(c: Case) -> bool:
    sentence = "requires_grad=False|(doesn't|does not) require grad"
    return c.only_ours_raises(sentence) and any(map(is_leaf_by_view, c.used))


@documented("**Views made under `no_grad`** require no gradient")
def _(c: Case) -> bool:
    if c.only_theirs_raises("A view was created in no_grad mode and"):
        return True
    sentence = "a leaf Variable that requires grad|is not differentiable with respect to argument"
    return c.only_theirs_raises(sentence) and any(map(is_leaf_by_view, c.used))


# Views of that kind at which PyTorch does not let one look.
@documented("**Views made under `no_grad`** require no gradient")
def _(c: Case) -> bool:
    sentence = "requires_grad=False|(doesn't|does not) require grad|requires_grad flags of leaf"
    before = re.search(
        r"with t\.(no_grad|set_grad_enabled|inference_mode)|\.requires_grad(_\(| = )", c.history
    )
    return c.only_ours_raises(sentence) and not c.used and before is not None


# The view of a vector, or of a batch, that matmul has kept.
@documented("**Views made under `no_grad`** require no gradient")
def _(c: Case) -> bool:
    later = any(x.dim() != 2 for x in c.flagged)
    less = c.aspect == "requires_grad" and c.difference.ours == "False"
    less = less or (c.aspect == "type" and c.difference.ours == "None")
    return later and less and c.derives(*PRODUCTS)


# One that nothing but a node of the graph holds.
@documented("**Views made under `no_grad`** require no gradient")
def _(c: Case) -> bool:
    if c.aspect != "requires_grad" or c.difference.ours != "False" or not c.flagged:
        return False
    return any(keeps(n, is_leaf_by_view) for x in c.derived for n in graph_of(x))


# `x[...] += y` of a view of what required none before: PyTorch writes it, and then finds a leaf.
@documented("**Views made under `no_grad`** require no gradient")
def _(c: Case) -> bool:
    written = any(x._is_view() and x._version for x in c.used)
    twice = re.search(r"\] \S= ", c.statement) is not None
    return twice and written and c.only_theirs_raises("a leaf Variable that requires grad")


# As a number, which PyTorch makes of a tensor that requires no gradient.
@documented("**Views made under `no_grad`** require no gradient")
def _(c: Case) -> bool:
    refused = c.only_theirs_raises("new_full.*must be Number, not Tensor")
    hidden = any(n not in c.tensors for n in re.findall(r"\bx\d+", c.statement.partition("=")[2]))
    return refused and (hidden or any(map(is_leaf_by_view, c.used)))


# Views of such views.
@documented("**Views made under `no_grad`** require no gradient")
def _(c: Case) -> bool:
    return c.aspect in ("requires_grad", "is_leaf") and any(map(is_leaf_by_view, c.used))


# What was a view, and written, before its base became a leaf that requires grad.
@documented("**Views made under `no_grad`** require no gradient")
def _(c: Case) -> bool:
    later = any(share_memory(x, y) for x in c.used for y in c.flagged)
    less = c.aspect in ("requires_grad", "is_leaf") and "True" in c.difference.theirs
    less = less or c.only_ours_raises("(doesn't|does not) require grad|requires_grad=False")
    less = less or c.only_theirs_raises("a (view of a )?leaf Variable that requires grad")
    less = less or c.only_theirs_raises("only change requires_grad flags of leaf variables")
    return later and less and any(x._is_view() and x._base.is_leaf and x._version for x in c.used)


def leads_nowhere(node: object) -> bool:
    """Whether it is the view of a leaf that PyTorch has made again, and to which no gradient comes any more."""
    made_again = node.name().startswith("AsStrided")
    return made_again and all(n is None for n, _ in node.next_functions)


@documented("**A view that was made to require grad**")
def _(c: Case) -> bool:
    less = c.aspect in ("values", "type", "length", "requires_grad")
    less = less or c.only_theirs_raises(UNUSED)
    return less and is_derivative(c) and any(leads_nowhere(n) for x in c.used for n in graph_of(x))


# One part of what had been joined is written: PyTorch counts the changes of all parts together.
@documented("**Gradients of what was joined**")
def _(c: Case) -> bool:
    if c.aspect != "version":
        return False
    grads = [x.grad for x in c.tensors.values() if x.is_leaf and x.grad is not None]
    others = [g for g in grads if g is not c.theirs and g.data_ptr() != c.theirs.data_ptr()]
    return any(share_memory(c.theirs, g) for g in others)


# The base, which requires grad by now, was written: PyTorch makes the view again, of that.
@documented("**A view that was made to require grad**")
def _(c: Case) -> bool:
    if c.aspect != "is_leaf" or c.difference.ours != "True" or not c.theirs._is_view():
        return False
    base = c.theirs._base
    return base.is_leaf and base.requires_grad and has_node(c.theirs, "AsStrided")


# A gradient under another name, to which nothing was added.
@documented("**A view that was made to require grad**")
def _(c: Case) -> bool:
    named = re.search(rf"^ *{c.difference.place} = x\d+\.grad\b", c.history, re.M) is not None
    lost = any(leads_nowhere(n) for x in c.tensors.values() for n in graph_of(x))
    return c.aspect == "version" and named and lost


# eq_ of what PyTorch holds for a view of the product.
@documented("**Hidden views**")
def _(c: Case) -> bool:
    more = c.aspect == "requires_grad" and c.difference.theirs == "True" and is_derivative(c)
    reshaped = re.search(r"\b(tensordot|multi_dot)\(", c.history) is not None
    products = ("Addmm", "Mm") if reshaped else ("Addmm",)
    return more and any(
        has_node(x, "torch::autograd::CopySlices") and has_node(x, products) for x in c.used
    )


# What was written into the product, whose gradient PyTorch makes a part of the graph, zeros.
@documented("**Hidden views**")
def _(c: Case) -> bool:
    zeros = isinstance(c.theirs, torch.Tensor) and not c.theirs.any()
    none = c.aspect == "type" and c.difference.ours == "None" and zeros
    products = re.findall(r"^ *(x\d+) = (.*(?:matmul\(| @ ).*)", c.history, re.M)
    by_matrices = [made for made, of in products if any(x.dim() <= 2 for x in c.named(of))]
    written = [x for x in c.named(" ".join(by_matrices)) if x._version and x.dim() > 2]
    return none and is_derivative(c) and len(written) > 0


# Hooks of one that was written afterwards.
@documented("**Hidden views**")
def _(c: Case) -> bool:
    calls = r"\b(?:tensordot|inner|multi_dot|bilinear|matmul|linear)\(|\bm\d+\(| @ "
    apart = re.sub(rf"^( *x\d+ = )(.*(?:{calls}).*)", r"\1(\2).clone()", c.history, flags=re.M)
    return is_derivative(c) and ".register_hook(" in c.history and is_result_of(c, apart)


# A batch that comes first stays there, so that contiguous() gives what linear has made, not a copy.
@documented("**Memory order**")
def _(c: Case) -> bool:
    more = c.aspect == "requires_grad" and c.difference.ours == "True" and is_derivative(c)
    bias = re.fullmatch(r"(m\d+)\.out_proj\.bias\.grad", c.difference.place)
    if bias is None or not more:
        return False
    first = re.search(rf"^ *{bias[1]} = .*MultiheadAttention\(.*batch_first=True", c.history, re.M)
    made = re.findall(rf"^ *(x\d+) = {bias[1]}\(.*\.contiguous\(\)", c.history, re.M)
    return first is not None and any(x._version for x in c.named(" ".join(made)))


@documented("**Weights of losses**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        "function '(binary_cross_entropy|nll_loss).* is not differentiable with respect to argument"
    )


@documented("**Memory order**")
def _(c: Case) -> bool:
    returned = "autograd.grad(" in c.statement
    seen = is_derivative(c) and re.fullmatch(r"s\d+\[\d+\]", c.difference.place) is not None
    return c.aspect == "strides" and (returned or seen)


@documented("are those of the triangle that is read")
def _(c: Case) -> bool:
    if c.aspect != "values" or not c.derives("CholeskySolve", "CholeskyInverse"):
        return False
    solve, inverse = torch.cholesky_solve, torch.cholesky_inverse

    def triangle(x: torch.Tensor, upper: bool) -> torch.Tensor:
        return x.triu() if upper else x.tril()

    with (
        mock.patch.object(
            torch, "cholesky_solve", lambda b, x, upper=False: solve(b, triangle(x, upper), upper)
        ),
        mock.patch.object(
            torch, "cholesky_inverse", lambda x, upper=False: inverse(triangle(x, upper), upper)
        ),
    ):
        return is_result_of(c, c.history + "\npass")


# What hooks saw, and gradients that retain_grad made.
@documented("**One of an op's results**")
def _(c: Case) -> bool:
    if c.asked is None:
        return False
    if c.only_theirs_raises(f"{CHANGED}|{SECOND_TIME}"):
        edges = [e for x in c.derived for n in graph_of(x) for e in n.next_functions]
        edges += [(x.grad_fn, x.output_nr) for x in c.derived]
        return any(is_for_another_result(c, e) for e in edges)
    hooked = hooked_for(c, c.difference.place)
    if hooked:
        less = c.aspect == "length" and int(c.difference.ours) < int(c.difference.theirs)
    else:
        hooked = c.named(re.sub(r"(x\d+)\.grad|.*", r"\1", c.difference.place))
        less = c.aspect in ("values", "requires_grad")
        less = less or (c.aspect == "type" and c.difference.ours == "None")
    return less and any(is_for_another_result(c, (x.grad_fn, x.output_nr)) for x in hooked)


def hooked_for(c: Case, place: str) -> list[torch.Tensor]:
    """What has a hook that keeps what it sees in this list, or in the one of which this is a part."""
    seen = place.partition("[")[0]
    return c.named(
        " ".join(re.findall(rf"\b(x\d+)\.register_hook\(lambda g: {seen}\.append", c.history))
    )


def is_for_another_result(c: Case, edge: tuple[Node | None, int]) -> bool:
    """Whether it leads to what is asked for by others of the results of its op alone."""
    asked = {(x.grad_fn, x.output_nr) for x in c.wanted if x.grad_fn is not None}
    ends = {n for n in c.asked or () if n not in {node for node, _ in asked}}

    def leads(edge: tuple[Node | None, int], to_node: bool) -> bool:
        edges, seen = [edge], set()
        while edges:
            node, output = edge = edges.pop()
            if node is None or edge in seen:
                continue
            seen.add(edge)
            if node in ends or edge in asked or (to_node and node in c.asked):
                return True
            edges += node.next_functions
        return False

    return leads(edge, True) and not leads(edge, False)


# What was asked for another one has forgotten what it kept.
@documented("**One of an op's results**")
def _(c: Case) -> bool:
    lost = {n for n, _ in c.forgotten}
    for earlier in earlier_derivatives(c):
        others = others_asked(earlier)
        lost -= {n for n in lost if not others.isdisjoint(graph_behind(n))}
    return len(c.forgotten) > 0 and not lost and c.only_theirs_raises(SECOND_TIME)


def others_asked(c: Case) -> set[Node]:
    """The nodes of what is asked for that it goes back to by another of their results alone."""
    nodes = [n for x in c.derived for n in graph_of(x)]
    edges = {e for n in nodes for e in n.next_functions}
    edges |= {(x.grad_fn, x.output_nr) for x in c.derived}
    asked = [x for x in c.wanted if x.grad_fn in nodes]
    return {x.grad_fn for x in asked if (x.grad_fn, x.output_nr) not in edges}


# Parts that are one op's here, and in PyTorch those of an op each.
@documented("**One of an op's results**")
def _(c: Case) -> bool:
    split = r"^(.*?) = .*\b(?:[hvd]split|tensor_split)\("
    parts = c.named(" ".join(re.findall(split, c.history, re.M)))
    return c.only_ours_raises(SECOND_TIME) and any(x is y for x in c.wanted for y in parts)


def is_written_view(x: torch.Tensor) -> bool:
    return x._is_view() and x._version > 0


@documented("**Views of what was written**")
def _(c: Case) -> bool:
    unknown = c.aspect == "type" and c.difference.theirs == "None"
    unknown = unknown or c.only_theirs_raises(UNUSED)
    asked = "allow_unused=True" in c.statement or "inputs=" in c.statement
    unknown = unknown or (asked and c.only_ours_raises(f"{CHANGED}|{SECOND_TIME}"))
    asked_for = [*c.wanted, *c.named(c.difference.place)]
    return unknown and is_derivative(c) and any(map(is_written_view, asked_for))


# What leads to the view as it was is run here, where there may be an op without a derivative.
@documented("**Views of what was written**")
def _(c: Case) -> bool:
    behind = {n for x in c.derived for n in graph_of(x)}
    alone = c.asked is not None and c.asked.isdisjoint(behind)
    return (
        alone
        and any(map(is_written_view, c.wanted))
        and c.only_ours_raises("the derivative for .* is not implemented")
    )


# What is made of the op's result comes from that, not from the view.
@documented("**Views of what was written**")
def _(c: Case) -> bool:
    unknown = c.aspect == "type" and c.difference.ours == "None"
    unknown = unknown or c.only_ours_raises(UNUSED)
    again = is_derivative(c) and "create_graph=True" in c.history
    asked_for = [*c.wanted, *c.named(c.difference.place)]
    return unknown and again and any(map(is_written_view, asked_for))


# What hooks saw and made, also those of views between what the statement names: PyTorch has forgotten those of views
# that it made again.
@documented("**Views of what was written**")
def _(c: Case) -> bool:
    if c.aspect not in ("values", "length", "requires_grad") or not is_derivative(c):
        return False
    written = {n: x for n, x in c.tensors.items() if is_written_view(x)}
    if hooked_for(c, c.difference.place):
        return any(x is y for x in hooked_for(c, c.difference.place) for y in written.values())
    # To be one of the inputs of a backward is to retain the gradient from then on.
    retained = re.findall(r"\b(x\d+)\.retain_grad\(", c.history)
    retained += re.findall(
        r"\bx\d+", " ".join(re.findall(r"\.backward\(.*inputs=\[(.*?)\]", c.history))
    )
    of = c.named(c.difference.place) if c.difference.place.endswith(".grad") else []
    if any(x is y for x in of for y in c.named(" ".join(retained)) if is_written_view(y)):
        return True
    asked = any(map(is_written_view, c.wanted))
    return (asked and "autograd.grad(" in c.statement) or is_result_with_hooks(c, written)


def is_result_with_hooks(c: Case, names: Iterable[str]) -> bool:
    """Whether it is PyTorch's result where their hooks go on with them to the nodes that it made anew."""
    lines, hooked = [], []
    for line in c.history.split("\n"):
        lines.append(line)
        hook = re.search(r"\b(x\d+)\.register_hook\(", line)
        if hook and hook[1] in names:
            hooked.append(hook[1])
        if hook or re.search(r"\w_\(| \S{1,2}= |\] = ", line):
            indent = re.match(" *", line)[0]
            lines += [f"{indent}follow({x})" for x in hooked]
    followed: dict[int, tuple[Node, dict]] = {}

    def follow(x: torch.Tensor) -> None:
        hooks = x._backward_hooks or followed[id(x)][1]  # a new node has taken them from it
        node, _ = followed.get(id(x), (x.grad_fn, hooks))
        followed[id(x)] = x.grad_fn, hooks
        if node is not x.grad_fn:
            x.grad_fn.register_prehook(functools.partial(through_hooks, hooks, x.output_nr))

    return is_result_of(c, "\n".join(lines), follow=follow)


def through_hooks(hooks: dict[int, Callable], output: int, gradients: tuple) -> tuple:
    """What arrives at a node, of which the hooks of a tensor see the part that is its."""
    made = list(gradients)
    for hook in hooks.values():
        seen = hook(made[output])
        made[output] = made[output] if seen is None else seen
    return tuple(made)


@documented("**`detach_`** works on views too")
def _(c: Case) -> bool:
    detached = c.named(" ".join(re.findall(r"\bx\d+(?=\.detach_\(\))", c.history)))
    written = [x for x in detached if x._version and names_changed(c.difference.ours, x)]
    return c.only_ours_raises(CHANGED) and len(written) > 0


# A view of what was detached, and written: PyTorch makes it again, of what has no graph.
@documented("**`detach_`** works on views too")
def _(c: Case) -> bool:
    detached = c.named(" ".join(re.findall(r"\bx\d+(?=\.detach_\(\))", c.history)))
    stays = any(x._base is y and y._version for x in c.derived for y in detached)
    more = c.aspect == "type" and c.difference.theirs == "None"
    refused = f"derivative for aten::.* is not implemented|{SECOND_TIME}|{CHANGED}"
    return stays and (more or c.only_ours_raises(refused))


# PyTorch's op has kept a view of what was detached, or ours has.
@documented("**`detach_`** works on views too")
def _(c: Case) -> bool:
    detached = c.aspect == "requires_grad" and ".detach_()" in c.history
    return detached and c.derives(*PRODUCTS)


@documented("**Integer division**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        "derivative for aten::(floor_divide_?|remainder) is not implemented"
    )


# Into a view, behind whose node PyTorch forgets the divisor, its hooks, and what it was made of.
@documented("**`floor_divide`** has the gradient 0")
def _(c: Case) -> bool:
    zeros = not re.search("[1-9]", re.sub(r"\S+ ", "", c.difference.ours, count=1))
    none = c.aspect == "type" and c.difference.theirs == "None" and zeros
    none = none or (c.aspect == "length" and int(c.difference.ours) > int(c.difference.theirs))
    further = c.only_ours_raises(CHANGED) or c.only_theirs_raises(UNUSED)
    divides = re.search(r"floor_divide_\(|//=", c.history) is not None
    hidden = divides and c.derives("torch::autograd::CopySlices")
    return (none or further) and hidden and is_derivative(c)


# What an error leaves behind.
@documented("**Integer division**")
def _(c: Case) -> bool:
    integers = c.aspect == "values" and isinstance(c.theirs, torch.Tensor)
    divides = re.search(r"(divide|div|remainder|fmod)_\(|(//|%)=", c.statement) is not None
    by_zero = re.search(r"(\(|= )(other=)?(0|False)\b(?!\.)", c.statement) is not None
    by_zero = by_zero or any(bool((x == 0).any()) for x in c.used)
    return integers and divides and by_zero and not c.theirs.is_floating_point()


@documented("**Hooks**")
def _(c: Case) -> bool:
    return c.only_theirs_raises("NoneType") and (
        "grad(" in c.statement or "backward(" in c.statement
    )


@documented("**Overlapping copies**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        "some elements of the input tensor and the written-to tensor refer to a single memory"
    )


@documented("**Overlapping copies**")
def _(c: Case) -> bool:
    refused = (
        "^RuntimeError: (put_|index_(put|add|copy|reduce)_|scatter(_add|_reduce)?_|ldexp_): "
        ".*single memory location"
    )
    apart = "ldexp_" in c.statement or any(not x.is_contiguous() for x in c.used)
    return apart and c.only_ours_raises(refused)


# What masked_scatter_ reads of itself it may have written.
@documented("**Overlapping copies**")
def _(c: Case) -> bool:
    call = re.search(r"(x\d+)\.masked_scatter_\([^,]*, (?:source=)?(x\d+)\)", c.statement)
    return (
        c.aspect == "values"
        and call is not None
        and share_memory(*map(c.tensors.get, call.groups()))
    )


# The order in which they write decides.
@documented("**Overlapping copies**")
def _(c: Case) -> bool:
    writes = re.search(r"\.\w+_\(| [^\s\w]+= ", c.statement) is not None
    operands = {id(x): x for x in c.named(c.statement)}.values()
    pairs = itertools.combinations(operands, 2)
    # By an index, also what lies alike is read elsewhere than where it is written.
    indexed = re.match(r" *x\d+\[.*\bx\d+.*\] = x\d+$", c.statement) is not None
    apart = any(share_memory(a, b) and (indexed or not lie_alike(a, b)) for a, b in pairs)
    return c.aspect == "values" and (writes or indexed) and (apart or names_a_hidden_part(c))


# An assignment of which PyTorch does not notice that it reads what it writes.
@documented("**Overlapping copies**")
def _(c: Case) -> bool:
    assigned = re.fullmatch(r" *(x\d+)\[.*\] = (x\d+)", c.statement)
    if assigned is None or not all(n in c.tensors for n in assigned.groups()):
        return False
    overlaps = share_memory(*map(c.tensors.get, assigned.groups()))
    return overlaps and is_result_of(c, f"{c.history}.clone()")


def names_a_hidden_part(c: Case) -> bool:
    """Whether an operand is one of several views, at which PyTorch lets nobody look once it is written, of another."""
    names = set(re.findall(r"\bx\d+", c.statement))
    hidden = "|".join(names - c.tensors.keys()) or "$^"
    made = re.findall(rf"^ *(?:x\d+, )*(?:{hidden})\b[x\d, ]* = (.*)", c.history, re.M)
    return any(not names.isdisjoint(re.findall(r"\bx\d+", of)) for of in made)


def lie_alike(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Whether each element of the one is that of the other, so that no order decides."""
    places = [(z.data_ptr(), z.shape, z.stride()) for z in (x, y)]
    return places[0] == places[1]


@documented("**`detach_`** works on views too")
def _(c: Case) -> bool:
    return c.only_theirs_raises("Can't detach views in-place|has been detached in-place")


# The write was recorded, and PyTorch's backward of it writes the gradient's memory in the same way.
@documented("**Expanded memory**")
def _(c: Case) -> bool:
    written = c.derives("torch::autograd::CopySlices") and re.search(r"\b(fill|zero)_\(", c.history)
    return bool(written) and c.only_theirs_raises("more than one element of the written-to tensor")


@documented("**Expanded memory**")
def _(c: Case) -> bool:
    return c.only_ours_raises(
        "^RuntimeError: (masked_fill_|index_put_|index_fill_|tril_|triu_|copy_|addmv_|baddbmm_|"
        "threshold_): "
        "unsupported operation: more than one element"
    )


@documented("**Expanded memory**")
def _(c: Case) -> bool:
    return (
        c.only_theirs_raises("unsupported operation: more than one element")
        and re.search(r"=|tri[lu]_\(", c.statement) is not None
    )


@documented("**Expanded memory**")
def _(c: Case) -> bool:
    return c.only_ours_raises(
        "^RuntimeError: (batch_norm|embedding): unsupported operation: more than one"
    )


# It negates the target in the target's own dtype.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    unsigned = any(x.dtype is torch.uint8 for x in c.tensors.values())
    if not unsigned or not c.derives("SoftMarginLoss"):
        return False
    with mock.patch.object(torch.nn.functional, "soft_margin_loss", soft_margin_loss):
        return is_result_of(c, c.history + "\npass")


def soft_margin_loss(input, target, *, reduction="mean"):
    """soft_margin_loss by what negates the input, and does not overflow."""
    losses = torch.nn.functional.softplus(-input * target)
    return losses if reduction == "none" else getattr(losses, reduction)()
