"""The older and smaller names of Tensor: what a tensor is not, other words for what it has, storages."""

from __future__ import annotations

import mmap
import warnings
import weakref

from . import _fill, _missing, _of_complex, _ops, _spectral
from ._native import lib
from ._tensor_type import TensorBase, adopt
from ._types import channels_last, contiguous_format, layout, strided
from ._warning import warn_once

NO_VOLATILE = "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."
_FORMATS = (contiguous_format, channels_last)


def _check_derived(cls) -> None:
    if not (isinstance(cls, type) and issubclass(cls, TensorBase)):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure "
            "your class inherits from Tensor."
        )


class TensorNames(TensorBase):
    """The part of Tensor that says little: its base class."""

    __slots__ = ()

    # ---- what it is

    @property
    def layout(self) -> layout:
        return strided

    @property
    def is_cpu(self) -> bool:
        return self.device.type == "cpu"

    @property
    def is_sparse(self) -> bool:
        return False

    is_sparse_csr = is_quantized = is_nested = is_meta = is_mkldnn = is_mps = is_xla = is_sparse
    is_xpu = is_vulkan = is_ipu = is_maia = is_mtia = is_sparse

    @property
    def volatile(self) -> bool:
        """Of before no_grad: False, with PyTorch's warning."""
        warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=2)
        return False

    @volatile.setter
    def volatile(self, value) -> None:
        warnings.warn(NO_VOLATILE, stacklevel=2)

    def is_inference(self) -> bool:
        return False

    def is_shared(self) -> bool:
        """Whether the memory is that of share_memory_, or a GPU's."""
        return self.is_cuda or self.untyped_storage().data_ptr() in _shared

    is_distributed = is_inference

    def is_coalesced(self) -> bool:
        """Of sparse tensors."""
        raise RuntimeError("is_coalesced expected sparse coordinate tensor layout but got Strided")

    def is_signed(self) -> bool:
        return self.dtype.is_signed

    def is_nonzero(self) -> bool:
        return bool(self)

    def is_set_to(self, tensor) -> bool:
        """Whether both look at the same memory in the same way."""
        return _ops.tensor_is_set_to(self, tensor)

    def is_same_size(self, other) -> bool:
        return self.shape == other.shape

    @property
    def name(self) -> None:
        return None

    @property
    def grad_dtype(self):
        """The dtype of the gradient: the tensor's own."""
        return self.dtype

    def get_device(self) -> int:
        """The number of the CUDA device, or -1."""
        where = self.device
        return -1 if where.type == "cpu" else where.index or 0

    def ndimension(self) -> int:
        """Number of dimensions."""
        return self.ndim

    def dim_order(self, *, ambiguity_check=False) -> tuple:
        """The dimensions from the outermost in memory to the innermost; if that is asked, an error where another
        order would do, or where not exactly one of a list of memory formats fits."""
        strides = self.stride()
        is_list = isinstance(ambiguity_check, (list, tuple))
        if not is_list and not isinstance(ambiguity_check, bool):
            raise TypeError(
                "The ambiguity_check argument must be a bool or a list of memory formats."
            )
        several = (
            1 in self.shape
            or 0 in strides
            or any(a == b for a, b in zip(strides, strides[1:], strict=False))
        )

        def fitting(formats) -> int:
            return sum(self.is_contiguous(memory_format=f) for f in formats)

        is_one = is_list and fitting(ambiguity_check) == 1 == fitting(_FORMATS)
        if ambiguity_check is not False and several and not is_one:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
            )
        return tuple(sorted(range(self.ndim), key=lambda d: -strides[d]))

    def sparse_dim(self) -> int:
        return 0

    def dense_dim(self) -> int:
        """Number of dimensions."""
        return self.ndim

    def to_dense(self, dtype=None, *, masked_grad=None):
        """The tensor itself, or converted to a dtype."""
        return self if dtype is None else _ops.to(self, dtype=dtype)

    # ---- memory

    def storage(self):
        """The memory behind the tensor as elements."""
        from .storage import TypedStorage

        warn_once(
            "typed storage",
            "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage "
            "class. This should only matter to you if you are using storages directly.  To access UntypedStorage "
            "directly, use tensor.untyped_storage() instead of tensor.storage()",
        )
        return TypedStorage(self)

    def untyped_storage(self):
        """The memory behind the tensor as bytes."""
        from .storage import UntypedStorage

        return UntypedStorage(self)

    def const_data_ptr(self) -> int:
        """Address of the first element."""
        return self.data_ptr()

    def share_memory_(self):
        """Moves the elements into memory that processes forked from here on see, too."""
        if not self.is_shared() and self.nbytes:
            _ops.tensor_set_data(self, _in_shared_memory(self))
        return self

    def as_subclass(self, cls):
        """The same tensor as an object of another class."""
        if not isinstance(cls, type):
            raise TypeError(f"cls must be a type (got {type(cls).__name__})")
        _check_derived(cls)
        return adopt(cls, lib.py_alias(self._h), self)

    @staticmethod
    def _make_subclass(cls, data, require_grad=False):
        """A leaf of that class in a tensor's memory."""
        _check_derived(cls)
        if not isinstance(data, TensorBase):
            given = type(data).__name__
            raise TypeError(
                f"_make_subclass(): argument 'data' (position 2) must be Tensor, not {given}"
            )
        data = _ops.detach(data)
        return _ops.tensor_requires_grad_(adopt(cls, lib.py_alias(data._h)), require_grad)

    def storage_type(self) -> type:
        """The class of its storage, such as torch.FloatStorage."""
        from .storage import TYPES, TypedStorage

        return TypedStorage if self.is_cuda else TYPES[self.dtype]

    def set_(self, source=None, storage_offset=None, size=None, stride=None):
        """Makes the tensor look at a tensor's or a storage's memory; at none without one."""
        from .storage import memory_of

        if (storage_offset is None) is not (size is None) or (size is None and stride is not None):
            raise TypeError("set_() takes storage_offset and size together, and stride with them")
        if _ops.is_grad_enabled() and self.requires_grad and self.is_leaf:
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation."
            )
        _ops.tensor_set_data(self, memory_of(source, self, storage_offset or 0, size, stride))
        return self

    def module_load(self, other, assign=False):
        """What a module's load_state_dict puts in the tensor's place: the tensor with the other's elements, or the
        other itself."""
        return other.detach() if assign else self.copy_(other).detach()

    def unsafe_split(self, split_size, dim=0, *, axis=None) -> tuple:
        """split into what counts as no views."""
        from ._parts import unsafe_split  # which needs tensors

        return unsafe_split(self, split_size, dim, axis=axis)

    def unsafe_split_with_sizes(self, split_sizes, dim=0, *, axis=None) -> tuple:
        """split into these sizes, into what counts as no views."""
        from ._parts import unsafe_split_with_sizes

        return unsafe_split_with_sizes(self, split_sizes, dim, axis=axis)

    def unsafe_chunk(self, chunks, dim=0, *, axis=None) -> tuple:
        """chunk into what counts as no views."""
        from ._parts import unsafe_chunk

        return unsafe_chunk(self, chunks, dim, axis=axis)

    def conj_physical_(self):
        """The tensor: its numbers are real."""
        return self

    def fill_diagonal_(self, fill_value, wrap=False):
        """Fills the diagonal; with wrap, that of a tall matrix begins again, a row after it has ended."""
        return _fill.fill_diagonal_(self, fill_value, wrap)

    def new(self, *data, **named):
        """The old constructor: x.new(2, 3) is uninitialised, x.new([1, 2]) holds data; of x's dtype and
        device."""
        from ._typed_tensors import construct

        return construct(self.dtype, self.device, data, named)

    # ---- Python functions, element by element

    def apply_(self, callable):
        """Writes callable(x) over each element x."""
        return _elementwise("apply_", self, callable, {})

    def map_(self, tensor, callable):
        """Writes callable(x, y) over each element x, where y is the other tensor's."""
        return _elementwise("map_", self, callable, {"other": tensor})

    def map2_(self, x, y, callable):
        """Writes callable(z, x, y) over each element z, where x and y are the other tensors'."""
        return _elementwise("map2_", self, callable, {"x": x, "y": y})

    def bitwise_not_(self):
        """In-place version of bitwise_not."""
        return _ops.copy_(self, _ops.bitwise_not(self))

    # ---- complex numbers

    @property
    def mT(self):
        """The tensor with its last two dimensions swapped."""
        return _of_complex.matrix_transpose(self, "mT")

    @property
    def mH(self):
        """The same as mT."""
        return _of_complex.matrix_transpose(self, "mH")

    @property
    def H(self):
        """A matrix with its dimensions swapped."""
        return _of_complex.hermitian(self)

    @property
    def real(self):
        """The tensor itself, which an assignment writes."""
        return self

    @real.setter
    def real(self, value) -> None:
        self[...] = value

    @property
    def imag(self):
        return _of_complex.imag(self)

    stft = _spectral.stft
    adjoint = _of_complex.adjoint
    angle = _of_complex.angle
    conj = conj_physical = _of_complex.conj
    resolve_conj, resolve_neg = _of_complex.resolve_conj, _of_complex.resolve_neg
    is_conj, is_neg = _of_complex.is_conj, _of_complex.is_neg


