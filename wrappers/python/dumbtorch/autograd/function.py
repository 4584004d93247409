"""Function: an operation of the user's with its own backward."""

from __future__ import annotations

import functools
import warnings

from .. import _missing, _ops
from .._tensor_type import Callback, TensorBase, own
from .._warning import warn_each
from .grad_mode import no_grad

__getattr__ = _missing.getattr_of(__name__)


class Context:
    """What forward leaves for backward; `ctx` in both."""

    def __init__(self, needs_input_grad: tuple[bool, ...]):
        self.needs_input_grad = needs_input_grad
        self._to_save: tuple = ()
        self._saved: tuple = ()
        self._not_differentiable: tuple = ()
        self._dirty: tuple = ()
        self._materialize = True

    def save_for_backward(self, *tensors) -> None:
        """Keeps tensors (or None) for backward, where they are ctx.saved_tensors."""
        for t in tensors:
            if t is not None and not isinstance(t, TensorBase):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument is of type "
                    f"{type(t).__name__}"
                )
        self._to_save = tensors

    @property
    def saved_tensors(self) -> tuple:
        return self._saved

    @property
    def saved_variables(self) -> tuple:
        """The old name of saved_tensors."""
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2
        )
        return self._saved

    def save_for_forward(self, *tensors) -> None:
        """Keeps tensors for jvp, which nobody calls."""

    def mark_non_differentiable(self, *outputs) -> None:
        """These outputs of forward get no gradient."""
        self._not_differentiable = outputs

    def mark_dirty(self, *inputs) -> None:
        """These inputs were written in place by forward, which returns them too."""
        self._dirty = inputs

    def set_materialize_grads(self, value: bool) -> None:
        """False: absent gradients reach backward as None instead of zeros."""
        self._materialize = value


FunctionCtx = BackwardCFunction = Context


class FunctionMeta(type):
    """The type of Function and of what derives from it."""


