"""What is known of that which ops keep for their gradients."""

from __future__ import annotations

import ast
import dataclasses
import re

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
    is_derivative,
    is_named,
    makers,
    names_changed,
)
from .kept import (
    ATTENTION,
    COPIED_IN_PLACE,
    KEPT_BY_PRODUCTS,
    KEPT_BY_PYTORCH_ALONE,
    KEPT_FOR,
    KEPT_FOR_RESULT,
)

KEEPS = "**What an op keeps**"


@documented(KEEPS)
def _(c: Case) -> bool:
    changed, used = reported(c), something_arrives_at(c)
    alone = all(n not in used or is_kept_by_pytorch_alone(c, n, what) for n, what in changed)
    return c.only_theirs_raises(CHANGED) and len(changed) > 0 and alone


# What PyTorch ran in vain has forgotten, too.
@documented(KEEPS)
def _(c: Case) -> bool:
    gone = c.forgotten
    inputs = re.findall(r"\.backward\(.*inputs=\[(.*?)\]", c.history)
    ends = {n for x in c.named(" ".join(inputs)) for n in makers(x) if n}
    hidden = any("CopySlices" in n.name() for n in ends)  # it does not show what it has forgotten
    # Of these ours are two, of a result each.
    pairs = ("AminmaxBackward0", "StdMeanBackward0", "VarMeanBackward0")
    ends |= {n for n, _ in gone if n.name() in pairs}
    ends |= {n for n, what in gone if is_kept_by_pytorch_alone(c, n, what)}
    ends |= {n for n, _ in gone} - something_arrives_at(c)
    ends |= nothing_arrived_at(c)
    alone = all(n in ends for n, _ in gone)
    return c.only_theirs_raises(SECOND_TIME) and (len(gone) > 0 or hidden) and alone


def something_arrives_at(c: Case) -> set[Node]:
    """Before a function that is constant PyTorch's nodes run in vain."""
    found, nodes = set(), [x.grad_fn for x in c.derived]
    while nodes:
        node = nodes.pop()
        if node is not None and node not in found:
            found.add(node)
            nodes += [] if is_constant(node) else [n for n, _ in node.next_functions]
    return found


def nothing_arrived_at(c: Case) -> set[Node]:
    """What such functions come after, and nothing else that has gone backward: it was run in vain."""
    nodes = {n for x in c.tensors.values() for n in graph_of(x)}
    behind = {m for n in nodes if is_constant(n) for m in graph_behind(n) if m is not n}
    for earlier in earlier_derivatives(c):
        behind -= something_arrives_at(earlier)
    return behind


def earlier_derivatives(c: Case) -> list[Case]:
    """The case at each of the statements before that went backward."""
    went = [s.strip() for s in c.history.split("\n")[:-1] if re.search(r"\b(grad|backward)\(", s)]
    at = [dataclasses.replace(c.difference, statement=s) for s in went]
    return [dataclasses.replace(c, difference=d) for d in at]


def is_constant(node: Node) -> bool:
    """Whether it counts what is not 0, or compares in place."""
    if is_named(node, ("Ge", "Gt", "Le", "Lt", "Eq", "Ne")):
        return True
    match node.name():
        case "LinalgVectorNormBackward0":
            return node._saved_ord == 0
        case "NormBackward0" | "NormBackward1" | "DistBackward0" | "PdistBackward0":
            return node._saved_p == 0
    return False


def is_kept_by_pytorch_alone(c: Case, node: Node, what: str) -> bool:
    return (
        by_pytorch_alone(node, what, c.asked)
        or is_kept_by_no_product(c, node, what)
        or is_copied(node, what)
        or is_for_another_result(c, node, what)
        or is_fused(c, node)
    )


def is_fused(c: Case, node: Node) -> bool:
    """Whether ours is one with the norm before it."""
    norm = node.next_functions[0][0] if node.name() == "ReluBackward0" else None
    return bool(norm) and norm.name() == "NativeBatchNormBackward0" and c.passes_layer("Sequential")


def is_for_another_result(c: Case, node: Node, what: str) -> bool:
    """Whether it is kept for the gradient of a result from which nothing comes back."""
    edges = [e for x in c.derived for n in graph_of(x) for e in n.next_functions]
    edges += [(x.grad_fn, x.output_nr) for x in c.derived]
    needed = KEPT_FOR_RESULT.get((node.name(), what))
    return needed is not None and all(output != needed for n, output in edges if n is node)


