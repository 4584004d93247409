"""torch.library: operators of a program's own, which it calls by name (torch.ops) and differentiates."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from . import _missing, _ops
from ._tensor_type import TensorBase
from .autograd.function import Function
from .autograd.grad_mode import no_grad
from .autograd.graph import increment_version

__all__ = [
    "CustomOpDef",
    "custom_op",
    "ops",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
]
__getattr__ = _missing.getattr_of(__name__)

_definitions: dict[str, CustomOpDef] = {}  # by their names, "mine::op"


def custom_op(name: str, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """An operator of that name, "mine::op", whose function computes it without gradients; also a decorator.
    `mutates_args` lists what it writes. A `schema` takes the place of annotations, and is not read; `tags` change
    nothing."""

    def define(fn):
        definition = CustomOpDef(name, fn, mutates_args, schema is not None)
        if device_types is None:
            return definition
        definition._kernels = {}
        definition.register_kernel(device_types)(fn)
        return definition

    return define if fn is None else define(fn)


class CustomOpDef:
    """An operator of a program's own."""

    def __init__(self, name: str, fn, mutates_args, has_schema: bool = False):
        self._namespace, _, self._name = name.partition("::")
        if not self._name:
            raise ValueError(f"custom_op: the name must be like 'namespace::name', not {name!r}")
        self._qualname, self._init_fn = name, fn
        self._signature = _signature_of(fn, has_schema)
        names = tuple(self._signature.parameters) if mutates_args == "unknown" else mutates_args
        if isinstance(names, str):
            raise ValueError(
                "mutates_args must either be a sequence of the names of the arguments that are mutated or the string "
                "'unknown'. "
            )
        unknown = set(names) - set(self._signature.parameters)
        if unknown:
            raise ValueError(f"mutates_args: {fn.__name__} has no arguments {sorted(unknown)}")
        self._writes, self._written = bool(mutates_args), frozenset(names)
        self._kernels = {None: fn}  # by types of devices; None: of all
        self._backward = self._setup_context = None
        self._overload = f"{self._namespace}.{self._name}.default"
        self._function = type(
            f"GeneratedBackwardFor_{self._overload.replace('.', '_')}", (_Recorded,), {}
        )
        _definitions[name] = self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types, fn=None, /):
        """The function for tensors on devices of a type, or of several."""

        def register(fn):
            for device in _device_types(device_types):
                self._kernels[device] = fn
            return fn

        return register if fn is None else register(fn)

    def register_fake(self, fn, /):
        """Takes the function of shapes alone, for which there is no use: there are no tensors without memory."""
        return fn

    def register_vmap(self, func=None):
        """Takes the function of batches, for which there is no use: torch.vmap calls the operator for each entry."""
        return func if func is not None else lambda func: func

    def register_autograd(self, backward, /, *, setup_context=None) -> None:
        """backward(ctx, *grads) gives the gradients of the arguments, setup_context(ctx, inputs, output) keeps what it
        needs."""
        if self._writes:
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self}. Please create a functional "
                "operator and register an autograd formula for that."
            )
        self._backward, self._setup_context = backward, setup_context

    def __call__(self, *args, **kwargs):
        call = _Call(self, args, kwargs)
        if self._writes or not (
            _ops.is_grad_enabled()
            and any(isinstance(x, TensorBase) and x.requires_grad for x in call.leaves)
        ):
            return self._computed(call, call.leaves)
        made = self._function.apply(*call.leaves, call)
        return list(made) if call.gives_list else made

    def _computed(self, call: _Call, leaves):
        args, named = call.arguments(leaves)
        device = next((x.device.type for x in leaves if isinstance(x, TensorBase)), "cpu")
        kernel = self._kernels.get(device) or self._kernels.get(None)
        if kernel is None:
            raise NotImplementedError(
                f"{self._qualname} has no kernel for devices of type {device!r}"
            )
        with no_grad():
            made = kernel(*args, **named)
        increment_version(call.written)
        given = [x for x in leaves if isinstance(x, TensorBase)]
        for y in made if isinstance(made, (tuple, list)) else (made,):
            if isinstance(y, TensorBase):
                self._check_is_new(y, given)
                given.append(y)
        return made

    def _check_is_new(self, y, given: list) -> None:
        memory = y.untyped_storage().data_ptr()
        if memory and any(memory == x.untyped_storage().data_ptr() for x in given):
            raise RuntimeError(
                f"{self._name} (with implementation in {self._init_fn.__module__}): The output of this custom "
                "operator (1) must not also be an input to this custom operator and (2) may not alias any inputs to "
                "this custom operator or other returns. The most common way to trigger this error is if we have y = "
                "custom_op(x) and y and x are the same Tensor. Please instead return a clone of the offending output "
                "tensor(s) (e.g. return x.clone()) or refactor the custom operator to not return y."
            )


def _signature_of(fn, has_schema: bool) -> inspect.Signature:
    signature = inspect.signature(fn)
    for parameter in signature.parameters.values():
        if parameter.annotation is inspect.Parameter.empty and not has_schema:
            raise ValueError(
                f"infer_schema(func): Parameter {parameter.name} must have a type annotation. Got func with signature "
                f"{signature})"
            )
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ValueError(
                "infer_schema(func): We do not support positional-only args, varargs, or varkwargs."
            )
    return signature


