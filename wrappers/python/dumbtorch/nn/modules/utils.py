"""Numbers that stand for several: `_pair(3)` is (3, 3), as convolutions that programs write take their sizes."""

from __future__ import annotations

from collections.abc import Iterable


def _ntuple(n: int, name: str = "parse"):
    def parse(x) -> tuple:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t, n: int) -> tuple:
    """The sizes from the last to the first, each n times: how `pad` wants its margins."""
    return tuple(x for x in reversed(t) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict, prefix: str) -> None:
    """Takes a prefix off the names in a state dict, such as the "module." of what was trained in parallel. In place."""
    # Beside it stands what each module says of itself, where a module's name has no dot behind it.
    for names, whole in (
        (state_dict, None),
        (getattr(state_dict, "_metadata", {}), prefix.rstrip(".")),
    ):
        for name in list(names):
            if name.startswith(prefix) or name == whole:
                names[name[len(prefix) :]] = names.pop(name)
