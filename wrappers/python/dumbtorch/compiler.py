"""torch.compile and torch.compiler: nothing is compiled, since operations run as they are called."""

from __future__ import annotations

from . import _missing

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
           "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "nested_compile_region", "reset",
           "set_stance"]  # fmt: skip


def compile(model=None, **options):
    """The function or module itself: it runs as it is. Also a decorator, with and without arguments.

    What torch.compile would fuse is computed one operation after the other; torch.capture records a
    step on a GPU.
    """
    return (lambda function: function) if model is None else model


def disable(fn=None, recursive=True, *, reason=None):
    """The function itself; also a decorator, with and without arguments."""
    return (lambda function: function) if fn is None else fn


def is_compiling() -> bool:
    """Whether the code is being compiled: it never is."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def allow_in_graph(fn):
    """The function itself, or a list of functions."""
    return fn


def assume_constant_result(fn):
    """The function itself, which is called each time."""
    return fn


def nested_compile_region(fn=None, **options):
    """The function itself; also a decorator, with and without arguments."""
    return (lambda function: function) if fn is None else fn


def list_backends(exclude_tags=("debug", "experimental")) -> list:
    """What could compile: nothing."""
    return []


class set_stance:
    """Says when to compile, which nothing does; also for a block and as a decorator."""

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        pass

    def __call__(self, fn):
        return fn

    def __enter__(self):
        return None

    def __exit__(self, *error):
        return None


def reset() -> None:
    """Forgets what was compiled: nothing was."""


def cudagraph_mark_step_begin() -> None:
    """Says that a step begins, which only compiled code would want to know."""