class Function(metaclass=FunctionMeta):
    """Derive from it, write static forward and backward, call .apply.

    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            (y,) = ctx.saved_tensors
            return grad * y
    """

    generate_vmap_rule = False  # vmap calls the function for each entry, whatever this says

    def __init__(self, *args, **kwargs):
        warn_each(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version of PyTorch.",
            DeprecationWarning,
        )

    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args, **kwargs):
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Where forward takes no ctx, this fills it instead."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grads):
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function "
            "to use it with backward mode AD."
        )

    vjp = backward  # another name for it

    @staticmethod
    def jvp(ctx, *tangents):
        """Never called: there is no forward mode."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward "
            "mode AD."
        )

    @classmethod
    def _backward(cls):
        written = [f for f in (cls.backward, cls.vjp) if f is not Function.backward]
        if len(written) > 1:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
                "should only implement one of them."
            )
        return written[0] if written else Function.backward

    @classmethod
    def apply(cls, *args, **kwargs):
        sets_up = cls.setup_context is not Function.setup_context
        if sets_up:
            args = _bound(cls.forward, args, kwargs)
        elif kwargs:
            args = _placed(cls.forward, args, kwargs)
        tensors = [a for a in args if isinstance(a, TensorBase)]
        ctx = Context(tuple(isinstance(a, TensorBase) and a.requires_grad for a in args))
        recording = _ops.is_grad_enabled() and any(ctx.needs_input_grad)
        with no_grad():
            if sets_up:
                result = cls.forward(*args)
                cls.setup_context(ctx, args, result)
            else:
                result = cls.forward(ctx, *args)
        outputs = result if isinstance(result, tuple) else (result,)
        if not all(_is_in(x, outputs) for x in ctx._dirty):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as "
                "output. The inputs that are modified inplace must all be outputs of the Function."
            )
        record = _record if recording else _record_nothing
        outputs = record(cls, ctx, args, tensors, outputs)
        return outputs if isinstance(result, tuple) else outputs[0]


def _bound(forward, args: tuple, kwargs: dict) -> tuple:
    """The arguments of a call by position, with defaults for those that are missing."""
    import inspect  # which importing the library does without

    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    for name in bound.kwargs:
        raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
    return bound.args


def _placed(forward, args: tuple, kwargs: dict) -> tuple:
    """The arguments of a call by position, of a forward that takes ctx. No defaults: backward gives a gradient for
    each argument that was given."""
    import inspect

    parameters = list(inspect.signature(forward).parameters.values())[1:]
    names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    for name in kwargs:
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if name in names[: len(args)]:
            raise TypeError(f"forward() got multiple values for argument '{name}'")
    placed = list(args)
    for name in names[len(args) : max(map(names.index, kwargs)) + 1]:
        if name not in kwargs:
            raise TypeError(
                f"forward() missing required argument: '{name}' (position {len(placed)})"
            )
        placed.append(kwargs[name])
    return tuple(placed)


class InplaceFunction(Function):
    """The old base class of functions that may write their inputs; they say so by ctx.mark_dirty."""

    def __init__(self, inplace=False):
        self.inplace = inplace


class NestedIOFunction(Function):
    """The old base class of functions whose forward and backward are methods, which PyTorch refuses as well."""

    @classmethod
    def apply(cls, *args):
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method."
        )


def once_differentiable(function):
    """For a backward whose gradients cannot be differentiated again: an attempt is an error."""

    @functools.wraps(function)
    def call(ctx, *grads):
        with no_grad():
            return function(ctx, *grads)

    return call


def _is_in(tensor, tensors) -> bool:
    return any(tensor is t for t in tensors)


def _record(cls, ctx: Context, args: tuple, tensors: list, outputs: tuple) -> tuple:
    """Puts the outputs into the graph, with cls.backward behind them."""
    places = [
        i for i, y in enumerate(outputs)
        if isinstance(y, TensorBase) and not _is_in(y, ctx._not_differentiable)
        and y.is_floating_point()
    ]  # fmt: skip
    out = _apart(outputs, tensors, ctx._dirty)
    plain = [out[i] for i in places]
    dirty = [y for y in plain if _is_in(y, ctx._dirty)]
    backward = Callback(_Backward(cls, ctx, args, outputs, places))
    name = f"{cls.__name__}Backward"
    made = _ops.custom_function(name, tensors, plain, ctx._to_save, backward, dirty)
    # The graph keeps ctx; a ctx that kept outputs would keep the graph, for ever.
    ctx._to_save = ctx._not_differentiable = ctx._dirty = ()
    one = {}  # what forward gives twice is one tensor in the graph, too
    for i, y in zip(places, made, strict=True):
        if not _is_in(outputs[i], tensors):
            y = one.setdefault(id(outputs[i]), y)
        out[i] = out[i] if _is_in(out[i], dirty) else y
    if places:
        own(out[places[0]], backward)
    return tuple(out)


def _record_nothing(cls, ctx: Context, args: tuple, tensors: list, outputs: tuple) -> tuple:
    """Outputs that no graph leads to: what was written is the output only if it requires no gradient."""
    return tuple(_apart(outputs, tensors, [x for x in ctx._dirty if not x.requires_grad]))


def _apart(outputs: tuple, inputs: list, dirty: list) -> list:
    """An input that forward returns as it is becomes an output of its own."""
    return [_ops.detach(y) if _is_in(y, inputs) and not _is_in(y, dirty) else y for y in outputs]


class _Backward:
    """Calls the user's backward with a gradient for each output and gives back one per tensor
    input.
    """

    def __init__(self, cls, ctx: Context, args: tuple, outputs: tuple, places: list[int]):
        self.function, self.ctx = cls, ctx
        self.is_tensor = [isinstance(a, TensorBase) for a in args]
        self.places = places
        # How to make zeros for an output that got no gradient, without keeping the output alive.
        self.zeros = [
            (tuple(y.shape), y.dtype, y.device) if isinstance(y, TensorBase) else None
            for y in outputs
        ]

    def __call__(self, grads: tuple, saved: tuple) -> list:
        ctx = self.ctx
        # Fresh for this call: the graph may run backward several times.
        ctx._saved = saved
        full: list = [None] * len(self.zeros)
        for i, g in zip(self.places, grads, strict=True):
            full[i] = g
        if ctx._materialize:
            full = [self._zeros(i) if g is None else g for i, g in enumerate(full)]
        try:
            result = self.function._backward()(ctx, *full)
        finally:
            ctx._saved = ()
        return self._for_inputs(result if isinstance(result, tuple) else (result,))

    def _zeros(self, i: int):
        if self.zeros[i] is None:
            return None
        shape, dtype, device = self.zeros[i]
        return _ops.zeros(shape, dtype=dtype, device=device)

    def _for_inputs(self, result: tuple) -> list:
        name = f"{self.function.__name__}Backward"
        n = len(self.is_tensor)
        if len(result) > n and any(g is not None for g in result[n:]) or len(result) < n:
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected {n}, got "
                f"{len(result)})"
            )
        out = []
        for i, (is_tensor, g) in enumerate(zip(self.is_tensor, result, strict=False)):
            if g is not None and not isinstance(g, TensorBase):
                raise RuntimeError(f"expected Variable or None (got {type(g).__name__})")
            if is_tensor:
                out.append(g)
            elif g is not None:
                raise RuntimeError(
                    f"function {name} returned a gradient different than None at position {i + 1}, "
                    "but the corresponding forward input was not a Variable"
                )
        return out
