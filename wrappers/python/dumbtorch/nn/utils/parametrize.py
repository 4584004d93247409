"""Parametrizations: a parameter or buffer that is computed from others whenever it is looked at.

The module gets a class of its own, with a property in place of the tensor, and the child `parametrizations`, which has
a ParametrizationList for each such tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from copy import deepcopy

from ... import _ops
from ..._tensor_type import TensorBase
from ...autograd.grad_mode import no_grad
from ..modules import ModuleDict, ModuleList
from ..parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization",
    "remove_parametrizations", "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip


class _Cache:
    depth = 0
    values: dict = {}


@contextmanager
def cached():
    """Inside, each parametrized tensor is computed once: while a graph is made, nothing should change."""
    _Cache.depth += 1
    try:
        yield
    finally:
        _Cache.depth -= 1
        if not _Cache.depth:
            _Cache.values = {}


def _register(module, name: str, x) -> None:
    register = module.register_parameter if isinstance(x, Parameter) else module.register_buffer
    register(name, x)


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in order, and what they begin with: `original`, or `original0`, `original1`,
    ... where the first one takes several tensors."""

    def __init__(self, modules, original, unsafe=False):
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        kind, shape = original.dtype, original.shape
        with no_grad():
            new = self._undone(original)
        if not isinstance(new, (TensorBase, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, TensorBase)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            self._keep_one(original, new)
        else:
            self._keep_several(original, new)
        if not unsafe:
            self._check(self(), kind, shape)

    def _undone(self, x):
        """What the parametrizations make x of; those without a right_inverse are taken for the identity."""
        for module in reversed(list(self)):
            try:
                x = module.right_inverse(x) if hasattr(module, "right_inverse") else x
            except NotImplementedError:
                pass
        return x

    def _keep_one(self, original, new) -> None:
        for what in ("dtype", "device"):
            before, after = getattr(original, what), getattr(new, what)
            if before != after:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                    f"original.{what}: {before}\nright_inverse(original).{what}: {after}"
                )
        _ops.tensor_set_data(original, _ops.detach(new))  # optimizers know this object
        _register(self, "original", original)

    def _keep_several(self, original, new) -> None:
        for i, x in enumerate(new):
            if not isinstance(x, TensorBase):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                    f"Got element {i} of the sequence with type {type(x).__name__}."
                )
            if isinstance(original, Parameter):
                x = Parameter(x, original.requires_grad)
            _register(self, f"original{i}", x)

    @staticmethod
    def _check(x, kind, shape) -> None:
        if not isinstance(x, TensorBase):
            raise ValueError(f"A parametrization must return a tensor. Got {type(x).__name__}.")
        for what, before, after in (("dtype", kind, x.dtype), ("shape", shape, x.shape)):
            if before != after:
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, unless "
                    f"`unsafe` flag is enabled.\nunparametrized {what}: {before}\n"
                    f"parametrized {what}: {after}"
                )

    def _originals(self) -> list:
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def forward(self):
        """The tensor."""
        first, *others = self
        x = first(*self._originals())
        for module in others:
            x = module(x)
        return x

    @no_grad()
    def right_inverse(self, value) -> None:
        """Sets the originals so that the tensor becomes `value`, as far as each right_inverse does that."""
        for module in reversed(list(self)):
            if not hasattr(module, "right_inverse"):
                raise RuntimeError(
                    f"parametrization {type(module).__name__} does not implement right_inverse."
                )
            value = module.right_inverse(value)
        if self.is_tensor:
            self._set_one(value)
        else:
            self._set_several(value)

    def _set_one(self, value) -> None:
        if not isinstance(value, TensorBase):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
        if value.dtype != self.original.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has "
                f"dtype {self.original.dtype}"
            )
        _ops.tensor_set_data(self.original, _ops.detach(value))

    def _set_several(self, value) -> None:
        if not isinstance(value, Sequence):
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}."
            )
        if len(value) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a "
                f"sequence of length {len(value)}."
            )
        for i, (x, original) in enumerate(zip(value, self._originals(), strict=True)):
            if not isinstance(x, TensorBase):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors or reference-type opaques. Got "
                    f"element {i} of type {type(x).__name__}."
                )
            if x.dtype != original.dtype:
                raise ValueError(
                    f"Tensor {i} returned by `right_inverse` has dtype {x.dtype} while `original{i}` "
                    f"has dtype {original.dtype}"
                )
            _ops.tensor_set_data(original, _ops.detach(x))


