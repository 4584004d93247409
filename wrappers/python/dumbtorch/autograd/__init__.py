"""Gradients: backward, grad, grad mode, functions with their own backward, checks."""

from __future__ import annotations

import functools
import threading

from .. import _late, _ops
from .._nodes import GradientEdge
from .._tensor_type import TensorBase
from .._warning import warn_of_cycle
from .anomaly import detect_anomaly, set_detect_anomaly
from .function import Function, NestedIOFunction
from .grad_mode import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .variable import Variable

__getattr__, __dir__ = _late.names(__name__, "forward_ad functional graph profiler")

__all__ = [
    "Function", "GradcheckError", "NestedIOFunction", "Variable", "backward", "detect_anomaly", "enable_grad",
    "enforce_grad_layout_policy", "forward_ad",
    "functional", "grad", "gradcheck", "gradgradcheck", "graph", "inference_mode", "is_multithreading_enabled",
    "no_grad", "profiler", "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip


def _listed(x) -> tuple:
    return (x,) if isinstance(x, (TensorBase, GradientEdge)) else tuple(x)


def _tuple(x) -> tuple:
    """Of one tensor or several, for which edges of the graph may stand."""
    return tuple(map(_tensor_of, _listed(x)))


def _tensor_of(x):
    if not isinstance(x, GradientEdge):
        return x
    if not isinstance(x.ownership_token, TensorBase):
        raise TypeError(
            "a GradientEdge has to come from get_gradient_edge, which has it keep its tensor"
        )
    return x.ownership_token


def _gradients(grads, count: int) -> tuple:
    """One entry per output; () says that all are absent."""
    if grads is None:
        return ()
    grads = _tuple(grads)
    if len(grads) != count:
        raise RuntimeError(f"got {count} tensors and {len(grads)} gradients")
    return grads


def backward(
    tensors,
    grad_tensors=None,
    retain_graph=None,
    create_graph=False,
    grad_variables=None,
    inputs=None,
):
    """Adds the gradients of tensors with respect to the leaves to their .grad. `grad_variables` is the old name of
    `grad_tensors`."""
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. "
                "Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    tensors = _tuple(tensors)
    if inputs is not None:
        inputs = _tuple(inputs)
    grads = _gradients(grad_tensors, len(tensors))
    if create_graph:
        warn_of_cycle()
    _ops.autograd_backward(tensors, grads, retain_graph, bool(create_graph), inputs)


class _Loops(threading.local):
    """How many of vmap's loops over entries a thread is in: a call leaves a graph that it goes through to the next."""

    depth = 0


loops = _Loops()


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """The gradients of outputs with respect to inputs, a tuple; .grad is left alone. `only_inputs` changes nothing."""
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    given = _listed(inputs)
    outputs, inputs = _tuple(outputs), _tuple(given)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if is_grads_batched:
        return _batched(
            outputs, inputs, grad_outputs, create_graph, allow_unused, materialize_grads
        )
    grads = _gradients(grad_outputs, len(outputs))
    unused = bool(allow_unused) or materialize_grads
    if retain_graph is None and loops.depth:
        retain_graph = True
    out = _ops.autograd_grad(outputs, inputs, grads, retain_graph, bool(create_graph), unused)
    if materialize_grads:
        if any(g is None and isinstance(x, GradientEdge) for g, x in zip(out, given, strict=True)):
            raise RuntimeError(
                "materialize_grads cannot be used when the given input is a GradientEdge"
            )
        zeros = functools.partial(_ops.zeros_like, requires_grad=bool(create_graph))
        out = tuple(zeros(x) if g is None else g for g, x in zip(out, inputs, strict=True))
    return out


def _batched(outputs, inputs, grad_outputs, create_graph, allow_unused, materialize_grads) -> tuple:
    """The gradients for each of a batch of gradients of the outputs, one after the other."""
    weights = _gradients(grad_outputs, len(outputs)) or (None,) * len(outputs)
    for i, (g, y) in enumerate(zip(weights, outputs, strict=True)):
        if g is None:
            if y.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            continue
        if g[0].shape != y.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{i}] has a shape of {g.shape[2:]} and output[{i}] "
                f"has a shape of {y.shape}. If you only want some tensors in `grad_output` to be considered batched, "
                "consider using vmap."
            )
    if any(g is None for g in weights):
        raise ValueError(
            "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input is a Tensor of "
            "dimensionality 0 so expected in_dim to satisfy 0 <= in_dim < 0."
        )
    sizes = [len(g) for g in weights]
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    rows = [
        grad(
            outputs, inputs, row, True, create_graph,
            allow_unused=allow_unused, materialize_grads=materialize_grads,
        )
        for row in zip(*(_ops.unbind(g, 0) for g in weights), strict=True)
    ]  # fmt: skip
    return tuple(None if g[0] is None else _ops.stack(g, 0) for g in zip(*rows, strict=True))
