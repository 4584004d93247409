"""torch.jit: functions and modules stay what they are, since nothing is compiled. What is not here is an archive of a
program: `save` and `load`."""

from __future__ import annotations

import contextlib
from collections import namedtuple
from typing import Final  # noqa: F401  torch.jit.Final

from . import _missing
from .nn.modules.module import Module

__getattr__ = _missing.getattr_of(__name__)

Attribute = namedtuple("Attribute", "value type")


def script(obj, *unused, **settings):
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
    """Whether it is of the type, whose parameters may be given, as in `list[int]`."""
    from typing import get_args, get_origin

    kinds = target_type if type(target_type) is tuple else (target_type,)
    for kind in kinds:
        origin, of = get_origin(kind), get_args(kind)
        if type(obj) is kind or origin is None and issubclass(type(obj), kind):
            return True
        if origin is None or not issubclass(type(obj), origin):
            continue
        if origin is dict:
            return all(isinstance(k, of[0]) and isinstance(v, of[1]) for k, v in obj.items())
        if origin is tuple:
            return len(obj) == len(of) and all(map(isinstance, obj, of))
        return all(isinstance(x, of[0]) for x in obj)
    return False


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


def _refuse(name: str):
    def refuse(*arguments, **settings):
        raise NotImplementedError(
            f"jit.{name}: there are no archives of programs; torch.save keeps a state_dict (docs/files.md)"
        )

    refuse.__name__, refuse.__doc__ = name, "Not supported."
    return refuse


save, load = _refuse("save"), _refuse("load")

__all__ = [
    "Attribute", "Error", "Future", "ScriptFunction", "ScriptModule", "annotate", "export", "fork", "freeze", "ignore",
    "interface", "isinstance", "load", "optimize_for_inference", "save", "script", "script_if_tracing", "strict_fusion",
    "trace", "trace_module", "unused", "wait",
]  # fmt: skip
