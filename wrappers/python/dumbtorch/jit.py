"""torch.jit: functions and modules stay what they are, since nothing is compiled. What is not here is an archive of a
program: `save` and `load`."""

from __future__ import annotations

import builtins
import contextlib
import types
import typing
import warnings
from collections import namedtuple
from collections.abc import Container
from typing import Final  # noqa: F401  torch.jit.Final

from . import _missing
from .nn.modules.module import Module

__getattr__ = _missing.getattr_of(__name__)

Attribute = namedtuple("Attribute", "value type")


def script(obj, *others, **settings):
    """The function, class or module itself."""
    return obj


def trace(func, *examples, **settings):
    """The function or module itself, which goes on to depend on its inputs."""
    return func


trace_module = freeze = optimize_for_inference = trace


def script_if_tracing(fn):
    """The function itself."""
    return fn


unused = export = interface = script_method = script_if_tracing


def ignore(drop=False, **settings):
    """The function itself; also a decorator, with and without arguments."""
    return drop if callable(drop) else script_if_tracing


def annotate(the_type, the_value):
    """The value."""
    return the_value


def isinstance(obj, target_type) -> bool:
    """Whether it is of the type, whose parameters must be given, as in `list[int]`, or of one of a tuple of types."""
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, kind) for kind in target_type)
    if builtins.isinstance(target_type, Container):
        raise RuntimeError(
            "The second argument to `torch.jit.isinstance` must be a type or a tuple of types"
        )
    _refuse_bare(target_type)
    return _is_of(obj, target_type)


def _refuse_bare(kind) -> None:
    for bare in (list, dict, tuple, typing.List, typing.Dict, typing.Tuple, typing.Optional):  # noqa: UP006
        if kind is bare:
            name = getattr(kind, "__name__", None) or kind._name
            several = name.lower() == "dict"
            raise RuntimeError(
                f"Attempted to use {name} without {'contained types' if several else 'a contained type'}. Please add "
                f"{'' if several else 'a '}contained type, e.g. {name}[{'int, int' if several else 'int'}]"
            )


def _is_of(obj, kind) -> bool:
    """The same of what is in a container, where a bare type is one as any other."""
    origin, of = typing.get_origin(kind), typing.get_args(kind)
    if origin is None:
        return builtins.isinstance(obj, kind)
    if origin in (typing.Union, types.UnionType):  # None is of each
        return obj is None or any(_is_of(obj, one) for one in of)
    if origin not in (list, dict, tuple) or not builtins.isinstance(obj, origin):
        return False
    _refuse_bare(kind)
    if not obj:
        warnings.warn(
            "The inner type of a container is lost when calling torch.jit.isinstance in eager mode. For example, "
            "List[int] would become list and therefore falsely return True for List[float] or List[str].",
            stacklevel=3,
        )
    if origin is dict:
        return all(_is_of(key, of[0]) and _is_of(value, of[1]) for key, value in obj.items())
    if origin is tuple:
        return len(obj) == len(of) and all(map(_is_of, obj, of))
    return all(_is_of(x, of[0]) for x in obj)


def is_scripting() -> bool:
    """Whether code is being compiled: it never is."""
    return False


is_tracing = is_scripting


def _unwrap_optional(x):
    """What may not be None."""
    assert x is not None, "Unwrapping null optional"
    return x


class ScriptModule(Module):
    """A base class of modules; what `script` and `trace` give is none."""


class RecursiveScriptModule(ScriptModule):
    """PyTorch's compiled modules: there are none."""


class ScriptFunction:
    """PyTorch's compiled functions: there are none."""


class Error(RuntimeError):
    """What PyTorch raises while it compiles."""


class Future:
    """The result of `fork`."""

    def __init__(self, value):
        self._value = value

    def wait(self):
        return self._value

    value = wait

    def done(self) -> bool:
        return True


def fork(func, *args, **kwargs) -> Future:
    """Calls the function at once."""
    return Future(func(*args, **kwargs))


def wait(future):
    """The result of what was forked."""
    return future.wait()


@contextlib.contextmanager
def _without_effect(*settings):
    yield


strict_fusion = optimized_execution = fuser = _without_effect


_WHY = "there are no archives of programs; torch.save keeps a state_dict (docs/files.md)"
save, load = (_missing.refused(name, f"jit.{name}: {_WHY}") for name in ("save", "load"))

__all__ = [
    "Attribute", "Error", "Future", "ScriptFunction", "ScriptModule", "annotate", "export", "fork", "freeze", "ignore",
    "interface", "isinstance", "load", "optimize_for_inference", "save", "script", "script_if_tracing", "strict_fusion",
    "trace", "trace_module", "unused", "wait",
]  # fmt: skip
