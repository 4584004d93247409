"""Tensor: what is Python about it. Operators are in tensor_type.c, ops in `_ops.py`."""

from __future__ import annotations

from copy import deepcopy

from . import _indexing, _numpy, _ops, _out, _overloads
from ._complaints import StandIn
from ._native import lib
from ._nodes import GradFn
from ._runtime import (
    device_at,
    general_ints,
    general_operand,
    general_scalar,
    make_error,
    number_like,
    placed,
    wrap,
)
from ._tensor_names import TensorNames
from ._tensor_type import (
    Callback,
    TensorBase,
    adopt,
    drop_grads,
    install,
    memory_of,
    own,
    to_capsule,
    to_lists,
)
from ._types import (
    DTYPE,
    Size,
    bfloat16,
    bool_,
    device,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    preserve_format,
    uint8,
)
from ._warning import warn_of_copy


class Tensor(TensorNames):
    """A multi-dimensional array that can record how it was computed."""

    __slots__ = ()
    __module__ = "dumbtorch"
    # NumPy leaves `array + tensor` to the tensor.
    __array_priority__ = 1000

    def __new__(cls, *data, **named):
        """The old constructor: Tensor(2, 3) is uninitialised, Tensor([1, 2]) holds data, of the default dtype;
        Tensor(x) is a view of x. A class derived from Tensor has objects of its own."""
        from ._typed_tensors import construct

        out = construct(None, _ops.get_default_device(), data, named)
        return out if cls is Tensor else adopt(cls, lib.py_alias(out._h), out)

    # ---- shape and memory

    @property
    def itemsize(self) -> int:
        return _ops.tensor_element_size(self)

    @property
    def nbytes(self) -> int:
        return _ops.tensor_numel(self) * _ops.tensor_element_size(self)

    def is_floating_point(self) -> bool:
        return _ops.tensor_dtype(self).is_floating_point

    def is_complex(self) -> bool:
        return False

    def _is_view(self) -> bool:
        return self._base is not None

    @property
    def _version(self) -> int:
        return _ops.tensor_version(self)

    # ---- dtype and device

    def to(self, *args, **kwargs) -> Tensor:
        """to(dtype), to(device), to(device, dtype), to(other), with non_blocking, copy,
        memory_format.
        """
        if len(args) == 1 and not kwargs:
            kind = args[0].__class__
            if kind is dtype:
                return _cast(self, args[0], preserve_format)
            if kind in (str, device):
                where = args[0] if kind is str else args[0].type
                return self if where == "cpu" and not self.is_cuda else _ops.to(self, args[0])
        return _ops.to(self, **_to_arguments(args, kwargs))

    def type(self, dtype=None, non_blocking=False):
        """The name of the tensor's type, or the tensor converted: to a dtype, a type or a type's name."""
        from ._typed_tensors import convert, type_name

        return type_name(self) if dtype is None else convert(self, dtype, non_blocking)

    def type_as(self, other) -> Tensor:
        return _ops.to(self, dtype=other.dtype, device=other.device)

    def float(self, *, memory_format=preserve_format) -> Tensor:
        return _cast(self, float32, memory_format)

    def double(self, *, memory_format=preserve_format) -> Tensor:
        return _cast(self, float64, memory_format)

    def long(self, *, memory_format=preserve_format) -> Tensor:
        return _cast(self, int64, memory_format)

    def int(self, *, memory_format=preserve_format) -> Tensor:
        return _cast(self, int32, memory_format)

    def half(self, *, memory_format=preserve_format) -> Tensor:
        return _cast(self, float16, memory_format)

    def bfloat16(self, *, memory_format=preserve_format) -> Tensor:
        return _cast(self, bfloat16, memory_format)

    def short(self, *, memory_format=preserve_format) -> Tensor:
        return _cast(self, int16, memory_format)

    def char(self, *, memory_format=preserve_format) -> Tensor:
        return _cast(self, int8, memory_format)

    def byte(self, *, memory_format=preserve_format) -> Tensor:
        return _cast(self, uint8, memory_format)

    def bool(self, *, memory_format=preserve_format) -> Tensor:
        return _cast(self, bool_, memory_format)

    # ---- autograd

    def _set_requires_grad(self, value: bool) -> None:
        # Unlike requires_grad_, an assignment says what was not so before.
        if value is not True and value is not False:
            raise RuntimeError("requires_grad must be a bool")
        if value and not self.is_leaf:
            raise RuntimeError("you can only change requires_grad flags of leaf variables.")
        _ops.tensor_requires_grad_(self, value)

    requires_grad = property(
        TensorBase._wants_gradient, _set_requires_grad, lambda self: self._set_requires_grad(None)
    )

    _grad = TensorBase.grad  # by which programs set what they do not want to be checked

    @property
    def grad_fn(self) -> GradFn | None:
        """What made the tensor, to look at; None for leaves."""
        return None if self.is_leaf else GradFn(_ops.tensor_node(self), self)

    @property
    def data(self) -> Tensor:
        """The memory without the graph. Assigning makes the tensor look at other memory."""
        return _ops.tensor_data(self)

    @data.setter
    def data(self, value) -> None:
        if not isinstance(value, TensorBase):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        _ops.tensor_set_data(self, value)

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    def register_hook(self, hook):
        """Has backward call hook(grad); what it returns, if not None, becomes the gradient."""
        callback = Callback(hook) if callable(hook) else hook
        registered = _ops.tensor_register_hook(self, callback)
        own(self, callback)
        return registered

    def register_post_accumulate_grad_hook(self, hook):
        """Has backward call hook(tensor) each time after it has added to a leaf's .grad."""

        def call(grad):
            result = hook(self)
            if result is None or result is self:
                return
            if isinstance(result, TensorBase):
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")
            raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")

        callback = Callback(call)
        registered = _ops.tensor_register_post_accumulate_grad_hook(self, callback)
        own(self, callback)
        return registered

    # ---- one number

    def __index__(self) -> int:
        value = self.item() if _ops.tensor_numel(self) == 1 else 0.0
        if isinstance(value, _float):
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return _int(value)

    def __format__(self, spec):
        if _ops.tensor_dim(self) == 0:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    # ---- a sequence of its first dimension

    def __iter__(self):
        if _ops.tensor_dim(self) == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(_ops.unbind(self, 0))

    def __reversed__(self) -> Tensor:
        return _ops.flip(self, 0) if self.ndim else self

    def __contains__(self, value) -> bool:
        if not isinstance(value, (TensorBase, int, float)):
            raise RuntimeError(
                "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
                f"{type(value)}."
            )
        return _bool(_ops.any(_ops.eq(self, value)))

    # ---- operators that C does not have

    def __pos__(self) -> Tensor:
        if self.dtype is bool_:
            raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
        return self

    def __dir__(self):
        return sorted({*object.__dir__(self)} - {"to_string", "set_grad", "is_same"})

    # ---- text and copies

    def __repr__(self) -> str:
        return _ops.tensor_to_string(self)

    def tolist(self):
        """The elements as nested lists, or the number of a 0-d tensor."""
        if not self.ndim:
            return self.item()
        x = self if self.dtype.code else _ops.to(_ops.detach(self), dtype=float32)
        return to_lists(x, x.dtype.code)

    def __copy__(self) -> Tensor:
        """A leaf of its own that looks at the same memory."""
        return rebuild(type(self), _ops.tensor_data(self), self)

    def __deepcopy__(self, memo) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
                "because of a torch.nn.utils.weight_norm usage, see "
                "https://github.com/pytorch/pytorch/pull/103001"
            )
        if id(self) not in memo:
            memo[id(self)] = out = rebuild(type(self), _copy_in_memo(self, memo), self)
            out.__dict__.update(deepcopy(self.__dict__, memo))
            grad = self.grad
            if grad is not None:
                out.grad = deepcopy(grad, memo)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        from ._creation import from_bytes

        shape, strides = tuple(self.shape), self.stride()
        last = sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
        size = (last + 1 if self.numel() else 0,)
        memory = _ops.as_strided(_ops.detach(self), size, (1,), self.storage_offset())
        parts = (bytes(read(memory)), shape, self.dtype, self.requires_grad, strides, self.device)
        return from_bytes, (type(self), *parts), self.__dict__ or None

    # ---- other libraries

    def numpy(self, *, force: bool = False):
        """A NumPy array that shares the tensor's memory; bfloat16 needs the package ml_dtypes."""
        import numpy

        if force:
            return _ops.detach(self).cpu().numpy()
        if self.requires_grad and _ops.is_grad_enabled():
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
        if self.is_cuda:
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to "
                "copy the tensor to host memory first."
            )
        array = numpy.asarray(memory_of(self, _BUFFER_CODES.get(self.dtype, self.dtype.code)))
        return array if self.dtype is not bfloat16 else array.view(_numpy.dtype_for(bfloat16))

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError("a copy is needed to convert the tensor's dtype")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, *, stream=-1, max_version=None, dl_device=None, copy=None):
        """A capsule with the tensor's memory. On a GPU, `stream` is the consumer's: work on it from
        here on waits for what this thread's current stream has to do; -1: it does not wait.
        """
        if _ops.tensor_requires_grad(self):
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if stream is not None and type(stream) is not _int:
            raise TypeError("stream must be ``int`` or ``none``")
        if not self.is_cuda and stream not in (None, -1):
            raise AssertionError("stream should be None on cpu.")
        if max_version is None or max_version[0] < 1:
            raise BufferError(
                "dumbtorch exports DLPack 1.0 capsules; the consumer asks for older ones"
            )
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError("the tensor is on another device")
        out = to_capsule(_ops.clone(self) if copy else self)
        if self.is_cuda and stream != -1:
            from . import cuda

            cuda.let_consumer_wait(self.device, stream)
        return out

    def __dlpack_device__(self) -> tuple:
        where = self.device
        return (2, where.index or 0) if where.type == "cuda" else (1, 0)

    # ---- new tensors like this one

    def new_tensor(
        self, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False
    ) -> Tensor:
        """torch.tensor with this tensor's dtype and device as defaults."""
        from ._creation import tensor

        place = {
            "dtype": self.dtype if dtype is None else dtype,
            "device": self.device if device is None else device,
        }
        if isinstance(data, TensorBase):
            warn_of_copy("tensor.new_tensor")
            copied = _ops.to(_ops.clone(_ops.detach(data)), **place)
            return placed(copied.requires_grad_(requires_grad), layout, pin_memory)
        return placed(tensor(data, requires_grad=requires_grad, **place), layout, pin_memory)


