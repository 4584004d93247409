"""Modules that hold modules: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from __future__ import annotations

import itertools
import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping, MutableMapping

from ..._tensor_type import TensorBase
from ..._warning import warn_each
from ..parameter import Parameter
from . import layers
from .calls import is_hooked
from .module import Module


class Container(Module):
    """What modules were before each could have others."""

    def __init__(self, **kwargs):
        warn_each(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. Subclass that "
            "instead.",
            FutureWarning,
        )
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Indexed(Module):
    """Members under the names "0", "1", ...; `_members` is the registry they are in."""

    @property
    def _members(self) -> dict:
        return self._modules

    def _get_abs_string_index(self, idx) -> str:
        """An index, which may count from the end, from the beginning."""
        n = len(self._members)
        idx = operator.index(idx)
        if not -n <= idx < n:
            raise IndexError(f"index {idx} is out of range")
        return str(idx % n)

    def _replace(self, members) -> None:
        registry = self._members
        registry.clear()
        registry.update((str(i), m) for i, m in enumerate(members))

    def __len__(self):
        return len(self._members)

    def __iter__(self):
        return iter(self._members.values())

    def __contains__(self, member):
        return any(member is m for m in self._members.values())

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        return list(self._members.values())[int(self._get_abs_string_index(idx))]

    def __setitem__(self, idx, module):
        self._set(list(self._members)[int(self._get_abs_string_index(idx))], module)

    def __delitem__(self, index):
        members = list(self)
        del members[index if isinstance(index, slice) else int(self._get_abs_string_index(index))]
        self._replace(members)

    def append(self, module):
        """Adds a member at the end."""
        self._add(str(len(self)), module)
        return self

    def _set(self, name, member) -> None:
        setattr(self, name, member)

    def _add(self, name, member) -> None:
        self.add_module(name, member)

    def extend(self, sequential):
        """Adds members at the end."""
        for member in sequential:
            self.append(member)
        return self

    def insert(self, index, module):
        """Adds a member before another."""
        members = list(self)
        members.insert(index, module)
        self._replace(members)

    def pop(self, key):
        """Takes a member out."""
        member = self[key]
        del self[key]
        return member

    def __iadd__(self, members):
        return self.extend(members)


class Sequential(_Indexed):
    """Runs its modules one after another.

    A Linear and the ReLU, Sigmoid or Tanh after it run as one kernel (functional.linear_activation),
    and so do a BatchNorm and the ReLU or ReLU6 after it (functional.batch_norm_relu), unless one of
    them has hooks or a forward of its own.
    """

    def __init__(self, *modules):
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], dict):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(modules):
                self.add_module(str(i), module)

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(dict(list(self._modules.items())[idx]))
        return self._get_item_by_idx(self._modules.values(), idx)

    def _get_item_by_idx(self, iterator, idx):
        """The entry at an index, among as many as there are modules."""
        return next(itertools.islice(iterator, int(self._get_abs_string_index(idx)), None))

    def insert(self, index, module):
        """Adds a module before another."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        super().insert(index, module)
        return self

    def __add__(self, other):
        return Sequential(*self, *_modules_of(other))

    def __iadd__(self, other):
        return self.extend(_modules_of(other))

    def __mul__(self, times):
        return Sequential(*list(self) * self._positive(times))

    __rmul__ = __mul__

    def __imul__(self, times):
        return self.extend(list(self) * (self._positive(times) - 1))

    def _positive(self, times) -> int:
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(self)}")
        return times

    def forward(self, input):
        layer = None  # has not run yet: one kernel may do the next module's work with it
        for module in self._modules.values():
            if layer is not None and type(module) in _TOGETHER[type(layer)] and _is_plain(module):
                input, layer = _run_both(layer, module, input), None
                continue
            if layer is not None:
                input, layer = layer(input), None
            if type(module) in _TOGETHER and _is_plain(module):
                layer = module
            else:
                input = module(input)
        return input if layer is None else layer(input)