def is_kept_by_no_product(c: Case, node: Node, what: str) -> bool:
    made_of_products = c.device != "cpu" and node.name() == ATTENTION
    if not made_of_products or dtype_at(node) is not torch.float64 or what not in KEPT_BY_PRODUCTS:
        return False
    return not any(leads(node, edge, c.asked) for edge in KEPT_BY_PRODUCTS[what])


def is_copied(node: Node, what: str) -> bool:
    """Whether it is a result in place: one of a new tensor is at version 0."""
    in_place = not why_changed(node, what).endswith("expected version 0")
    return node.name() in COPIED_IN_PLACE and what == "result" and in_place


def leads(node: Node, edge: int, asked: set[Node] | None) -> bool:
    """Whether that edge leads to what is asked for."""
    behind = graph_behind(node.next_functions[edge][0])
    return bool(behind) if asked is None else not asked.isdisjoint(behind)


def by_pytorch_alone(node: Node, what: str, asked: set[Node] | None) -> bool:
    used = [leads(node, edge, asked) for edge in range(len(node.next_functions))]
    if not any(used) or 0 in node._input_metadata[0].shape:  # it runs in vain, or gave no elements
        return True
    volumes = node.name() == "ConvolutionBackward0" and len(node._input_metadata[0].shape) == 5
    if volumes and what == "input":  # ours is of images, which are copies
        return True
    if is_constant(node):
        return True
    scaled = (node.name(), what) == ("AddrBackward0", "vec1") and node._saved_alpha != 1
    if scaled:  # ours is the product
        return True
    drawn = node.name() == "RreluWithNoiseBackwardBackward0" and node._saved_training
    if drawn and what == "self":  # ours keeps the slopes alone
        return True
    if (node.name(), what) in KEPT_FOR:
        return not any(used[edge] for edge in KEPT_FOR[node.name(), what])
    match node.name():
        case "PowBackward0":  # what the derivative of a square is multiplied with
            return node._saved_exponent <= 1
        case "CumprodBackward0" | "LogcumsumexpBackward0":  # that of a number is the number
            return not node._input_metadata[0].shape
        case "IndexFillBackward1":  # ours is a copy without repetitions where the value's is asked
            return what == "index" and node.next_functions[1][0] is not None
        case "ScatterReduceBackward0" | "IndexReduceBackward0":
            if what == "self" and not node._saved_include_self:  # it takes no part
                return True
            adds = node._saved_reduce in ("sum", "mean")
            return adds and (what != "index" or (node._saved_include_self and not used[1]))
        case "ProdBackward0" | "ProdBackward1" if what == "self":  # ours is the converted copy
            given = node.next_functions[0][0]
            return dtype_at(node) != dtype_at(given) or not given._input_metadata[0].shape
    return re.fullmatch(KEPT_BY_PYTORCH_ALONE.get(node.name(), ""), what) is not None


def dtype_at(node: Node) -> torch.dtype:
    """Of what the node's op gave."""
    return node._input_metadata[0].dtype


def reported(c: Case) -> list[tuple[Node, str]]:
    """The nodes behind PyTorch's error that keep what was changed, each with its name for that."""
    return [(n, what) for n, what in kept_by(c) if why_changed(n, what) in c.difference.theirs]


def freed(c: Case) -> tuple[tuple[Node, str], ...]:
    """The nodes before a statement that goes back through them that have forgotten what they kept, each with its name
    for that."""
    return tuple((n, what) for n, what in kept_by(c) if SECOND_TIME in why_lost(n, what))


PREFIX = "_saved_"


def kept_by(c: Case) -> list[tuple[Node, str]]:
    names = [(n, a) for x in c.derived for n in graph_of(x) for a in dir(n)]
    return [(n, a.removeprefix(PREFIX)) for n, a in names if a.startswith(PREFIX)]


def why_changed(node: Node, what: str) -> str:
    """What PyTorch says of it; of what was not changed, what it says of nothing."""
    sentence = re.search(rf"{CHANGED}.*?; expected version \d+", why_lost(node, what))
    return sentence[0] if sentence else "unchanged"


def why_lost(node: Node, what: str) -> str:
    """PyTorch's error where it no longer has what it kept."""
    try:
        getattr(node, PREFIX + what)
    except RuntimeError as error:
        return str(error)
    return ""