# What buffers call elements, where that is not what arrays of Python's do: int64 is C's long to NumPy.
_BUFFER_CODES = {int64: "l", float16: "e", bfloat16: "H"}

# The names of these types are methods of Tensor above.
_bool, _float, _int = bool, float, int


def read(tensor: Tensor) -> bytearray:
    """The elements in row-major order."""
    from ._native import ffi

    data = bytearray(tensor.nbytes)
    if data:
        lib.py_tensor_read(tensor, ffi.from_buffer(data), len(data))
    return data


def _copy_in_memo(x: Tensor, memo: dict) -> Tensor:
    """A look at a copy of x's whole storage, of which there is one per memo, as x looks at the storage."""
    from .storage import UntypedStorage, memory_of

    copied = deepcopy(UntypedStorage(x), memo)
    shown = memory_of(copied, x, _ops.tensor_storage_offset(x), x.shape, x.stride())
    return _ops.tensor_data(shown)  # which is no view and counts its own changes


def forget_grads(tensors: list, set_to_none: bool) -> None:
    """Takes the gradients away, or fills them with 0 where they are."""
    if set_to_none:
        drop_grads(tensors)
        return
    for grad in [x.grad for x in tensors if x.grad is not None]:
        if grad.requires_grad:
            _ops.detach_(grad)
        _ops.zero_(grad)


