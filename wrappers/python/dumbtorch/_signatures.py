"""Arguments of functions that have several signatures."""

from __future__ import annotations

from functools import cache

from ._complaints import MISSING, missing

# NumPy's names of arguments, which PyTorch takes, too.
OWN_NAMES = {
    "x": "input", "a": "input", "x1": "input", "x2": "other", "axis": "dim", "keepdims": "keepdim",
}  # fmt: skip


def by_signature(name: str, args: tuple, options: dict, *signatures: tuple) -> list:
    """The values of the arguments that have no defaults, by the signature that has as many; what
    else is in `options` stays there."""
    fits = False
    for words in signatures:
        if not options.keys().isdisjoint(words):
            break
        fits |= len(words) == len(args)
    else:
        if fits:
            return list(args)
    known = {word for words in signatures for word in words}
    count = len(args) + sum(word in options for word in known)
    words = next((w for w in signatures if len(w) == count), signatures[-1])
    forms = " or ".join(f"{name}({', '.join(w)})" for w in signatures)
    if len(args) > len(words):
        raise TypeError(f"{name}() takes at most {len(words)} arguments, not {len(args)}: {forms}")
    given = dict(zip(words, args, strict=False))
    for word in words[len(args) :]:
        if word not in options:
            raise TypeError(f"{name}() missing argument '{word}': {forms}")
        given[word] = options.pop(word)
    return list(given.values())


def by_own_names(function, names: dict, **given):
    """The values of the arguments that are given, in their order, of which `names` has some by NumPy's names. What is
    unknown is refused, and what by its own name is given something else than its default."""
    defaults = _defaults_of(function)
    for name, value in names.items():
        own = OWN_NAMES.get(name)
        if own not in given:
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument '{name}'")
        if value is None and own in ("dim", "keepdim"):
            continue
        if given[own] is not defaults[own]:
            raise TypeError(f"{function.__name__}() got multiple values for argument '{own}'")
        given[own] = value
    return given.values()


@cache
def _defaults_of(function) -> dict:
    code, values = function.__code__, function.__defaults__ or ()
    words = code.co_varnames[: code.co_argcount]
    by_position = zip(words[len(words) - len(values) :], values, strict=True)
    return dict(by_position) | (function.__kwdefaults__ or {})


def need_input(function, input) -> None:
    """For what looks at its input before the library does."""
    if input is MISSING:
        raise missing(function.__name__, ["input"])
