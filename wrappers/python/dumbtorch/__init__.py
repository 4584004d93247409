"""dumbtorch for Python: `import dumbtorch as torch`.

PyTorch's names, over a small library that other languages share. What differs from PyTorch is
listed in docs/python.md.
"""

# What is imported here is the package's public face.
# ruff: noqa: F401

from __future__ import annotations

import math as _math

from . import _copies, _late, _ops, _overloads, _typed_tensors, _types
from ._complaints import need_tensor
from ._creation import as_tensor, asarray, from_dlpack, from_file, from_numpy, frombuffer, tensor
from ._native import lib as _lib
from ._of_complex import (
    adjoint,
    angle,
    conj,
    conj_physical,
    imag,
    is_conj,
    is_neg,
    real,
    resolve_conj,
    resolve_neg,
)
from ._runtime import AcceleratorError, OutOfMemoryError
from ._tensor import Tensor
from ._types import (
    Size,
    bfloat16,
    channels_last,
    contiguous_format,
    device,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    layout,
    memory_format,
    preserve_format,
    strided,
    uint8,
)
from .storage import TYPES as _storage_types

# The functions of the schema, then those whose signatures are overloads.
globals().update(_ops.NAMESPACES["torch"])
globals().update(_overloads.FUNCTIONS)
_segment_reduce = _ops.segment_reduce  # its name before it was documented
globals().update(_copies.FUNCTIONS)
globals().update(_typed_tensors.TYPES["cpu"])
globals().update((t.__name__, t) for t in _storage_types.values())

from . import amp, autograd, nn, random, storage, torch_version, version  # noqa: E402
from ._by_position import (  # noqa: E402
    adaptive_max_pool1d,
    affine_grid_generator,
    alpha_dropout,
    alpha_dropout_,
    batch_norm,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    ctc_loss,
    dropout,
    dropout_,
    embedding,
    embedding_bag,
    feature_alpha_dropout,
    feature_alpha_dropout_,
    feature_dropout,
    feature_dropout_,
    grid_sampler,
    grid_sampler_2d,
    grid_sampler_3d,
    group_norm,
    hinge_embedding_loss,
    instance_norm,
    kl_div,
    layer_norm,
    margin_ranking_loss,
    max_pool1d_with_indices,
    poisson_nll_loss,
    spmm,
    triplet_margin_loss,
)
from ._conditions import (  # noqa: E402
    _assert,
    _assert_async,
    _check,
    _check_index,
    _check_not_implemented,
    _check_tensor_all,
    _check_type,
    _check_value,
    _check_with,
)
from ._functions import (  # noqa: E402
    broadcast_shapes,
    cdist,
    chain_matmul,
    compiled_with_cxx11_abi,
    cond,
    conj_physical_,
    empty_permuted,
    fill,
    get_device_module,
    is_inference,
    isin,
    range,
    tril_indices,
    triu_indices,
)
from ._graph import capture  # noqa: E402
from ._parts import unsafe_chunk, unsafe_split, unsafe_split_with_sizes  # noqa: E402
from ._settings import (  # noqa: E402
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    get_num_interop_threads,
    is_deterministic_algorithms_warn_only_enabled,
    is_warn_always_enabled,
    set_default_device,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    set_flush_denormal,
    set_num_interop_threads,
    set_printoptions,
    set_warn_always,
    use_deterministic_algorithms,
)
from ._spectral import stft  # noqa: E402
from ._type_info import (  # noqa: E402
    can_cast,
    finfo,
    iinfo,
    is_complex,
    is_floating_point,
    is_nonzero,
    is_same_size,
    is_signed,
    promote_types,
    result_type,
    typename,
)
from ._typed_tensors import set_default_tensor_type  # noqa: E402
from .amp import GradScaler, autocast  # noqa: E402
from .amp.autocast_mode import (  # noqa: E402
    clear_autocast_cache,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    is_autocast_cache_enabled,
    is_autocast_cpu_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from .autograd import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: E402
from .autograd.grad_mode import is_inference_mode_enabled  # noqa: E402
from .nn.functional import conv_tbc  # noqa: E402
from .random import (  # noqa: E402
    Generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from .storage import TypedStorage, UntypedStorage, is_storage  # noqa: E402

_late_name, __dir__ = _late.names(
    __name__,
    """_C _VF __config__ __future__ _utils accelerator as_torch backends compiler cpu cuda distributed distributions fft
    func functional hub jit library linalg masked models multiprocessing onnx optim overrides profiler quasirandom
    return_types safetensors serialization signal sparse special testing types utils""",
    {
        "_histogramdd": "histogramdd",
        "_lowrank": "lobpcg pca_lowrank svd_lowrank",
        "_windows": "bartlett_window blackman_window hamming_window hann_window kaiser_window",
        "compiler": "compile",
        "cuda": "Event Stream",
        "func": "vmap",
        "library": "ops",
        "serialization": "load save",
        "utils.dlpack": "to_dlpack",
    },
)

del default_generator  # noqa: F821 (the schema's function)


def __getattr__(name: str):
    """`default_generator` is looked up each time: a thread may have one of its own. PyTorch has `torch.torch`."""
    if name.startswith("_foreach_"):
        return getattr(_late.import_module(f"{__name__}._foreach"), name)
    if name == "torch":
        return _late.sys.modules[__name__]
    return random.default_generator() if name == "default_generator" else _late_name(name)


__version__ = torch_version.__version__

float = float32
double = float64
half = float16
short = int16
long = int64
int = int32
bool = _types.bool_
globals().update(_types.ABSENT_DTYPES)
globals().update(_types.ABSENT_LAYOUTS)
chalf, cfloat, cdouble = (_types.ABSENT_DTYPES[f"complex{bits}"] for bits in (32, 64, 128))

inf, nan, pi, e = _math.inf, _math.nan, _math.pi, _math.e
newaxis = None
legacy_contiguous_format = contiguous_format
Storage = _storage_types[float32]


def is_tensor(obj):
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


def get_device(input) -> int:
    """The number of a tensor's CUDA device, or -1."""
    return need_tensor("get_device", input).get_device()


def numel(input):
    """Number of elements."""
    return need_tensor("numel", input).numel()


def live_handles(kind=None):
    """How many handles of a kind ("tensor", ...) are alive; all kinds by default. To find leaks."""
    from ._native import ffi

    return _lib.dt_live_handles(ffi.NULL if kind is None else kind.encode())


__all__ = [name for name in __dir__() if not name.startswith("_")]
