"""Pruning: parameters some of whose elements are kept at 0.

A pruned parameter `name` is name_orig, the parameter, times name_mask, a buffer, computed before each forward.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable

from ... import _ops
from ...utils.hooks import hooks_of
from . import convert_parameters
from ._derived import Derived, find, take_off


class BasePruningMethod(Derived):
    """Derive from it, set PRUNING_TYPE ("unstructured", "structured", then with a `dim`, or "global") and write
    compute_mask(t, default_mask), which says what is kept of t."""

    PRUNING_TYPE: str
    name = None

    @property
    def _tensor_name(self):
        return self.name

    @_tensor_name.setter
    def _tensor_name(self, name):
        self.name = name

    def compute_mask(self, t, default_mask):
        raise NotImplementedError

    def apply_mask(self, module):
        """The parameter times the mask."""
        if self.name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask, orig = (getattr(module, self.name + end) for end in ("_mask", "_orig"))
        return _ops.to(mask, dtype=orig.dtype) * orig

    compute = apply_mask

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prunes a parameter, further if it is pruned already, by the scores or else by its elements."""
        method, before = cls(*args, **kwargs), find(module, BasePruningMethod, name)
        method.name = name
        weight = getattr(module, name)
        scores = _scores(importance_scores, weight, f"parameter {name} of {module}")
        if before is not None:
            key, earlier = before
            del module._forward_pre_hooks[key]
            together = (
                earlier if isinstance(earlier, PruningContainer) else PruningContainer(earlier)
            )
            together.add_pruning_method(method)
            method = together
            mask = _ops.clone(_ops.detach(getattr(module, name + "_mask")))
        else:
            mask = _ops.ones_like(weight)
        mask = method.compute_mask(scores, default_mask=mask)
        if before is None:
            module.register_parameter(name + "_orig", weight)
            del module._parameters[name]
        module.register_buffer(name + "_mask", _ops.detach(mask))
        method(module, ())
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """A pruned copy of a tensor."""
        scores = _scores(importance_scores, t, "tensor t")
        default_mask = _ops.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=default_mask)

    def remove(self, module) -> None:
        """Makes the pruned values the parameter's own; the hook itself stays."""
        if self.name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = _ops.detach(self.apply_mask(module))
        orig = module._parameters[self.name + "_orig"]
        for end in ("", "_orig", "_mask"):
            delattr(module, self.name + end)
        _ops.tensor_set_data(orig, weight)
        setattr(module, self.name, orig)


def _scores(scores, tensor, what: str):
    if scores is None:
        return tensor
    if scores.shape != tensor.shape:
        raise AssertionError(
            f"importance_scores should have the same shape as {what}, got {scores.shape} vs {tensor.shape}"
        )
    return scores


class PruningContainer(BasePruningMethod):
    """Several methods, one after another."""

    def __init__(self, *methods):
        self._pruning_methods: tuple = ()
        if len(methods) == 1:
            self.name = methods[0].name
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method) -> None:
        """Adds a method for the same tensor."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self.name != method.name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self.name}' to "
                f"PruningContainer {self}. Found '{method.name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, index):
        return self._pruning_methods[index]

    def compute_mask(self, t, default_mask):
        """The mask after the last method, which looks at what the earlier ones have left."""
        method = self._pruning_methods[-1]
        part = _left(method, t, default_mask)
        mask = _ops.to(default_mask, dtype=t.dtype, copy=True)
        kept = method.compute_mask(t[part], default_mask=default_mask[part])
        mask[part] = _ops.to(kept, dtype=mask.dtype)
        return mask


def _left(method, t, mask):
    """The index of what is not pruned yet: elements, or whole channels."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "global":
        return (slice(None),) * t.ndim
    if method.PRUNING_TYPE != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    if not hasattr(method, "dim"):
        raise AttributeError(
            'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
        )
    dim = method.dim + t.ndim if method.dim < 0 else method.dim
    if dim < 0:
        raise IndexError(f"Index is out of bounds for tensor with dimensions {t.ndim}")
    return *(slice(None),) * dim, _ops.sum(mask, [d for d in range(t.ndim) if d != dim]) != 0


# ---- how much


