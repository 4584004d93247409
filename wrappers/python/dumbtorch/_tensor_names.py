"""The older and smaller names of Tensor: what a tensor is not, other words for what it has, storages."""

from __future__ import annotations

from . import _of_complex, _ops
from ._tensor_type import TensorBase
from ._types import layout, strided


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

    def is_inference(self) -> bool:
        return False

    def is_shared(self) -> bool:
        """Whether other processes see the memory: those of this library do not."""
        return False

    is_distributed = is_coalesced = is_inference

    def is_signed(self) -> bool:
        return self.dtype.is_signed

    def is_nonzero(self) -> bool:
        return bool(self)

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

    def dim_order(self) -> tuple:
        """The dimensions from the outermost in memory to the innermost."""
        strides = self.stride()
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

        return TypedStorage(self)

    def untyped_storage(self):
        """The memory behind the tensor as bytes."""
        from .storage import UntypedStorage

        return UntypedStorage(self)

    def const_data_ptr(self) -> int:
        """Address of the first element."""
        return self.data_ptr()

    def share_memory_(self):
        """Does nothing: workers are threads."""
        return self

    def new(self, *data):
        """The old constructor: x.new(2, 3) is uninitialised, x.new([1, 2]) holds data; of x's dtype and
        device."""
        from ._typed_tensors import construct

        return construct(self.dtype, self.device, data)

    # ---- Python functions, element by element

    def apply_(self, callable):
        """Writes callable(x) over each element x."""
        return _elementwise("apply_", self, callable, ())

    def map_(self, tensor, callable):
        """Writes callable(x, y) over each element x, where y is the other tensor's."""
        return _elementwise("map_", self, callable, (tensor,))

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
        """The tensor itself."""
        return self

    @property
    def imag(self):
        return _of_complex.imag(self)

    adjoint = _of_complex.adjoint
    angle = _of_complex.angle
    conj = conj_physical = resolve_conj = resolve_neg = _of_complex.conj
    is_conj = is_neg = _of_complex.is_conj


def _elementwise(name: str, x, function, others: tuple):
    from ._creation import tensor

    if x.requires_grad:
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead."
        )
    rows = [_ops.flatten(_ops.expand_as(other, x)).tolist() for other in others]
    values = [function(*numbers) for numbers in zip(_ops.flatten(x).tolist(), *rows, strict=True)]
    _ops.copy_(x, _ops.reshape(tensor(values, dtype=x.dtype, device=x.device), x.shape))
    return x
