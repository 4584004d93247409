"""The unpicklers behind load. That of weights_only makes tensors and containers, no more.

It knows the opcodes of PyTorch's, and nothing in a pickle reaches an object that was there before:
a name gives a _Callable, which can be called and nothing else.
"""

from __future__ import annotations

import importlib
import io
import pickle
import struct
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from pickle import UnpicklingError, decode_long

from ._pickled import FUNCTIONS, VALUES

_BLOCKED = ("sys", "os", "posix", "nt")
_DICTS = (dict, OrderedDict, Counter)
_MAX_KEY_DEPTH = 8  # of tuples in tuples: hashing them is recursive
_MARK = object()

safe_globals: dict[str, object] = {}  # what the user allows besides


class _Callable:
    """A function or a class that a pickle has named."""

    __slots__ = ("make", "name", "user")

    def __init__(self, name: str, make, user: bool = False):
        self.name, self.make, self.user = name, make, user

    def __call__(self, *arguments):
        return self.make(*arguments)


def _global(module: str, name: str):
    module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
    full = f"{module}.{name}"
    if module in _BLOCKED:
        raise UnpicklingError(
            f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked."
        )
    if full in VALUES:
        return VALUES[full]
    if full in FUNCTIONS:
        return _Callable(full, FUNCTIONS[full])
    if full in safe_globals:
        return _Callable(full, safe_globals[full], True)
    full = full.removeprefix("builtins.")
    raise UnpicklingError(
        f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please use "
        f"`torch.serialization.add_safe_globals([{full}])` or the "
        f"`torch.serialization.safe_globals([{full}])` context manager to allowlist this global if "
        "you trust this class/function."
    )


def _checked_key(key):
    """A key whose hash is not taken through a tower of tuples."""
    level = [key]
    for _ in range(_MAX_KEY_DEPTH):
        level = [item for part in level if type(part) is tuple for item in part]
        if not level:
            return key
    raise UnpicklingError("the key of a dict has tuples in tuples in tuples")


class WeightsOnly:
    """Reads one pickle from `data`, beginning at `at`, and leaves `at` behind it."""

    def __init__(self, data, persistent_load, at: int = 0):
        self.data, self.at, self.persistent_load = data, at, persistent_load
        self.stack, self.memo = [], {}

    def load(self):
        while True:
            opcode = self.take(1)[0]
            if opcode == 0x2E:  # STOP
                return self.pop()
            step = _STEPS.get(opcode)
            if step is None:
                raise UnpicklingError(f"Unsupported operand {opcode}")
            step(self)

    def take(self, n: int) -> bytes:
        self.at += n
        if self.at > len(self.data):
            raise EOFError("Ran out of input")
        return bytes(self.data[self.at - n : self.at])

    def number(self, form: str):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def line(self) -> str:
        start, self.at = self.at, self.data.index(b"\n", self.at) + 1
        return str(self.data[start : self.at - 1], "utf-8")

    def push(self, value) -> None:
        self.stack.append(value)

    def top(self):
        if self.stack[-1] is _MARK:
            raise UnpicklingError("nothing is on the stack")
        return self.stack[-1]

    def pop(self):
        value = self.top()
        del self.stack[-1]
        return value

    def pop_many(self, count: int) -> list:
        return [self.pop() for _ in range(count)][::-1]

    def pop_mark(self) -> list:
        at = len(self.stack) - 1
        while self.stack[at] is not _MARK:
            at -= 1
        items = self.stack[at + 1 :]
        del self.stack[at:]
        return items

    # ---- what opcodes do beyond that

    def global_(self) -> None:
        self.push(_global(self.line(), self.line()))

    def extend(self, items: list) -> None:
        out = self.top()
        if type(out) is not list:
            raise UnpicklingError(f"Can only append to lists, but got {type(out)}")
        out.extend(items)

    def set_items(self, items: list) -> None:
        out = self.top()
        if type(out) not in _DICTS:
            raise UnpicklingError(
                "Can only SETITEMS for dict, collections.OrderedDict, collections.Counter, but got "
                f"{type(out)}"
            )
        for key, value in zip(items[::2], items[1::2], strict=True):
            out[_checked_key(key)] = value

    def call(self) -> None:
        function, arguments = self.pop_many(2)
        if type(function) is not _Callable or type(arguments) is not tuple:
            raise UnpicklingError(f"Trying to call reduce for unrecognized function {function}")
        if function.name in ("builtins.set", "collections.Counter", "collections.OrderedDict"):
            _check_items(arguments)
        self.push(function(*arguments))

    def new(self) -> None:
        kind, arguments = self.pop_many(2)
        if type(kind) is not _Callable or type(arguments) is not tuple:
            raise UnpicklingError(
                "Can only create new object for nn.Parameter or classes allowlisted via "
                f"`add_safe_globals` but got {kind}"
            )
        make = kind.make
        self.push(make.__new__(make, *arguments) if kind.user else kind(*arguments))

    def build(self) -> None:
        state, out = self.pop(), self.top()
        if type(out) is OrderedDict:
            out.__dict__.update(state)
        elif type(out) in safe_globals.values():
            _set_state(out, state)
        else:
            raise UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                f"`add_safe_globals`, but got {type(out)}"
            )

    def storage(self) -> None:
        key = self.pop()
        if type(key) is not tuple or not key or key[0] not in ("storage", b"storage"):
            kind = type(key[0]) if type(key) is tuple and key else type(key)
            raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {kind}")
        self.push(self.persistent_load(key))


