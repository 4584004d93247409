"""torch.func: functions of functions. Trees (dicts, lists and tuples) of tensors stand for tensors.

Gradients are those of backward, so a function may do whatever can be recorded. A result can be
differentiated again where an argument requires grad or another transform goes on around it.
"""

from __future__ import annotations

import functools
import threading
from contextlib import contextmanager

from . import _missing, _ops
from ._functional_call import functional_call
from ._tensor_type import TensorBase
from .autograd.functional import _gradients, _zeros_that_require_grad
from .autograd.grad_mode import enable_grad
from .utils._pytree import tree_flatten, tree_map, tree_unflatten

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
           "stack_module_state", "value_and_grad", "vjp", "vmap"]  # fmt: skip


class _Level(threading.local):
    depth = 0


_level = _Level()


@contextmanager
def _inside():
    """Within a transform, whatever is computed may be differentiated by it."""
    _level.depth += 1
    try:
        with enable_grad():
            yield
    finally:
        _level.depth -= 1


class _Call:
    """A call of func(*args), differentiated by the arguments that argnums names."""

    def __init__(self, func, args: tuple, argnums, has_aux: bool, kwargs: dict | None = None):
        self.nested = _level.depth > 1
        chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        chosen = tuple(_position(n, len(args)) for n in chosen)
        self.keep = self.nested or any(
            isinstance(x, TensorBase) and x.requires_grad for x in tree_flatten(list(args))[0]
        )
        args = [tree_map(_fresh, a) if i in chosen else a for i, a in enumerate(args)]
        self.given = args[argnums] if isinstance(argnums, int) else tuple(args[n] for n in chosen)
        self.inputs, _ = tree_flatten(self.given)
        out = func(*args, **(kwargs or {}))
        self.aux = None
        if has_aux:
            if not isinstance(out, tuple) or len(out) != 2:
                raise RuntimeError(
                    "the output of the function must be (output, aux), since has_aux is True"
                )
            out, self.aux = out
        self.out = out

    def gradients(self, outputs: list, weights: list, keep_graph: bool = False) -> list:
        """One for each input."""
        grads = _gradients(
            tuple(outputs), tuple(self.inputs), tuple(weights), self.keep, keep_graph
        )
        return [_ops.zeros_like(x) if g is None else g for g, x in zip(grads, self.inputs)]

    def shown(self, tree):
        """Results as the caller sees them."""
        return tree if self.keep else tree_map(_detached, tree)

    def as_given(self, grads: list):
        return tree_unflatten(grads, self.given)


def _position(argnum: int, count: int) -> int:
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def _fresh(x):
    """A tensor of its own that requires grad, behind x if x does."""
    if not isinstance(x, TensorBase):
        raise TypeError(f"expected a tree of tensors to differentiate by, found {type(x).__name__}")
    return _ops.view_as(x, x) if x.requires_grad else _ops.tensor_requires_grad_(_ops.detach(x))


def _detached(x):
    return _ops.detach(x) if isinstance(x, TensorBase) else x


def grad(func, argnums=0, has_aux: bool = False):
    """The function that gives the gradient of func, which gives one number."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def call(*args, **kwargs):
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return call


def grad_and_value(func, argnums=0, has_aux: bool = False):
    """The function that gives (the gradient of func, its value), or with has_aux (gradient, (value, aux))."""

    @functools.wraps(func)
    def call(*args, **kwargs):
        with _inside():
            made = _Call(func, args, argnums, has_aux, kwargs)
            _check_number(made.out)
            found = made.as_given(made.gradients([made.out], [None]))
        value = made.shown(made.out)
        return found, ((value, made.shown(made.aux)) if has_aux else value)

    return call


def value_and_grad(func, argnums=0, has_aux: bool = False):
    """The function that gives (the value of func, its gradient)."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def call(*args, **kwargs):
        return both(*args, **kwargs)[::-1]

    return call


