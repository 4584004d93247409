"""What is said of a name that a module does not have."""

from __future__ import annotations


def getattr_of(module: str):
    """The module's `__getattr__`, which Python asks when it finds no such name."""

    def __getattr__(name: str):
        said = f"module {module!r} has no attribute {name!r}"
        if name.startswith("__"):
            raise AttributeError(said)
        raise AttributeError(f"{said}; docs/coverage.md lists which of PyTorch's names are here")

    return __getattr__