class _SharedMemory(mmap.mmap):
    """Memory that a fork does not copy."""


_shared: weakref.WeakValueDictionary = weakref.WeakValueDictionary()  # by address


def _in_shared_memory(x):
    from ._creation import frombuffer

    memory = _SharedMemory(-1, x.nbytes)
    out = frombuffer(memory, dtype=x.dtype).as_strided(x.shape, _dense_strides(x))
    _shared[out.data_ptr()] = memory
    return _ops.copy_(out, _ops.detach(x))


def _dense_strides(x) -> tuple:
    return _ops.empty_like(_ops.detach(x)).stride()


def _elementwise(name: str, x, function, others: dict):
    from ._creation import tensor

    for position, (word, other) in enumerate(others.items(), 1):
        if not isinstance(other, TensorBase):
            kind = type(other).__name__
            raise TypeError(
                f"{name}(): argument '{word}' (position {position}) must be Tensor, not {kind}"
            )
    if any(each.requires_grad for each in (x, *others.values())):
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead."
        )
    for word, other in others.items():
        if other.type() != x.type():
            of = f"argument '{word}'" if len(others) > 1 else f"'{word}'"
            raise TypeError(f"{name}: expected {x.type()} for {of} (got {other.type()})")
    rows = [_ops.flatten(_ops.expand_as(other, x)).tolist() for other in others.values()]
    values = [function(*numbers) for numbers in zip(_ops.flatten(x).tolist(), *rows, strict=True)]
    _ops.copy_(x, _ops.reshape(tensor(values, dtype=x.dtype, device=x.device), x.shape))
    return x


_missing.install(TensorNames)
