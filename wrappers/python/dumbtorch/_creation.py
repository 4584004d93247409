"""Tensors from Python's data: numbers, nested lists, NumPy arrays, DLPack, bytes."""

from __future__ import annotations

import array
import math
import mmap
import os
import warnings

from . import _numpy, _ops
from ._complaints import need
from ._native import ffi, lib
from ._runtime import NULL, keep_alive, placed, wrap
from ._tensor_type import TensorBase, adopt, from_capsule, from_lists, from_memory
from ._types import DTYPE, bool_, float32, float64, int64
from ._types import device as Device
from ._warning import warn_of_copy
from .storage import TypedStorage, UntypedStorage, memory_of


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new tensor with a copy of data: a number, nested lists, a NumPy array or a tensor."""
    if dtype is None and data.__class__ in _FROM_LISTS:
        plain = from_lists(data, _ops.get_default_dtype().number)
    else:
        plain = None
    if plain is not None:
        out = plain
    elif isinstance(data, TensorBase):
        warn_of_copy("torch.tensor")
        out = _ops.clone(_ops.detach(data))
    elif _numpy.is_array(data):
        out = _ops.clone(_share(data))
        device = device or _ops.get_default_device()
    elif isinstance(data, UntypedStorage):
        like = _ops.empty(0, dtype=int64 if dtype is None else dtype, device=data.device)
        out = _ops.clone(memory_of(data, like, 0, None, None))
    else:
        out = _from_values(data, dtype)
    if dtype is not None or device is not None:
        out = _ops.to(out, device, dtype)
    if pin_memory is not False:
        out = placed(out, None, pin_memory)
    if requires_grad is False:
        return out
    need("tensor", "requires_grad:bool", requires_grad)
    return _ops.tensor_requires_grad_(out)


def as_tensor(data, *, dtype=None, device=None):
    """data as a tensor, without a copy where that is possible."""
    if isinstance(data, TensorBase):
        return _ops.to(data, device, dtype)
    if _numpy.is_array(data) and hasattr(
        data, "__setitem__"
    ):  # NumPy's scalars have no memory to share
        _warn_if_read_only(data.flags.writeable, "NumPy array")
        return _ops.to(_share(data), device, dtype)
    return tensor(data, dtype=dtype, device=device)


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None):
    """as_tensor that also takes DLPack objects and buffers and can be made to copy, or not to, and to cut a graph."""
    shared = _shared(obj, dtype, copy)
    if shared is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        out = tensor(obj, dtype=dtype, device=device)
    else:
        if copy is False:
            _check_alias(shared, dtype, device)
        out = _ops.to(shared, device, dtype, copy=bool(copy))
    if requires_grad:
        return _ops.tensor_requires_grad_(out)
    return out if requires_grad is None else _ops.detach(out)


def _shared(data, dtype, copy):
    """A tensor on the memory of `data`; None if it has none to share."""
    if isinstance(data, TensorBase):
        return data
    if _numpy.is_array(data):
        if hasattr(data, "__setitem__"):
            return from_numpy(data)
        if copy is False:
            raise RuntimeError(
                "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. "
            )
        return tensor(data)
    if hasattr(data, "__dlpack__") or type(data).__name__ == "PyCapsule":
        return from_dlpack(data)
    try:
        memoryview(data)
    except TypeError:
        return None
    return frombuffer(data, dtype=_ops.get_default_dtype() if dtype is None else dtype)


def _check_alias(x, dtype, device) -> None:
    if device is not None and Device(device).type != x.device.type:
        raise ValueError(f"can't alias tensor from device '{x.device}' to '{device}'.")
    if dtype is not None and dtype is not x.dtype:
        raise ValueError(
            f"can't alias tensor with dtype '{x.dtype.word}' into dtype '{dtype.word}'."
        )


def from_numpy(a):
    """A tensor that shares the memory of a NumPy array."""
    if not _numpy.is_array(a) or _numpy.is_number(a):
        kind = type(a)
        name = f"{kind.__module__}.{kind.__name__}".removeprefix("builtins.")
        raise TypeError(f"expected np.ndarray (got {name})")
    plain = from_memory(a)
    if plain is not None:
        return plain
    _warn_if_read_only(a.flags.writeable, "NumPy array")
    return _share_by_parts(a)


def _warn_if_read_only(writable: bool, what: str) -> None:
    if writable:
        return
    warnings.warn(
        f"The given {what} is not writable, and non-writable tensors are not supported. This means "
        f"that writing to this tensor may crash the program. You may want to copy the {what} first.",
        stacklevel=3,
    )


def _share(a):
    plain = from_memory(a)
    return _share_by_parts(a) if plain is None else plain


def _share_by_parts(a):
    kind = _numpy.dtype_of(a)
    if kind is None or not a.dtype.isnative:
        known = ", ".join(d.name for d in DTYPE.objects.values())
        raise TypeError(
            f"can't convert np.ndarray of type {a.dtype}. The only supported types are: {known}."
        )
    shape = list(a.shape)
    if a.flags.c_contiguous and a.flags.writeable and a.size:
        address, extent, steps = int(ffi.cast("intptr_t", ffi.from_buffer(a))), a.nbytes, NULL
    else:
        address, extent = a.__array_interface__["data"][0], _extent(a)
        extent, steps = extent if a.size else 0, [s // a.itemsize for s in a.strides]
    count = 0 if steps is NULL else len(shape)
    owner = keep_alive(a)
    return wrap(
        lib.py_from_blob(address, extent, shape, len(shape), steps, count, kind.number, owner)
    )


def _extent(a) -> int:
    """How many bytes lie between an array's first element and the end of its last one."""
    strides = a.strides
    if any(s < 0 for s in strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array with array.copy().)"
        )
    if any(s % a.itemsize for s in strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy "
            "array "
            "to reallocate the memory."
        )
    return sum((n - 1) * s for n, s in zip(a.shape, strides, strict=True)) + a.itemsize


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor that shares the memory of an object with __dlpack__, or of a DLPack 1.0 capsule.

    With `copy`, or a device where the memory is not, it has memory of its own.
    """
    if type(ext_tensor).__name__ == "PyCapsule":
        if device is not None or copy is not None:
            raise AssertionError(
                "device and copy kwargs not supported when ext_tensor is already a DLPack capsule."
            )
        return from_capsule(ext_tensor)
    if not hasattr(ext_tensor, "__dlpack__"):
        raise TypeError(f"from_dlpack: {type(ext_tensor).__name__} has no __dlpack__ method")
    if isinstance(ext_tensor, TensorBase):
        out = _own_view(ext_tensor)
    else:
        out = from_capsule(ext_tensor.__dlpack__(max_version=(1, 0), **_our_stream(ext_tensor)))
    return _ops.to(out, device, copy=True) if copy else _elsewhere(out, device, copy)


def _own_view(x):
    """Another tensor on x's memory, which counts what is written through it alone, as one from elsewhere does."""
    if x.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    return _ops.tensor_data(x)


