"""Records calls and their results from PyTorch: `python tests/conformance/record.py` writes
calls.json.

Every wrapper replays the file: Python reads it (test_python.py), and capi/generate prints a program
in each other language from it. So a wrapper that passes arguments wrongly, or in the wrong order, fails
against PyTorch itself. Numbers are chosen so that all of them are exact in a file of text."""

from __future__ import annotations

import json
import pathlib

import torch
from recorder import Recorder, integers, items_of, numbers
from torch.nn import functional as F
from torch.nn.utils import rnn

FILE = pathlib.Path(__file__).with_name("calls.json")


def record_pointwise(record: Recorder) -> None:
    x, y = numbers(2, 3), numbers(3, start=0.5)
    positive = numbers(2, 3, start=0.25)
    for name in ("neg", "abs", "exp", "square", "sin", "cos", "tanh", "sigmoid", "relu", "silu"):
        record(name, input=x, grad=("input",))
    for name in ("log", "sqrt", "rsqrt", "reciprocal"):
        record(name, input=positive, grad=("input",))
    record("gelu", input=x, grad=("input",))
    record("gelu", input=x, approximate="tanh", grad=("input",))
    record("clamp", input=x, min=-0.5, max=1.0, grad=("input",))
    record("clamp", input=x, max=0.5, grad=("input",))
    record("clamp", input=x, min=numbers(3, start=-0.5), grad=("input",))
    for name in ("add", "sub", "mul", "div"):
        record(name, input=x, other=y, grad=("input", "other"))
        record(name, input=x, other=2)
        record(name, input=integers(2, 3), other=2)
    record("add", input=x, other=y, alpha=0.5, grad=("input", "other"))
    record("sub", input=integers(4), other=3, alpha=2)
    record("rsub", input=x, other=1.5)
    record("div", input=x, other=0.75, rounding_mode="floor")
    record("pow", input=positive, exponent=2.5, grad=("input",))
    record("pow", lambda input, exponent: input**exponent, input=2, exponent=x, grad=("exponent",))
    record("maximum", input=x, other=y, grad=("input", "other"))
    record("minimum", input=x, other=y)
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        record(name, input=x, other=0.25)
    record("logical_and", input=x > 0, other=x < 1)
    record("bitwise_xor", input=integers(4), other=6)
    record("where", condition=x > 0, input=x, other=0.5, grad=("input",))
    record("masked_fill", input=x, mask=x > 0, value=9.0, grad=("input",))
    for name in ("add", "mul"):
        inplace = getattr(torch.Tensor, name + "_")
        record(name + "_", lambda input, other, call=inplace: call(input, other), input=x, other=y)


def record_shapes(record: Recorder) -> None:
    x = numbers(2, 3, 4)
    for name in ("view", "reshape"):
        key = "size" if name == "view" else "shape"
        run = lambda input, size=None, shape=None: input.reshape(size or shape)  # noqa: E731
        record(name, run, input=x, **{key: [4, -1]})
    record("flatten", input=x)
    record("flatten", input=x, start_dim=1, grad=("input",))
    record("transpose", input=x, dim0=0, dim1=2, grad=("input",))
    record("permute", input=x, dims=[2, 0, 1])
    record("t", input=numbers(2, 3))
    record("squeeze", input=numbers(1, 3, 1))
    record("squeeze", input=numbers(1, 3, 1), dim=[0])
    record("unsqueeze", input=x, dim=-1)
    record(
        "expand",
        lambda input, size: input.expand(size),
        input=numbers(3, 1),
        size=[2, 3, 4],
        grad=("input",),
    )
    record("select", input=x, dim=1, index=-1, grad=("input",))
    record("narrow", input=x, dim=2, start=1, length=2, grad=("input",))
    record(
        "slice",
        lambda input, dim, start, end, step: input[:, :, start:end:step],
        input=x,
        dim=2,
        start=-3,
        end=4,
        step=2,
    )
    record("slice", lambda input, dim, end: input[:, :end], input=x, dim=1, end=2)
    record("as_strided", input=x, size=[2, 2], stride=[1, 5], storage_offset=3)
    record("chunk", lambda **args: list(torch.chunk(**args)), input=x, chunks=2, dim=1)
    record(
        "split",
        lambda input, split_size, dim: list(torch.split(input, split_size, dim)),
        input=x,
        split_size=3,
        dim=2,
    )
    record("unbind", lambda **args: list(torch.unbind(**args)), input=x, dim=1)
    record("cat", tensors=[numbers(2, 2), numbers(2, 3)], dim=1)
    record("stack", tensors=[numbers(2), numbers(2, start=3.0)])
    record("flip", input=x, dims=[0, 2])
    record("repeat", lambda input, repeats: input.repeat(repeats), input=numbers(2), repeats=[2, 3])


