"""Forward mode, which there is not: torch.func.jvp computes the same by two backwards."""

from __future__ import annotations

from .. import _missing

__getattr__ = _missing.getattr_of(__name__)


def _refuse(name: str):
    raise NotImplementedError(
        f"{name}: derivatives are computed backwards only; torch.func.jvp gives a Jacobian times a "
        "vector by two backwards"
    )


class dual_level:
    """Not supported."""

    def __init__(self):
        _refuse("dual_level")


def make_dual(tensor, tangent, *, level=None):
    """Not supported."""
    _refuse("make_dual")


def unpack_dual(tensor, *, level=None):
    """Not supported."""
    _refuse("unpack_dual")


def enter_dual_level():
    """Not supported."""
    _refuse("enter_dual_level")


def exit_dual_level(*, level=None):
    """Not supported."""
    _refuse("exit_dual_level")