def _validate_pruning_amount_init(amount) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    whole = isinstance(amount, numbers.Integral)
    if amount < 0 or not whole and not amount <= 1:
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
        )


def _validate_pruning_amount(amount, tensor_size: int) -> None:
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}"
        )


def _compute_nparams_toprune(amount, tensor_size: int) -> int:
    """The number of elements that a share or a number says."""
    return amount if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


class _WithAmount(BasePruningMethod):
    """`amount` is a share or a number of elements."""

    def __init__(self, amount):
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _count(self, size: int) -> int:
        _validate_pruning_amount(self.amount, size)
        return _compute_nparams_toprune(self.amount, size)


class _Unstructured(_WithAmount):
    """Elements by themselves: those with the lowest ranks."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        count = self._count(t.numel())
        mask = _ops.flatten(_ops.clone(_ops.contiguous(default_mask)))
        if count:
            ranks = _ops.flatten(self._ranks(_ops.detach(t)))
            mask[_ops.topk(ranks, count, largest=False)[1]] = 0
        return mask.reshape(default_mask.shape)


class RandomUnstructured(_Unstructured):
    """Elements at random."""

    def _ranks(self, t):
        return _ops.rand_like(t)

    @classmethod
    def apply(cls, module, name, amount):
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Unstructured):
    """The smallest elements."""

    def _ranks(self, t):
        return _ops.abs(t)

    @classmethod
    def apply(cls, module, name, amount, importance_scores=None):
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(_WithAmount):
    """Whole channels along dim: those with the lowest ranks."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t, default_mask):
        if t.ndim <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of "
                f"shape {t.shape} with {t.ndim} dims"
            )
        if self.dim >= t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.shape[self.dim]
        count = self._count(size)
        if not count:
            return default_mask
        best = _ops.topk(self._ranks(_ops.detach(t)), size - count)[1]
        mask = _ops.index_fill(_ops.zeros_like(t), self.dim, best, 1)
        return mask * _ops.to(default_mask, dtype=mask.dtype)


class RandomStructured(_Structured):
    """Channels at random."""

    def _ranks(self, t):
        return _ops.rand(t.shape[self.dim], device=t.device)

    @classmethod
    def apply(cls, module, name, amount, dim=-1):
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """The channels with the smallest n-norm."""

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def _ranks(self, t):
        return _ops.norm(t, self.n, [d for d in range(t.ndim) if d != self.dim % t.ndim])

    @classmethod
    def apply(cls, module, name, amount, n, dim, importance_scores=None):
        return super().apply(
            module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores
        )


class Identity(BasePruningMethod):
    """Nothing more than before."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return default_mask

    @classmethod
    def apply(cls, module, name):
        return super().apply(module, name)


class CustomFromMask(BasePruningMethod):
    """What a given mask says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * _ops.to(self.mask, dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module, name, mask):
        return super().apply(module, name, mask=mask)


# ---- functions


def identity(module, name):
    """Makes a parameter a pruned one, of which everything is left."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prunes elements at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prunes the smallest elements."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prunes channels along dim at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prunes the channels along dim with the smallest n-norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Prunes what the mask has as 0."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs) -> None:
    """Prunes elements of several parameters, (module, name) pairs, as if they were one."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    importance_scores = {} if importance_scores is None else importance_scores
    if not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    tensors = [(module, name, getattr(module, name)) for module, name in parameters]
    scores = [importance_scores.get((module, name), x) for module, name, x in tensors]
    masks = [getattr(m, name + "_mask", _ops.ones_like(x)) for m, name, x in tensors]
    vector = convert_parameters.parameters_to_vector
    mask = PruningContainer(method).compute_mask(vector(scores), vector(masks))
    start = 0
    for module, name, x in tensors:
        end = start + x.numel()
        custom_from_mask(module, name, mask[start:end].view_as(x))
        start = end


def remove(module, name):
    """Makes the pruned values the parameter's own."""
    take_off(
        module,
        BasePruningMethod,
        name,
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed",
    ).remove(module)
    return module


def is_pruned(module) -> bool:
    """Whether a parameter of the module, or of those below it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for each in module.modules()
        for hook in hooks_of(each, "_forward_pre_hooks").values()
    )