# What is kept of an op in place on a view, where graph_of() does not look.
@documented(KEEPS)
def _(c: Case) -> bool:
    if not c.only_theirs_raises(CHANGED) or not is_derivative(c):
        return False
    calls = (
        r"(elu|ELU)_?\(.*inplace=True|(elu|sgn|copysign|scatter_reduce|index_reduce)_\(|"
        r"div(ide)?_\(.*rounding_mode="
    )
    targets = c.named("\n".join(s for s in c.history.split("\n") if re.search(calls, s)))
    less = any(names_changed(c.difference.theirs, x) for x in targets)
    written = re.search(r"x\d+\[.*x\d+.*\] \S?= |masked_scatter_\(", c.history) is not None
    # Of a mask the positions are kept, and of narrow indices wide ones.
    less = less or (written and re.search(r"\[(CPUBool|torch\.Int)T", c.difference.theirs))
    hidden = c.derives("torch::autograd::CopySlices")
    return bool(less) and hidden and not reported(c)


# Of a derivative the factor is kept, not what it is made of: seen where backward stops before the op that reads that.
@documented(KEEPS)
def _(c: Case) -> bool:
    asked = c.asked or set()
    beyond = {n for end in asked for n in graph_behind(end)}  # where it does not come
    changed = [n for n, _ in reported(c) if n not in beyond]
    again = all(n.name().endswith("BackwardBackward0") and is_scaled(n, asked) for n in changed)
    return bool(asked) and bool(changed) and again and c.only_theirs_raises(CHANGED)


def is_scaled(node: Node, asked: set[Node]) -> bool:
    """Whether nothing of it is asked for but the gradient by what arrived, its first edge."""
    others = range(1, len(node.next_functions))
    return leads(node, 0, asked) and not any(leads(node, edge, asked) for edge in others)


# All of it runs in vain: what is asked for is the gradient of what it begins with.
@documented(KEEPS)
def _(c: Case) -> bool:
    own = {x.grad_fn for x in c.derived}
    return c.only_theirs_raises(CHANGED) and c.asked is not None and c.asked <= own


# Operands of which ours keep a copy where they lie in another order.
COPIED_IN_ORDER = {
    ("ConvolutionBackward0", "input"),
    ("EmbeddingBagBackward0", "per_sample_weights"),
    ("FusedRmsNormBackward0", "weight"),
    ("GridSampler2DBackward0", "grid"),
    ("GridSampler2DBackward0", "input"),
    ("GridSampler3DBackward0", "grid"),
    ("GridSampler3DBackward0", "input"),
    ("NativeBatchNormBackward0", "input"),
    ("NativeBatchNormBackward0", "weight"),
    ("NativeLayerNormBackward0", "input"),
    ("NativeLayerNormBackward0", "weight"),
}


@documented(KEEPS)
def _(c: Case) -> bool:
    if not c.only_theirs_raises(CHANGED):
        return False
    others = [k for k in reported(c) if not is_kept_by_pytorch_alone(c, *k)]
    kept = {(n.name(), what) for n, what in others}
    copied = bool(kept) and kept <= COPIED_IN_ORDER
    copied = copied or (kept == {("MulBackward0", "other")} and c.derives("LogSoftmax"))
    written = [x for x in c.tensors.values() if x._version and not x.is_contiguous()]
    if ("NativeBatchNormBackward0", "input") in kept:  # it knows two orders
        written = [x for x in written if x.dim() != 4 or not is_channels_last(x)]
    # Of one image or line a batch is kept.
    return copied and any(
        names_changed(c.difference.theirs, y) for x in written for y in (x, x[None])
    )


# Operands of 16 bits of which ours keep the floats that they are converted to.
COPIED_WIDE = {
    ("GridSampler2DBackward0", "grid"),
    ("GridSampler2DBackward0", "input"),
    ("GridSampler3DBackward0", "grid"),
    ("GridSampler3DBackward0", "input"),
}


@documented(KEEPS)
def _(c: Case) -> bool:
    if not c.only_theirs_raises(CHANGED):
        return False
    others = [k for k in reported(c) if not is_kept_by_pytorch_alone(c, *k)]
    pooled = {("PowBackward0", "self")} if re.search("lp_pool|LPPool", c.history) else set()
    copied = others and {(n.name(), what) for n, what in others} <= COPIED_WIDE | pooled
    return bool(copied) and all(dtype_at(n) in (torch.float16, torch.bfloat16) for n, _ in others)


