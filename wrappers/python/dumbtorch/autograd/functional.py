"""Derivatives of Python functions of tensors: products with their Jacobians and Hessians, and these
themselves."""

from __future__ import annotations

from .. import _missing, _ops
from .._tensor_type import TensorBase
from .grad_mode import enable_grad

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

# What strict mode refuses: gradients that are absent, and such as are the same for all inputs.
_NO_OUTPUT = "The output of the user-provided function is independent of input {i}. This is not allowed in strict mode."
_NO_ENTRY = (
    "The gradient with respect to the input is independent of entry {i} in the grad_outputs when using the double "
    "backward trick to compute forward mode gradients. This is not allowed in strict mode."
)
_NO_JACOBIAN = (
    "The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict "
    "mode."
)
_NO_HESSIAN = (
    "The hessian of the user-provided function is independent of entry {i} in the grad_jacobian. This is not allowed "
    "in strict mode as it prevents from using the double backward trick to replace forward mode AD."
)
_SAME_GRADIENT = (
    "The gradient with respect to input {i} is independent of the inputs of the user-provided function. This is not "
    "allowed in strict mode."
)
_SAME_JACOBIAN = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {i} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
    "example)."
)
_SAME_RESULT = (
    "The {what} of the user-provided function is independent of input {i}. This is not allowed in strict mode when "
    "create_graph=True."
)


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), v times its Jacobian); v is like the outputs, and 1 for a single number."""
    with enable_grad():
        call = _Call("vjp", func, inputs, create_graph, strict)
        v = call.vector(v, call.outputs, call.many_outputs, "the user-provided function returns")
        grads = _gradients(call.outputs, call.inputs, v, create_graph)
        grads = call.filled(grads, call.inputs, _NO_OUTPUT)
    return call.show_outputs(), call.show(grads, call.many_inputs)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), its Jacobian times v), by two backwards; v is like the inputs, and 1 for a single
    number."""
    with enable_grad():
        call = _Call("jvp", func, inputs, create_graph, strict)
        v = call.vector(
            v, call.inputs, call.many_inputs, "the input to the user-provided function is"
        )
        weights = _zeros_that_require_grad(call.outputs)
        grads = _gradients(call.outputs, call.inputs, weights, True)
        grads = call.filled_between(grads, _SAME_GRADIENT)
        out = _gradients(grads, weights, v, create_graph)
        out = call.filled(out, call.outputs, _NO_ENTRY)
    return call.show_outputs(), call.show(out, call.many_outputs)


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), v times its Hessian), of a function that gives one number."""
    with enable_grad():
        call = _Call("vhp", func, inputs, create_graph, strict)
        v = call.vector(
            v, call.inputs, call.many_inputs, "the input to the user-provided function is"
        )
        slopes = call.slopes()
        out = _gradients(slopes, call.inputs, v, create_graph)
        out = call.filled(out, call.inputs, _NO_JACOBIAN, "hessian")
    return call.show_outputs(), call.show(out, call.many_inputs)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), its Hessian times v), of a function that gives one number; vhp is faster."""
    with enable_grad():
        call = _Call("hvp", func, inputs, create_graph, strict)
        v = call.vector(
            v, call.inputs, call.many_inputs, "the input to the user-provided function is"
        )
        slopes = call.slopes()
        weights = _zeros_that_require_grad(call.inputs)
        twice = _zeros_for_absent(_gradients(slopes, call.inputs, weights, True), call.inputs)
        out = _gradients(twice, weights, v, create_graph)
        out = call.filled(out, call.inputs, _NO_HESSIAN, "hessian")
    return call.show_outputs(), call.show(out, call.many_inputs)


_STRATEGIES = ("forward-mode", "reverse-mode")
_WANTED = 'Expected strategy to be either "forward-mode" or "reverse-mode".'


def jacobian(
    func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"
):
    """The derivatives of each element of the outputs by each of the inputs: for output o and input i a
    tensor of shape o.shape + i.shape. A backward for each element of the outputs; `vectorize` and
    `strategy` change nothing."""
    if strategy not in _STRATEGIES:
        raise AssertionError(
            f'{_WANTED} Hint: If your function has more outputs than inputs, "forward-mode" tends to be more '
            'performant. Otherwise, prefer to use "reverse-mode".'
        )
    with enable_grad():
        call = _Call("jacobian", func, inputs, create_graph, strict)
        if strict and vectorize:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
                "Please either set `strict=False` or `vectorize=False`."
            )
        rows = [call.jacobian_of(i, y) for i, y in enumerate(call.outputs)]
        shown = tuple(call.show(row, call.many_inputs) for row in rows)
    return shown if call.many_outputs else shown[0]


def hessian(
    func,
    inputs,
    create_graph=False,
    strict=False,
    vectorize=False,
    outer_jacobian_strategy="reverse-mode",
):
    """The second derivatives of a function that gives one number: for inputs i and j a tensor of shape
    i.shape + j.shape."""
    many, inputs = _tuple("inputs", "hessian", inputs)
    if outer_jacobian_strategy not in _STRATEGIES:
        raise AssertionError(_WANTED)

    def number(*given):
        out = func(*given)
        outputs = _tuple("outputs of the user-provided function", "hessian", out)[1]
        if strict:
            _check_graph(outputs)
        _check_number(out, "hessian")
        return _ops.reshape(out, ())

    def slopes(*given):
        found = jacobian(number, given, create_graph=True)
        if strict:
            _check_depends(found, _SAME_JACOBIAN)
        return found

    found = jacobian(slopes, inputs, create_graph, strict, vectorize)
    return found if many else found[0][0]