def record_reductions(record: Recorder) -> None:
    x = numbers(2, 3, 4)
    for name in ("sum", "mean"):
        record(name, input=x, grad=("input",))
        record(name, input=x, dim=[0, 2], grad=("input",))
        record(name, input=x, dim=[1], keepdim=True)
    record("sum", input=integers(2, 3))
    record("sum", input=x > 0, dim=[0])
    record("sum", input=x, dtype=torch.float64)
    record("prod", input=numbers(2, 3), dim=1, grad=("input",))
    for name in ("max", "min"):
        record(name, input=x, grad=("input",))
        record(name + "_dim", getattr(torch, name), input=x, dim=1, keepdim=True, grad=("input",))
    record("argmax", input=x)
    record("argmin", input=x, dim=2)
    record("var", input=x, dim=[1], grad=("input",))
    record("std", input=x, correction=0, keepdim=True)
    record("norm", input=x, grad=("input",))
    record("norm", input=x, p=1, dim=[2])
    record("any", input=x > 1)
    record("all", input=x > -2, dim=[0])
    record("cumsum", input=x, dim=1, grad=("input",))
    record("logsumexp", input=x, dim=[1], grad=("input",))
    record("equal", input=x, other=x)
    record("allclose", input=x, other=x + 0.125, atol=0.25)


def record_matrices(record: Recorder) -> None:
    a, b, c = numbers(2, 3), numbers(3, 4, start=0.5), numbers(4)
    record("matmul", input=a, other=b, grad=("input", "other"))
    record("matmul", input=numbers(2, 2, 3), other=b, grad=("input", "other"))
    record("mm", input=a, mat2=b)
    record("bmm", input=numbers(2, 2, 3), mat2=numbers(2, 3, 2), grad=("input", "mat2"))
    record("mv", input=b, vec=c)
    record("dot", input=c, tensor=numbers(4, start=1.0), grad=("input", "tensor"))
    record("addmm", input=c, mat1=a, mat2=b, beta=0.5, alpha=2, grad=("input", "mat1", "mat2"))
    record(
        "linear", input=a, weight=numbers(5, 3), bias=numbers(5), grad=("input", "weight", "bias")
    )
    record("linear", input=a, weight=numbers(5, 3))
    # PyTorch has the two steps only.
    for name in ("relu", "sigmoid", "tanh"):
        steps = lambda input, weight, bias, activation: getattr(torch, activation)(  # noqa: E731
            F.linear(input, weight, bias)
        )
        record(
            "linear_activation", steps, input=a, weight=numbers(5, 3), bias=numbers(5),
            activation=name, grad=("input", "weight", "bias"),
        )  # fmt: skip