# A target of truth values, of which the losses here keep the error.
@documented(KEEPS)
def _(c: Case) -> bool:
    losses = (
        re.search(r"\b(huber|smooth_l1)_loss\(|\b(Huber|SmoothL1)Loss\(", c.history) is not None
    )
    return losses and c.only_theirs_raises(f"{CHANGED}.*BoolType")


def is_channels_last(x: torch.Tensor) -> bool:
    return x.is_contiguous(memory_format=torch.channels_last)


# With a graph attention is computed once more, from its inputs.
@documented(KEEPS)
def _(c: Case) -> bool:
    again = "create_graph=True" in c.statement and c.only_theirs_raises(CHANGED)
    return again and {(n.name(), what) for n, what in reported(c)} == {(ATTENTION, "output")}


# Its steps are an op each here: what was not asked of them has forgotten nothing.
@documented(KEEPS)
def _(c: Case) -> bool:
    asked = re.search(r"\.backward\(.*inputs=\[", c.history) is not None
    alone = [is_kept_by_pytorch_alone(c, n, what) or is_in_steps(n) for n, what in c.forgotten]
    return asked and len(alone) > 0 and all(alone) and c.only_theirs_raises(SECOND_TIME)


def is_in_steps(node: Node) -> bool:
    """Whether ours adds the outer product, or the bias of a transposed convolution, by a node of its own."""
    transposed = node.name() == "ConvolutionBackward0" and node._saved_transposed
    return transposed or node.name() == "AddrBackward0"


# The norms of rows, and what they are scaled by, are steps of double precision here.
@documented(KEEPS)
def _(c: Case) -> bool:
    steps = {
        "AbsBackward0",
        "DivBackward0",
        "LinalgVectorNormBackward0",
        "MulBackward0",
        "RenormBackward0",
        "SgnBackward0",
    }
    nodes = {n.name() for n, _ in reported(c)}
    again = "create_graph=True" in c.history or c.derives("torch::autograd::CopySlices")
    rows = again and re.search(r"\brenorm_?\(", c.history) is not None
    return rows and bool(nodes) and nodes <= steps and c.only_theirs_raises(CHANGED)


# A running product of what was converted first: of that a copy is kept.
@documented(KEEPS)
def _(c: Case) -> bool:
    products = [n for x in c.derived for n in graph_of(x) if n.name() == "CumprodBackward0"]
    copies = any(dtype_at(n) != dtype_at(n.next_functions[0][0]) for n in products)
    steps = {("CumprodBackward0", "self"), ("DivBackward0", "other")}
    kept = {(n.name(), what) for n, what in reported(c)}
    return copies and c.only_theirs_raises(CHANGED) and bool(kept) and kept <= steps


# Indices of which PyTorch keeps a row-major copy.
@documented(KEEPS)
def _(c: Case) -> bool:
    apart = any(x.dtype is torch.int64 and not x.is_contiguous() for x in c.tensors.values())
    return c.derives("Embedding") and apart and c.only_ours_raises(CHANGED + r"\[torch\.LongTensor")


# Into a view, whose node PyTorch hides behind that of its base.
@documented(KEEPS)
def _(c: Case) -> bool:
    sources = re.findall(r"\.index_(?:add|copy)_\([^,]+, x\d+, (?:source=)?(x\d+)", c.history)
    changed = any(names_changed(c.difference.theirs, x) for x in c.named(" ".join(sources)))
    return changed and c.derives("torch::autograd::CopySlices") and c.only_theirs_raises(CHANGED)


# The same of the index at which a value that requires grad was filled in.
@documented(KEEPS)
def _(c: Case) -> bool:
    calls = r"\.index_fill_\([^,]+, (?:index=)?(x\d+), (?:value=)?(x\d+)"
    filled = [i for i, v in re.findall(calls, c.history) if wants_grad(c, v)]
    changed = any(names_changed(c.difference.theirs, x) for x in c.named(" ".join(filled)))
    return changed and c.derives("torch::autograd::CopySlices") and c.only_theirs_raises(CHANGED)


def wants_grad(c: Case, name: str) -> bool:
    return any(x.requires_grad for x in c.named(name))