def rebuild(kind: type, copy: Tensor, original: Tensor) -> Tensor:
    """The copy with the original's type, requires_grad and attributes."""
    out = adopt(kind, lib.py_alias(copy._h))
    if original.requires_grad:
        _ops.tensor_requires_grad_(out)
    if original.__dict__:
        out.__dict__.update(original.__dict__)
    return out


def _cast(x: Tensor, dtype, memory_format) -> Tensor:
    """x itself where nothing is to be done."""
    if x.dtype is dtype and memory_format is preserve_format:
        return x
    return _ops.to(x, dtype=dtype, memory_format=memory_format)


def _to_arguments(args: tuple, kwargs: dict) -> dict:
    """What the arguments of to() stand for: (device, dtype, flags), (dtype, flags) or (tensor, flags)."""
    names, rest = ["device", "dtype", "non_blocking", "copy"], args
    if args and isinstance(args[0], Tensor):
        other, rest = args[0], args[1:]
    else:
        other = kwargs.pop("other", None)
    given = {} if other is None else {"device": other.device, "dtype": other.dtype}
    if other is not None:
        del names[:2]
    elif args and _is_dtype(args[0]):
        del names[0]
    found = dict(zip(names, rest))
    given |= found
    if (
        len(rest) > len(names)
        or given.keys() & kwargs.keys()
        or "other" in kwargs
        or not all(_fits(*pair) for pair in found.items())
    ):
        words = [type(a).__name__ for a in args]
        words += [f"{k}={type(v).__name__}" for k, v in kwargs.items()]
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({', '.join(words)})"
        )
    return given | kwargs


