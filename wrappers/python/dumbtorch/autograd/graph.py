"""The graph: its operations to look at, what they save for backward, hooks on several gradients."""

from __future__ import annotations

import threading
import weakref
from contextlib import contextmanager

from .. import _missing, _ops
from .._native import ffi, lib
from .._nodes import GradFn as Node
from .._nodes import GradientEdge
from .._runtime import NULL, ffi_new, keep_alive, wrap
from .._tensor import Tensor
from .._tensor_type import TensorBase
from .._types import uint8

__getattr__ = _missing.getattr_of(__name__)


def get_gradient_edge(tensor) -> GradientEdge:
    """Where the gradient of a tensor that requires grad goes."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    kept = wrap(lib.py_alias(tensor._h))
    return GradientEdge(Node(_ops.tensor_node(tensor)), tensor.output_nr, kept)


def increment_version(tensor) -> None:
    """Counts a change of a tensor's memory, or of several tensors', that the library did not make."""
    for x in (tensor,) if isinstance(tensor, TensorBase) else tuple(tensor):
        _ops.zero_(_ops.as_strided(_ops.detach(x), (0,), (1,)))


# ---- what is saved for backward


class saved_tensors_hooks:
    """Within the block, operations keep pack_hook(tensor) for backward instead of each tensor that they save;
    unpack_hook makes a tensor with the same numbers of it, when backward asks."""

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        if _disabled.message is not None:
            raise RuntimeError(_disabled.message)
        unpack = self.unpack_hook
        _ops.autograd_push_saved_tensors_hooks(
            lambda x: _packed(self.pack_hook(x)), lambda kept: _unpacked(unpack, kept)
        )
        _disabled.depth += 1

    def __exit__(self, *error):
        _ops.autograd_pop_saved_tensors_hooks()
        _disabled.depth -= 1


class _Disabled(threading.local):
    """Whether this thread may use the hooks, and how many blocks it is in."""

    message = None
    depth = 0


_disabled = _Disabled()


@contextmanager
def disable_saved_tensors_hooks(error_message: str):
    """Within the block, saved_tensors_hooks is an error with this message."""
    before, _disabled.message = _disabled.message, error_message
    try:
        if _disabled.depth:
            raise RuntimeError(error_message)
        yield
    finally:
        _disabled.message = before


# The library keeps tensors. Another object is kept by the memory of one, whose address tells which it is.
_objects = {}


class _Kept:
    """An object, and the byte that stands for it."""

    def __init__(self, value):
        self.value, self.memory = value, ffi_new("uint8_t *")
        self.address = int(ffi.cast("intptr_t", self.memory))


def _packed(value):
    if type(value) is Tensor:
        return value
    kept = _Kept(value)
    _objects[kept.address] = weakref.ref(kept, lambda _, a=kept.address: _objects.pop(a, None))
    owner = keep_alive(kept)
    return wrap(lib.py_from_blob(kept.address, 1, (1,), 1, NULL, 0, uint8.number, owner))


def _unpacked(unpack_hook, tensor):
    kept = _objects.get(tensor.data_ptr()) if tensor.device.type == "cpu" else None
    out = unpack_hook(tensor if kept is None else kept().value)
    if not isinstance(out, TensorBase):
        raise TypeError(
            "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
            f"{type(out).__name__}"
        )
    return out


class save_on_cpu(saved_tensors_hooks):
    """Within the block, what operations save lies in the host's memory until backward asks for it.

    Args:
        pin_memory: Whether it is page-locked memory, to and from which copies do not wait.
        device_type: Of the tensors, in PyTorch; here it changes nothing.
    """

    def __init__(self, pin_memory=False, device_type="cuda"):
        from ..cuda import is_available

        pins = pin_memory and is_available()

        def pack(x):
            if not pins:
                return x.device, x.cpu()
            kept = _ops.empty(x.shape, dtype=x.dtype, device="cpu", pin_memory=True)
            return x.device, _ops.copy_(kept, x, non_blocking=True)

        super().__init__(pack, lambda packed: packed[1].to(packed[0], non_blocking=pins))


@contextmanager
def allow_mutation_on_saved_tensors():
    """Within the block, tensors that operations have saved may be written: what is saved is a copy."""
    if _mutation.allowed:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    _mutation.allowed = True
    try:
        with saved_tensors_hooks(_ops.clone, lambda copy: copy):
            yield
    finally:
        _mutation.allowed = False


class _Mutation(threading.local):
    allowed = False


_mutation = _Mutation()


@contextmanager
def region_activation_memory_budget(budget: float):
    """A setting of compiled programs, which changes nothing here."""
    if not 0 <= budget <= 1:
        raise ValueError(f"budget must be between 0 and 1, got {budget}")
    yield


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Changes nothing."""


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Changes nothing."""


# ---- hooks on several gradients


class _MultiHandle:
    """Takes hooks off, all at once: by remove(), or at the end of a `with` block."""

    def __init__(self, handles: tuple):
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Has backward call fn with the gradients of several tensors, a list with None for those that it does not come
    to, once it has them; or, in the mode "any", with the first."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    make = _first_of if mode == "any" else _all_of
    if mode == "any":
        tensors = tuple(x for x in tensors if x.requires_grad)
    hooks = make(fn, [_ops.tensor_node(x).address() for x in tensors])
    return _MultiHandle(tuple(x.register_hook(h) for x, h in zip(tensors, hooks, strict=True)))


def _first_of(fn, nodes):
    seen, lock = [0], threading.Lock()

    def hook(grad):
        run = _ops.autograd_current_backward()
        with lock:
            is_first, seen[0] = seen[0] != run, run
        if is_first:
            fn(grad)

    return [hook] * len(nodes)


def _all_of(fn, nodes):
    arrived, lock = {}, threading.Lock()  # by the number of the backward
    hooks = []  # weakly: each lives as long as the operation that it is a hook of

    def is_reached(i):
        return hooks[i]() is not None and _ops.autograd_is_reached(nodes[i])

    def hook_of(i):
        def hook(grad):
            run = _ops.autograd_current_backward()
            with lock:
                if run not in arrived:
                    count = sum(map(is_reached, range(len(nodes))))
                    arrived[run] = count, [None] * len(nodes)
                count, grads = arrived[run]
                grads[i] = grad
                missing = count - sum(g is not None for g in grads)
                if not missing:
                    del arrived[run]
            if not missing:
                fn(grads)

        return hook

    made = [hook_of(i) for i in range(len(nodes))]
    hooks += map(weakref.ref, made)
    return made