def record_networks(record: Recorder) -> None:
    images, kernels = numbers(2, 2, 5, 6), numbers(4, 2, 3, 3, step=0.25)
    both = ("input", "weight", "bias")
    record("conv2d", input=images, weight=kernels, bias=numbers(4), padding=1, grad=both)
    record(
        "conv2d",
        input=images,
        weight=kernels,
        bias=numbers(4),
        stride=[2, 1],
        padding=[0, 2],
        grad=both,
    )
    record(
        "conv2d",
        input=images,
        weight=numbers(4, 1, 2, 2),
        groups=2,
        dilation=2,
        grad=("input", "weight"),
    )
    record(
        "conv2d_padding",
        F.conv2d,
        input=images,
        weight=numbers(4, 2, 2, 3),
        bias=numbers(4),
        padding="same",
        dilation=[1, 2],
        grad=both,
    )
    record("max_pool2d", input=images, kernel_size=2, grad=("input",))
    record("max_pool2d", input=images, kernel_size=[3, 2], stride=[1, 2], padding=1, ceil_mode=True)
    record(
        "avg_pool2d",
        input=images,
        kernel_size=2,
        stride=1,
        count_include_pad=False,
        padding=1,
        grad=("input",),
    )
    record(
        "batch_norm",
        input=images,
        running_mean=numbers(2),
        running_var=numbers(2, start=0.5),
        weight=numbers(2),
        bias=numbers(2),
        training=True,
        momentum=0.2,
        grad=both,
    )
    record("batch_norm", input=images, running_mean=numbers(2), running_var=numbers(2, start=0.5))
    record(
        "layer_norm",
        input=numbers(3, 4),
        normalized_shape=[4],
        weight=numbers(4),
        bias=numbers(4),
        grad=both,
    )
    record("softmax", input=numbers(3, 4), dim=1, grad=("input",))
    record("log_softmax", input=numbers(3, 4), dim=0, dtype=torch.float64)
    record("interpolate", input=images, scale_factor=[2.0, 0.5], grad=("input",))
    record("interpolate", input=images, size=[4, 9], mode="nearest-exact", grad=("input",))
    record("dropout", input=numbers(3), p=0.5, training=False)
    record("embedding", input=integers(2, 3), weight=numbers(5, 2), padding_idx=0, grad=("weight",))


def record_sequences(record: Recorder) -> None:
    x = numbers(4, 3, 2)
    lengths, sequences = torch.tensor([2, 4, 1]), [numbers(2, 2), numbers(3, 2, start=0.5)]

    def packed(data, batch_sizes, unsorted_indices=None):
        return rnn.PackedSequence(data, batch_sizes, None, unsorted_indices)

    def pad_packed_sequence(data, batch_sizes, unsorted_indices=None, **options):
        return rnn.pad_packed_sequence(packed(data, batch_sizes, unsorted_indices), **options)

    record("pad_sequence", rnn.pad_sequence, sequences=sequences)
    record(
        "pad_sequence",
        rnn.pad_sequence,
        sequences=sequences,
        batch_first=True,
        padding_value=0.5,
        padding_side="left",
    )
    record("unpad_sequence", rnn.unpad_sequence, padded_sequences=x, lengths=lengths)
    record(
        "pack_padded_sequence",
        rnn.pack_padded_sequence,
        input=x,
        lengths=lengths,
        enforce_sorted=False,
        grad=("input",),
    )
    record("pack_sequence", rnn.pack_sequence, sequences=sequences, enforce_sorted=False)
    sizes, order = torch.tensor([3, 2, 1]), torch.tensor([2, 0, 1])
    record("pad_packed_sequence", pad_packed_sequence, data=numbers(6), batch_sizes=sizes)
    record(
        "pad_packed_sequence",
        pad_packed_sequence,
        data=numbers(6, 2),
        batch_sizes=sizes,
        unsorted_indices=order,
        batch_first=True,
        padding_value=-1.0,
        total_length=4,
        grad=("data",),
    )
    record(
        "unpack_sequence",
        lambda **parts: rnn.unpack_sequence(packed(**parts)),
        data=numbers(6, 2),
        batch_sizes=sizes,
        unsorted_indices=order,
    )
    record.error("pack_padded_sequence", rnn.pack_padded_sequence, input=x, lengths=lengths)
    record.error("pack_sequence", rnn.pack_sequence, sequences=sequences)
    record.error(
        "pad_packed_sequence",
        pad_packed_sequence,
        data=numbers(6),
        batch_sizes=sizes,
        total_length=2,
    )


