"""dtype, device, memory_format and Size: the small objects of PyTorch's namespace."""

from __future__ import annotations

import threading
from itertools import count
from operator import index

from . import _enums
from ._warning import OLDER_MEAN, warn_of_older_mean


class Choice(dict):
    """The numbers of an enum whose values are strings in Python."""

    def __init__(self, name: str, values: dict[str, int]):
        super().__init__(values)
        self.name = name
        self.names = {number: value for value, number in values.items()}

    def __missing__(self, value):
        if value == OLDER_MEAN and "mean" in self:
            warn_of_older_mean(stacklevel=4)
            return self["mean"]
        # PyTorch looks a reduction up, whatever it is.
        if not isinstance(value, str) and "reduction" not in self.name:
            raise TypeError(f"{self.name} must be str, not {type(value).__name__}")
        known = ", ".join(map(repr, self))
        raise ValueError(f"{value} is not a valid value for {self.name}: expected one of {known}")

    def value(self, number: int) -> str:
        return self.names[number]


class _Objects(Choice):
    """An enum whose values are objects: `torch.float32`."""

    def __init__(self, name: str, kind: type, values: dict[str, int]):
        self.objects = {number: kind(value, number) for value, number in values.items()}
        super().__init__(name, {})
        self.update((o, number) for number, o in self.objects.items())

    def __missing__(self, value):
        if isinstance(value, AbsentDtype):
            raise NotImplementedError(f"{value}: {value.reason}")
        kind = type(value).__name__
        raise TypeError(f"argument '{self.name}' must be torch.{self.name}, not {kind}")

    def value(self, number: int):
        return self.objects[number]

    def named(self, name: str):
        return next(o for o in self.objects.values() if o.name == name)


class dtype:
    """The type of a tensor's elements: torch.float32, torch.int64, ..."""

    __module__ = "dumbtorch"

    # `code` is what memoryview calls the elements, "" if it cannot read them; `word` is what
    # PyTorch's sentences say, `cpp` what C++ says.
    __slots__ = ("name", "number", "itemsize", "category", "code", "word", "cpp")

    def __init__(self, name: str, number: int):
        self.name, self.number = name, number
        self.itemsize, self.category, self.code, self.word, self.cpp = _enums.DTYPE_TRAITS[name]

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return self.name

    @property
    def is_floating_point(self) -> bool:
        return self.category == "floating"

    @property
    def is_complex(self) -> bool:
        return False

    @property
    def is_signed(self) -> bool:
        return self.category != "bool" and not self.name.startswith("u")

    def to_real(self) -> dtype:
        """The dtype of the real part: the dtype itself."""
        return self

    def to_complex(self) -> dtype:
        """The complex dtype of such numbers: there is none."""
        raise NotImplementedError(f"to_complex: torch.{self.name} has no complex dtype here")


class AbsentDtype(dtype):
    """One of PyTorch's that no tensor has here. Programs compare with it; to ask for it is refused."""

    __module__ = "dumbtorch"

    __slots__ = ("reason",)

    def __init__(self, name: str, itemsize: int, category: str, reason: str):
        self.name, self.itemsize, self.category, self.reason = name, itemsize, category, reason

    @property
    def is_complex(self) -> bool:
        return self.category == "complex"

    @property
    def is_signed(self) -> bool:
        return not self.name.startswith("u")


_NO_COMPLEX, _NO_SUCH = "there are no complex numbers", "there is no such dtype"
ABSENT_DTYPES = {
    f"complex{8 * size}": AbsentDtype(f"complex{8 * size}", size, "complex", _NO_COMPLEX)
    for size in (4, 8, 16)
}
ABSENT_DTYPES |= {
    f"uint{8 * size}": AbsentDtype(f"uint{8 * size}", size, "integer", _NO_SUCH)
    for size in (2, 4, 8)
}
ABSENT_DTYPES |= {
    name: AbsentDtype(name, 1, "floating", _NO_SUCH)
    for name in (
        "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2"
    ).split()
}

_RANK = ("bool", "integer", "floating").index


def casts(low: dtype, high: dtype) -> bool:
    """Whether what is computed as `low` may be written as `high`: of the same category, or a higher one."""
    return _RANK(low.category) <= _RANK(high.category)


class memory_format:
    """The order of a tensor's dimensions in memory."""

    __module__ = "dumbtorch"

    __slots__ = ("name", "number")

    def __init__(self, name: str, number: int):
        self.name, self.number = name, number

    def __repr__(self):
        return (
            "torch.channels_last" if self.name == "channels_last" else f"torch.{self.name}_format"
        )