def _device_types(given) -> Sequence:
    return (given,) if given is None or isinstance(given, str) else tuple(given)


class _Call:
    """The arguments of a call; tensors in lists are leaves of their own, which have gradients."""

    def __init__(self, definition: CustomOpDef, args: tuple, kwargs: dict):
        bound = definition._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        self.named, self.count = tuple(bound.kwargs), len(bound.args)
        self.leaves, self.lengths = [], []
        self.written = []  # tensors that the function may have written, also where the library cannot see it
        for name, value in bound.arguments.items():
            is_list = isinstance(value, (list, tuple)) and any(
                isinstance(x, TensorBase) for x in value
            )
            self.leaves += value if is_list else (value,)
            self.lengths.append(len(value) if is_list else None)
            if name in definition._written:
                self.written += [
                    x for x in (value if is_list else (value,)) if isinstance(x, TensorBase)
                ]
        self.definition, self.gives_list = definition, False

    def arguments(self, leaves) -> tuple:
        """(those by position, those by name) for these leaves."""
        values = self.by_argument(leaves)
        return values[: self.count], dict(zip(self.named, values[self.count :], strict=True))

    def gradients(self, found: tuple) -> list:
        """The gradients of the leaves, of which each list has one list."""
        name = f"{self.definition._function.__name__}Backward"
        if len(found) != self.count:
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected {self.count}, got {len(found)})"
            )
        flat = []
        for n, grad in zip(self.lengths, (*found, *(None,) * len(self.named)), strict=True):
            if n is not None and grad is not None and len(grad) != n:
                raise RuntimeError(
                    f"function {name} returned {len(grad)} gradients for a list of {n}"
                )
            flat += (grad,) if n is None else (None,) * n if grad is None else grad
        return flat

    def by_argument(self, leaves) -> tuple:
        """What is given for each leaf, in a list for each list."""
        left = iter(leaves)
        return tuple(
            next(left) if n is None else [next(left) for _ in range(n)] for n in self.lengths
        )


class _Recorded(Function):
    """A call in a graph. The call is the last of what is given."""

    @staticmethod
    def forward(ctx, *given):
        *leaves, call = given
        made = call.definition._computed(call, leaves)
        ctx._call, call.gives_list = call, isinstance(made, list)
        set_up = call.definition._setup_context
        if set_up is not None:
            args, named = call.arguments(leaves)
            by_name = {"keyword_only_inputs": named} if named else {}
            set_up(ctx=ctx, inputs=args, output=made, **by_name)
        call.leaves = call.written = ()  # backward has what was saved
        ctx.needs_input_grad = call.by_argument(ctx.needs_input_grad)[: call.count]
        return tuple(made) if call.gives_list else made

    @staticmethod
    def backward(ctx, *grads):
        call = ctx._call
        definition = call.definition
        if definition._backward is None:
            raise RuntimeError(
                f"Trying to backward through {definition._overload} but no autograd formula was registered. Please use "
                "register_autograd to add one."
            )
        found = (
            definition._backward(ctx, list(grads))
            if call.gives_list
            else definition._backward(ctx, *grads)
        )
        return (*call.gradients(found if isinstance(found, tuple) else (found,)), None)


# ---- by their names


def _named(op) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    if op not in _definitions:
        raise RuntimeError(f"there is no operator {op!r} of a program's own")
    return _definitions[op]


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """CustomOpDef.register_kernel of an operator or its name. `lib` changes nothing."""
    return _named(op).register_kernel(device_types, func)


def register_autograd(op, backward, /, *, setup_context=None, lib=None) -> None:
    """CustomOpDef.register_autograd of an operator or its name. `lib` changes nothing."""
    _named(op).register_autograd(backward, setup_context=setup_context)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """CustomOpDef.register_fake of an operator or its name; the other arguments change nothing."""
    definition = _named(op)
    return definition.register_fake if func is None else definition.register_fake(func)


def register_vmap(op, func=None, /, *, lib=None):
    """CustomOpDef.register_vmap of an operator or its name. `lib` changes nothing."""
    return _named(op).register_vmap(func)


class _Overload:
    """torch.ops.mine.op, and what it has under `default`."""

    def __init__(self, definition: CustomOpDef, said: str):
        self._definition, self._said = definition, said

    def __call__(self, *args, **kwargs):
        return self._definition(*args, **kwargs)

    def __repr__(self) -> str:
        return self._said

    @property
    def default(self) -> _Overload:
        return _Overload(self._definition, self._definition._overload)


class _Namespace:
    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> _Overload:
        definition = _definitions.get(f"{self._name}::{name}")
        if definition is None:
            reason = ": torch has its functions" if self._name in ("aten", "prims") else ""
            raise AttributeError(
                f"'_OpNamespace' '{self._name}' object has no attribute '{name}'{reason}"
            )
        return _Overload(definition, f"{self._name}.{name}")


class _Operators:
    """torch.ops: operators of a program's own by their names, as in torch.ops.mine.op."""

    def __getattr__(self, name: str) -> _Namespace:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Namespace(name)

    def load_library(self, path) -> None:
        """Libraries of operators are for PyTorch alone."""
        raise NotImplementedError("operators that are compiled for PyTorch are not loaded")


ops = _Operators()