def record_losses(record: Recorder) -> None:
    logits, classes = numbers(4, 3), integers(4, below=3)
    probabilities, targets = (
        torch.sigmoid(numbers(2, 3)).mul(64).round().div(64),
        numbers(2, 3, start=0.0, step=0.0625),
    )
    for reduction in ("mean", "sum", "none"):
        record(
            "mse_loss",
            input=logits,
            target=numbers(4, 3, start=0.0),
            reduction=reduction,
            grad=("input",),
        )
        record("cross_entropy", input=logits, target=classes, reduction=reduction, grad=("input",))
    record("l1_loss", input=logits, target=numbers(4, 3, start=0.125), grad=("input",))
    record(
        "cross_entropy",
        input=logits,
        target=classes,
        weight=numbers(3, start=0.5),
        ignore_index=2,
        label_smoothing=0.125,
        grad=("input",),
    )
    record("nll_loss", input=logits, target=classes, ignore_index=1, grad=("input",))
    record("binary_cross_entropy", input=probabilities, target=targets, grad=("input",))
    record(
        "binary_cross_entropy_with_logits",
        input=numbers(2, 3),
        target=targets,
        pos_weight=numbers(3, start=0.5),
        grad=("input",),
    )


def at(input, index, tensors=()):
    return input[items_of(index, tensors)]


def set_at(input, index, value, tensors=()):
    input[items_of(index, tensors)] = value
    return input


def record_indexing(record: Recorder) -> None:
    x = numbers(3, 4)
    record(
        "index",
        lambda input, indices: input[tuple(indices)],
        input=x,
        indices=[torch.tensor([2, 0]), torch.tensor([1, -1])],
        grad=("input",),
    )
    record("index_select", input=x, dim=1, index=torch.tensor([3, 0, 3]), grad=("input",))
    record("gather", input=x, dim=1, index=torch.tensor([[0, 1], [2, 3], [1, 1]]), grad=("input",))
    record(
        "scatter",
        lambda input, dim, index, src: input.scatter(dim, index, src),
        input=x,
        dim=0,
        index=torch.tensor([[0, 1], [2, 0]]),
        src=7.0,
    )
    record(
        "scatter_add",
        input=x,
        dim=1,
        index=torch.tensor([[0, 0], [2, 3]]),
        src=numbers(2, 2),
        grad=("input", "src"),
    )
    record("at", at, input=x, index="1:, ::2", grad=("input",))
    record("at", at, input=x, index="..., None, -1")
    record("at", at, input=x, index="?, 1", tensors=[torch.tensor([2, 0, 2])], grad=("input",))
    record("set_at", set_at, input=x, index="0, 1:3", value=2.5)
    record("set_at", set_at, input=x, index=":, -1", value=numbers(3, start=9.0))
    record("set_at", set_at, input=x, index="?", value=0, tensors=[x > 0])
    record("masked_select", input=x, mask=x > 0, grad=("input",))
    record("nonzero", input=x > 0)
    record(
        "one_hot",
        lambda input, num_classes: F.one_hot(input, num_classes),
        input=integers(3),
        num_classes=5,
    )
    record("tril", input=x, diagonal=1, grad=("input",))
    record("triu", input=x)


# Python's words for what other languages have operators, brackets and nested lists for as well.


def record_operators(record: Recorder) -> None:
    x, y = numbers(2, 3, start=0.25), numbers(3, start=0.5)
    for name in ("add", "sub", "mul", "truediv", "pow", "mod", "floordiv"):
        record.operator(name, x, y)
        record.operator(name, x, 2)
    for name in ("add", "sub", "mul", "truediv", "pow"):
        record.operator(name, 1.5, x)
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        record.operator(name, x, y)
        record.operator(name, 0.5, x)
    for name in ("and", "or", "xor"):
        record.operator(name, integers(4), 6)
        record.operator(name, x > 0, x < 1)
    for name in ("and", "or", "xor"):
        record.operator(name, 6, integers(4))
    for name in ("lshift", "rshift"):
        record.operator(name, integers(4), 2)
        record.operator(name, 200, integers(4))
    for name in ("mod", "floordiv"):
        record.operator(name, 7, torch.tensor([3, -4]))
        record.operator(name, 7.5, torch.tensor([3, -4]))
    record.operator("neg", x)
    record.operator("invert", x > 0)
    record.operator("invert", integers(4))