def _fits(name: str, value) -> _bool:
    if name == "dtype":
        return value is None or _is_dtype(value)
    if name == "device":
        is_device = isinstance(value, (str, device, _int)) and not isinstance(value, _bool)
        return is_device or value is None
    return isinstance(value, _bool)


def _is_dtype(value) -> _bool:
    return isinstance(value, dtype) or (isinstance(value, type) and value in DTYPE)


# ---- operands that tensor_type.c does not know


_FUNCTIONS = {
    "add": _ops.add, "sub": _ops.sub, "mul": _ops.mul, "truediv": _ops.div,
    "floordiv": _ops.floor_divide, "mod": _ops.remainder, "pow": _ops.pow, "matmul": _ops.matmul,
    "and": _ops.bitwise_and, "or": _ops.bitwise_or, "xor": _ops.bitwise_xor,
    "lshift": _ops.bitwise_left_shift, "rshift": _ops.bitwise_right_shift,
    "eq": _ops.eq, "ne": _ops.ne, "lt": _ops.lt, "le": _ops.le, "gt": _ops.gt, "ge": _ops.ge,
    "iadd": _ops.add_, "isub": _ops.sub_, "imul": _ops.mul_, "itruediv": _ops.div_,
    "ifloordiv": _ops.floor_divide_, "imod": _ops.remainder_, "ipow": _ops.pow_,
    "iand": _ops.bitwise_and_, "ior": _ops.bitwise_or_, "ixor": _ops.bitwise_xor_,
    "ilshift": _ops.bitwise_left_shift_, "irshift": _ops.bitwise_right_shift_,
}  # fmt: skip
_INPLACE = {name for name, function in _FUNCTIONS.items() if function.__name__.endswith("_")}
# number OP tensor, where C has no call for it
_REFLECTED = {
    "truediv": lambda number, tensor: _ops.mul(_ops.reciprocal(tensor), number),
    "floordiv": lambda number, tensor: _ops.floor_divide(number_like(number, tensor), tensor),
    "mod": lambda number, tensor: _ops.remainder(number_like(number, tensor), tensor),
    "lshift": _ops.bitwise_left_shift,
    "rshift": _ops.bitwise_right_shift,
}
# What computes `number op tensor` where the number is one of NumPy's; called as f(tensor, number).
_SWAPPED = {
    "add": _ops.add, "mul": _ops.mul, "sub": _ops.rsub, "and": _ops.bitwise_and, "or": _ops.bitwise_or,
    "xor": _ops.bitwise_xor, "pow": lambda tensor, number: _ops.pow(number, tensor),
}  # fmt: skip


