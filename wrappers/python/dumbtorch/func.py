"""torch.func: functions of functions. Trees (dicts, lists and tuples) of tensors stand for tensors.

Gradients are those of backward, so a function may do whatever can be recorded. A result can be
differentiated again where an argument, or what the function uses besides, requires grad, or another
transform goes on around it.
"""

from __future__ import annotations

import functools
import threading
from contextlib import contextmanager

from . import _missing, _ops
from ._batching import strides
from ._functional_call import functional_call
from ._tensor_type import TensorBase
from ._vmap import check_randomness, vmap
from .autograd.functional import _gradients, _zeros_that_require_grad
from .autograd.grad_mode import enable_grad
from .utils._pytree import describe, tree_flatten, tree_map, tree_structure, tree_unflatten

__getattr__ = _missing.getattr_of(__name__)

__all__ = [
    "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "replace_all_batch_norm_modules_", "stack_module_state", "value_and_grad", "vjp", "vmap",
]  # fmt: skip


class _Levels(threading.local):
    """The transforms that are going on: of each the nodes at which the graphs of its leaves end, by their addresses,
    and those of the transforms that went on within it."""

    def __init__(self):
        self.ends = []


_levels = _Levels()


@contextmanager
def _inside():
    """Within a transform, whatever is computed may be differentiated by it. Gives whether the caller records."""
    recorded = _ops.is_grad_enabled()
    _levels.ends.append({})
    try:
        with enable_grad():
            yield recorded
    finally:
        inner = _levels.ends.pop()
        if _levels.ends:
            _levels.ends[-1] |= inner


class _Call:
    """A call of func(*args), differentiated by the arguments that argnums names (None: by all), for the
    function of this module that is called `name` in errors."""

    def __init__(self, name, func, args, argnums, has_aux, recorded, kwargs=None):
        chosen = _positions(argnums, len(args))
        given = [_fresh_tree(a) if i in chosen else a for i, a in enumerate(args)]
        self.given = (
            given[chosen[0]] if isinstance(argnums, int) else tuple(given[n] for n in chosen)
        )
        self.inputs, _ = tree_flatten(self.given)
        self.leaves = [x for x in self.inputs if x.is_leaf]
        self.ends = _levels.ends[-1]
        self.ends |= _by_address(self.leaves)
        versions = [x._version for x in self.inputs]
        out = func(*given, **(kwargs or {}))
        if [x._version for x in self.inputs] != versions:
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation."
            )
        self.aux = None
        if has_aux:
            if not isinstance(out, tuple) or len(out) != 2:
                raise RuntimeError(
                    f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True"
                )
            out, self.aux = out
        self.out = out
        # whether what comes out may be differentiated by somebody around it
        self.linked = len(_levels.ends) > 1 or _requires_grad(args) or self._uses_others(recorded)
        self.keep = recorded and self.linked

    def _uses_others(self, recorded: bool) -> bool:
        """Whether the function used something besides its arguments that requires grad, such as weights."""
        found = tree_flatten((self.out, self.aux))[0] if recorded else ()
        return any(isinstance(x, TensorBase) and _ends_elsewhere(x, self.ends) for x in found)

    def outputs(self, name: str) -> list:
        """The tensors that came out, and nothing else."""
        leaves, _ = tree_flatten(self.out)
        if not leaves or (len(leaves) == 1 and leaves[0] is None):
            raise RuntimeError(
                f"{name}: Expected f to be a function that has non-empty output (got output = {leaves})"
            )
        for x in leaves:
            if not isinstance(x, TensorBase):
                raise RuntimeError(
                    f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(x)}"
                )
        return leaves

    def gradients(self, outputs: list, weights: list, keep_graph: bool = False) -> list:
        """One for each input."""
        grads = _gradients(
            tuple(outputs), tuple(self.inputs), tuple(weights), self.keep, keep_graph
        )
        return [_ops.zeros_like(x) if g is None else g for g, x in zip(grads, self.inputs)]

    def zero_weights(self, outputs: list) -> tuple:
        """By which a backward of the outputs can be differentiated."""
        weights = _zeros_that_require_grad(tuple(outputs))
        self.leaves += weights
        self.ends |= _by_address(weights)
        return weights

    @contextmanager
    def differentiated(self):
        """The leaves made here require grad within it alone: nobody else differentiates by them."""
        self.require_grad(True)
        try:
            yield
        finally:
            self.require_grad(False)

    def require_grad(self, flag: bool) -> None:
        for x in self.leaves:
            _ops.tensor_requires_grad_(x, flag)

    def shown(self, tree):
        """Results as the caller sees them."""
        if self.keep and not self.leaves:
            return tree
        return tree_map(lambda x: x if self._is_linked(x) else _detached(x), tree)

    def _is_linked(self, x) -> bool:
        """Whether somebody around the call may differentiate x: by more than the leaves made here."""
        return self.keep and isinstance(x, TensorBase) and _ends_elsewhere(x, self.ends)

    def as_given(self, grads: list):
        return self.shown(tree_unflatten(grads, tree_structure(self.given)))


