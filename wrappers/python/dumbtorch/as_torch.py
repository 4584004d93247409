"""Programs and libraries that import torch, on dumbtorch:

    python -m dumbtorch train.py --epochs 3
    python -m dumbtorch -m package.train --epochs 3

run a program, and `dumbtorch.as_torch.install()` is for one's own, before anything imports torch. From then on
`torch` is this package and `torch.nn` is `dumbtorch.nn`, the same modules under a second name.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec

from . import _missing

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["install"]

_OURS = __name__.partition(".")[0]


class _SecondName(MetaPathFinder, Loader):
    """Finds dumbtorch.x for torch.x."""

    def find_spec(self, fullname: str, path=None, target=None) -> ModuleSpec | None:
        top, dot, rest = fullname.partition(".")
        spec = _spec_of(_OURS + dot + rest) if top == "torch" else None
        if spec is None:
            return None
        is_package = spec.submodule_search_locations is not None
        return ModuleSpec(fullname, self, is_package=is_package)

    def create_module(self, spec: ModuleSpec):
        name = _OURS + spec.name.removeprefix("torch")
        module = import_module(name)
        spec.loader_state = module.__spec__
        for inner in [other for other in sys.modules if other.startswith(name + ".")]:
            # Also those that have no file, which are there without being looked for.
            sys.modules.setdefault("torch" + inner.removeprefix(_OURS), sys.modules[inner])
        return module

    def exec_module(self, module) -> None:
        """It has run. The import has given it the spec of its second name: it keeps the one of its first."""
        module.__spec__ = module.__spec__.loader_state


def _spec_of(name: str) -> ModuleSpec | None:
    try:
        return find_spec(name)
    except ModuleNotFoundError:  # what it would be in is no package
        return None


def install() -> None:
    """Makes `import torch` find dumbtorch, in this process.

    Raises:
        RuntimeError: PyTorch has been imported.
    """
    if any(isinstance(finder, _SecondName) for finder in sys.meta_path):
        return
    if "torch" in sys.modules:
        raise RuntimeError("as_torch.install: PyTorch has been imported; install comes first")
    sys.meta_path.insert(0, _SecondName())