class layout:
    """How a tensor's elements lie in memory: torch.strided. Programs compare with others, which no tensor has here."""

    __module__ = "dumbtorch"

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return self.name


strided = layout("strided")
ABSENT_LAYOUTS = {
    name: layout(name)
    for name in "jagged sparse_bsc sparse_bsr sparse_coo sparse_csc sparse_csr".split()
}

DTYPE = _Objects("dtype", dtype, _enums.DTYPE)
MEMORY_FORMAT = _Objects("memory_format", memory_format, _enums.MEMORY_FORMAT)

float32 = DTYPE.named("float32")
float64 = DTYPE.named("float64")
int64 = DTYPE.named("int64")
int32 = DTYPE.named("int32")
uint8 = DTYPE.named("uint8")
float16 = DTYPE.named("float16")
bfloat16 = DTYPE.named("bfloat16")
int8 = DTYPE.named("int8")
int16 = DTYPE.named("int16")
bool_ = DTYPE.named("bool")
contiguous_format = MEMORY_FORMAT.named("contiguous")
preserve_format = MEMORY_FORMAT.named("preserve")
channels_last = MEMORY_FORMAT.named("channels_last")

# Python's own types stand for dtypes too, as in torch.zeros(3, dtype=float).
DTYPE.update({float: float64.number, int: int64.number, bool: bool_.number})


# Why some of PyTorch's devices are not here.
WITHOUT = {
    "meta": "; tensors have memory here: nn.utils.skip_init makes a module without initialising it, and "
    "load_state_dict(assign=True) puts other tensors in the place of its own",
    "mps": "; there are kernels for CPUs and for NVIDIA's GPUs, and none for Apple's",
    "xpu": "; there are kernels for CPUs and for NVIDIA's GPUs, and none for Intel's",
}

# The default devices to go back to at the ends of this thread's blocks `with device(...)`.
_before = threading.local()


class device:
    """Where a tensor's memory is: device("cpu"), device("cuda", 1), device("cuda:1"). In a block `with device("cuda")`
    new tensors are there."""

    __module__ = "dumbtorch"

    __slots__ = ("type", "index")

    def __init__(self, type, index=None):
        if isinstance(type, device):
            type, index = type.type, type.index
        elif isinstance(type, int) and not isinstance(type, bool):
            type, index = "cuda", type
        elif isinstance(type, str) and ":" in type:
            type, _, number = type.partition(":")
            if index is not None or not number.isdecimal() or number != str(int(number)):
                raise RuntimeError(f"Invalid device string: '{type}:{number}'")
            index = int(number)
        elif not isinstance(type, str):
            kind = type.__class__.__name__
            raise TypeError(f"device(): argument 'device' (position 1) must be str, not {kind}")
        elif not type:
            raise RuntimeError("Device string must not be empty")
        if type not in _enums.DEVICE_TYPE:
            known = ", ".join(_enums.DEVICE_TYPE)
            said = f"Expected one of {known} device type at start of device string: {type}"
            raise RuntimeError(said + WITHOUT.get(type, ""))
        if index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        self.type, self.index = type, index

    def __repr__(self):
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        if not isinstance(other, device):
            return NotImplemented
        return (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __reduce__(self):
        return device, (self.type, self.index)

    def __enter__(self):
        from . import _ops

        _before.__dict__.setdefault("devices", []).append(_ops.get_default_device())
        _ops.set_default_device(self)
        return self

    def __exit__(self, *error):
        from . import _ops

        _ops.set_default_device(_before.devices.pop())


def _size(n, item: int) -> int:
    try:
        return index(n)
    except TypeError:
        kind = type(n).__name__
        raise TypeError(
            f"torch.Size() takes an iterable of 'int' (item {item} is '{kind}')"
        ) from None


class Size(tuple):
    """The shape of a tensor: a tuple of integers."""

    __module__ = "dumbtorch"

    __slots__ = ()

    def __new__(cls, iterable=()):
        return tuple.__new__(cls, map(_size, iterable, count()))

    def __repr__(self):
        return f"torch.Size({list(self)})"

    def numel(self) -> int:
        out = 1
        for n in self:
            out *= n
        return out

    def __getitem__(self, index):
        out = tuple.__getitem__(self, index)
        return Size(out) if isinstance(index, slice) else out

    def __add__(self, other):
        if isinstance(other, tuple):
            return Size(tuple.__add__(self, other))
        reflected = getattr(type(other), "__radd__", None)  # which Python asks before a tuple
        out = NotImplemented if reflected is None else reflected(other, self)
        if out is NotImplemented:
            kind = type(other).__name__
            raise TypeError(f"can only concatenate tuple (not {kind}) to torch.Size")
        return out

    def __radd__(self, other):
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times):
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__
