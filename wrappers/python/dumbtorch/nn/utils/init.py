"""Modules without initial values."""

from __future__ import annotations

from .. import modules


def skip_init(module_cls, *args, **kwargs):
    """A module whose parameters nobody has drawn: their memory is as it was found, or as the class's constructor left
    it where that makes more than parameters."""
    import inspect  # slow to import

    if not issubclass(module_cls, modules.Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    bare = type(module_cls.__name__, (module_cls,), {"reset_parameters": lambda self: None})
    module = bare(*args, **kwargs)
    module.__class__ = module_cls
    return module