def _modules_of(other) -> list:
    if not isinstance(other, Sequential):
        raise ValueError(
            f"add operator supports only objects of Sequential class, but {type(other)} is given."
        )
    return list(other)


# What runs as one kernel with what follows it. Classes derived from these are others: what they
# compute is not known here.
_NORMS = (layers.BatchNorm1d, layers.BatchNorm2d, layers.BatchNorm3d)
_RELUS = (layers.ReLU, layers.ReLU6)
_TOGETHER = {
    layers.Linear: (layers.ReLU, layers.Sigmoid, layers.Tanh),
    **dict.fromkeys(_NORMS, _RELUS),
}
# The forwards that the kernels stand for.
_FORWARDS = {cls: cls.forward for pair in _TOGETHER.items() for cls in (pair[0], *pair[1])}
_CALL = Module.__call__


def _run_both(layer: Module, follower: Module, input):
    if type(layer) in _NORMS:
        return layer._forward_relu(input, None, follower._limit)
    return layer._forward_activated(input, follower._activation)


def norm_relu(norm: Module, relu: Module, input, addend=None):
    """relu(norm(input) + addend), by one kernel where the modules have one and nobody looks between."""
    is_known = type(norm) in _NORMS and type(relu) in _RELUS
    if is_known and _is_plain(norm) and _is_plain(relu):
        return norm._forward_relu(input, addend, relu._limit)
    y = norm(input)
    return relu(y if addend is None else y + addend)


def _is_plain(module: Module) -> bool:
    """Whether nobody looks at what goes in and out: no hooks, and no code in place of ours."""
    cls = type(module)
    return (
        not is_hooked(module)
        and cls.forward is _FORWARDS[cls]
        and cls.__call__ is _CALL
        and "forward" not in module.__dict__
    )


class ModuleList(_Indexed):
    """A list of modules."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:  # a subclass may add to what extend does
            self.extend(modules)

    def extend(self, modules):
        """Adds modules at the end."""
        return super().extend(_iterable(self, "extend", "an iterable", modules))

    def __add__(self, other):
        return ModuleList(itertools.chain(self, other))

    def _shown_children(self):
        """Neighbours that look the same are shown once."""
        shown = []
        for text, group in itertools.groupby(super()._shown_children(), lambda child: child[1]):
            names = [name for name, _ in group]
            many = len(names) > 1
            name = f"{names[0]}-{names[-1]}" if many else names[0]
            shown.append((name, f"{len(names)} x {text}" if many else text))
        return shown


class _Entries(MutableMapping):
    """What a container holds, by name and in order: parameters, and any other objects as attributes."""

    def __init__(self, owner):
        self._owner, self._names = owner, owner._names

    def __getitem__(self, name):
        if name not in self._names:
            raise KeyError(name)
        return getattr(self._owner, name)

    def __setitem__(self, name, value):
        if not isinstance(name, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(name).__name__}')."
            )
        tensor = isinstance(value, TensorBase) and not isinstance(value, Parameter)
        setattr(self._owner, name, Parameter(value) if tensor else value)
        self._names[name] = None

    def __delitem__(self, name):
        del self._names[name]
        delattr(self._owner, name)

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)


class ParameterList(_Indexed):
    """A list of parameters; tensors become parameters, other objects stay as they are."""

    def __init__(self, values=None):
        super().__init__()
        self._names = {}
        if values is not None:  # a subclass may add to what extend does
            self.extend(values)

    @property
    def _members(self) -> _Entries:
        return _Entries(self)

    def _set(self, name, value) -> None:
        self._members[name] = value

    _add = _set

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")

    def append(self, value):
        """Adds a value at the end."""
        return super().append(value)

    def extend(self, values):
        """Adds values at the end."""
        return super().extend(_iterable(self, "extend", "an iterable", values))

    def extra_repr(self):
        return "\n".join(f"  ({i}): {_describe(p, 'dtype')}" for i, p in enumerate(self))


class _Named(Module):
    """Members under names of the user's."""

    @property
    def _members(self) -> dict:
        return self._modules

    def __len__(self):
        return len(self._members)

    def __iter__(self):
        return iter(self._members)

    def __contains__(self, name):
        return name in self._members

    def __getitem__(self, key):
        return self._members[key]

    def __setitem__(self, key, module):
        self._add(key, module)

    def __delitem__(self, key):
        del self._members[key]

    def _add(self, name, member):
        self.add_module(name, member)

    def keys(self):
        return self._members.keys()

    def values(self):
        return self._members.values()

    def items(self):
        return self._members.items()

    def clear(self) -> None:
        self._members.clear()

    def pop(self, key):
        return self._members.pop(key)

    def update(self, modules) -> None:
        """Adds the members of a dictionary or of (name, member) pairs."""
        _iterable(self, "update", "an iterable of key/value pairs", modules)
        pairs = modules.items() if hasattr(modules, "items") else modules
        for i, pair in enumerate(pairs):
            self._check_pair(f"{type(self).__name__} update sequence element #{i}", pair)
            name, member = pair
            self[name] = member

    @staticmethod
    def _check_pair(which: str, pair) -> None:
        if not isinstance(pair, Iterable):
            raise TypeError(f"{which} should be Iterable; is{type(pair).__name__}")
        if len(pair) != 2:
            raise ValueError(f"{which} has length {len(pair)}; 2 is required")


