"""Hooks that see the gradients of a module's inputs and outputs.

A module with such hooks gets its inputs, and gives its outputs, through an identity function each.
Their backwards are where the gradients pass: first that of the outputs, then that of the inputs.
"""

from __future__ import annotations

import warnings

from ... import _ops
from ..._tensor_type import TensorBase
from ...autograd.function import Function


class _Pass(Function):
    """Gives its tensors on, and their gradients to `see`, which may change them. Absent gradients
    are zeros or, as PyTorch has it for outputs, None."""

    @staticmethod
    def forward(ctx, see, zeros, *tensors):
        ctx.see = see
        ctx.set_materialize_grads(zeros)
        ctx.mark_non_differentiable(*(x for x in tensors if not x.requires_grad))
        return tensors

    @staticmethod
    def backward(ctx, *grads):
        return None, None, *ctx.see(grads)


class BackwardHooks:
    """The hooks of one call of a module."""

    def __init__(self, module, pre_hooks: list, hooks: list):
        self.module, self.pre_hooks, self.hooks = module, pre_hooks, hooks
        self.inputs: tuple = ()
        self.watches_inputs = False
        self.grad_output: tuple | None = None

    def before(self, args: tuple) -> tuple:
        """The module's inputs, watched if any of them needs a gradient."""
        self.inputs = tuple(isinstance(a, TensorBase) for a in args)
        given = args
        if self.hooks:
            args = _watched(args, self._see_inputs, zeros=True)
        self.watches_inputs = args is not given
        return args

    def after(self, out):
        """The module's outputs, watched: a tensor, or the tensors of a tuple."""
        if not isinstance(out, (TensorBase, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors "
                f"but received {type(out)}",
                stacklevel=4,
            )
        many = out if isinstance(out, tuple) else (out,)
        many = _watched(many, self._see_outputs, zeros=False)
        return many if isinstance(out, tuple) else many[0]

    def _see_outputs(self, grads: tuple) -> tuple:
        for hook in self.pre_hooks:
            grads = _changed(hook(self.module, grads), grads, "grad_output")
        self.grad_output = grads
        if not self.watches_inputs:
            nothing = (None,) * len(self.inputs)
            for hook in self.hooks:
                changed = hook(self.module, nothing, grads)
                if changed is not None and any(g is not None for g in changed):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always "
                        "return None or None for all gradients."
                    )
        return grads

    def _see_inputs(self, grads: tuple) -> tuple:
        if self.grad_output is None:  # the outputs' gradients came another way
            return grads
        for hook in self.hooks:
            grads = _changed(hook(self.module, grads, self.grad_output), grads, "grad_input")
        self.grad_output = None
        return grads


def _watched(values: tuple, see, zeros: bool) -> tuple:
    """The values, a tuple of the same kind, with their tensors passed through _Pass; `see` gets and gives one
    gradient for each value, None where it is no tensor. The same tuple if no tensor needs a gradient."""
    places = [i for i, v in enumerate(values) if isinstance(v, TensorBase)]
    if not _ops.is_grad_enabled() or not any(values[i].requires_grad for i in places):
        return values

    def see_tensors(grads: tuple) -> tuple:
        full = [None] * len(values)
        for i, g in zip(places, grads, strict=True):
            full[i] = g
        full = see(tuple(full))
        return tuple(full[i] for i in places)

    out = list(values)
    passed = _Pass.apply(see_tensors, zeros, *(values[i] for i in places))
    for i, v in zip(places, passed, strict=True):
        out[i] = v
    return (
        tuple(out) if type(values) is tuple else type(values)(*out)
    )  # with the names of a named one


def _changed(result, grads: tuple, what: str) -> tuple:
    """The gradients after a hook: what it gave back, or as they were."""
    if result is None:
        return grads
    result = result if isinstance(result, tuple) else (result,)
    if len(result) != len(grads):
        raise RuntimeError(
            f"Backward hook returned an invalid number of {what}, got {len(result)}, but expected "
            f"{len(grads)}"
        )
    return result
