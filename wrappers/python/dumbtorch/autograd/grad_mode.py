"""no_grad and its relatives: context managers that are also decorators."""

from __future__ import annotations

import functools
import threading

from .. import _missing, _ops
from .._native import lib

__getattr__ = _missing.getattr_of(__name__)


class _GradMode:
    """Sets grad mode on entry and puts it back on exit. One object may be entered many times, also
    within itself."""

    def __init__(self, mode: bool):
        self._mode = mode
        self._before: list[bool] = []

    def __enter__(self):
        self._before.append(lib.py_is_grad_enabled())
        lib.py_set_grad_enabled(self._mode)
        return self

    def __exit__(self, *error):
        lib.py_set_grad_enabled(self._before.pop())

    def clone(self):
        """Another one of its kind."""
        return type(self)(self._mode)

    def __call__(self, function):
        """The function, run in this mode. Of a generator, only its own code is."""
        if _is_generator(function):
            return _wrap_generator(function, self._scope)

        @functools.wraps(function)
        def call(*args, **kwargs):
            with self._scope():
                return function(*args, **kwargs)

        return call

    def _scope(self):
        """A context manager of this mode for one call."""
        return _GradMode(self._mode)


def _is_generator(function) -> bool:
    """inspect.isgeneratorfunction, without the 20 ms that importing inspect takes."""
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & _CO_GENERATOR)


_CO_GENERATOR = 0x20


def _wrap_generator(function, scope):
    @functools.wraps(function)
    def call(*args, **kwargs):
        generator = function(*args, **kwargs)
        step, argument = generator.send, None
        while True:
            try:
                with scope():
                    value = step(argument)
            except StopIteration as end:
                return end.value
            try:
                step, argument = generator.send, (yield value)
            except GeneratorExit:
                with scope():
                    generator.close()
                raise
            except BaseException as error:
                step, argument = generator.throw, error

    return call


class _FixedMode(_GradMode):
    """A mode that can be used with or without brackets: @no_grad and @no_grad()."""

    _fixed = False

    def __new__(cls, orig_func=None):
        self = object.__new__(cls)
        _GradMode.__init__(self, cls._fixed)
        return self if orig_func is None else self(orig_func)

    def __init__(self, orig_func=None):
        pass  # everything is done in __new__, which may give back a function

    def clone(self):
        """Another one of its kind."""
        return type(self)()


class no_grad(_FixedMode):
    """Nothing is recorded for backward."""


class enable_grad(_FixedMode):
    """Operations are recorded for backward."""

    _fixed = True


class set_grad_enabled(_GradMode):
    """Sets grad mode at once; as a context manager, until the end of the block."""

    def __init__(self, mode: bool):
        super().__init__(mode)
        self._before.append(lib.py_is_grad_enabled())
        _ops.set_grad_enabled(mode)

    def __enter__(self):
        return self

    def __repr__(self):
        return f"{self.__module__}.{type(self).__name__}(mode={self._mode})"

    def __call__(self, function):
        lib.py_set_grad_enabled(self._before.pop())  # a decorator sets nothing by itself
        return super().__call__(function)


class set_multithreading_enabled:
    """Remembered, and changes nothing: a backward runs on the thread that calls it."""

    _enabled = True

    def __init__(self, mode: bool):
        self._before = self._enabled
        set_multithreading_enabled._enabled = bool(mode)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        set_multithreading_enabled._enabled = self._before


class enforce_grad_layout_policy:
    """Changes nothing: whether the gradients of leaves are brought into their leaves' order."""

    def __init__(self, enable: bool = True):
        self.mode = bool(enable)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def __call__(self, function):
        return function


def is_multithreading_enabled() -> bool:
    """What set_multithreading_enabled has set."""
    return set_multithreading_enabled._enabled


class _Inference(threading.local):
    """Whether this thread is within an inference_mode."""

    is_on = False


_inference = _Inference()


def is_inference_mode_enabled() -> bool:
    """Whether this thread is within an inference_mode."""
    return _inference.is_on


class inference_mode(_GradMode):
    """no_grad, which is_inference_mode_enabled tells from others; its tensors are ordinary ones here."""

    def __new__(cls, mode=True):
        self = object.__new__(cls)
        if callable(mode):
            self.__init__()
            return self(mode)
        return self

    def __init__(self, mode=True):
        super().__init__(not mode)
        self.mode = mode
        self._within: list[bool] = []

    def __enter__(self):
        self._within.append(_inference.is_on)
        _inference.is_on = bool(self.mode)
        return super().__enter__()

    def __exit__(self, *error):
        _inference.is_on = self._within.pop()
        super().__exit__(*error)

    def clone(self):
        """Another one of its kind."""
        return type(self)(self.mode)

    _scope = clone