def _operate(name: str, a, b):
    """An operator whose operands are not both tensors or Python numbers in the usual order."""
    if isinstance(b, StandIn) and name in _INPLACE:
        return _FUNCTIONS[name](a, b)  # Python would take the operator that makes a tensor
    if isinstance(a, TensorBase):
        other, function = _plain(b), _FUNCTIONS.get(name)
        is_number = other is not None and not isinstance(other, TensorBase)
        if other is not None and function is not None and not (is_number and name == "matmul"):
            return function(*_meet(name, a, other))
        return _reflected_add(a, b) if name == "iadd" else NotImplemented
    other = _plain(a)
    if other is None:
        return NotImplemented
    if isinstance(other, TensorBase):
        return _FUNCTIONS[name](*_meet(name, other, b)) if name in _FUNCTIONS else NotImplemented
    if name in _REFLECTED:
        return _REFLECTED[name](other, b)
    return _SWAPPED[name](b, other) if name in _SWAPPED else NotImplemented


def _reflected_add(a, b):
    """What b makes of `a += b`, which `a` cannot: lists have that operator too, so that Python takes NotImplemented
    for the result."""
    own = getattr(type(b), "__radd__", None)
    out = own(b, a) if own else NotImplemented
    if out is NotImplemented:
        raise TypeError(f"unsupported operand type(s) for +=: 'Tensor' and '{type(b).__name__}'")
    return out


def _plain(x):
    """Python's number for one of NumPy's; a tensor for a NumPy array; None for anything else."""
    if isinstance(x, (_bool, _int, _float)):
        return x
    if not _numpy.is_array(x):
        return None
    if _numpy.is_number(x):
        return x.item()
    from ._creation import as_tensor

    return as_tensor(x) if _numpy.dtype_of(x) else None


def _meet(name: str, a, b) -> tuple:
    """The operands, in NumPy's common dtype if one of them was an array and none is written."""
    if not isinstance(b, TensorBase) or name in _INPLACE:
        return a, b
    kind = _numpy.meeting_dtype(name, a.dtype, b.dtype)
    return _ops.to(a, dtype=kind), _ops.to(b, dtype=kind)


def _size(x, dim=None, *, axis=None):
    dim = dim if axis is None else axis
    return x.shape if dim is None else _ops.tensor_size(x, dim)


def _stride(x, dim=None, *, axis=None):
    dim = dim if axis is None else axis
    return x.stride() if dim is None else x.stride()[dim]


install(
    Tensor, Size, DTYPE.objects, make_error, _operate,
    _ops.METHODS | _overloads.METHODS | {"size": _size, "stride": _stride},
    device_at, _indexing.get, _indexing.put, _out.compute_for, _out.finish,
    general_scalar, general_operand, general_ints,
)  # fmt: skip

for _name, _function in (_ops.METHODS | _overloads.METHODS).items():
    if not hasattr(Tensor, _name):
        setattr(Tensor, _name, _function)
# Programs look at these as often as at a shape: without a Python frame.
Tensor.data = Tensor.data.getter(TensorBase._without_graph)
for _name, _function in _ops.PROPERTIES.items():
    if not hasattr(Tensor, _name):
        setattr(Tensor, _name, property(_function))

__all__ = ["Tensor", "wrap"]
