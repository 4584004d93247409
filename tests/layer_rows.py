"""A row for each layer, for the tests of all languages."""

import importlib
import math
from typing import NamedTuple


class Layer(NamedTuple):
    """One that is an argument of another."""

    name: str
    args: tuple
    named: dict


def sines(count: int) -> list[float]:
    return [math.sin(12.9898 * i) for i in range(1, count + 1)]


# What layers are applied to: sizes, and the numbers if they are not those of `sines`.
INPUTS = {
    "images": ((2, 4, 5, 6), None),
    "image": ((4, 5, 6), None),
    "volumes": ((2, 4, 3, 5, 4), None),
    "rows": ((3, 4), None),
    "row": ((4,), None),
    "sequences": ((2, 4, 3), None),
    "columns": ((2, 8, 12), None),
    "few columns": ((2, 4, 6), None),
    "shares": ((3, 4), [1 / (1 + math.exp(-x)) for x in sines(12)]),
    "steps": ((5, 2, 3), None),
    "few steps": ((5, 3), None),
    "states": ((2, 2, 4), None),
    "two-way states": ((4, 2, 4), None),
    "projected states": ((2, 2, 2), None),
    "few states": ((1, 4), None),
    "five states": ((1, 5, 4), None),
    "packed": ((6, 3), None),
    "batch sizes": ((3,), [3, 2, 1]),
    "sorted indices": ((3,), [2, 0, 1]),
    "unsorted indices": ((3,), [1, 2, 0]),
    "states of three": ((1, 3, 4), None),
    "state": ((3, 6), None),
    "one state": ((6,), None),
    "queries": ((3, 2, 4), [x / 8 for x in sines(24)]),
    "few queries": ((3, 4), [x / 8 for x in sines(12)]),
    "keys": ((5, 2, 4), [x / 8 for x in sines(40)]),
    "narrow keys": ((5, 2, 3), [x / 8 for x in sines(30)]),
    "few keys": ((5, 4), [x / 8 for x in sines(20)]),
    "classes": ((3,), [1, 0, 3]),
    "labels": ((3, 4), [1, 3, -1, 0, 2, -1, 2, 2, 0, 1, 2, 3]),
    "signs": ((3, 4), [1.0, -1.0, -1.0, 1.0, -1.0, 1.0, 1.0, 1.0, -1.0, 1.0, -1.0, -1.0]),
    "sign": ((3,), [1.0, -1.0, 1.0]),
    "bags": ((2, 3), [4, 1, 0, 1, 3, 1]),
    "letters": ((7, 2, 5), None),
    "spellings": ((2, 3), [1, 2, 2, 4, 1, 3]),
    "step counts": ((2,), [7, 6]),
    "spelling lengths": ((2,), [3, 2]),
    "line maxima": ((1, 2, 2), None),
    "line places": ((1, 2, 2), [1, 2, 0, 3]),
    "maxima": ((1, 2, 2, 2), None),
    "places": ((1, 2, 2, 2), [1, 2, 13, 11, 4, 6, 8, 15]),
    "volume maxima": ((1, 1, 2, 1, 2), None),
    "volume places": ((1, 1, 2, 1, 2), [3, 6, 12, 9]),
}


def make(t, name: str):
    """The input of that name as a tensor of a library."""
    sizes, numbers = INPUTS[name]
    return t.tensor(numbers or sines(math.prod(sizes))).reshape(sizes)


# Layers with several results, which other languages ask for with forward_outputs.
MANY_OUTPUTS = ("RNN", "LSTM", "GRU", "LSTMCell", "MultiheadAttention")


def results_of(name: str, layer, x, *others) -> list:
    """What a layer computes, as a flat list. In Python an LSTM's states are a pair, in and out."""
    if name in ("RNN", "LSTM", "GRU") and len(others) > 2:
        x, others = _packed(layer)(x, *others[:3]), others[3:]
    y = layer(x, others) if name in ("LSTM", "LSTMCell") and others else layer(x, *others)
    parts = y if isinstance(y, tuple) else (y,)
    parts = [part.data if hasattr(part, "batch_sizes") else part for part in parts]
    return [x for part in parts for x in (part if isinstance(part, tuple) else (part,))]


def _packed(layer) -> type:
    """What Python's recurrent layers take in the place of the four tensors that it holds."""
    library = type(layer).__module__.split(".")[0]
    return importlib.import_module(f"{library}.nn.utils.rnn").PackedSequence


_PACKED = ["packed", "batch sizes", "sorted indices", "unsorted indices"]


