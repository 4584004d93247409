"""torch.torch_version: a version that compares as versions do, not letter by letter."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable

from . import _missing
from .version import __version__ as _version

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["TorchVersion"]


class TorchVersion(str):
    """A string that compares as a version, with strings, with `packaging`'s versions and with numbers in a row:
    TorchVersion("1.10.0") > "1.9", TorchVersion("1.10.0") >= (1, 10). What is no version compares as a string."""

    __slots__ = ()


def _compare(name: str):
    def compare(self: TorchVersion, other: object) -> bool:
        ours, theirs = _key(self), _key(other)
        if ours is None or theirs is None:
            return getattr(str, name)(self, other)
        return getattr(operator, name)(ours, theirs)

    return compare


for _name in ("__eq__", "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(TorchVersion, _name, _compare(_name))


@functools.cache
def _form():
    """PEP 440, without epochs: 2.13, 2.13.0rc1, 2.13.0.post2, 2.13.0.dev20260101, each with a local part: +cpu."""
    import re

    return re.compile(
        r"\s*v?(?P<release>\d+(?:\.\d+)*)"
        r"(?:[-_.]?(?P<early>a|alpha|b|beta|c|rc|pre|preview)[-_.]?(?P<early_number>\d*))?"
        r"(?:[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_number>\d*))?"
        r"(?P<dev>[-_.]?dev[-_.]?(?P<dev_number>\d*))?"
        r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*",
        re.IGNORECASE,
    )


def _key(version: object) -> tuple | None:
    """What sorts as PEP 440 says: dev releases before early ones, those before the release, later ones after it."""
    if isinstance(version, Iterable) and not isinstance(version, str):
        version = ".".join(map(str, version))
    is_version = isinstance(version, str) or hasattr(version, "release")
    found = _form().fullmatch(str(version)) if is_version else None
    if found is None:
        return None
    release = [int(n) for n in found["release"].split(".")]
    while release and release[-1] == 0:
        release.pop()
    early = (found["early"] or "").lower()
    stage = {"a": 0, "b": 1}.get(early[:1], 2) if early else 3
    if not early and found["dev"] and not found["post"]:
        stage = -1
    post = int(found["post_number"] or 0) if found["post"] else -1
    dev = (0, int(found["dev_number"] or 0)) if found["dev"] else (1, 0)
    local = (found["local"] or "").lower().replace("-", ".").replace("_", ".").split(".")
    parts = [(1, int(p), "") if p.isdecimal() else (0, 0, p) for p in local if p]
    return release, stage, int(found["early_number"] or 0), post, dev, parts


__version__ = TorchVersion(_version)
