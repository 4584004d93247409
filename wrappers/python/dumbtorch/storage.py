"""Storages: the memory that a tensor and its views look at, as elements or as bytes."""

from __future__ import annotations

import sys

from . import _missing, _ops
from ._tensor_type import TensorBase
from ._types import DTYPE, bool_, uint8
from ._types import dtype as _dtype

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["TypedStorage", "UntypedStorage", "is_storage"]


class TypedStorage:
    """A storage as elements of a dtype: that of a tensor, one of so many elements, or of numbers."""

    def __init__(self, *data, dtype=None, device=None):
        x = _tensor_of(data, dtype, device)
        self._nbytes = _ops.tensor_storage_nbytes(x)
        count = self._nbytes // x.element_size()
        self._elements = _ops.as_strided(_ops.detach(x), (count,), (1,), 0)

    @classmethod
    def of_elements(cls, elements) -> TypedStorage:
        """A storage of these elements, which may be a part of what lies around them."""
        out = cls.__new__(cls)
        out._elements, out._nbytes = elements, elements.nbytes
        return out

    def data_ptr(self) -> int:
        """The address of the first byte; 0 if there is none."""
        return self._elements.data_ptr() if self._nbytes else 0

    def nbytes(self) -> int:
        """How many bytes there are."""
        return self._nbytes

    def size(self) -> int:
        """How many elements there are."""
        return self._nbytes // self.element_size()

    __len__ = size

    @property
    def device(self):
        return self._elements.device

    @property
    def is_cuda(self) -> bool:
        return self._elements.is_cuda

    @property
    def dtype(self) -> _dtype:
        return self._elements.dtype

    def element_size(self) -> int:
        """Bytes of one element."""
        return self._elements.element_size()

    def tolist(self) -> list:
        """The elements, as numbers."""
        return self._elements.tolist()

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return UntypedStorage(self._elements)

    def is_shared(self) -> bool:
        """Whether the memory is that of share_memory_, or a GPU's."""
        return self._elements.is_shared()

    @property
    def filename(self) -> None:
        """None: which file memory is of is not kept."""
        return None

    def type(self) -> str:
        """The name of the storage's type."""
        return f"torch.{'cuda.' if self.is_cuda else ''}{self.dtype.word}Storage"

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def fill_(self, value) -> TypedStorage:
        """Writes a number over all elements."""
        _ops.fill_(self._elements, value)
        return self

    def copy_(self, source, non_blocking=None) -> TypedStorage:
        """Writes another storage's elements over its own."""
        _ops.copy_(self._elements, source._elements)
        return self

    def clone(self) -> TypedStorage:
        """A storage of its own with the same elements."""
        return type(self)(_ops.clone(self._elements))

    def __deepcopy__(self, memo):
        """A look at a copy of the memory, of which there is one for all that look at it."""
        copies = memo.setdefault("dumbtorch", {})
        key = (self.device, self.data_ptr()) if self._nbytes else object()
        if key not in copies:
            # With the original: as long as it is there its address is no other memory's.
            copies[key] = self, self.untyped().clone()
        copied = copies[key][1]
        return (
            copied
            if self.dtype is None
            else type(self)(memory_of(copied, self._elements, 0, None, None))
        )

    def to(self, *, device, non_blocking=False):
        """A storage on a device: itself if it is there."""
        moved = _ops.to(self._elements, device=device, non_blocking=non_blocking)
        return self if moved is self._elements else type(self)(moved)

    def cpu(self):
        """to(device="cpu")."""
        return self.to(device="cpu")

    def resizable(self) -> bool:
        """Whether the memory may be of another size; nothing here makes it so."""
        return True

    def __getitem__(self, index):
        return self.tolist()[index]

    def __setitem__(self, index, value):
        self._elements[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def __eq__(self, other):
        if not isinstance(other, type(self)):
            return NotImplemented
        return (self.data_ptr(), self.nbytes()) == (other.data_ptr(), other.nbytes())

    def __hash__(self):
        return hash((self.data_ptr(), self.nbytes()))

    def __repr__(self):
        name = type(self).__name__
        kind = "" if name == "UntypedStorage" else f"dtype={self.dtype}, "
        numbers = "\n ".join(map(str, self.tolist()))
        what = f"[torch.storage.{name}({kind}device={self.device}) of size {self.size()}]"
        return f" {numbers}\n{what}"


class UntypedStorage(TypedStorage):
    """A storage as bytes."""

    dtype = None

    def __init__(self, *data, device=None):
        super().__init__(*data, dtype=uint8, device=device)
        self._elements = _ops.view_dtype(self._elements, uint8)

    @classmethod
    def from_buffer(cls, buffer, byte_order=None, count=-1, offset=0, *, dtype=None):
        """A copy of `count` elements, by default all, of an object's memory after so many bytes."""
        return cls(_tensor_of_buffer(buffer, byte_order, count, offset, dtype))

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def type(self) -> str:
        """The name of the storage's type."""
        return "torch.storage.UntypedStorage"


def is_count(x) -> bool:
    """Whether it says how many elements there are: an integer, also NumPy's."""
    return hasattr(x, "__index__") and not hasattr(x, "__len__")


def _tensor_of(data: tuple, dtype, device):
    if len(data) == 1 and isinstance(data[0], TensorBase):
        return data[0]
    from ._creation import tensor

    dtype = _ops.get_default_dtype() if dtype is None else dtype
    if not data or is_count(data[0]):
        return _ops.empty(data or (0,), dtype=dtype, device=device)
    (values,) = data
    return tensor(list(values), dtype=dtype, device=device)


def _tensor_of_buffer(buffer, byte_order, count: int, offset: int, dtype):
    """A tensor of a copy of memory, whose elements may be in the other order of bytes."""
    if dtype is None:
        raise RuntimeError("argument 'dtype' cannot be None")
    each = dtype.itemsize
    if byte_order is None and (each > 1 or dtype is bool_):
        raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
    if byte_order not in (None, "big", "little", "native"):
        raise ValueError(
            f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')"
        )
    memory = memoryview(buffer).cast("B")
    if not 0 <= offset <= len(memory):
        raise ValueError(
            f"offset must be non-negative and no greater than buffer length ({len(memory)}), but got {offset}"
        )
    left = len(memory) - offset
    if count < 0 and left % each:
        raise ValueError(f"buffer size ({left}) must be a multiple of element size ({each})")
    count = left // each if count < 0 else count
    if count * each > left:
        raise ValueError(
            f"buffer has only {left // each} elements after offset {offset}, but specified a size of {count}"
        )
    given = data = bytearray(memory[offset : offset + count * each])
    if byte_order not in (None, "native", sys.byteorder):
        data = bytearray(len(given))
        for k in range(each):
            data[k::each] = given[each - 1 - k :: each]
    if dtype is bool_:
        data = bytearray(map(bool, data))
    from ._creation import from_bytes
    from ._tensor import Tensor

    return from_bytes(Tensor, bytes(data), (count,), dtype, False)


class _OfDtype(type):
    """The type of FloatStorage and its kin: their instances are storages of one dtype on the CPU."""

    def __call__(cls, *data):
        return TypedStorage(*data, dtype=cls.dtype, device="cpu")

    def from_buffer(cls, buffer, byte_order=None, count=-1, offset=0) -> TypedStorage:
        """A copy of `count` elements, by default all, of an object's memory after so many bytes."""
        return cls(_tensor_of_buffer(buffer, byte_order, count, offset, cls.dtype))

    def __instancecheck__(cls, x) -> bool:
        return isinstance(x, TypedStorage) and x.dtype is cls.dtype and not x.is_cuda

    def __repr__(cls):
        return f"<class 'torch.{cls.__name__}'>"


def _named(dtype: _dtype) -> _OfDtype:
    members = {"__doc__": f"Storages of {dtype} on the CPU.", "__module__": "torch", "dtype": dtype}
    return _OfDtype(f"{dtype.word}Storage", (), members)


def _cast_to(dtype: _dtype):
    def cast(self) -> TypedStorage:
        return TypedStorage(_ops.clone(_ops.to(self._elements, dtype=dtype)))

    cast.__doc__ = f"A new storage of {dtype}, with the elements' values."
    return cast


for _kind in DTYPE.objects.values():
    setattr(TypedStorage, _kind.word.lower(), _cast_to(_kind))
del _kind


TYPES = {dtype: _named(dtype) for dtype in DTYPE.objects.values()}


def _dtype_to_storage_type_map() -> dict[_dtype, str]:
    """The names of the types, by dtype."""
    return {dtype: kind.__name__ for dtype, kind in TYPES.items()}


def memory_of(source, like, offset: int, size, stride):
    """A tensor of like's dtype that looks at the memory of a tensor or a storage, or has none."""
    if source is None:
        return _ops.empty((0,), dtype=like.dtype, device=like.device)
    if isinstance(source, TensorBase):
        if source.dtype is not like.dtype:
            raise RuntimeError(
                f"Could not set tensor of type {_c_name(source)} to a tensor of type {_c_name(like)}"
            )
        if size is None:
            return _ops.detach(source)
        elements = TypedStorage(source)._elements
    elif isinstance(source, UntypedStorage):
        whole = source.nbytes() // like.itemsize * like.itemsize
        elements = _ops.view_dtype(source._elements[:whole], like.dtype)
    elif not isinstance(source, TypedStorage):
        raise TypeError(f"set_(): expected a tensor or a storage, not {type(source).__name__}")
    elif source.dtype is not like.dtype:
        raise RuntimeError(
            f"Expected a Storage of type {_c_name(like)} or an UntypedStorage, but got type "
            f"{source.dtype.word} for argument 1 'storage'"
        )
    else:
        elements = source._elements
    size = (elements.numel() - offset,) if size is None else size
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if stride is None:
        stride = _ops.empty(size, dtype=like.dtype).stride()
    return _ops.as_strided(elements, size, stride, offset)


def _c_name(x) -> str:
    return {"Float": "float", "Double": "double"}.get(x.dtype.word, x.dtype.word)


def is_storage(obj) -> bool:
    """Whether an object is a storage."""
    return isinstance(obj, TypedStorage)
