"""checkpoint: a part of a model that keeps only its inputs, and is computed again in backward."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, nullcontext

from .. import _missing, _ops
from .._tensor_type import TensorBase
from .._warning import warn_each
from ..amp.autocast_mode import (
    autocast,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_enabled,
)
from ..autograd import backward
from ..autograd.function import Function, once_differentiable
from ..autograd.grad_mode import enable_grad
from ..autograd.graph import saved_tensors_hooks
from ..random import fork_rng, get_rng_state, set_rng_state
from ._pytree import tree_flatten, tree_unflatten

__getattr__ = _missing.getattr_of(__name__)

__all__ = [
    "CheckpointError", "CheckpointFunction", "check_backward_validity", "checkpoint", "checkpoint_sequential",
    "detach_variable", "get_device_states", "noop_context_fn", "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop", "set_device_states",
]  # fmt: skip


class CheckpointError(RuntimeError):
    """The call in backward saved other tensors than the first."""


class _Saved:
    """What a call saved for its backward, in numbers alone: sizes, dtypes, devices."""

    def __init__(self):
        self.metadata = []

    def hooks(self):
        return saved_tensors_hooks(self._pack, lambda x: x)

    def _pack(self, x):
        self.metadata.append({"shape": x.shape, "dtype": x.dtype, "device": x.device})
        return x

    def check(self, again: _Saved, early_stop: bool) -> None:
        """What is saved after the last that the first call saved does not matter to one that stops early."""
        first, second = self.metadata, again.metadata
        if len(second) > len(first) and not early_stop:
            raise CheckpointError(
                "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                "forward pass."
            )
        if len(second) < len(first):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(first)}\n"
                f"Number of tensors saved during recomputation: {len(second)}."
            )
        different = [
            f"tensor at position {i}:\nsaved metadata: {a}\nrecomputed metadata: {b}\n"
            for i, (a, b) in enumerate(zip(first, second, strict=False))
            if a != b
        ]
        if different:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                f"during the forward pass.\n{''.join(different)}."
            )


class _Again(Function):
    """Gives `made`, the detached outputs of a call, on; its backward makes the call again. `trigger`
    requires grad where none of the inputs does."""

    @staticmethod
    def forward(ctx, call, made, differentiable, trigger, *tensors):
        ctx.call = call
        ctx.mark_non_differentiable(
            *(y for y, d in zip(made, differentiable, strict=True) if not d)
        )
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        return made

    @staticmethod
    @once_differentiable
    def backward(ctx, *grads):
        inputs, out = _made_again(ctx.call, ctx.saved_tensors)
        outputs = _tensors(tree_flatten(out)[0])
        pairs = [
            (y, g) for y, g in zip(outputs, grads, strict=True) if y.requires_grad and g is not None
        ]
        if pairs:
            backward(*map(list, zip(*pairs, strict=True)))
        return None, None, None, None, *(x.grad for x in inputs)


class CheckpointFunction(Function):
    """The older way: the call is made without a graph, and what it gives requires grad whatever it did."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        if not any(x.requires_grad for x in _tensors(args)):
            warn_each("None of the inputs have requires_grad=True. Gradients will be None")
        told = {"keeps_random_state": preserve_rng_state}
        ctx.call = _Call(run_function, args, {}, nullcontext(), **told)
        ctx.save_for_backward(*_tensors(args))
        return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        if _ops.autograd_has_targets():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        inputs, outputs = _made_again(ctx.call.again_of, ctx.saved_tensors)
        outputs = (outputs,) if isinstance(outputs, TensorBase) else outputs
        pairs = [
            (y, g) for y, g in zip(outputs, grads, strict=True)
            if isinstance(y, TensorBase) and y.requires_grad
        ]  # fmt: skip
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        backward(*map(list, zip(*pairs, strict=True)))
        return None, None, *(None if x is None else x.grad for x in ctx.call.in_place_of(inputs))