def _positions(argnums, count: int) -> tuple:
    if argnums is None:
        return tuple(range(count))
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if argnums == ():
        raise RuntimeError("argnums must be non-empty")
    chosen = tuple(
        _position(n, count) for n in ((argnums,) if isinstance(argnums, int) else argnums)
    )
    if len(set(chosen)) != len(chosen):
        raise RuntimeError(f"argnums elements must be unique, got {chosen}")
    return chosen


def _position(argnum, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def _fresh_tree(tree):
    return tree_map(_fresh, tree)


def _fresh(x):
    """A tensor of its own that requires grad, behind x if x does."""
    from ._batch import in_all_entries

    if not isinstance(x, TensorBase):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
    x = in_all_entries(x)
    return _ops.view_as(x, x) if x.requires_grad else _ops.tensor_requires_grad_(_ops.detach(x))


def _by_address(leaves) -> dict:
    """The nodes at which the graphs of leaves end."""
    nodes = [_ops.tensor_node(x) for x in leaves]
    return {node.address(): node for node in nodes}


def _ends_elsewhere(x, ends: dict) -> bool:
    """Whether the graph of x has a leaf other than these. All of it may be walked, so that nodes are not wrapped."""
    nodes, seen = [_ops.tensor_node(x)] if x.requires_grad else [], set()
    while nodes:
        node = nodes.pop()
        address = node.address()
        if address in seen:
            continue
        seen.add(address)
        count = node.next_count()
        if not count and address not in ends:
            return True
        nodes += [node.next(i) for i in range(count) if node.next_output(i) >= 0]
    return False


def _detached(x):
    return _ops.detach(x) if isinstance(x, TensorBase) else x


def _requires_grad(tree) -> bool:
    return any(isinstance(x, TensorBase) and x.requires_grad for x in tree_flatten(tree)[0])


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
    name = "grad_and_value(f)(*args)"

    @functools.wraps(func)
    def call(*args, **kwargs):
        with _inside() as recorded:
            made = _Call(name, func, args, argnums, has_aux, recorded, kwargs)
            _check_number(name, made.out)
            with made.differentiated():
                grads = made.gradients([made.out], [None])
        value = made.shown(made.out)
        return made.as_given(grads), ((value, made.shown(made.aux)) if has_aux else value)

    return call


def value_and_grad(func, argnums=0, has_aux: bool = False):
    """The function that gives (the value of func, its gradient)."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def call(*args, **kwargs):
        return both(*args, **kwargs)[::-1]

    return call


def _check_number(name: str, out) -> None:
    if not isinstance(out, TensorBase):
        raise RuntimeError(f"{name}: Expected f(*args) to return a Tensor, got {type(out)}")
    if out.ndim:
        raise RuntimeError(
            f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with "
            f"{out.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )


def vjp(func, *primals, has_aux: bool = False):
    """(func(*primals), a function that gives what is like its output times the Jacobian)."""
    name = "vjp(f, *primals)"
    with _inside() as recorded:
        made = _Call(name, func, primals, None, has_aux, recorded)
    outputs = made.outputs(name)
    made.require_grad(False)
    out, aux = made.shown(made.out), made.shown(made.aux)

    def product(cotangents, retain_graph=True, create_graph=None):
        _check_structure("cotangents", cotangents, made.out)
        weights, _ = tree_flatten(cotangents)
        _check_floating(outputs)
        with _inside() as recorded, made.differentiated():
            made.keep = recorded and (made.linked or _requires_grad(weights))
            grads = made.gradients(outputs, weights, keep_graph=True)
        return made.as_given(grads)

    return (out, product, aux) if has_aux else (out, product)


def _check_structure(what: str, tree, like) -> None:
    if tree_flatten(tree)[1] != tree_flatten(like)[1]:
        raise RuntimeError(
            f"Expected pytree structure of {what} to be the same as pytree structure of outputs to the "
            f"function. {what}: {describe(tree)}, primal output: {describe(like)}"
        )


def _check_floating(outputs: list) -> None:
    for x in outputs:
        if not x.is_floating_point():
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor "
                f"with dtype {x.dtype}"
            )


_JVP = "jvp(f, primals, tangents)"


def jvp(func, primals: tuple, tangents: tuple, *, strict: bool = False, has_aux: bool = False):
    """(func(*primals), its Jacobian times the tangents), by two backwards."""
    directions = _checked_tangents(primals, tangents)
    with _inside() as recorded:
        made = _Call(_JVP, func, primals, None, has_aux, recorded)
        outputs = made.outputs(_JVP)
        _, shape = tree_flatten(made.out)
        with made.differentiated():
            product = _Forward(made, outputs, strict)
            made.keep = recorded and (made.linked or _requires_grad(directions))
            found = product(directions)
    result = (made.shown(made.out), made.shown(tree_unflatten(found, shape)))
    return (*result, made.shown(made.aux)) if has_aux else result


def _checked_tangents(primals, tangents) -> list:
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    if tree_flatten(primals)[1] != tree_flatten(tangents)[1]:
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            "tuple of 3 tensors, tangents also must be. Got primals with structure "
            f"{describe(primals)} and tangents with structure {describe(tangents)}"
        )
    pairs = list(zip(tree_flatten(primals)[0], tree_flatten(tangents)[0], strict=True))
    if not pairs:
        raise RuntimeError(f"{_JVP}: Expected primals to contain at least one Tensor.")
    for pair in pairs:
        for what, x in zip(("primals", "tangents"), pair, strict=True):
            if not isinstance(x, TensorBase):
                raise RuntimeError(
                    f"{_JVP}: Expected {what} to only contain Tensors, got {type(x)}"
                )
            if not x.is_floating_point():
                raise ValueError(
                    f"Expected {what[:-1]} to be floating point or complex, but got: {x.dtype}"
                )
        if pair[0].shape != pair[1].shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is "
                f"not supported. Tensor is of size {list(pair[0].shape)} while the given forward gradient is of size "
                f"{list(pair[1].shape)}."
            )
    return [tangent for _, tangent in pairs]


class _Forward:
    """What makes of tangents the Jacobian of a call times them: the derivative, by weights, of a backward, which
    is linear in them."""

    def __init__(self, made: _Call, outputs: list, strict: bool = False):
        if strict and not all(y.requires_grad for y in outputs):
            raise RuntimeError(
                f"{_JVP[:-1]}, strict=True): The output of f is independent of the inputs. This is not allowed "
                "with strict=True."
            )
        self.made = made
        self.weights = made.zero_weights(outputs)
        made.keep = True
        self.grads = tuple(made.gradients(outputs, list(self.weights)))

    def __call__(self, directions: list, again: bool = False) -> list:
        return self._along(self.grads, tuple(directions), again)

    def by_elements(self, i: int) -> list:
        """The derivatives by each element of an input. Of the others nothing comes: not their zeros times infinity."""
        x = self.made.inputs[i]
        ones = _ops.eye(x.numel(), dtype=x.dtype, device=x.device)
        directions = _ops.unbind(_ops.reshape(ones, (x.numel(), *x.shape)), 0)
        return [self._along((self.grads[i],), (d,), True) for d in directions]

    def _along(self, grads: tuple, directions: tuple, again: bool) -> list:
        found = _gradients(grads, self.weights, directions, self.made.keep, again)
        return [_ops.zeros_like(w) if g is None else g for g, w in zip(found, self.weights)]


def functionalize(func, *, remove="mutations"):
    """The function itself: it gives the same without changes in place as with them."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            "functionalize(f, remove='mutations'): Valid options for inputs are: "
            "functionalize(f, remove='mutations'), or functionalize(f, remove='mutations_and_views')."
        )
    return func