# ---- the module's class


def _no_pickles(self):
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _copied(self, memo):
    """A deep copy with a class of its own, so that either may lose its parametrizations."""
    out = memo[id(self)] = object.__new__(_derived(type(self).__bases__[0]))
    for name in self.parametrizations:
        setattr(type(out), name, _property(name))
    out.__dict__.update(deepcopy(self.__dict__, memo))
    return out


def _derived(cls: type) -> type:
    own = {"__getstate__": _no_pickles}
    if not hasattr(cls, "__deepcopy__"):
        own["__deepcopy__"] = _copied
    return type(f"Parametrized{cls.__name__}", (cls,), own)


def _property(name: str) -> property:
    def get(self):
        parametrization = self.parametrizations[name]
        if not _Cache.depth:
            return parametrization()
        key = id(self), name
        if key not in _Cache.values:
            _Cache.values[key] = parametrization()
        return _Cache.values[key]

    def set(self, value):
        self.parametrizations[name].right_inverse(value)

    return property(get, set)


def is_parametrized(module, tensor_name=None) -> bool:
    """Whether a tensor of the module, or any, is parametrized."""
    lists = getattr(module, "parametrizations", None)
    if not isinstance(lists, ModuleDict):
        return False
    return len(lists) > 0 if tensor_name is None else tensor_name in lists


def type_before_parametrizations(module) -> type:
    """The module's class as it was."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Makes the tensor parametrization(tensor), after those that it has. Its right_inverse, if there is one, makes the
    original of what the tensor is now. Unless unsafe, shape and dtype stay."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_next(module, tensor_name, parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        made = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.__class__ = _derived(type(module))
            module.parametrizations = ModuleDict()
        setattr(type(module), tensor_name, _property(tensor_name))
        module.parametrizations[tensor_name] = made
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with "
            f"name '{tensor_name}'"
        )
    return module


def _check_next(module, name: str, parametrization) -> None:
    """What a further parametrization makes of the tensor, and of that again, is like it."""
    now = getattr(module, name)
    new = parametrization(now)
    if not isinstance(new, TensorBase):
        raise ValueError(f"A parametrization must return a tensor. Got {type(new).__name__}.")
    for what in ("dtype", "shape"):
        before, after = getattr(now, what), getattr(new, what)
        if before != after:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless the "
                f"`unsafe` flag is enabled.\nmodule.{name}.{what}: {before}\n"
                f"parametrization(module.{name}).{what}: {after}"
            )
    try:
        back = (
            parametrization.right_inverse(new) if hasattr(parametrization, "right_inverse") else now
        )
    except NotImplementedError:
        return
    if not isinstance(back, TensorBase):
        raise ValueError(
            f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}"
        )
    for what in ("dtype", "shape"):
        before, after = getattr(now, what), getattr(back, what)
        if before != after:
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} as "
                f"module.{name}, unless the `unsafe` flag is enabled.\nmodule.{name}.{what}: {before}\n"
                f"returned {what}: {after}"
            )


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Makes an ordinary tensor of it again: of what it is now or, if leave_parametrized is False, of the original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    made = module.parametrizations[tensor_name]
    if not made.is_tensor and not leave_parametrized:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in "
            "terms of a sequence of tensors."
        )
    now = getattr(module, tensor_name)
    if made.is_tensor:
        tensor = made.original
        if leave_parametrized:
            _ops.tensor_set_data(tensor, _ops.detach(now))
    else:
        tensor = Parameter(now) if now.requires_grad else now
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, tensor)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Gives another module the same parametrizations, of one tensor or of all, and their originals."""
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        source = from_module.parametrizations[name]
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        for original in [*source._parameters, *source._buffers]:
            setattr(target, original, getattr(source, original))
    return to_module