class _Call:
    """One call of the user's function, on inputs that require grad."""

    def __init__(self, name: str, func, inputs, create_graph: bool, strict: bool):
        self.name, self.create_graph, self.strict = name, create_graph, strict
        self.many_inputs, inputs = _tuple("inputs", name, inputs)
        self.inputs = tuple(
            _ops.view_as(x, x) if create_graph and x.requires_grad
            else _ops.tensor_requires_grad_(_ops.detach(x))
            for x in inputs
        )  # fmt: skip
        outputs = func(*self.inputs)
        self.many_outputs, self.outputs = _tuple(
            "outputs of the user-provided function", name, outputs
        )
        if strict:
            _check_graph(self.outputs)

    def vector(self, v, like: tuple, many: bool, when: str) -> tuple:
        """What to multiply with."""
        if v is None:
            if len(like) != 1 or like[0].numel() != 1:
                end = "a single Tensor with a single element."
                raise RuntimeError(f"The vector v can only be None if {when} {end}")
            return (_ops.ones_like(like[0]),)
        _, v = _tuple("v", self.name, v)
        if len(v) != len(like):
            if not many:
                raise RuntimeError("The given v should contain a single Tensor.")
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}."
            )
        for i, (a, b) in enumerate(zip(v, like, strict=True)):
            if a.shape != b.shape:
                entry = f"Entry {i} in " if many else ""
                raise RuntimeError(
                    f"{entry}v has invalid size: should be {b.shape} but got {a.shape}."
                )
        return v if self.create_graph else tuple(_ops.detach(x) for x in v)

    def slopes(self) -> tuple:
        """The gradient of the only output, which is one number, with its graph."""
        _check_number(self.outputs if self.many_outputs else self.outputs[0], self.name)
        grads = _gradients(self.outputs, self.inputs, (None,), True)
        return self.filled_between(grads, _SAME_JACOBIAN)

    def jacobian_of(self, number: int, y) -> tuple:
        """For each input, the derivatives of an output's elements."""
        rows = []
        for element in _ops.unbind(_ops.reshape(y, (-1,)), 0):
            grads = _gradients((element,), self.inputs, (None,), self.create_graph, keep=True)
            absent = _NO_OUTPUT.replace("The output", f"Output {number}")
            rows.append(self.filled(grads, self.inputs, absent, output=number))
        return tuple(
            _ops.reshape(_ops.stack([row[i] for row in rows], 0), y.shape + x.shape)
            if rows else _ops.zeros_like(x).expand(y.shape + x.shape)
            for i, x in enumerate(self.inputs)
        )  # fmt: skip

    def filled(self, grads, like: tuple, absent: str, what="jacobian", output=None) -> tuple:
        """Zeros for absent gradients; strict mode refuses these, and a graph that does not come from the inputs."""
        for i, g in enumerate(grads):
            if self.strict and g is None:
                raise RuntimeError(absent.format(i=i))
            if self.strict and self.create_graph and not g.requires_grad:
                # PyTorch's jacobian says the output's number here.
                i = i if output is None else output
                raise RuntimeError(_SAME_RESULT.format(what=what, i=i))
        return _zeros_for_absent(grads, like)

    def filled_between(self, grads: tuple, same: str) -> tuple:
        """The same for gradients by the inputs that are to be derived once more."""
        if self.strict:
            _check_depends(grads, same)
        return _zeros_for_absent(grads, self.inputs)

    def show_outputs(self):
        return self.show(self.outputs, self.many_outputs)

    def show(self, tensors: tuple, many: bool):
        """Tensors as the user wants them: with a graph or without, in a tuple or not."""
        shown = tensors if self.create_graph else tuple(_ops.detach(x) for x in tensors)
        return shown if many else shown[0]


def _gradients(outputs: tuple, inputs: tuple, weights: tuple, create_graph: bool, keep=False):
    """One gradient for each input, None where there is none."""
    pairs = [(y, w) for y, w in zip(outputs, weights, strict=True) if y.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    outputs, weights = zip(*pairs, strict=True)
    return _ops.autograd_grad(outputs, inputs, weights, keep or create_graph, create_graph, True)


def _zeros_for_absent(grads: tuple, like: tuple) -> tuple:
    return tuple(_ops.zeros_like(x) if g is None else g for g, x in zip(grads, like, strict=True))


def _check_graph(outputs: tuple) -> None:
    for i, y in enumerate(outputs):
        if not y.requires_grad:
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in "
                "a differentiable manner from the input when running in strict mode."
            )


def _check_depends(grads: tuple, same: str) -> None:
    """Refuses gradients that are absent, or the same for all inputs."""
    for i, g in enumerate(grads):
        if g is None or not g.requires_grad:
            raise RuntimeError((_NO_OUTPUT if g is None else same).format(i=i))


def _zeros_that_require_grad(tensors: tuple) -> tuple:
    return tuple(_ops.tensor_requires_grad_(_ops.zeros_like(_ops.detach(x))) for x in tensors)


def _check_number(out, name: str) -> None:
    if not isinstance(out, TensorBase):
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if out.numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {name} should contain a single element"
        )


def _tuple(what: str, name: str, x) -> tuple[bool, tuple]:
    """(whether it was one, a tuple of tensors)."""
    many = isinstance(x, (tuple, list))
    out = tuple(x) if many else (x,)
    for i, entry in enumerate(out):
        if not isinstance(entry, TensorBase):
            which = f"value at index {i}" if many else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the "
                f"{which} has type {type(entry)}."
            )
    return many, out
