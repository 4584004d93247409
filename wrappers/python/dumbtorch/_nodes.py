"""The operations of a graph, to look at."""

from __future__ import annotations

import gc
import weakref
from collections import namedtuple

from . import _ops
from ._tensor_type import Callback, TensorBase, own


class GradFn:
    """The operation that made a tensor; for a leaf, what adds to its gradient. Each operation has a class of its
    name, which programs that draw graphs ask for, and one object as long as that lives, whose id they write."""

    __slots__ = ("__weakref__", "_node", "_output")
    requires_grad = True

    def __new__(cls, node, output=None):
        address = node.address()
        known = _seen.get(address)
        if known is not None:
            return known
        name = node.name().rpartition(":")[2]
        kind = _KINDS.get(name)
        if kind is None:
            kind = _KINDS[name] = type(name, (GradFn,), {"__slots__": (), "__module__": "builtins"})
        made = _seen[address] = object.__new__(kind)
        made._node, made._output = node, _nothing
        return made

    def __init__(self, node, output=None):
        if output is not None:  # a tensor that it made, if it is still there
            self._output = weakref.ref(output)

    def name(self) -> str:
        return self._node.name()

    @property
    def next_functions(self) -> tuple:
        """For each input of the operation (what made it, which of its outputs it is), or (None, 0)."""
        node = self._node
        ends = [(i, node.next_output(i)) for i in range(node.next_count())]
        return tuple((None, 0) if n < 0 else (GradFn(node.next(i)), n) for i, n in ends)

    def register_hook(self, hook):
        """Has backward call hook(gradients of the inputs, gradients of the outputs) each time that it has gone through
        the operation; the tuple that it gives back, if not None, takes the first one's place."""
        return self._register(hook, before=False)

    def register_prehook(self, hook):
        """Has backward call hook(gradients of the outputs) each time before it goes through the operation; the tuple
        that it gives back, if not None, takes their place."""
        return self._register(hook, before=True)

    def _register(self, hook, before: bool):
        def call(grads, arrived):
            grads = tuple(grads)
            result = hook(grads) if before else hook(grads, tuple(arrived))
            if result is None or result is grads:
                return ()
            _check_result(hook, grads, result)
            return result

        callback = Callback(call)
        registered = self._node.register_hook(callback, before)
        output = self._made()
        if output is not None and _address_of(output) == hash(self):
            own(output, callback)
        return registered

    def _made(self):
        return self._output()

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

    def _made(self):
        return self.variable


def _check_result(hook, grads: tuple, result) -> None:
    name = getattr(hook, "__name__", "<unknown>")
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
    if len(result) != len(grads):
        raise RuntimeError(
            f"hook '{name}' has returned an incorrect number of values (got {len(result)}, but expected {len(grads)})"
        )
    for before, after in zip(grads, result, strict=True):
        if after is None:
            continue
        if before is None:
            raise RuntimeError("can't replace a None gradient with a non-None value")
        if not isinstance(after, TensorBase):
            raise TypeError(f"expected Variable, but hook returned '{type(after).__name__}'")
        if before.type() != after.type():
            raise RuntimeError(
                f"hook '{name}' has changed the type of value (was {before.type()} got {after.type()})"
            )
        if before.shape != after.shape:
            raise RuntimeError(f"hook '{name}' has changed the size of value")


def _nothing() -> None:
    """In the place of a weak reference."""


class GradientEdge(namedtuple("GradientEdge", "node output_nr ownership_token", defaults=[None])):
    """Where a tensor's gradient goes: the operation, and which of its outputs the tensor is. What autograd.grad and
    backward take it for is the tensor, which it keeps."""

    __slots__ = ()


# By their nodes' addresses, which are nobody else's as long as they live.
_seen: weakref.WeakValueDictionary[int, GradFn] = weakref.WeakValueDictionary()

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
