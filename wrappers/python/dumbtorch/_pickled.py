"""What the names in PyTorch's pickles mean here, and what those of ours are called there."""

from __future__ import annotations

import codecs
from collections import Counter, OrderedDict

from . import _ops
from ._tensor import Tensor
from ._types import DTYPE, Size, device, strided, uint8
from .nn.parameter import Buffer, Parameter


class StorageType:
    """The class of a storage, torch.FloatStorage: that is how a pickle says a storage's dtype."""

    def __init__(self, dtype):
        self.dtype = dtype


STORAGE_TYPES = {d: StorageType(d) for d in DTYPE.objects.values()}
UNTYPED = StorageType(uint8)


def rebuild_tensor(storage, storage_offset, size, stride):
    """A tensor that looks at a storage."""
    elements = storage._elements
    start = elements.storage_offset() + storage_offset
    return _ops.detach(_ops.as_strided(elements, size, stride, start))


def rebuild_tensor_v2(
    storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None
):
    out = rebuild_tensor(storage, storage_offset, size, stride)
    return _ops.tensor_requires_grad_(out) if requires_grad else out


def rebuild_parameter(data, requires_grad, backward_hooks):
    return Parameter(data, requires_grad)


def rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    return _with_state(Parameter(data, requires_grad), state)


def rebuild_from_type(function, kind, arguments, state):
    """A tensor with attributes: a Buffer, which PyTorch marks by one."""
    out = function(*arguments)
    if isinstance(state, dict) and state.pop("_is_buffer", False):
        return _with_state(Buffer(out), state)
    return _with_state(out if kind is Tensor else kind(out), state)


def _with_state(tensor, state):
    if state:
        tensor.__dict__.update(state)
    return tensor


# Functions that a file may call with arguments of its choice: they make no more than is in the file.


def _bytes(text: str, encoding: str) -> bytes:
    return codecs.latin_1_encode(text)[0] if encoding == "latin1" else text.encode("ascii")


def _bytearray(content: bytes = b"") -> bytearray:
    return bytearray(bytes.join(b"", [content]))  # a number would be a length


def _complex(real: float, imag: float) -> complex:
    return complex(float(real), float(imag))


def _size(sizes: tuple = ()) -> Size:
    return Size(int(n) for n in sizes)


def layout_of(name: str):
    """The layout of that name, of which strided is the only one here."""
    if name != repr(strided):
        raise NotImplementedError(
            f"load: the file has the layout {name}; all tensors are strided here"
        )
    return strided


FUNCTIONS = {
    "torch._utils._rebuild_tensor": rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": rebuild_tensor_v2,
    "torch._utils._rebuild_parameter": rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": rebuild_parameter_with_state,
    "torch._tensor._rebuild_from_type_v2": rebuild_from_type,
    "torch.nn.parameter.Parameter": Parameter,
    "torch.serialization._get_layout": layout_of,
    "torch.Size": _size,
    "torch.device": device,
    "torch.Tensor": Tensor,
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": Counter,
    "_codecs.encode": _bytes,
    "builtins.bytearray": _bytearray,
    "builtins.complex": _complex,
    "builtins.set": set,
}
VALUES = {
    **{f"torch.{d.name}": d for d in STORAGE_TYPES},
    **{f"torch.{d.word}Storage": kind for d, kind in STORAGE_TYPES.items()},
    "torch.storage.UntypedStorage": UNTYPED,
}
# What the pickler calls what PyTorch has a name for, by the object's id.
NAMES = {
    id(value): name
    for name, value in (FUNCTIONS | VALUES | {"torch.Size": Size}).items()
    if name.startswith("torch.")
}