def _check_number(out) -> None:
    if not isinstance(out, TensorBase):
        raise RuntimeError(
            f"Expected f(*args) to return only tensors, got unsupported type {type(out)}"
        )
    if out.ndim:
        raise RuntimeError(
            "Expected f(*args) to return a scalar tensor, got tensor with "
            f"{out.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )


def vjp(func, *primals, has_aux: bool = False):
    """(func(*primals), a function that gives what is like its output times the Jacobian)."""
    with _inside():
        made = _Call(func, primals, tuple(range(len(primals))), has_aux)
    outputs, _ = tree_flatten(made.out)

    def product(cotangents, retain_graph=True, create_graph=None):
        weights, _ = tree_flatten(cotangents)
        with _inside():
            made.keep |= any(w.requires_grad for w in weights)
            found = made.as_given(made.gradients(outputs, weights, keep_graph=True))
        return found

    out = made.shown(made.out)
    return (out, product, made.shown(made.aux)) if has_aux else (out, product)


def jvp(func, primals: tuple, tangents: tuple, *, strict: bool = False, has_aux: bool = False):
    """(func(*primals), its Jacobian times the tangents), by two backwards."""
    with _inside():
        made = _Call(func, tuple(primals), tuple(range(len(primals))), has_aux)
        keep, made.keep = made.keep, True
        outputs, shape = tree_flatten(made.out)
        weights = _zeros_that_require_grad(tuple(outputs))
        grads = made.gradients(outputs, list(weights))
        directions, _ = tree_flatten(tuple(tangents))
        keep |= any(t.requires_grad for t in directions)
        found = _gradients(tuple(grads), weights, tuple(directions), keep)
        found = [_ops.zeros_like(w) if g is None else g for g, w in zip(found, weights)]
        made.keep = keep
    result = (made.shown(made.out), made.shown(tree_unflatten(found, shape)))
    return (*result, made.shown(made.aux)) if has_aux else result


def linearize(func, *primals):
    """(func(*primals), its Jacobian there as a function of tangents). func is called once."""
    with _inside():
        made = _Call(func, primals, tuple(range(len(primals))), False)
        keep, made.keep = made.keep, True
        outputs, shape = tree_flatten(made.out)
        weights = _zeros_that_require_grad(tuple(outputs))
        grads = tuple(made.gradients(outputs, list(weights)))
        made.keep = keep

    def product(*tangents):
        directions, _ = tree_flatten(tangents)
        _check_tangents(directions, made.inputs)
        with _inside():
            found = _gradients(grads, weights, tuple(directions), keep, True)
        found = [_ops.zeros_like(w) if g is None else g for g, w in zip(found, weights)]
        return made.shown(tree_unflatten(found, shape))

    return made.shown(made.out), product


def _check_tangents(tangents: list, primals: list) -> None:
    for i, (t, p) in enumerate(zip(tangents, primals, strict=True)):
        for what in ("shape", "device", "dtype"):
            if getattr(t, what) != getattr(p, what):
                raise RuntimeError(
                    f"tangent:{i} with {what} {getattr(t, what)} in flattened pytree doesn't match the {what} "
                    f"{getattr(p, what)} of the corresponding primal."
                )


def jacrev(func, argnums=0, has_aux: bool = False, *, chunk_size=None):
    """The function that gives the Jacobian of func: for output o and input i a tensor of shape o.shape +
    i.shape. A backward for each element of the output."""

    @functools.wraps(func)
    def call(*args, **kwargs):
        with _inside():
            made = _Call(func, args, argnums, has_aux, kwargs)
            outputs, shape = tree_flatten(made.out)
            found = [made.as_given(_rows(made, y)) for y in outputs]
        found = tree_unflatten(found, shape)
        return (found, made.shown(made.aux)) if has_aux else found

    return call


def _rows(made: _Call, y) -> list:
    """For each input, the derivatives of an output's elements."""
    elements = _ops.unbind(_ops.reshape(y, (-1,)), 0)
    rows = [made.gradients([element], [None], keep_graph=True) for element in elements]
    return [
        _ops.reshape(_ops.stack([row[i] for row in rows], 0), y.shape + x.shape)
        if rows else _ops.zeros(y.shape + x.shape, dtype=x.dtype, device=x.device)
        for i, x in enumerate(made.inputs)
    ]  # fmt: skip


def jacfwd(func, argnums=0, has_aux: bool = False, *, randomness: str = "error"):
    """The same as jacrev, and computed as it: by backwards."""
    return jacrev(func, argnums, has_aux)


def hessian(func, argnums=0):
    """The function that gives the second derivatives of func."""
    return jacrev(jacrev(func, argnums), argnums)


# ---- batches


def vmap(func, in_dims=0, out_dims=0, randomness: str = "error", *, chunk_size=None):
    """The function that calls func for each entry of a batch, and stacks what it gives.

    It is a loop: right for every function, and no faster than one. in_dims says which dimension of each
    argument counts the entries, None that all share it; out_dims, where they are in the results.
    randomness: "same" gives each entry the same random numbers, otherwise they differ.
    """

    @functools.wraps(func)
    def call(*args, **kwargs):
        dims = _dims_of(in_dims, args)
        leaves, shape = tree_flatten(list(args))
        sizes = {x.shape[d] for x, d in zip(leaves, dims, strict=True) if d is not None}
        if len(sizes) != 1:
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                f"{sorted(sizes)} for the mapped dimension"
                if sizes else "vmap: at least one input has to be mapped over"
            )  # fmt: skip
        parts = [
            (x,) * max(sizes) if d is None else _ops.unbind(x, d)
            for x, d in zip(leaves, dims, strict=True)
        ]
        rows = [
            func(*tree_unflatten(row, shape), **kwargs)
            for row in _with_randomness(randomness, zip(*parts, strict=True))
        ]
        return _stacked(rows, out_dims)

    return call


