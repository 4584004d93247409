"""Storages: the memory that a tensor and its views look at, to ask where and how large it is."""

from __future__ import annotations

from . import _ops
from ._types import dtype as _dtype

__all__ = ["TypedStorage", "UntypedStorage", "is_storage"]


class TypedStorage:
    """A storage as elements of a dtype."""

    def __init__(self, x):
        self._nbytes = _ops.tensor_storage_nbytes(x)
        count = self._nbytes // x.element_size()
        self._elements = _ops.as_strided(_ops.detach(x), (count,), (1,), 0)

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

    def __getitem__(self, index):
        return self.tolist()[index]

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
        lines = [f" {x}" for x in self.tolist()]
        return "\n".join(
            [*lines, f"[torch.storage.{name}({kind}device={self.device}) of size {self.size()}]"]
        )


class UntypedStorage(TypedStorage):
    """A storage as bytes."""

    dtype = None

    def element_size(self) -> int:
        """Bytes of one element: 1."""
        return 1

    def tolist(self) -> list[int]:
        """The bytes, as numbers."""
        from ._tensor import read

        return list(read(self._elements))

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self


def is_storage(obj) -> bool:
    """Whether an object is a storage."""
    return isinstance(obj, TypedStorage)