def linearize(func, *primals):
    """(func(*primals), its Jacobian there as a function of tangents). func is called once."""
    with _inside() as recorded:
        made = _Call("linearize(f, *primals)", func, primals, None, False, recorded)
        keep = made.keep  # which making the forward derivative sets
        outputs, shape = tree_flatten(made.out)
        forward = _Forward(made, outputs)
        made.keep = keep
    made.require_grad(False)
    out = made.shown(made.out)

    def product(*tangents):
        if tree_flatten(tangents)[1] != tree_flatten(primals)[1]:
            raise RuntimeError(
                f"Expected the tangents {describe(tangents)} to have the same argspec as the primals "
                f"{describe(primals)}"
            )
        directions, _ = tree_flatten(tangents)
        _check_tangents(directions, made.inputs)
        with _inside() as recorded, made.differentiated():
            made.keep = recorded and (made.linked or _requires_grad(directions))
            found = forward(directions, again=True)
        return made.shown(tree_unflatten(found, shape))

    return out, product


def _check_tangents(tangents: list, primals: list) -> None:
    for i, (t, p) in enumerate(zip(tangents, primals, strict=True)):
        for what in ("shape", "device", "dtype"):
            if getattr(t, what) != getattr(p, what):
                raise RuntimeError(
                    f"tangent:{i} with {what} {getattr(t, what)} in flattened pytree doesn't match the {what} "
                    f"{getattr(p, what)} of the corresponding primal."
                )