# Name, positional arguments, named arguments, inputs: in PyTorch's words, so that every language can
# read them.
LAYERS = [
    ("Linear", (4, 3), {}, ["rows"]),
    ("Linear", (4, 3), {"bias": False}, ["row"]),
    ("Conv2d", (4, 6, 3), {}, ["images"]),
    (
        "Conv2d",
        (4, 6, (3, 2)),
        {"stride": 2, "padding": (1, 0), "dilation": (1, 2), "groups": 2, "bias": False},
        ["images"],
    ),
    ("Conv1d", (4, 6, 3), {"padding": 1, "groups": 2}, ["sequences"]),
    ("Conv1d", (4, 2, 2), {"stride": 2, "bias": False}, ["sequences"]),
    ("Conv3d", (4, 3, (2, 3, 2)), {"stride": (1, 2, 1), "padding": 1}, ["volumes"]),
    ("ConvTranspose1d", (4, 3, 3), {"stride": 2, "output_padding": 1}, ["sequences"]),
    ("ConvTranspose2d", (4, 6, (3, 2)), {"stride": 2, "padding": (1, 0), "groups": 2}, ["images"]),
    ("ConvTranspose2d", (4, 3, 2), {"bias": False, "dilation": 2}, ["image"]),
    ("ConvTranspose3d", (4, 2, 2), {"stride": (2, 1, 2)}, ["volumes"]),
    ("RNN", (3, 4, 2), {}, ["steps", "states"]),
    ("RNN", (3, 4), {"nonlinearity": "relu", "bias": False}, ["few steps", "few states"]),
    ("RNN", (3, 4, 2), {"bidirectional": True}, ["steps", "two-way states"]),
    ("LSTM", (3, 4, 2), {}, ["steps", "states", "states"]),
    ("LSTM", (3, 4), {"batch_first": True}, ["steps", "five states", "five states"]),
    ("LSTM", (3, 4, 2), {"bidirectional": True, "bias": False}, ["steps"]),
    ("LSTM", (3, 4, 2), {"proj_size": 2}, ["steps", "projected states", "states"]),
    ("LSTM", (3, 4), {}, ["few steps", "few states", "few states"]),
    ("GRU", (3, 4, 2), {}, ["steps", "states"]),
    ("GRU", (3, 4, 2), {"bidirectional": True, "batch_first": True}, ["steps"]),
    ("GRU", (3, 4), {"bias": False}, ["few steps", "few states"]),
    ("RNN", (3, 4), {}, [*_PACKED, "states of three"]),
    ("RNN", (3, 4), {"nonlinearity": "relu", "bidirectional": True}, _PACKED),
    ("LSTM", (3, 4), {}, [*_PACKED, "states of three", "states of three"]),
    ("LSTM", (3, 4, 2), {"bidirectional": True}, _PACKED),
    ("GRU", (3, 4), {}, [*_PACKED, "states of three"]),
    ("GRU", (3, 4, 2), {"batch_first": True}, _PACKED),
    ("RNNCell", (4, 6), {}, ["rows", "state"]),
    ("RNNCell", (4, 6), {"bias": False, "nonlinearity": "relu"}, ["row", "one state"]),
    ("LSTMCell", (4, 6), {}, ["rows", "state", "state"]),
    ("LSTMCell", (4, 6), {"bias": False}, ["row"]),
    ("GRUCell", (4, 6), {}, ["rows", "state"]),
    ("GRUCell", (4, 6), {"bias": False}, ["row"]),
    ("MultiheadAttention", (4, 2), {}, ["queries", "keys", "keys"]),
    (
        "MultiheadAttention",
        (4, 2),
        {"kdim": 3, "vdim": 4, "add_bias_kv": True, "add_zero_attn": True},
        ["queries", "narrow keys", "keys"],
    ),
    (
        "MultiheadAttention",
        (4, 1),
        {"bias": False, "batch_first": True},
        ["queries", "queries", "queries"],
    ),
    ("MultiheadAttention", (4, 4), {}, ["few queries", "few keys", "few keys"]),
    ("TransformerEncoderLayer", (4, 2, 6), {"dropout": 0.0}, ["queries"]),
    (
        "TransformerEncoderLayer",
        (4, 2, 6),
        {
            "dropout": 0.0,
            "norm_first": True,
            "activation": "gelu",
            "batch_first": True,
            "bias": False,
        },
        ["keys"],
    ),
    ("TransformerEncoderLayer", (4, 1, 6), {"dropout": 0.0, "bias": False}, ["few queries"]),
    ("TransformerDecoderLayer", (4, 2, 6), {"dropout": 0.0}, ["queries", "keys"]),
    (
        "TransformerDecoderLayer",
        (4, 2, 6),
        {"dropout": 0.0, "norm_first": True, "layer_norm_eps": 0.1, "bias": False},
        ["few queries", "few keys"],
    ),
    (
        "TransformerEncoder",
        (Layer("TransformerEncoderLayer", (4, 2, 6), {"dropout": 0.0}), 2),
        {},
        ["queries"],
    ),
    (
        "TransformerEncoder",
        (Layer("TransformerEncoderLayer", (4, 1, 6), {"dropout": 0.0, "norm_first": True}), 1),
        {"norm": Layer("LayerNorm", (4,), {"bias": False})},
        ["few queries"],
    ),
    (
        "TransformerDecoder",
        (Layer("TransformerDecoderLayer", (4, 2, 6), {"dropout": 0.0}), 2),
        {"norm": Layer("LayerNorm", (4,), {})},
        ["queries", "keys"],
    ),
    (
        "TransformerDecoder",
        (Layer("TransformerDecoderLayer", (4, 1, 6), {"dropout": 0.0, "bias": False}), 1),
        {},
        ["few queries", "few keys"],
    ),
    (
        "Transformer",
        (4, 2, 2, 1, 6),
        {"dropout": 0.0, "activation": "gelu"},
        ["queries", "keys"],
    ),
    ("MaxPool2d", (2,), {}, ["images"]),
    ("MaxPool2d", (3,), {"stride": 2, "padding": 1, "ceil_mode": True}, ["images"]),
    ("AvgPool2d", ((3, 2),), {"padding": (1, 0), "count_include_pad": False}, ["images"]),
    ("AvgPool2d", (2,), {"stride": 1, "divisor_override": 3}, ["images"]),
    ("MaxPool1d", (2,), {"padding": 1}, ["sequences"]),
    ("MaxPool3d", (2,), {"stride": 1}, ["volumes"]),
    ("AvgPool1d", (2,), {"ceil_mode": True}, ["sequences"]),
    ("AvgPool3d", ((2, 1, 2),), {"padding": (1, 0, 1)}, ["volumes"]),
    ("AdaptiveAvgPool1d", (2,), {}, ["sequences"]),
    ("AdaptiveAvgPool2d", ((1, 1),), {}, ["images"]),
    ("AdaptiveAvgPool2d", ((3, 4),), {}, ["image"]),
    ("AdaptiveAvgPool3d", (2,), {}, ["volumes"]),
    ("AdaptiveMaxPool1d", (3,), {}, ["sequences"]),
    ("AdaptiveMaxPool2d", ((2, 4),), {}, ["images"]),
    ("AdaptiveMaxPool3d", ((1, 2, 3),), {}, ["volumes"]),
    ("LPPool1d", (2.0, 2), {}, ["sequences"]),
    ("LPPool2d", (2.0, (2, 3)), {"stride": 1}, ["images"]),
    ("LPPool3d", (2.0, 2), {}, ["volumes"]),
    ("Upsample", (), {"scale_factor": 2.0}, ["images"]),
    ("Upsample", (), {"scale_factor": (2.0, 0.5)}, ["images"]),
    ("Upsample", ((3, 7),), {"mode": "nearest-exact"}, ["images"]),
    ("Upsample", (), {"scale_factor": (1.5, 2.0), "mode": "bilinear"}, ["images"]),
    ("Upsample", (5,), {"mode": "trilinear"}, ["volumes"]),
    ("UpsamplingNearest2d", (), {"scale_factor": 2.0}, ["images"]),
    ("UpsamplingBilinear2d", ((3, 7),), {}, ["images"]),
    ("BatchNorm1d", (4,), {}, ["rows"]),
    ("BatchNorm1d", (4,), {"momentum": None, "eps": 0.1}, ["sequences"]),
    ("BatchNorm2d", (4,), {"momentum": 0.3}, ["images"]),
    ("BatchNorm2d", (4,), {"affine": False, "track_running_stats": False}, ["images"]),
    ("BatchNorm3d", (4,), {}, ["volumes"]),
    ("InstanceNorm1d", (4,), {}, ["sequences"]),
    ("InstanceNorm1d", (3,), {"affine": True, "eps": 0.1}, ["rows"]),
    ("InstanceNorm2d", (4,), {"affine": True, "track_running_stats": True}, ["images"]),
    ("InstanceNorm2d", (4,), {"momentum": 0.3, "track_running_stats": True}, ["image"]),
    ("InstanceNorm3d", (4,), {"affine": True, "bias": False}, ["volumes"]),
    ("GroupNorm", (2, 4), {}, ["images"]),
    ("GroupNorm", (1, 4), {"affine": False, "eps": 0.1}, ["sequences"]),
    ("RMSNorm", ((4,),), {}, ["rows"]),
    ("RMSNorm", ((5, 6),), {"elementwise_affine": False, "eps": 0.01}, ["images"]),
    ("LocalResponseNorm", (2,), {"alpha": 0.5, "k": 2.0}, ["images"]),
    ("LayerNorm", ((4,),), {}, ["rows"]),
    ("LayerNorm", ((5, 6),), {"elementwise_affine": False, "eps": 0.01}, ["images"]),
    ("LayerNorm", (6,), {"bias": False}, ["images"]),
    ("Dropout", (), {"p": 0.0}, ["rows"]),
    ("Dropout1d", (), {"p": 0.0}, ["sequences"]),
    ("Dropout2d", (), {"p": 0.0}, ["images"]),
    ("Dropout3d", (), {"p": 1.0}, ["volumes"]),
    ("AlphaDropout", (), {"p": 1.0}, ["rows"]),
    ("FeatureAlphaDropout", (), {"p": 0.0}, ["images"]),
    ("Embedding", (5, 3), {"padding_idx": 1}, ["classes"]),
    ("Flatten", (), {}, ["images"]),
    ("Flatten", (), {"start_dim": 2, "end_dim": -1}, ["images"]),
    ("Identity", (), {}, ["rows"]),
    ("Unflatten", (1, (2, 2)), {}, ["images"]),
    ("Unflatten", (-1, (2, -1)), {}, ["rows"]),
    ("Fold", ((4, 5), 2), {}, ["columns"]),
    ("Fold", ((4, 5),), {"kernel_size": (2, 1), "stride": (2, 2)}, ["few columns"]),
    ("Unfold", (2,), {}, ["images"]),
    ("Unfold", ((2, 3),), {"dilation": 2, "padding": (0, 1), "stride": (1, 2)}, ["images"]),
    ("PixelShuffle", (2,), {}, ["image"]),
    ("PixelUnshuffle", (1,), {}, ["images"]),
    ("ChannelShuffle", (2,), {}, ["images"]),
    ("ZeroPad1d", (1,), {}, ["sequences"]),
    ("ZeroPad1d", ((1, 2),), {}, ["sequences"]),
    ("ZeroPad2d", (1,), {}, ["images"]),
    ("ZeroPad2d", ((1, 0, 2, 1),), {}, ["images"]),
    ("ZeroPad3d", (1,), {}, ["volumes"]),
    ("ZeroPad3d", ((1, 2, 0, 1, 1, 0),), {}, ["volumes"]),
    ("ConstantPad1d", (1, 1.5), {}, ["sequences"]),
    ("ConstantPad1d", ((1, 2), 1.5), {}, ["sequences"]),
    ("ConstantPad2d", (1, 1.5), {}, ["images"]),
    ("ConstantPad2d", ((1, 0, 2, 1), 1.5), {}, ["images"]),
    ("ConstantPad3d", (1, 1.5), {}, ["volumes"]),
    ("ConstantPad3d", ((1, 2, 0, 1, 1, 0), 1.5), {}, ["volumes"]),
    ("ReflectionPad1d", (1,), {}, ["sequences"]),
    ("ReflectionPad1d", ((1, 2),), {}, ["sequences"]),
    ("ReflectionPad2d", (1,), {}, ["images"]),
    ("ReflectionPad2d", ((1, 0, 2, 1),), {}, ["images"]),
    ("ReflectionPad3d", (1,), {}, ["volumes"]),
    ("ReflectionPad3d", ((1, 2, 0, 1, 1, 0),), {}, ["volumes"]),
    ("ReplicationPad1d", (1,), {}, ["sequences"]),
    ("ReplicationPad1d", ((1, 2),), {}, ["sequences"]),
    ("ReplicationPad2d", (1,), {}, ["images"]),
    ("ReplicationPad2d", ((1, 0, 2, 1),), {}, ["images"]),
    ("ReplicationPad3d", (1,), {}, ["volumes"]),
    ("ReplicationPad3d", ((1, 2, 0, 1, 1, 0),), {}, ["volumes"]),
    ("CircularPad1d", (1,), {}, ["sequences"]),
    ("CircularPad1d", ((1, 2),), {}, ["sequences"]),
    ("CircularPad2d", (1,), {}, ["images"]),
    ("CircularPad2d", ((1, 0, 2, 1),), {}, ["images"]),
    ("CircularPad3d", (1,), {}, ["volumes"]),
    ("CircularPad3d", ((1, 2, 0, 1, 1, 0),), {}, ["volumes"]),
    ("Conv1d", (4, 3, 2), {"padding": 1, "padding_mode": "reflect"}, ["sequences"]),
    ("Conv1d", (4, 3, 2), {"padding": 1, "padding_mode": "replicate"}, ["sequences"]),
    ("Conv1d", (4, 3, 2), {"padding": 1, "padding_mode": "circular"}, ["sequences"]),
    ("Conv2d", (4, 3, 2), {"padding": 1, "padding_mode": "reflect"}, ["images"]),
    ("Conv2d", (4, 3, 2), {"padding": 1, "padding_mode": "replicate"}, ["images"]),
    ("Conv2d", (4, 3, 2), {"padding": 1, "padding_mode": "circular"}, ["images"]),
    ("Conv3d", (4, 3, 2), {"padding": 1, "padding_mode": "reflect"}, ["volumes"]),
    ("Conv3d", (4, 3, 2), {"padding": 1, "padding_mode": "replicate"}, ["volumes"]),
    ("Conv3d", (4, 3, 2), {"padding": 1, "padding_mode": "circular"}, ["volumes"]),
    ("ReLU", (), {}, ["rows"]),
    ("LeakyReLU", (), {"negative_slope": 0.2}, ["rows"]),
    ("ELU", (), {"alpha": 0.5}, ["rows"]),
    ("Softplus", (), {"beta": 2.0, "threshold": 1.0}, ["rows"]),
    ("GELU", (), {}, ["rows"]),
    ("GELU", (), {"approximate": "tanh"}, ["rows"]),
    ("SiLU", (), {}, ["rows"]),
    ("Sigmoid", (), {}, ["rows"]),
    ("LogSigmoid", (), {}, ["rows"]),
    ("Tanh", (), {}, ["rows"]),
    ("Hardtanh", (), {"min_val": -0.5, "max_val": 0.7}, ["rows"]),
    ("ReLU6", (), {}, ["rows"]),
    ("Hardsigmoid", (), {}, ["rows"]),
    ("Hardswish", (), {}, ["rows"]),
    ("Hardshrink", (), {"lambd": 0.7}, ["rows"]),
    ("Softshrink", (), {"lambd": 0.1}, ["rows"]),
    ("Tanhshrink", (), {}, ["rows"]),
    ("Threshold", (0.1, 2.0), {}, ["rows"]),
    ("Softsign", (), {}, ["rows"]),
    ("SELU", (), {}, ["rows"]),
    ("CELU", (), {"alpha": 0.5}, ["rows"]),
    ("Mish", (), {}, ["rows"]),
    ("GLU", (), {}, ["rows"]),
    ("GLU", (), {"dim": 1}, ["images"]),
    ("PReLU", (), {}, ["rows"]),
    ("PReLU", (4,), {"init": 0.5}, ["images"]),
    ("RReLU", (), {"lower": 0.2, "upper": 0.2}, ["rows"]),
    ("Softmin", (), {"dim": 1}, ["rows"]),
    ("Softmax", (), {"dim": 0}, ["rows"]),
    ("Softmax2d", (), {}, ["images"]),
    ("LogSoftmax", (), {"dim": -1}, ["rows"]),
    ("CosineSimilarity", (), {"dim": 0}, ["rows", "shares"]),
    ("PairwiseDistance", (), {"p": 3.0, "keepdim": True}, ["rows", "shares"]),
    ("Bilinear", (4, 4, 3), {}, ["rows", "shares"]),
    ("Bilinear", (4, 4, 2), {"bias": False}, ["rows", "signs"]),
    ("MSELoss", (), {}, ["rows", "shares"]),
    ("MSELoss", (), {"reduction": "none"}, ["rows", "shares"]),
    ("L1Loss", (), {"reduction": "sum"}, ["rows", "shares"]),
    ("NLLLoss", (), {"ignore_index": 0}, ["rows", "classes"]),
    ("CrossEntropyLoss", (), {"label_smoothing": 0.1}, ["rows", "classes"]),
    ("CrossEntropyLoss", (), {"reduction": "none"}, ["rows", "shares"]),
    ("BCELoss", (), {"reduction": "none"}, ["shares", "shares"]),
    ("BCEWithLogitsLoss", (), {}, ["rows", "shares"]),
    ("SmoothL1Loss", (), {"beta": 0.4}, ["rows", "shares"]),
    ("HuberLoss", (), {"delta": 0.4, "reduction": "sum"}, ["rows", "shares"]),
    ("KLDivLoss", (), {"reduction": "batchmean"}, ["rows", "shares"]),
    ("KLDivLoss", (), {"log_target": True}, ["rows", "shares"]),
    ("PoissonNLLLoss", (), {"full": True}, ["rows", "shares"]),
    ("PoissonNLLLoss", (), {"log_input": False, "eps": 0.1}, ["shares", "shares"]),
    ("GaussianNLLLoss", (), {"full": True}, ["rows", "rows", "shares"]),
    ("SoftMarginLoss", (), {}, ["rows", "signs"]),
    ("HingeEmbeddingLoss", (), {"margin": 0.5}, ["rows", "signs"]),
    ("MarginRankingLoss", (), {"margin": 0.5}, ["rows", "shares", "signs"]),
    ("CosineEmbeddingLoss", (), {"margin": 0.1}, ["rows", "shares", "sign"]),
    ("TripletMarginLoss", (), {"margin": 0.5, "p": 3.0, "swap": True}, ["rows", "shares", "signs"]),
    ("MultiMarginLoss", (), {"p": 2, "margin": 0.5}, ["rows", "classes"]),
    ("MultiLabelMarginLoss", (), {}, ["rows", "labels"]),
    ("MultiLabelSoftMarginLoss", (), {"reduction": "sum"}, ["rows", "shares"]),
    ("CTCLoss", (), {}, ["letters", "spellings", "step counts", "spelling lengths"]),
    (
        "CTCLoss",
        (4,),
        {"reduction": "sum", "zero_infinity": True},
        ["letters", "spellings", "step counts", "spelling lengths"],
    ),
    ("EmbeddingBag", (5, 3), {}, ["bags"]),
    ("EmbeddingBag", (5, 3), {"mode": "max", "padding_idx": 1}, ["bags"]),
    ("EmbeddingBag", (5, 3), {"mode": "sum", "max_norm": 1.0, "norm_type": 1.0}, ["bags"]),
    ("MaxUnpool1d", (2,), {}, ["line maxima", "line places"]),
    ("MaxUnpool2d", ((2, 2),), {"stride": 2}, ["maxima", "places"]),
    ("MaxUnpool3d", (2,), {"padding": 0}, ["volume maxima", "volume places"]),
    # One window lies at the end, wherever others would.
    ("FractionalMaxPool2d", (2,), {"output_size": 1}, ["images"]),
    ("FractionalMaxPool2d", ((2, 3),), {"output_ratio": (0.3, 0.2)}, ["images"]),
    ("FractionalMaxPool3d", (2,), {"output_size": (1, 1, 1)}, ["volumes"]),
]