# Circular padding, which PyTorch writes part by part, each with a node that it frees.
@documented(KEEPS)
def _(c: Case) -> bool:
    layers = re.findall(r"^ *(m\d+) = .*(?:Circular|circular)", c.history, re.M)
    padded = "|".join([*layers, r"pad(?=\(.*circular)", r"CircularPad\dd"])
    others = all(is_kept_by_pytorch_alone(c, n, what) for n, what in c.forgotten)
    hidden = c.derives("torch::autograd::CopySlices") and c.passes(f"(?:{padded})")
    return hidden and others and c.only_theirs_raises(SECOND_TIME)


# A number that is divided by.
@documented(KEEPS)
def _(c: Case) -> bool:
    by_others = {n for n, what in c.forgotten if (n.name(), what) == ("DivBackward0", "other")}
    by_number = {n for n in by_others if n.next_functions[1][0] is None}
    others = all(n in by_number or is_kept_by_pytorch_alone(c, n, what) for n, what in c.forgotten)
    divided = re.search(r"/=? -?\d", c.history) is not None
    return divided and len(by_number) > 0 and others and c.only_theirs_raises(SECOND_TIME)


# The weight of a loss multiplies what comes before anything else does.
@documented(KEEPS)
def _(c: Case) -> bool:
    factors = {n.name() for n, _ in reported(c)} == {"MulBackward0"}
    calls = (n for n in ast.walk(ast.parse(c.history)) if isinstance(n, ast.Call))
    weights = c.named(" ".join(w for call in calls for w in weights_of(call)))
    written = any(x._version and names_changed(c.difference.theirs, x) for x in weights)
    return factors and written and c.derives("BinaryCrossEntropy")


def weights_of(call: ast.Call) -> list[str]:
    """The arguments that are a loss's weights, if it is one of probabilities."""
    name = ast.unparse(call.func).rpartition(".")[2]
    if not name.startswith(("binary_cross_entropy", "BCE")):
        return []
    by_name = [k.value for k in call.keywords if k.arg in ("weight", "pos_weight")]
    first = 0 if name.startswith("BCE") else 2
    return [ast.unparse(w) for w in [*call.args[first : first + 1], *by_name]]


# Indices and targets of int32 are kept as others.
@documented(KEEPS)
def _(c: Case) -> bool:
    narrow = c.only_theirs_raises(CHANGED + r"\[torch\.IntTensor")
    kept = [what for _, what in reported(c)]
    of_index = bool(kept) and all(re.match("ind(ex|ices)$|target", what) for what in kept)
    if not kept and c.derives("torch::autograd::CopySlices"):  # in place on a view it is hidden
        by = r"\bindex_(?:add|copy|fill|reduce)_\([^,]+, (?:index=)?(x\d+)"
        given = c.named(" ".join(re.findall(by, c.history)))
        of_index = any(x._version and names_changed(c.difference.theirs, x) for x in given)
    return narrow and of_index


# What has no elements is not kept at all.
@documented(KEEPS)
def _(c: Case) -> bool:
    return c.only_theirs_raises(CHANGED + r"\[torch\.\w+Tensor \[(.*, )?0[],]")


# Of nothing, nothing is kept.
@documented(KEEPS)
def _(c: Case) -> bool:
    alone = [is_kept_by_pytorch_alone(c, n, what) or is_of_nothing(n) for n, what in c.forgotten]
    return len(alone) > 0 and all(alone) and c.only_theirs_raises(SECOND_TIME)


def is_of_nothing(node: Node) -> bool:
    """Whether an operand that its gradient goes to has no elements."""
    ends = [n for n, _ in node.next_functions if n]
    return any(0 in x.shape for n in ends for x in n._input_metadata)


# The gradient of a bias that PyTorch adds apart.
@documented(KEEPS)
def _(c: Case) -> bool:
    if not c.only_ours_raises(SECOND_TIME):
        return False
    nodes = {n for x in c.derived for n in graph_of(x)}
    asked = [case.asked or set() for case in (c, *earlier_derivatives(c))]
    return any(is_behind_bias(n, ends) for n in nodes for ends in asked)


def is_behind_bias(node: Node, asked: set[Node]) -> bool:
    """Whether it adds a bias to a product, and that alone leads to what is asked for."""
    products = ("UnsafeView", "View", "Squeeze", "Mm", "Bmm", "Mv")
    ends = [n for n, _ in node.next_functions if n]
    factors = [n for n in ends if n.name().startswith(products)]
    biases = [n for n in ends if n not in factors]
    leads = [not asked.isdisjoint(graph_behind(n)) for n in (*factors, *biases)]
    return node.name() == "AddBackward0" and leads == [False] * len(factors) + [True]