_DLPACK_CUDA = 2


def _our_stream(producer) -> dict:
    """The stream on which the memory will be used: the producer makes it wait for its own work."""
    kind, index = producer.__dlpack_device__()
    if kind != _DLPACK_CUDA:
        return {}
    stream = _ops.current_stream(f"cuda:{index}").native()
    # The main stream and the legacy default one, whose number is 1, wait for each other.
    return {"stream": stream or 1}


def _elsewhere(x, device, copy):
    """x on a device, which may have to be where it is."""
    out = _ops.to(x, device)
    if copy is False and out.device != x.device:
        raise ValueError(
            f"cannot move DLPack tensor from device {x.device} to {out.device} without copying. "
            "Set copy=None or copy=True."
        )
    return out


def from_bytes(kind, data, shape, dtype, requires_grad, strides=None, device=None):
    """What pickle calls: a tensor of type `kind` from its elements, which are in row-major order or have strides."""
    size = shape if strides is None else (len(data) // dtype.itemsize,)
    elements = wrap(
        lib.py_from_data(ffi.from_buffer(data), len(data), size, len(size), dtype.number)
    )
    if device is not None:
        elements = _ops.to(elements, device=device)
    if strides is not None:
        elements = _ops.tensor_data(_ops.as_strided(elements, shape, strides))
    out = adopt(kind, lib.py_alias(elements._h))
    return _ops.tensor_requires_grad_(out) if requires_grad else out


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A 1-d tensor that shares the memory of an object with the buffer protocol."""
    try:
        memory = ffi.from_buffer(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    except (BufferError, ValueError):
        raise RuntimeError("could not retrieve buffer from object") from None
    _warn_if_read_only(not memoryview(buffer).readonly, "buffer")
    span = _span(len(memory), dtype.itemsize, count, offset)
    address = int(ffi.cast("intptr_t", memory)) + span.start
    length = span.stop - span.start
    shape = [length // dtype.itemsize]
    owner = keep_alive(memory)
    out = wrap(lib.py_from_blob(address, length, shape, 1, NULL, 0, dtype.number, owner))
    return _ops.tensor_requires_grad_(out) if requires_grad else out


def from_file(
    filename, shared=None, size=0, *, dtype=None, layout=None, device=None, pin_memory=False,
    requires_grad=False,
):  # fmt: skip
    """A 1-d tensor of `size` elements that are a file's. If it is shared, what is written goes to the file, which is
    made, or made larger, where it has to be."""
    dtype = _ops.get_default_dtype() if dtype is None else dtype
    if pin_memory:
        raise RuntimeError("tensors constructed from a file cannot be pinned")
    if device is not None and Device(device).type != "cpu":
        raise RuntimeError("tensors constructed from a file are on the CPU")
    placed(None, layout, False)
    if size < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {size}: [{size}]")
    needed = size * dtype.itemsize
    if not needed:
        return _ops.empty((0,), dtype=dtype, requires_grad=requires_grad)
    mode = os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY
    try:
        file = os.open(filename, mode, 0o600)
    except OSError as error:
        how = "read-write" if shared else "read-only"
        said = f"unable to open file <{filename}> in {how} mode: {error.strerror} ({error.errno})"
        raise RuntimeError(said) from None
    try:
        length = os.fstat(file).st_size
        if length < needed and not shared:
            raise RuntimeError(
                f"file <{filename}> size <{length}> is smaller than the required mapping size <{needed}>"
            )
        if length < needed:
            os.ftruncate(file, needed)
        memory = mmap.mmap(file, needed, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
    finally:
        os.close(file)
    return frombuffer(memory, dtype=dtype, requires_grad=requires_grad)


def _span(length: int, itemsize: int, count: int, offset: int) -> slice:
    """Which bytes of a buffer `count` elements from `offset` are; a negative count means all."""
    if not length or not count:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({length} bytes) minus 1"
        )
    if count > 0:
        end = offset + count * itemsize
        if end > length:
            raise ValueError(
                f"requested buffer length ({count} * {itemsize} bytes) after offset ({offset} "
                f"bytes) must not be greater than actual buffer length ({length} bytes)"
            )
        return slice(offset, end)
    if (length - offset) % itemsize:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a "
            f"multiple of element size ({itemsize})"
        )
    return slice(offset, length)


# ---- nested lists

_CODES = {bool_: "B", int64: "q", float32: "f", float64: "d"}
_PLAIN = {bool, int, float}
_MANY = 2**28  # lists may share their entries
_FROM_LISTS = {list, tuple, *_PLAIN}


def _from_values(data, dtype):
    """A tensor of the dtype that the kinds of the numbers give; `dtype` says which float."""
    if isinstance(data, TypedStorage):
        _check_storage(data, dtype or _ops.get_default_dtype())
    shape, kinds = _shape(data), set()
    if math.prod(shape) > _MANY:
        _ops.empty(shape, dtype=float64)  # an error before hours are spent on what no memory holds
    flat = _flatten(data, shape, kinds)
    own = None
    if not kinds <= _PLAIN:
        if isinstance(data, list) and any(v is data for v in data):
            raise TypeError("new(): self-referential lists are incompatible")
        flat = [_number(v) for v in flat]
        own = _promoted(kinds) if dtype is None else None
    kind = _kind(flat, own or dtype)
    if dtype is not None and kind is not dtype:
        _check_fits(flat, dtype)
    wide = kind if kind in _CODES else float32
    try:
        packed = array.array(_CODES[wide], flat)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None
    size = packed.itemsize * len(packed)
    out = wrap(lib.py_from_data(ffi.from_buffer(packed), size, shape, len(shape), wide.number))
    return out if wide is (own or kind) else _ops.to(out, dtype=own or kind)


def _check_storage(storage, dtype) -> None:
    if storage.dtype is not dtype:
        raise RuntimeError(
            f"Expected a Storage of type {dtype.word} or an UntypedStorage, but got {storage.dtype.word}"
        )


def _number(x):
    """What stands for a number, as one."""
    if isinstance(x, TensorBase) and x.numel() != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return x.item() if hasattr(x, "item") else x


def _promoted(kinds: set):
    """The dtype in which Python's numbers and what has a dtype of its own meet; None if one of them is
    neither."""
    plain = {bool: bool_, int: int64, float: _ops.get_default_dtype()}
    dtypes = [plain.get(kind, kind) for kind in kinds]
    if any(isinstance(d, type) for d in dtypes):
        return None
    return _ops.cat([_ops.empty([1], dtype=d, device="cpu") for d in dtypes]).dtype


def _check_fits(flat, dtype) -> None:
    """Refuses numbers that an integer dtype cannot hold; as in C, negative ones wrap in uint8."""
    dtype = DTYPE.value(DTYPE[dtype])
    if dtype.category != "integer":
        return
    bits = 8 * dtype.itemsize
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if dtype.is_signed else (0, 2**bits - 1)
    if not low and not any(isinstance(v, float) for v in flat):
        low = -high
    if not all(low - 1 < v < high + 1 for v in flat):  # what is cut off is below 1; NaN is nowhere
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")


_MAX_DIMS = 16


def _shape(data) -> list[int]:
    """The shape that the first entries of nested sequences say. A tensor among them is a number."""
    shape = []
    while isinstance(data, (list, tuple, range)) or (hasattr(data, "__len__") and _rank(data)):
        shape.append(len(data))
        if len(shape) > _MAX_DIMS:  # a list may contain itself
            raise ValueError(f"too many dimensions: a tensor has at most {_MAX_DIMS}")
        if not shape[-1]:
            break
        try:
            data = data[0]
        except Exception:
            kind = type(data).__name__
            raise ValueError(f"could not determine the shape of object type '{kind}'") from None
    return shape


def _rank(data) -> int:
    number = isinstance(data, (str, bytes, dict, TensorBase))
    return 0 if number or not hasattr(data, "__getitem__") else getattr(data, "ndim", 1)


def _flatten(data, shape: list[int], kinds: set, dim: int = 0) -> list:
    """The numbers in row-major order. `kinds` collects their types, or the dtypes of their own."""
    if not shape:
        data, shape = [data], [1]
    if not hasattr(data, "__len__"):
        raise TypeError("not a sequence")
    if len(data) != shape[dim]:
        raise ValueError(f"expected sequence of length {shape[dim]} at dim {dim} (got {len(data)})")
    if dim < len(shape) - 1:
        return [v for row in data for v in _flatten(row, shape, kinds, dim + 1)]
    if hasattr(data, "tolist"):
        kinds.add(_kind_of(data))
        return data.tolist()
    types = set(map(type, data))
    kinds |= types if types <= _PLAIN else set(map(_kind_of, data))
    return data if isinstance(data, list) else list(data)


def _kind_of(x):
    if isinstance(x, TensorBase):
        return x.dtype
    return (_numpy.dtype_of(x) if _numpy.is_array(x) else None) or type(x)


def _kind(flat, dtype):
    """bool, int64 or a float by the kinds of the numbers, as PyTorch infers it."""
    kinds = set(map(type, flat))
    if kinds <= {bool} and kinds:
        return bool_
    if dtype is not None:
        dtype = DTYPE.value(DTYPE[dtype])
    for k in kinds:
        if not issubclass(k, (bool, int, float)):
            raise _not_a_number(k, kinds, dtype if len(flat) > 1 else None)
    is_float = dtype is not None and dtype.is_floating_point
    if kinds and all(issubclass(k, int) for k in kinds) and not is_float:
        return int64
    return dtype if is_float else _ops.get_default_dtype()


def _not_a_number(kind: type, kinds: set, dtype) -> Exception:
    """Why what is of that kind is refused among numbers of these kinds, which are to be of the dtype if there is
    one."""
    name, is_list = kind.__name__, issubclass(kind, (list, tuple))
    if dtype is None and issubclass(kind, str):
        return TypeError(f"new(): invalid data type '{name}'")
    if dtype is None and not is_list:
        return RuntimeError(f"Could not infer dtype of {name}")
    is_float = dtype.is_floating_point if dtype is not None else float in kinds
    return TypeError(
        f"must be real number, not {name}"
        if is_float
        else f"'{name}' object cannot be interpreted as an integer"
    )