# What Python's classes take besides, as PyTorch's do.
PYTHON_LAYERS = [
    ("Conv2d", (4, 3, (3, 1)), {"padding": "same", "bias": False}, ["image"]),
    ("Conv2d", (4, 3, 3), {"padding": "valid", "dilation": (1, 2)}, ["images"]),
    ("AdaptiveAvgPool2d", ((None, 2),), {}, ["images"]),
    ("Conv1d", (4, 3, 2), {"padding": "same"}, ["sequences"]),
    ("Conv3d", (4, 3, (2, 3, 1)), {"padding": "same", "dilation": 2}, ["volumes"]),
    ("Embedding", (5, 3), {"padding_idx": -1, "max_norm": 2.0, "norm_type": 1.0}, ["classes"]),
    ("Embedding", (5, 3), {"scale_grad_by_freq": True, "_freeze": True}, ["classes"]),
    ("Upsample", (7,), {"mode": "bicubic", "align_corners": True}, ["images"]),
    ("Upsample", (), {"scale_factor": 1.3, "recompute_scale_factor": True}, ["images"]),
]


def identity(row) -> str:
    return _written(*row[:3])


def _written(name: str, args: tuple, named: dict) -> str:
    def shown(value) -> str:
        return _written(*value) if isinstance(value, Layer) else str(value)

    return (
        f"{name}({', '.join([*map(shown, args), *(f'{k}={shown(v)}' for k, v in named.items())])})"
    )
