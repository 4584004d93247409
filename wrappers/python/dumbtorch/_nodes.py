"""The operations of a graph, to look at."""

from __future__ import annotations

import gc
import threading
import weakref

from . import _ops
from ._tensor_type import TensorBase


class GradFn:
    """The operation that made a tensor; for a leaf, what adds to its gradient. Each operation has a class of its
    name, which programs that draw graphs ask for."""

    __slots__ = ("_node",)
    requires_grad = True

    def __new__(cls, node):
        name = node.name().rpartition(":")[2]
        kind = _KINDS.get(name)
        if kind is None:
            kind = _KINDS[name] = type(name, (GradFn,), {"__slots__": (), "__module__": "builtins"})
        return object.__new__(kind)

    def __init__(self, node):
        self._node = node

    def name(self) -> str:
        return self._node.name()

    @property
    def next_functions(self) -> tuple:
        """For each input of the operation (what made it, which of its outputs it is), or (None, 0)."""
        node = self._node
        ends = [(i, node.next_output(i)) for i in range(node.next_count())]
        return tuple((None, 0) if n < 0 else (GradFn(node.next(i)), n) for i, n in ends)

    def __eq__(self, other):
        return hash(self) == hash(other) if isinstance(other, GradFn) else NotImplemented

    def __hash__(self):
        return self._node.address()


class AccumulateGrad(GradFn):
    """What adds to a leaf's gradient."""

    __slots__ = ("_is_gone",)
    __module__ = "builtins"

    @property
    def variable(self):
        """The leaf; None if it is gone, since a graph does not keep it, or cannot be found after gc.freeze()."""
        if getattr(self, "_is_gone", False):
            return None
        leaf = _leaf_at(hash(self))
        self._is_gone = leaf is None  # and no other node has this one's place while this keeps it
        return leaf

    def register_hook(self, hook):
        """Has backward call hook((), (gradient,)) each time after that gradient was added to the leaf's. The gradient
        is that of the tensor hooks that the leaf has now; those that it gets later are not seen."""
        from .autograd.graph import _MultiHandle

        leaf = self.variable
        if leaf is None:
            raise RuntimeError(
                "the leaf whose gradient this adds to is gone, or frozen by gc.freeze()"
            )
        key = object()

        def arrives(gradient):
            _arrived.gradients[_ops.autograd_current_backward(), key] = gradient

        def added(_):
            gradient = _arrived.gradients.pop((_ops.autograd_current_backward(), key))
            result = hook((), (gradient,))
            if result is not None and not isinstance(result, tuple):
                raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
            if result:
                name = getattr(hook, "__name__", "<unknown>")
                raise RuntimeError(
                    f"hook '{name}' has returned an incorrect number of values (got {len(result)}, but expected 0)"
                )

        before = leaf.register_hook(arrives)
        return _MultiHandle((before, leaf.register_post_accumulate_grad_hook(added)))


class _Arrived(threading.local):
    """The gradients that have come to leaves and are not added yet, by the numbers of their backwards and by hooks."""

    def __init__(self):
        self.gradients = {}


_arrived = _Arrived()


def forget_arrived() -> None:
    """Drops what came in backwards that are over, such as those of autograd.grad, which adds nothing."""
    if _arrived.gradients:
        # The one around those that are over, whose number is lower.
        running = _ops.autograd_current_backward()
        kept = {key: x for key, x in _arrived.gradients.items() if key[0] <= running}
        _arrived.gradients = kept


_KINDS: dict[str, type] = {"AccumulateGrad": AccumulateGrad}  # the classes of operations

# The leaves by the addresses of their nodes. A node does not know the object that is its leaf in Python, so all objects
# are looked through where it is not here; an address may have become another node's.
_leaves: weakref.WeakValueDictionary[int, TensorBase] = weakref.WeakValueDictionary()


def _leaf_at(address: int):
    leaf = _leaves.get(address)
    if leaf is None or _address_of(leaf) != address:
        # By type(), since what stands for another object may fail when it is asked for its class.
        tensors = [x for x in gc.get_objects() if issubclass(type(x), TensorBase)]
        for x in tensors:
            if _ops.tensor_is_leaf(x) and _ops.tensor_requires_grad(x):
                _leaves[_address_of(x)] = x
        leaf = _leaves.get(address)
    return leaf


def _address_of(leaf) -> int:
    return _ops.tensor_node(leaf).address()
