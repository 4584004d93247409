"""Rows made from rows: the same call with an empty dimension, and with 0-dim tensors. Whether such a
call makes sense is for PyTorch to say: its answer or its refusal is what is expected."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from table import Row

# Rows of many elements are there for the ways in which kernels cut their work.
MANY = 3000

Sizes = list[tuple[int, ...]]


def elements(row: Row) -> int:
    return sum(int(np.prod(i.sizes, dtype=int)) for i in row.inputs)


def resized(row: Row, sizes: Sizes) -> Row:
    inputs = tuple(dataclasses.replace(i, sizes=s) for i, s in zip(row.inputs, sizes, strict=True))
    return dataclasses.replace(row, inputs=inputs)


def emptied(row: Row) -> Iterator[Sizes]:
    """Each size of the row in turn becomes 0, wherever it occurs: what fitted still fits."""
    sizes = [i.sizes for i in row.inputs]
    for n in sorted({n for s in sizes for n in s} - {0}):
        yield [tuple(0 if k == n else k for k in s) for s in sizes]


def flattened(row: Row) -> Iterator[Sizes]:
    """All inputs become 0-dim, or one of them."""
    sizes = [i.sizes for i in row.inputs]
    yield [() for _ in sizes]
    for k in range(len(sizes)):
        yield [*sizes[:k], (), *sizes[k + 1 :]]


def variants(rows: list[Row], change) -> list[Row]:
    """What `change` makes of the rows, once each: rows of other sizes often become the same."""
    known = {(r.op, r.call, tuple(i.sizes for i in r.inputs)) for r in rows}
    result = []
    for row in rows:
        if elements(row) > MANY:
            continue
        for sizes in change(row):
            if row.op == "pdist" and 0 in sizes[0][:1]:
                continue  # PyTorch's backward crashes
            if row.op == "segment_reduce":
                continue  # PyTorch reads beyond a tensor that the row's lengths do not fit
            key = (row.op, row.call, tuple(sizes))
            if key not in known:
                known.add(key)
                result.append(resized(row, sizes))
    return result


def is_documented(row: Row, dtype: str) -> bool:
    """Whether a difference from PyTorch is one that docs/differences.md has, or the row's own."""
    sizes = [i.sizes for i in row.inputs]
    whole = not dtype.startswith("float")
    match row.op:
        case "conv_transpose1d" | "conv_transpose2d" | "conv_transpose3d":
            return dtype == "int64" or 0 in sizes[1]
        case name if name.startswith("conv"):  # of a dilated window; of an input without channels
            dilated = dtype in ("int32", "uint8") and dtype not in row.dtypes
            return dilated or sizes[1][1:2] == (0,)
        case "max_pool1d" | "lp_pool1d" | "lp_pool2d" | "lp_pool3d":
            return whole
        case "adaptive_avg_pool1d" if 0 in sizes[0][-2:-1]:
            return True  # PyTorch's gradient is refused where there are no channels
        case "adaptive_avg_pool2d" if 0 in sizes[0][-3:-2]:
            return True
        case name if "avg_pool" in name:
            return dtype == "int64"
        case "index_add":  # into a tensor without elements: indices are checked
            return 0 in sizes[0]
        case "addmm":  # of integers that have nothing to multiply, with a fraction for beta
            return whole and 0 in sizes[1]
        case "gumbel_softmax" | "group_norm" | "instance_norm":
            return 0 in sizes[0]
        case "multi_margin_loss" | "multilabel_margin_loss":  # PyTorch's: memory nobody has written
            return 0 in sizes[0]
        case "addmv":  # PyTorch leaves out that the input broadcasts, and bools need no kernel
            return 0 in sizes[1]
        case "addbmm" | "baddbmm":
            return whole and any(0 in s for s in sizes)
        case "inner" | "tensordot":
            return dtype == "bool"
        case "local_response_norm":
            return dtype == "int64"
        case "kl_div":  # PyTorch writes into the input's size
            return sizes[0] != sizes[1]
        case "cov":  # PyTorch's own step in place is refused
            return sizes[0] == ()
        case "linear_activation":  # PyTorch is given two steps: the second takes no part here
            return dtype == "bool"
        case "sort" | "argsort" | "topk" | "kthvalue" | "median_dim" | "nanmedian_dim":
            return whole and dtype not in row.all_dtypes  # of equal elements PyTorch chooses any
        case "binary_cross_entropy_with_logits":  # PyTorch is given the formula: it checks no sizes
            return sizes[0] != sizes[1]
        case "pixel_shuffle" | "pixel_unshuffle" | "channel_shuffle":  # PyTorch leaves the shape
            return 0 in sizes[0]
        case "block_diag":  # PyTorch's gradients are those of other elements
            return (0,) in sizes
        case "scaled_dot_product_attention":  # of nothing PyTorch takes integers
            return whole or any(0 in s for s in sizes)
        case "multi_head_attention_forward":  # and cannot reshape masks of nothing
            return whole or 0 in sizes[0]
        case "linalg_lu_factor" | "linalg_lu_factor_ex" | "linalg_lu" | "lu_unpack":
            return whole and 0 in sizes[0]  # PyTorch factors integers where there are none
        case "linalg_eigh" | "linalg_eigvalsh" | "cholesky":  # and here
            return whole and 0 in sizes[0]
        case "linalg_lstsq":  # the rank is the matrix's, also where nothing is to be solved
            return not row.orders and 0 in sizes[1] and 0 not in sizes[0]
        case "view_dtype":  # PyTorch looks at the strides of nothing
            return 0 in sizes[0]
    return False