# What a second derivative or a third one has forgotten, the one before needs.
@documented(KEEPS)
def _(c: Case) -> bool:
    orders = c.history.count("create_graph=True")
    made = any(x is y for x in c.derived for y in c.returned)
    lacks = c.only_ours_raises(SECOND_TIME) or c.only_theirs_raises(SECOND_TIME)
    return made and orders > 1 and lacks


# Ops of several steps, of which an earlier one's result is a factor in the derivative's graph.
@documented(KEEPS)
def _(c: Case) -> bool:
    return c.only_ours_raises(SECOND_TIME) and shares_steps(
        c, "bilinear|renorm_?|addr_?|lstm", "Bilinear|LSTM"
    )


@documented(KEEPS)
def _(c: Case) -> bool:
    here_one = shares_steps(c, "cross_entropy|group_norm", "CrossEntropyLoss|GroupNorm")
    return c.only_theirs_raises(SECOND_TIME) and here_one


def shares_steps(c: Case, calls: str, layers: str) -> bool:
    """Whether it goes back through one of these, or through a derivative with a graph where there is one of these."""
    if "create_graph=True" not in c.history:
        return False
    behind = {n for x in c.derived for n in graph_of(x)}
    made = any(x.grad_fn in behind for x in c.returned)
    through = c.passes(f"(?:{calls})") or c.passes_layer(f"(?:{layers})")
    return through or (made and re.search(rf"\b({calls}|{layers})\(", c.history) is not None)


# A vector that mv has made a matrix of, or a batch that addbmm has, keeps what it was when it was multiplied.
@documented(KEEPS)
def _(c: Case) -> bool:
    later = re.search(r"\bx\d+\.(requires_grad_\(False\)|detach_\(\))", c.history) is not None
    changed = later and c.difference.theirs == "False"
    return changed and c.aspect == "requires_grad" and c.derives("Mv", "Addbmm")


# Of the weight of linear PyTorch keeps a view, which goes on to require grad.
@documented(KEEPS)
def _(c: Case) -> bool:
    frozen = re.search(r"\b[mx]\d+[\w.]*\.requires_grad_\(False\)", c.history) is not None
    more = c.aspect == "requires_grad" and c.difference.ours == "False" and is_derivative(c)
    return frozen and more and c.derives("Addmm", "Mm")


# By a result that PyTorch computes gradients from: ours may come from the input.
@documented(KEEPS)
def _(c: Case) -> bool:
    unknown = c.aspect == "type" and c.difference.ours == "None"
    unknown = unknown or c.aspect == "length" or c.only_ours_raises(UNUSED)
    return unknown and any(serves(n) for x in c.derived for n in graph_of(x))


# The other way round: distances, of which the second derivative here is made of their gradient's steps.
@documented(KEEPS)
def _(c: Case) -> bool:
    named = re.escape(c.difference.place.removesuffix(".grad"))
    distances = re.search(rf"^ *{named} = .*\bcdist\(", c.history, re.M) is not None
    unknown = c.aspect == "type" and c.difference.theirs == "None"
    return unknown and distances and is_derivative(c) and "create_graph=True" in c.history


# Such a result is one of two ways to what it is made of. Which of them is the one by the result, nothing tells.
@documented(KEEPS)
def _(c: Case) -> bool:
    at = c.tensors.get(c.difference.place.removesuffix(".grad"))
    by = [x for x in [*c.wanted, at] if x is not None and not x.is_leaf and serves(x.grad_fn)]
    return (
        c.aspect == "values"
        and is_derivative(c)
        and "create_graph=True" in c.history
        and len(by) > 0
    )


# A hook of such a result.
@documented(KEEPS)
def _(c: Case) -> bool:
    seen = c.difference.place.partition("[")[0]
    hooks = re.findall(rf"\b(x\d+)\.register_hook\(lambda g: {seen}\.append", c.history)
    by = [x for x in c.named(" ".join(hooks)) if x.grad_fn is not None and serves(x.grad_fn)]
    return c.aspect in ("values", "length") and "create_graph=True" in c.history and len(by) > 0


def serves(node: Node) -> bool:
    """Whether PyTorch alone computes the node's gradient from its result, or all of it."""
    kept = KEPT_BY_PYTORCH_ALONE.get(node.name(), "").split("|")
    return not {"result", "solution"}.isdisjoint(kept) or node.name() in COPIED_IN_PLACE