def jacrev(
    func, argnums=0, has_aux: bool = False, *, chunk_size=None, _preallocate_and_copy: bool = False
):
    """The function that gives the Jacobian of func: for output o and input i a tensor of shape o.shape +
    i.shape. A backward for each element of the output."""
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    def rows(made: _Call, outputs: list) -> list:
        _check_floating(outputs)
        return [_rows(made, y) for y in outputs]

    return _jacobian("vjp(f, *primals)", func, argnums, has_aux, rows)


def jacfwd(func, argnums=0, has_aux: bool = False, *, randomness: str = "error"):
    """The same as jacrev. A derivative forwards for each element of the inputs."""
    check_randomness(randomness)
    return _jacobian(_JVP, func, argnums, has_aux, _columns)


def _jacobian(name: str, func, argnums, has_aux: bool, derivatives):
    @functools.wraps(func)
    def call(*args, **kwargs):
        with _inside() as recorded:
            made = _Call(name, func, args, argnums, has_aux, recorded, kwargs)
            outputs = made.outputs(name)
            _, shape = tree_flatten(made.out)
            with made.differentiated():
                by_output = derivatives(made, outputs)
        found = tree_unflatten([made.as_given(by_inputs) for by_inputs in by_output], shape)
        return (found, made.shown(made.aux)) if has_aux else found

    return call


def _stacked(parts: list, like: tuple):
    """Tensors of one size along a new first dimension. Each lies in memory in the order that these strides are of."""
    order = sorted(range(len(like)), key=lambda d: -like[d])
    if 0 in like or order == [*range(len(like))]:
        return _ops.stack(parts, 0)
    ordered = _ops.stack([_ops.permute(x, order) for x in parts], 0)
    return _ops.permute(ordered, (0, *(1 + order.index(d) for d in range(len(like)))))


def _rows(made: _Call, y) -> list:
    """For each input, the derivatives of an output's elements."""
    elements = _ops.unbind(_ops.reshape(y, (-1,)), 0)
    rows = [made.gradients([element], [None], keep_graph=True) for element in elements]
    return [
        _ops.reshape(_stacked([row[i] for row in rows], strides(rows[0][i])), y.shape + x.shape)
        if rows else _ops.zeros(y.shape + x.shape, dtype=x.dtype, device=x.device)
        for i, x in enumerate(made.inputs)
    ]  # fmt: skip


def _columns(made: _Call, outputs: list) -> list:
    """For each output, and for each input, the derivatives by the input's elements."""
    moving = [y for y in outputs if y.requires_grad]
    keep = made.keep  # which making the forward derivative sets
    forward = _Forward(made, moving)
    made.keep = keep
    columns = [forward.by_elements(i) for i in range(len(made.inputs))]
    place = {id(y): n for n, y in enumerate(moving)}

    def by_input(y, i: int):
        x = made.inputs[i]
        if id(y) not in place or not columns[i]:
            return _ops.zeros(y.shape + x.shape, dtype=y.dtype, device=y.device)
        of_output = [column[place[id(y)]] for column in columns[i]]
        by_element = _ops.movedim(_stacked(of_output, strides(y)), 0, -1)
        return _ops.reshape(by_element, y.shape + x.shape)

    return [[by_input(y, i) for i in range(len(made.inputs))] for y in outputs]


def hessian(func, argnums=0):
    """The function that gives the second derivatives of func."""
    return jacfwd(jacrev(func, argnums), argnums)


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


def replace_all_batch_norm_modules_(root):
    """root, whose batch norms have no running statistics from now on: these would be written for each of a batch."""
    from .nn.modules.batchnorm import _BatchNorm

    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def _stack_by_name(dicts: list) -> dict:
    out = {}
    for name, x in dicts[0].items():
        if any(d[name].requires_grad != x.requires_grad for d in dicts):
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        stacked = _ops.detach(_ops.stack([d[name] for d in dicts], 0))
        out[name] = _ops.tensor_requires_grad_(stacked, x.requires_grad)
    return out