class ModuleDict(_Named):
    """A dictionary of modules."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:  # a subclass may add to what update does
            self.update(modules)


class ParameterDict(_Named):
    """A dictionary of parameters; tensors become parameters, other objects stay as they are."""

    def __init__(self, parameters=None):
        super().__init__()
        self._names = {}
        if parameters is not None:  # a subclass may add to what update does
            self.update(parameters)

    @property
    def _members(self) -> _Entries:
        return _Entries(self)

    def _add(self, name, value):
        self._members[name] = value

    def update(self, parameters) -> None:
        """Adds the parameters of a dictionary, a plain one's by the order of names, or of (name, parameter) pairs."""
        is_plain = isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict)
        super().update(sorted(parameters.items()) if is_plain else parameters)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterDict should not be called.")

    def __reversed__(self):
        return reversed(list(self))

    def __or__(self, other):
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other):
        joined = other.copy()
        joined.update(self)
        return joined

    def __ior__(self, other):
        self.update(other)
        return self

    def copy(self):
        """A dictionary of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def get(self, key, default=None):
        return self._members.get(key, default)

    def setdefault(self, key, default=None):
        """The parameter of a name, which is added if it is not there."""
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self):
        """Takes the last parameter out: its name, and it."""
        if not len(self):
            raise KeyError("popitem(): dictionary is empty")
        name = list(self)[-1]
        return name, self.pop(name)

    def fromkeys(self, keys, default=None):
        """A dictionary with one value under several names."""
        return ParameterDict((name, default) for name in keys)

    def extra_repr(self):
        return "\n".join(f"  ({name}): {_describe(p, 'type')}" for name, p in self.items())


def _iterable(owner: Module, method: str, what: str, members):
    is_list_of_tensor = method == "extend" and isinstance(members, TensorBase)
    if is_list_of_tensor or not isinstance(members, Iterable):
        raise TypeError(
            f"{type(owner).__name__}.{method} should be called with {what}, but got "
            + type(members).__name__
        )
    return members


def _describe(p, type_by: str) -> str:
    if not isinstance(p, TensorBase):
        return f"Object of type: {type(p).__name__}"
    kind = p.dtype if type_by == "dtype" else p.type()
    gpu = f" (GPU {p.get_device()})" if p.is_cuda else ""
    return f"Parameter containing: [{kind} of size {'x'.join(map(str, p.shape))}{gpu}]"
