"""Modules that hold modules: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from __future__ import annotations

import itertools

from ..parameter import Parameter
from . import layers
from .module import Module


class _Indexed(Module):
    """Members under the names "0", "1", ...; `_members` is the registry they are in."""

    @property
    def _members(self) -> dict:
        return self._modules

    def _key(self, index) -> str:
        n = len(self._members)
        index = index.__index__()
        if not -n <= index < n:
            raise IndexError(f"index {index} is out of range")
        return str(index % n)

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

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return list(self._members.values())[int(self._key(index))]

    def __setitem__(self, index, member):
        names = list(self._members)
        setattr(self, names[int(self._key(index))], member)

    def __delitem__(self, index):
        members = list(self)
        del members[index]
        self._replace(members)

    def append(self, member):
        """Adds a member at the end."""
        setattr(self, str(len(self)), member)
        return self

    def extend(self, members):
        """Adds members at the end."""
        for member in members:
            self.append(member)
        return self

    def insert(self, index, member):
        """Adds a member before another."""
        members = list(self)
        members.insert(index, member)
        self._replace(members)

    def pop(self, index=-1):
        """Takes a member out."""
        member = self[index]
        del self[index]
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

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(dict(list(self._modules.items())[index]))
        return super().__getitem__(index)

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
        not module._hooked
        and cls.forward is _FORWARDS[cls]
        and cls.__call__ is _CALL
        and "forward" not in module.__dict__
    )


class ModuleList(_Indexed):
    """A list of modules."""

    def __init__(self, modules=None):
        super().__init__()
        self.extend(modules or ())

    def __add__(self, other):
        return ModuleList([*self, *other])

    def _shown_children(self):
        """Neighbours that look the same are shown once."""
        shown = []
        for text, group in itertools.groupby(super()._shown_children(), lambda child: child[1]):
            names = [name for name, _ in group]
            many = len(names) > 1
            name = f"{names[0]}-{names[-1]}" if many else names[0]
            shown.append((name, f"{len(names)} x {text}" if many else text))
        return shown


class ParameterList(_Indexed):
    """A list of parameters; tensors become parameters."""

    def __init__(self, values=None):
        super().__init__()
        self.extend(values or ())

    @property
    def _members(self) -> dict:
        return self._parameters

    def append(self, value):
        return super().append(value if isinstance(value, Parameter) else Parameter(value))

    def extra_repr(self):
        return "\n".join(f"({i}): {_describe(p)}" for i, p in enumerate(self))


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

    def __getitem__(self, name):
        return self._members[name]

    def __setitem__(self, name, member):
        self._add(name, member)

    def __delitem__(self, name):
        del self._members[name]

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

    def pop(self, name):
        return self._members.pop(name)

    def update(self, members) -> None:
        """Adds the members of a dictionary or of (name, member) pairs."""
        for name, member in members.items() if hasattr(members, "items") else members:
            self[name] = member


class ModuleDict(_Named):
    """A dictionary of modules."""

    def __init__(self, modules=None):
        super().__init__()
        self.update(modules or {})


class ParameterDict(_Named):
    """A dictionary of parameters; tensors become parameters."""

    def __init__(self, parameters=None):
        super().__init__()
        self.update(parameters or {})

    @property
    def _members(self) -> dict:
        return self._parameters

    def _add(self, name, value):
        self.register_parameter(name, value if isinstance(value, Parameter) else Parameter(value))

    def __reversed__(self):
        return reversed(list(self))

    def __or__(self, other):
        joined = self.copy()
        joined.update(other)
        return joined

    def __ior__(self, other):
        self.update(other)
        return self

    def copy(self):
        """A dictionary of the same parameters."""
        return ParameterDict(dict(self.items()))

    def get(self, name, default=None):
        return self._members.get(name, default)

    def setdefault(self, name, default=None):
        """The parameter of a name, which is added if it is not there."""
        if name not in self:
            self[name] = default
        return self[name]

    def popitem(self):
        """Takes the last parameter out: its name, and it."""
        return self._members.popitem()

    def fromkeys(self, keys, default=None):
        """A dictionary with one value under several names."""
        return ParameterDict({name: default for name in keys})

    def extra_repr(self):
        return "\n".join(f"({name}): {_describe(p)}" for name, p in self.items())


def _describe(p) -> str:
    return f"Parameter containing: [{p.type()} of size {'x'.join(map(str, p.shape))}]"
