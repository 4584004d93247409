"""A row for each layer, for the tests of all languages."""

import math


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
    "shares": ((3, 4), [1 / (1 + math.exp(-x)) for x in sines(12)]),
    "classes": ((3,), [1, 0, 3]),
}


def make(t, name: str):
    """The input of that name as a tensor of a library."""
    sizes, numbers = INPUTS[name]
    return t.tensor(numbers or sines(math.prod(sizes))).reshape(sizes)


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
    ("BatchNorm1d", (4,), {}, ["rows"]),
    ("BatchNorm1d", (4,), {"momentum": None, "eps": 0.1}, ["sequences"]),
    ("BatchNorm2d", (4,), {"momentum": 0.3}, ["images"]),
    ("BatchNorm2d", (4,), {"affine": False, "track_running_stats": False}, ["images"]),
    ("LayerNorm", ((4,),), {}, ["rows"]),
    ("LayerNorm", ((5, 6),), {"elementwise_affine": False, "eps": 0.01}, ["images"]),
    ("LayerNorm", (6,), {"bias": False}, ["images"]),
    ("Dropout", (), {"p": 0.0}, ["rows"]),
    ("Embedding", (5, 3), {"padding_idx": 1}, ["classes"]),
    ("Flatten", (), {}, ["images"]),
    ("Flatten", (), {"start_dim": 2, "end_dim": -1}, ["images"]),
    ("Identity", (), {}, ["rows"]),
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
    ("Softmin", (), {"dim": 1}, ["rows"]),
    ("Softmax", (), {"dim": 0}, ["rows"]),
    ("LogSoftmax", (), {"dim": -1}, ["rows"]),
    ("MSELoss", (), {}, ["rows", "shares"]),
    ("MSELoss", (), {"reduction": "none"}, ["rows", "shares"]),
    ("L1Loss", (), {"reduction": "sum"}, ["rows", "shares"]),
    ("NLLLoss", (), {"ignore_index": 0}, ["rows", "classes"]),
    ("CrossEntropyLoss", (), {"label_smoothing": 0.1}, ["rows", "classes"]),
    ("CrossEntropyLoss", (), {"reduction": "none"}, ["rows", "shares"]),
    ("BCELoss", (), {"reduction": "none"}, ["shares", "shares"]),
    ("BCEWithLogitsLoss", (), {}, ["rows", "shares"]),
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
    ("Upsample", (), {"scale_factor": 1.3, "recompute_scale_factor": True}, ["images"]),
]


def identity(row) -> str:
    name, args, kwargs, _ = row
    return f"{name}({', '.join([*map(str, args), *(f'{k}={v}' for k, v in kwargs.items())])})"
