"""What is said of a name that is not here: why, if there is a reason, or which name is like it."""

from __future__ import annotations

import functools
import sys

OF_WRITERS = """
    add_audio add_custom_scalars add_custom_scalars_marginchart add_custom_scalars_multilinechart add_embedding
    add_figure add_graph add_histogram_raw add_image_with_boxes add_mesh add_onnx_graph add_pr_curve add_pr_curve_raw
    add_tensor add_video"""
# PyTorch's names that are left out for one reason, and it.
_REASONS = {
    "there are no complex numbers, which the eigenvalues of a matrix that is not symmetric are; eigh and eigvalsh find "
    "those of a symmetric one": "eig eigvals",
    "there are no complex numbers": """
        cdouble cfloat chalf complex istft polar view_as_complex
        view_as_complex_copy view_as_real view_as_real_copy ComplexDoubleStorage ComplexFloatStorage""",
    "there are no sparse tensors": """
        ccol_indices coalesce col_indices crow_indices hspmm indices row_indices smm sparse_bsc_tensor
        sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor sparse_mask
        sparse_resize_ sparse_resize_and_clear_ sspaddmm to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo
        to_sparse_csc to_sparse_csr values col_indices_copy crow_indices_copy indices_copy values_copy""",
    "there are no quantized tensors": """
        ao dequantize int_repr q_per_channel_axis
        q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qint8 qint32 qscheme quantization
        quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic quint2x4 quint4x2 quint8
        QInt32Storage QInt8Storage QUInt2x4Storage QUInt4x2Storage QUInt8Storage""",
    "tensors carry no masks; the functions take one": "MaskedTensor as_masked_tensor is_masked_tensor masked_tensor",
    "there are no nested tensors": "nested to_padded_tensor",
    "there is no uint64, which its result has": "hash_tensor",
    "it is removed, linalg.eigh is there": "symeig",
    "it is removed, torch.linalg has one, with other arguments": "lstsq matrix_rank solve",
    "there are no dtypes of 8 bits to scale": "ScalingType SwizzleType scaled_grouped_mm scaled_mm",
    "datasets and samplers do what pipes of data did": """
        DFIterDataPipe DataChunk IterDataPipe MapDataPipe argument_validation functional_datapipe
        guaranteed_datapipes_determinism non_deterministic runtime_validation runtime_validation_disabled""",
    "there is no such device": "ipu mps mtia xpu",
    "all tensors are strided": "to_mkldnn",
    "volumes have no order of their own in memory": "channels_last_3d",
    "operations are not intercepted, so that none is chosen to be kept; checkpoint smaller parts": """
        CheckpointPolicy SAC_IGNORED_OPS SelectiveCheckpointContext create_selective_checkpoint_contexts""",
    "nothing is compiled or exported": "export fork fx wait",
    "event files take scalars, histograms, images, texts and hyperparameters here; a picture of anything else goes by "
    "add_image": OF_WRITERS,
    "optimizers and modules have it; x.grad = None clears one tensor's gradient": "zero_grad",
}
_REASON_OF = {name: reason for reason, names in _REASONS.items() for name in names.split()}
_OF_TENSORS = """
    cdouble cfloat chalf ccol_indices coalesce col_indices crow_indices dequantize hash_tensor indices int_repr ipu
    istft mtia q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme
    row_indices smm
    sparse_mask sparse_resize_ sparse_resize_and_clear_ sspaddmm to_mkldnn to_padded_tensor to_sparse
    to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr values xpu zero_grad"""


def sentence(said: str, name: str) -> str:
    """`said`, with the reason."""
    return f"{said}: {_REASON_OF[name]}" if name in _REASON_OF else said


@functools.lru_cache(1024)  # for programs that ask again and again whether there is such a name
def _alike(module: str, name: str) -> str:
    """A name of the module that may have been meant, with the same first letter: to compare all takes long."""
    from difflib import get_close_matches

    here = sys.modules.get(module)
    shown = [n for n in dir(here) if n[:1].lower() == name[:1].lower()] if here else []
    return next(iter(get_close_matches(name, shown, 1, 0.75)), "")


def getattr_of(module: str):
    """The module's `__getattr__`, which Python asks when it finds no such name."""

    def __getattr__(name: str):
        said = f"module {module!r} has no attribute {name!r}"
        if name.startswith("_"):
            raise AttributeError(said)
        if name in _REASON_OF:
            raise AttributeError(sentence(said, name))
        if alike := _alike(module, name):
            # With `name` and without the module Python, which looks at short modules only, adds no guess of its own.
            raise AttributeError(f"{said}; did you mean {alike!r}?", name=name)
        raise AttributeError(f"{said}; dir({module}) lists those that are there")

    return __getattr__


def refused(name: str, sentence: str, kind=NotImplementedError, doc: str = "Not supported."):
    """A function of PyTorch's that is there to say why it does nothing."""

    def refuse(*arguments, **settings):
        raise kind(sentence)

    refuse.__name__, refuse.__doc__ = name, doc
    return refuse


class _Absent:
    """A name that objects do not have. Unlike a `__getattr__`, it costs those nothing that they have."""

    def __init__(self, name: str):
        self._name = name

    def __get__(self, owner, kind):
        said = f"{'type object ' if owner is None else ''}{kind.__name__!r}"
        said += f"{' object' if owner is not None else ''} has no attribute {self._name!r}"
        raise AttributeError(sentence(said, self._name))


def install(kind: type, names: str = _OF_TENSORS) -> None:
    """Puts what objects of a class do not have into it: that of tensors, or others."""
    for name in names.split():
        setattr(kind, name, _Absent(name))