def _check_items(arguments: tuple) -> None:
    """What becomes keys: the items of a list, or of its pairs."""
    for items in arguments:
        if type(items) not in (list, dict):
            raise UnpicklingError(f"a container is made of a {type(items).__name__}")
        for key in items:
            _checked_key(tuple(key) if type(key) is list else key)


def _set_state(out, state) -> None:
    """As pickle does it, for classes that the user trusts."""
    if hasattr(out, "__setstate__"):
        out.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    out.__dict__.update(state or {})
    for name, value in (slots or {}).items():
        setattr(out, name, value)


def _put(m: WeightsOnly, key: int) -> None:
    m.memo[key] = m.top()


def _tuple(count: int):
    return lambda m: m.push(tuple(m.pop_many(count)))


_STEPS = {
    0x80: lambda m: m.take(1),  # PROTO
    ord("("): lambda m: m.push(_MARK),
    ord("N"): lambda m: m.push(None),
    0x88: lambda m: m.push(True),
    0x89: lambda m: m.push(False),
    ord("J"): lambda m: m.push(m.number("<i")),
    ord("K"): lambda m: m.push(m.number("<B")),
    ord("M"): lambda m: m.push(m.number("<H")),
    ord("G"): lambda m: m.push(m.number(">d")),
    0x8A: lambda m: m.push(decode_long(m.take(m.number("<B")))),
    ord("X"): lambda m: m.push(str(m.take(m.number("<I")), "utf-8", "surrogatepass")),
    ord("U"): lambda m: m.push(str(m.take(m.number("<B")), "utf-8")),
    ord(")"): lambda m: m.push(()),
    ord("]"): lambda m: m.push([]),
    ord("}"): lambda m: m.push({}),
    0x8F: lambda m: m.push(set()),
    ord("t"): lambda m: m.push(tuple(m.pop_mark())),
    0x85: _tuple(1),
    0x86: _tuple(2),
    0x87: _tuple(3),
    ord("a"): lambda m: m.extend([m.pop()]),
    ord("e"): lambda m: m.extend(m.pop_mark()),
    ord("s"): lambda m: m.set_items(m.pop_many(2)),
    ord("u"): lambda m: m.set_items(m.pop_mark()),
    ord("q"): lambda m: _put(m, m.number("<B")),
    ord("r"): lambda m: _put(m, m.number("<I")),
    ord("h"): lambda m: m.push(m.memo[m.number("<B")]),
    ord("j"): lambda m: m.push(m.memo[m.number("<I")]),
    ord("c"): WeightsOnly.global_,
    ord("Q"): WeightsOnly.storage,
    ord("R"): WeightsOnly.call,
    0x81: WeightsOnly.new,
    ord("b"): WeightsOnly.build,
}


# ---- what load calls: an object from `content`, and where its pickle ends

_DAMAGE = (
    EOFError, KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError,
    struct.error, RecursionError,
)  # fmt: skip


def read_weights(content, persistent_load, at: int = 0):
    machine = WeightsOnly(content, persistent_load, at)
    try:
        return machine.load(), machine.at
    except UnpicklingError as error:
        raise UnpicklingError(
            "Weights only load failed. This file can still be loaded, to do so you have two options, "
            "do those steps only if you trust the source of the checkpoint.\n\t(1) Re-running "
            "`torch.load` with `weights_only` set to `False` will likely succeed, but it can result "
            "in arbitrary code execution. Do it only if you got the file from a trusted source.\n\t"
            "(2) Alternatively, to load with `weights_only=True` please check the recommended steps "
            f"in the following error message.\n\tWeightsUnpickler error: {error}"
        ) from None
    except _DAMAGE as error:
        raise UnpicklingError(f"load: the pickle is damaged: {error!r}") from error


def read_trusted(module, encoding: str, content, persistent_load, at: int = 0):
    """With Python's unpickler, or another module's, which may run what the file says."""

    class Unpickler((module or pickle).Unpickler):
        def find_class(self, module, name):
            return _trusted_global(super().find_class, module, name)

    file = io.BytesIO(content)
    file.seek(at)
    unpickler = Unpickler(file, encoding=encoding)
    unpickler.persistent_load = persistent_load
    return unpickler.load(), file.tell()


def _trusted_global(find, module: str, name: str):
    """What a name of PyTorch's is here: what has it in the module of the same name, or in nn."""
    full = f"{module}.{name}"
    if full in VALUES or full in FUNCTIONS:
        return VALUES.get(full) or FUNCTIONS[full]
    if module.partition(".")[0] != "torch":
        return find(module, name)
    for place in (f"dumbtorch{module[5:]}", "dumbtorch.nn"):
        try:
            return getattr(importlib.import_module(place), name)
        except (ImportError, AttributeError):
            continue
    raise UnpicklingError(f"load: the file names {full}, which dumbtorch lacks")