def record_brackets(record: Recorder) -> None:
    x = numbers(2, 3, 4)
    mask = torch.tensor([True, False, True])
    for items in (
        [1],
        [-1],
        [[1, None]],
        ["..."],
        ["None"],
        ["1, 1:"],
        [1, [1, None]],
        [1, 2],
        [[], [1, 3], [None, None, 3]],
        [[1], [], [-3, -1]],
        ["None", 0, "...", 1],
        [],
        [torch.tensor([1, 0, 1])],
        [[], mask, torch.tensor(2)],
    ):
        record.brackets(x, items)
    for items, value in (
        ([0, [1, None]], -1),
        ([x > 1], 0),
        ([1], numbers(4)),
        ([[], 0, [None, None, 2]], 2.5),
    ):
        record.brackets(x, items, value)


def record_nested(record: Recorder) -> None:
    for data in (
        1.5,
        3,
        True,
        [1, 2],
        [[1.5, 2], [3, 4.5]],
        [True, False],
        [1, 2.5],
        [True, False, 2],
        [],
        [[], []],
        [[[1], [2]], [[3], [4]]],
    ):
        record.nested(data)
    record.nested([0.5, 1], dtype=torch.float64)
    record.nested([1, 2], requires_grad=True, dtype=torch.float32)
    record.nested([[1, 2], [3]])


def record_creation(record: Recorder) -> None:
    record("zeros", size=[2, 3])
    record("ones", size=[2], dtype=torch.int64)
    record("full", size=[2, 2], fill_value=1.5)
    record("full", size=[2], fill_value=3)
    record("full", size=[], fill_value=True)
    table = lambda data, size: torch.tensor(data).reshape(size)  # noqa: E731
    record("from_bools", table, data=[True, False, False, True], size=[2, 2])
    record("arange", start=1, end=7, step=2)
    record("arange", start=0, end=1, step=0.25)
    record("linspace", start=-1, end=1, steps=5)
    record("eye", n=2, m=3)
    record("zeros_like", input=numbers(2, 3), dtype=torch.float64)
    record("full_like", input=numbers(2), fill_value=4)


def record_initial_values(record: Recorder) -> None:
    """Of what is random, such as leave nothing to chance."""
    init, weight, vector = torch.nn.init, numbers(4, 2, 3), numbers(3)
    record("eye_", init.eye_, tensor=numbers(2, 3))
    record("dirac_", init.dirac_, tensor=weight, groups=2)
    for name in ("xavier_uniform_", "xavier_normal_", "orthogonal_"):
        record(name, getattr(init, name), tensor=weight, gain=0)
        record.error(name, getattr(init, name), tensor=vector)
    for name in ("kaiming_uniform_", "kaiming_normal_"):
        record(name, getattr(init, name), tensor=numbers(0, 2), mode="fan_out")
        record.error(name, getattr(init, name), tensor=weight, a=0.5, mode="fan")
        record.error(name, getattr(init, name), tensor=weight, nonlinearity="none")
    record("trunc_normal_", init.trunc_normal_, tensor=weight, mean=0.5, std=2, a=1, b=1)
    record("sparse_", init.sparse_, tensor=numbers(2, 3), sparsity=1, std=2)
    record.error("sparse_", init.sparse_, tensor=vector, sparsity=0.5)


def record_errors(record: Recorder) -> None:
    x = numbers(2, 3)
    record.error("matmul", input=x, other=x)
    record.error("sum", input=x, dim=[3])
    record.error("reshape", input=x, shape=[4, 2])
    record.error("add", input=x, other=numbers(4))
    record.error("narrow", input=x, dim=0, start=0, length=9)
    record.error("view", lambda input, size: input.view(size), input=x, size=[5])
    record.error("softmax", input=x, dim=2)


def main() -> None:
    record = Recorder()
    for part in (
        record_creation,
        record_pointwise,
        record_shapes,
        record_reductions,
        record_matrices,
        record_networks,
        record_sequences,
        record_losses,
        record_indexing,
        record_initial_values,
        record_errors,
        record_operators,
        record_brackets,
        record_nested,
    ):
        part(record)
    lines = ",\n".join(json.dumps(call) for call in record.calls)
    FILE.write_text(f"[\n{lines}\n]\n")
    print(f"wrote {len(record.calls)} calls to {FILE.name}")


if __name__ == "__main__":
    main()