def _with_randomness(randomness: str, rows):
    from .random import get_rng_state, set_rng_state

    state = get_rng_state() if randomness == "same" else None
    for row in rows:
        if state is not None:
            set_rng_state(state)
        yield row


def _dims_of(dims, tree) -> list:
    """For each leaf of a tree its dimension, where `dims` is a tree that may end earlier."""
    if isinstance(tree, dict):
        pairs = [(dims[k] if isinstance(dims, dict) else dims, v) for k, v in tree.items()]
    elif isinstance(tree, (list, tuple)):
        if isinstance(dims, (list, tuple)) and len(dims) != len(tree):
            raise ValueError(f"vmap: in_dims has {len(dims)} entries for {len(tree)} arguments")
        pairs = zip(dims if isinstance(dims, (list, tuple)) else (dims,) * len(tree), tree)
    else:
        return [dims if isinstance(tree, TensorBase) else None]
    return [d for one, part in pairs for d in _dims_of(one, part)]


def _stacked(rows: list, out_dims):
    if isinstance(out_dims, (list, tuple)):
        return tuple(_stacked([r[i] for r in rows], d) for i, d in enumerate(out_dims))

    def stack(*entries):
        if not isinstance(entries[0], TensorBase):
            raise ValueError(
                f"vmap: `{type(entries[0]).__name__}` is no tensor: the function must return tensors"
            )
        return entries[0] if out_dims is None else _ops.stack(entries, out_dims)

    return tree_map(stack, *rows)


# ---- modules


def stack_module_state(models):
    """(parameters, buffers) of equal modules, stacked by name: for vmap over functional_call."""
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if any(m.training != models[0].training for m in models):
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = _stack_by_name([dict(m.named_parameters()) for m in models])
    buffers = _stack_by_name([dict(m.named_buffers()) for m in models])
    return parameters, buffers


def _stack_by_name(dicts: list) -> dict:
    out = {}
    for name, x in dicts[0].items():
        stacked = _ops.detach(_ops.stack([d[name] for d in dicts], 0))
        out[name] = _ops.tensor_requires_grad_(stacked, x.requires_grad)
    return out
