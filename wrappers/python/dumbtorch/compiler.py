"""torch.compile and torch.compiler: nothing is compiled, since operations run as they are called."""

from __future__ import annotations

from . import _missing

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["compile", "cudagraph_mark_step_begin", "disable", "is_compiling",
           "is_dynamo_compiling", "reset"]  # fmt: skip


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


is_dynamo_compiling = is_compiling


def reset() -> None:
    """Forgets what was compiled: nothing was."""


def cudagraph_mark_step_begin() -> None:
    """Says that a step begins, which only compiled code would want to know."""
