"""Calls of the schema's functions, with random arguments, in each of the ways in which Python can write them."""

from __future__ import annotations

import dumbtorch
import torch

from .arguments import argument
from .known import avoided
from .program import Program, Refused
from .schema import SCHEMA, Function

# Files of the schema whose functions are no ops of tensors, or which statements.py writes by hand.
OTHER_FILES = {"autograd", "data", "devices", "layers", "modules", "optim", "random", "types"}
# Functions of the other files that are no use here, by reason.
LEFT_OUT = {
    "they say where memory is": {
        "tensor_data_ptr", "tensor_is_set_to", "empty_strided", "new_empty_strided",
    },
    "PyTorch spells them in another way": {
        "index", "tensordot_dims", "chain_matmul", "gradient_at", "block_diag", "cartesian_prod",
        "broadcast_tensors",
    },
    "test_views_in_place.py: what older views become differs": {
        "squeeze_", "unsqueeze_", "t_", "transpose_", "swapaxes_", "swapdims_", "as_strided_", "resize_", "resize_as_",
    },
    "another device than that of the program": {"cuda", "cpu"},
    "fitting.py has them, their layers or what they are made of": {
        "lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell",
        "scaled_dot_product_attention", "ctc_loss", "linear_cross_entropy", "embedding_bag", "grid_sample",
        "max_unpool1d", "max_unpool2d", "max_unpool3d", "fractional_max_pool2d",
        "fractional_max_pool2d_with_indices", "fractional_max_pool3d", "fractional_max_pool3d_with_indices",
        "fake_quantize_per_channel_affine",
    },
    "fitting.py has them for matrices far from singular ones, of whose rounding nothing is seen": {
        "cholesky", "cholesky_solve", "cholesky_inverse", "triangular_solve", "inverse", "det", "slogdet", "logdet",
    },
    "rows_factor.py: what they take is a factorisation, or what they give is not unique": {
        "lu_solve", "lu_unpack", "geqrf", "orgqr", "ormqr", "svd",
    },
    "test_transformer.py: no rule knows which weights fit": {"multi_head_attention_forward"},
    "rows_linalg.py: PyTorch reads beyond tensors that the lengths do not fit": {"segment_reduce"},
    "statements.py has them": {
        "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "rrelu",
        "gumbel_softmax",
        "tensor_requires_grad_", "detach_", "tensor_retain_grad", "tensor_item", "tensor_is_leaf",
        "tensor_requires_grad", "tensor_grad", "tensor_data", "tensor_device",
    },
}  # fmt: skip
# Memory that nobody has written.
UNWRITTEN = {
    "empty",
    "empty_like",
    "new_empty",
    "empty_strided",
    "new_empty_strided",
    "empty_permuted",
}
# Arguments that are left at their defaults.
UNSAID = {"device", "generator", "non_blocking"}

OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip


def _callers(f: Function) -> list[str]:
    """How PyTorch lets a function be called: "t.NAME", "t.nn.functional.NAME", ".NAME", "operator"."""
    out = []
    if "torch" in f.namespaces and hasattr(torch, f.torch_name):
        out.append(f"t.{f.torch_name}")
    if "functional" in f.namespaces and hasattr(torch.nn.functional, f.torch_name):
        out.append(f"t.nn.functional.{f.torch_name}")
    if (
        f.method == "tensor"
        and hasattr(torch.Tensor, f.method_name)
        and hasattr(dumbtorch.Tensor, f.method_name)
    ):
        out.append(f".{f.method_name}")
    if f.operator.removeprefix("i") in OPERATORS or f.operator in OPERATORS:
        out.append("operator")
    return out


CALLERS = {
    f.name: _callers(f)
    for f in SCHEMA.public
    if f.file not in OTHER_FILES
    and f.name not in set().union(*LEFT_OUT.values())
    and not f.as_property
}
FUNCTIONS = [f for f in SCHEMA.public if CALLERS.get(f.name)]
VIEWS = [
    f for f in FUNCTIONS if f.file == "views" and f.name not in ("cat", "stack", "repeat", "flip")
]
INPLACE = [f for f in FUNCTIONS if f.inplace]


def call(p: Program, f: Function, target: str = "") -> None:
    """Adds a call of a function. `target` is its first tensor."""
    given: dict[str, object] = {"function": f.name}
    words: dict[str, str] = {}
    for arg in f.args:
        if arg.name in UNSAID or (arg.has_default and p.chance(0.5)):
            continue
        text = target if target and not words else argument(p, f.name, arg, given)
        words[arg.name] = text
        given[arg.name] = p.value(text)
    if f.inplace and avoided(f.name, given):
        raise Refused("it is known to differ")
    caller = p.rng.choice(CALLERS[f.name])
    text = _write(p, f, caller, words)
    if f.name in UNWRITTEN:
        text += p.choose(".zero_()", ".fill_(2)")
    if caller == "operator" and f.inplace:
        p.line(text)
    elif f.inplace and p.chance(0.8):
        p.line(text)
    else:
        p.assign(text)


def _write(p: Program, f: Function, caller: str, words: dict[str, str]) -> str:
    if caller == "operator":
        if set(words) - {a.name for a in f.args[:2]} or len(words) < 2:
            raise Refused("an operator has two operands")
        left, right = words.values()
        if f.inplace:
            return f"{left} {OPERATORS[f.operator[1:]]}= {right}"
        if p.chance(0.2) and f.operator not in ("matmul",):
            left, right = right, left
        return f"{left} {OPERATORS[f.operator]} {right}"
    arguments, positional = [], True
    for arg in f.args:
        if arg.name not in words:
            positional = False
        elif positional and not arg.keyword_only and (not arg.has_default or p.chance(0.6)):
            arguments.append(words[arg.name])
        else:
            positional = False
            arguments.append(f"{arg.name}={words[arg.name]}")
    if caller.startswith("."):
        if not isinstance(p.value(arguments[0]), torch.Tensor):
            raise Refused("a method of a number")
        return f"{arguments[0]}{caller}({', '.join(arguments[1:])})"
    return f"{caller}({', '.join(arguments)})"