def _made_again(call, saved) -> tuple:
    """Leaves that stand for the inputs of a call, and what it makes of them."""
    inputs = [_ops.tensor_requires_grad_(_ops.detach(x), x.requires_grad) for x in saved]
    with enable_grad():
        return inputs, call(inputs)


class _Call:
    """function(*args, **kwargs), which can be made again: in the regions of now, and `in_backward`, with the random
    numbers of now. It keeps none of the tensors among its arguments: the node does, and notices their changes."""

    def __init__(self, function, args, kwargs, in_backward, *, keeps_random_state: bool):
        arguments = [*args, *kwargs.values()]
        self.function, self.count, self.names = function, len(args), tuple(kwargs)
        self.arguments = [None if isinstance(a, TensorBase) else a for a in arguments]
        self.places = [i for i, a in enumerate(arguments) if isinstance(a, TensorBase)]
        self.regions, self.in_backward = _regions(), in_backward
        self.states = _random_states() if keeps_random_state else None

    def in_place_of(self, values) -> list:
        """A value for each argument that is a tensor, None for others."""
        given = [None] * len(self.arguments)
        for i, x in zip(self.places, values, strict=True):
            given[i] = x
        return given

    def of(self, tensors):
        given = [
            a if x is None else x
            for a, x in zip(self.arguments, self.in_place_of(tensors), strict=True)
        ]
        named = dict(zip(self.names, given[self.count :], strict=True))
        return self.function(*given[: self.count], **named)

    def again_of(self, tensors):
        with ExitStack() as stack:
            for region in self.regions:
                stack.enter_context(region)
            if self.states is not None:
                stack.enter_context(fork_rng())
                _set_random_states(self.states)
            stack.enter_context(self.in_backward)
            return self.of(tensors)


class _CheckedCall(_Call):
    """One that has to save the same when it is made again."""

    def __init__(self, *args, early_stop: bool, **options):
        super().__init__(*args, **options)
        self.saved, self.early_stop = None, early_stop

    def of(self, tensors):
        now = _Saved()
        with now.hooks():
            out = super().of(tensors)
        if self.saved is None:
            self.saved = now
        else:
            self.saved.check(now, self.early_stop)
        return out


_REENTRANT = (
    "torch.utils.checkpoint{}: the use_reentrant parameter should be passed explicitly. {} use_reentrant=False is "
    "recommended, but if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to "
    "docs for more details on the differences between the two variants."
)


def noop_context_fn():
    """Two regions in which all is as it was."""
    return nullcontext(), nullcontext()


@contextmanager
def set_checkpoint_debug_enabled(enabled):
    """Changes nothing: nothing is printed."""
    yield


@contextmanager
def set_checkpoint_early_stop(enable: bool):
    """Changes nothing: the call in backward goes to its end."""
    yield


def checkpoint(
    function, *args, use_reentrant=None, context_fn=noop_context_fn, determinism_check="default", debug=False,
    early_stop=True, preserve_rng_state=True, **kwargs,
):  # fmt: skip
    """function(*args, **kwargs), whose intermediate results are computed again in backward, with the same
    random numbers and in the same regions of autocast; `context_fn` gives two more, for the call and for that in
    backward. It may return tensors in lists, tuples and dicts, among other things.

    With use_reentrant=False its inputs need not require grad, and that the call in backward saves tensors of other
    sizes than the first is an error; with True the first is made without a graph. The gradients of what the function
    uses besides its arguments, such as parameters, go to their .grad: backward() finds them, autograd.grad does not.
    """
    if use_reentrant is None:
        future = "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception."
        warn_each(_REENTRANT.format("", future))
        use_reentrant = True
    if use_reentrant:
        _check_reentrant(kwargs, context_fn, debug)
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check should be one of ['default', 'none'], but got {determinism_check}"
        )
    once, again = context_fn()
    if not _ops.is_grad_enabled():
        return function(*args, **kwargs)
    told = {"keeps_random_state": preserve_rng_state}
    if determinism_check == "none":
        call = _Call(function, args, kwargs, again, **told)
    else:
        call = _CheckedCall(function, args, kwargs, again, early_stop=early_stop, **told)
    tensors = _tensors([*args, *kwargs.values()])
    with once:
        out = call.of(tensors)
    return _made_again_in_backward(out, call, tensors)


