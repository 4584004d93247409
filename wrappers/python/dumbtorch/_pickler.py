"""The pickler behind save: tensors become descriptions of storages, under PyTorch's names."""

from __future__ import annotations

import pickle
from collections import OrderedDict

from . import _ops, _pickled
from ._tensor import Tensor
from ._types import Size, device, layout
from .nn.parameter import Buffer, Parameter, UninitializedTensorMixin
from .storage import TypedStorage, UntypedStorage


class Pickler(pickle._Pickler):  # Python's own, in C, takes no names of modules that are not there
    def __init__(self, file, protocol: int):
        super().__init__(file, protocol=protocol)
        self.storages = {}  # by place: their keys, and they themselves

    def persistent_id(self, obj):
        kind = _pickled.UNTYPED if isinstance(obj, UntypedStorage) else None
        if isinstance(obj, TypedStorage):
            obj = _Storage(obj._elements)
        if not isinstance(obj, _Storage):
            return None
        key, whole = self.storages.setdefault(obj.place, (str(len(self.storages)), obj.whole))
        if whole.dtype is not obj.whole.dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types"
            )
        kind = kind or _pickled.STORAGE_TYPES[whole.dtype]
        return "storage", kind, key, str(whole.device), whole.numel()

    def reducer_override(self, obj):
        if id(obj) in _pickled.NAMES:
            return _pickled.NAMES[id(obj)]
        if isinstance(obj, Tensor) and not isinstance(obj, UninitializedTensorMixin):
            return _reduced(obj)
        if isinstance(obj, Size):
            return Size, (tuple(obj),)
        if isinstance(obj, layout):
            return _pickled.layout_of, (repr(obj),)
        if isinstance(obj, device):
            return device, (obj.type,) if obj.index is None else (obj.type, obj.index)
        return NotImplemented

    def save_global(self, obj, name=None):
        if id(obj) not in _pickled.NAMES:
            super().save_global(obj, name)
            return
        module, _, attribute = name.rpartition(".")
        self.write(pickle.GLOBAL + f"{module}\n{attribute}\n".encode())
        self.memoize(obj)


class _Storage:
    """The storage of a tensor: all of it as a tensor of one dimension, and where it is."""

    def __init__(self, x: Tensor):
        x = _ops.detach(x)
        numel = _ops.tensor_storage_nbytes(x) // x.element_size()
        self.whole = _ops.detach(_ops.as_strided(x, (numel,), (1,), 0))
        self.place = (x.device, self.whole.data_ptr()) if numel else object()


def _reduced(x: Tensor):
    kind, grad = type(x), x.requires_grad
    hooks, state = OrderedDict(), x.__dict__
    plain = (_Storage(x), x.storage_offset(), tuple(x.shape), tuple(x.stride()))
    if kind is Parameter:
        data = _ops.detach(x)
        if state:
            return _pickled.rebuild_parameter_with_state, (data, grad, hooks, state)
        return _pickled.rebuild_parameter, (data, grad, hooks)
    if kind is Buffer or state:
        marks = dict(state or {}, _is_buffer=True) if kind is Buffer else state
        made_of = Tensor if kind is Buffer else kind
        function = _pickled.rebuild_tensor_v2
        return _pickled.rebuild_from_type, (function, made_of, (*plain, grad, hooks), marks)
    return _pickled.rebuild_tensor_v2, (*plain, grad, hooks)
