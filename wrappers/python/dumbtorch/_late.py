"""What few programs use and takes its time to import: names of a package that come when they are first asked for."""

from __future__ import annotations

import sys
from importlib import import_module

from . import _missing


def names(package: str, submodules: str, functions: dict[str, str] | None = None):
    """The package's `__getattr__` and `__dir__`. `functions` says which names (classes too) a submodule has."""
    homes = {name: name for name in submodules.split()}
    homes |= {name: home for home, its in (functions or {}).items() for name in its.split()}
    missing = _missing.getattr_of(package)

    def __getattr__(name: str):
        if name not in homes:
            return missing(name)
        module = import_module(f"{package}.{homes[name]}")
        value = module if name == homes[name] else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return __getattr__, __dir__