def _made_again_in_backward(out, call: _Call, tensors: list):
    """What a call gave, with a graph that has nothing of the call but its inputs."""
    leaves, shape = tree_flatten(out)
    outputs = _tensors(leaves)
    if not any(y.requires_grad for y in outputs):
        return out
    made = tuple(_ops.detach(y) for y in outputs)
    trigger = _ops.zeros((), requires_grad=True)
    differentiable = [y.requires_grad for y in outputs]
    made = iter(_Again.apply(call.again_of, made, differentiable, trigger, *tensors))
    leaves = [next(made) if isinstance(y, TensorBase) else y for y in leaves]
    return tree_unflatten(leaves, shape)


def checkpoint_sequential(
    functions, segments, input, use_reentrant=None, preserve_rng_state=True, **kwargs
):
    """A Sequential, or a list of functions, in so many segments; each but the last is checkpointed."""
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant is None:
        future = "In version 2.9 we will raise an exception if use_reentrant is not passed."
        warn_each(_REENTRANT.format(".checkpoint_sequential", future))
        use_reentrant = True
    functions = list(functions)
    size = len(functions) // segments

    def run(part):
        def forward(x):
            for function in part:
                x = function(x)
            return x

        return forward

    for start in range(0, size * (segments - 1), size):
        part = functions[start : start + size]
        input = checkpoint(
            run(part), input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state
        )
    return run(functions[size * (segments - 1) :])(input)


def _check_reentrant(kwargs: dict, context_fn, debug) -> None:
    """What the older way refuses."""
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError(
            "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
        )


def _tensors(leaves) -> list:
    return [y for y in leaves if isinstance(y, TensorBase)]


def _regions() -> list:
    """What autocast is now, to be entered again."""
    return [
        autocast(
            kind, get_autocast_dtype(kind), is_autocast_enabled(kind), is_autocast_cache_enabled()
        )
        for kind in ("cpu", "cuda")
        if is_autocast_available(kind)
    ]


def _random_states() -> list:
    from .. import cuda

    return [get_rng_state(), *cuda.get_rng_state_all()]


def _set_random_states(states: list) -> None:
    from .. import cuda

    set_rng_state(states[0])
    cuda.set_rng_state_all(states[1:])


# ---- what functions of others that compute again are made of


def detach_variable(inputs: tuple) -> tuple:
    """The tensors of a tuple outside the graph, leaves that require a gradient where those did; the rest as it is."""
    if not isinstance(inputs, tuple):
        kind = type(inputs).__name__
        raise RuntimeError(
            f"Only tuple of tensors is supported. Got Unsupported input type: {kind}"
        )
    return tuple(
        x.detach().requires_grad_(x.requires_grad) if isinstance(x, TensorBase) else x
        for x in inputs
    )


def check_backward_validity(inputs) -> None:
    """Warns where none of the tensors requires a gradient."""
    if not any(x.requires_grad for x in inputs if isinstance(x, TensorBase)):
        warn_each("None of the inputs have requires_grad=True. Gradients will be None")


def get_device_states(*args) -> tuple[list[int], list]:
    """The GPUs of the tensors among the arguments, each as often as there is a tensor, and their random states."""
    from .. import cuda

    devices = [x.get_device() for x in _tensors(tree_flatten(args)[0]) if x.is_cuda]
    return devices, [cuda.get_rng_state(d) for d in devices]


def set_device_states(devices, states, *, device_type=None) -> None:
    """Puts the states back."""
    from .. import cuda

    for device, state in zip(devices, states, strict=False):
        cuda.set_rng_state(state, device)
