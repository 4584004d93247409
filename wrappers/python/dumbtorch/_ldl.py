"""torch.linalg.ldl_factor, ldl_factor_ex and ldl_solve: symmetric matrices, by Bunch and Kaufman's pivots."""

from __future__ import annotations

import math

from . import _ops
from ._complaints import need
from ._creation import tensor
from ._functions import broadcast_shapes
from ._named_results import result_type
from ._out import need_tuple
from ._runtime import LinAlgError
from ._tensor_type import into
from ._types import bool_, float32, float64, int32
from .autograd.function import Function

Factors = result_type("linalg_ldl_factor", "LD pivots")
FactorsAndInfo = result_type("linalg_ldl_factor_ex", "LD pivots info")


def ldl_factor(input, *, hermitian=False, out=None):
    """L and D of input = L @ D @ L.mT in one matrix, and the exchanges of rows; `hermitian` changes nothing."""
    need("ldl_factor", "input:tensor hermitian:bool", input, hermitian)
    if out is not None:
        need_tuple("ldl_factor", out, 2)
        return into(out, ldl_factor, input)
    return Factors(ldl_factor_ex(input, check_errors=True)[:2])


def ldl_factor_ex(input, *, hermitian=False, check_errors=False, out=None):
    """ldl_factor with a code for each matrix: 0, or the first element of D that is 0. As LAPACK has them: the lower
    triangle of input is read; a pair of negative pivots stands for a block of two rows in D."""
    kinds = "input:tensor hermitian:bool check_errors:bool"
    need("ldl_factor_ex", kinds, input, hermitian, check_errors)
    if out is not None:
        need_tuple("ldl_factor_ex", out, 3)
        return into(out, ldl_factor_ex, input, check_errors=check_errors)
    _check_square(input, "torch.linalg.ldl_factor_ex")
    if input.dtype not in (float32, float64):
        raise NotImplementedError(
            f"\"ldl_factor_kernel_cpu\" not implemented for '{input.dtype.word}'"
        )
    found = FactorsAndInfo(_Factorisation.apply(input))
    if check_errors and found.info.any():
        failed = [(i, code) for i, code in enumerate(found.info.flatten().tolist()) if code]
        which = f"(Batch element {failed[0][0]}): " if input.ndim > 2 else ""
        raise LinAlgError(
            f"linalg.ldl_factor: {which}The factorization has been completed, but the diagonal element "
            f"{failed[0][1]} of D is zero, which a solution would divide by."
        )
    return found


def ldl_solve(LD, pivots, B, *, hermitian=False, out=None):
    """X of A @ X = B, by what ldl_factor gives for A."""
    kinds = "LD:tensor pivots:tensor B:tensor hermitian:bool"
    need("ldl_solve", kinds, LD, pivots, B, hermitian)
    if out is not None:
        return into(out, ldl_solve, LD, pivots, B)
    _check_system(LD, pivots, B)
    return _Solution.apply(LD, pivots, B)


def _check_square(A, function: str) -> None:
    if A.ndim < 2:
        raise RuntimeError(f"{function}: The input tensor A must have at least 2 dimensions.")
    rows, columns = A.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"{function}: A must be batches of square matrices, but they are {rows} by {columns} matrices"
        )
    if not A.dtype.is_floating_point:
        raise RuntimeError(
            f"{function}: Expected a floating point or complex tensor as input. Got {A.dtype.word}"
        )


def _check_system(LD, pivots, B) -> None:
    function = "torch.linalg.ldl_solve"
    _check_square(LD, function)
    if B.ndim < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got -2)")
    if B.dtype is not LD.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {B.dtype.word} and A of type "
            f"{LD.dtype.word} instead."
        )
    n, (rows, columns) = LD.shape[-1], B.shape[-2:]
    if rows != n:
        raise RuntimeError(
            f"Incompatible matrix sizes for {function}: each A matrix is {n} by {n} but each b matrix is {rows} by "
            f"{columns}"
        )
    if pivots.is_floating_point() or pivots.dtype is bool_:
        raise RuntimeError(f"{function}: Expected pivots to be integers. Got {pivots.dtype.word}")
    if pivots.shape != LD.shape[:-1]:
        raise RuntimeError(
            f"{function}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    if ((pivots.abs() > n) | (pivots == 0)).any():
        raise RuntimeError(
            "Pivots given to ldl_solve must all satisfy |pivot| <= LD.size(-2). Did you properly pass the result of "
            "ldl_factor?"
        )


class _Factorisation(Function):
    @staticmethod
    def forward(ctx, A):
        n, batch = A.shape[-1], A.shape[:-2]
        found = (
            [_factored(a) for a in A.reshape((math.prod(batch), n, n)).unbind()]
            if A.numel()
            else []
        )
        place = {"dtype": int32, "device": A.device}
        # Column by column in memory, as LAPACK's.
        turned = _ops.stack([f[0].mT for f in found]) if found else _ops.empty_like(A)
        pivots = tensor([f[1] for f in found], **place) if found else _ops.empty((0,), **place)
        info = tensor([f[2] for f in found], **place) if found else _ops.zeros(batch, **place)
        return turned.reshape(A.shape).mT, pivots.reshape(A.shape[:-1]), info.reshape(batch)

    @staticmethod
    def backward(ctx, *grads):
        raise NotImplementedError("the derivative for 'linalg_ldl_factor_ex' is not implemented.")


class _Solution(Function):
    @staticmethod
    def forward(ctx, LD, pivots, B):
        ctx.save_for_backward(LD, pivots)
        n, columns = B.shape[-2:]
        batch = broadcast_shapes(LD.shape[:-2], B.shape[:-2])
        if not (B.numel() and LD.numel()):
            return _ops.empty((*batch, columns, n), dtype=B.dtype, device=B.device).mT
        factors = LD.expand((*batch, n, n)).reshape((-1, n, n)).unbind()
        exchanges = pivots.expand((*batch, n)).reshape((-1, n)).tolist()
        sides = B.expand((*batch, n, columns)).reshape((-1, n, columns)).unbind()
        solved = [_solved(*each).mT for each in zip(factors, exchanges, sides, strict=True)]
        return _ops.stack(solved).reshape((*batch, columns, n)).mT

    @staticmethod
    def backward(ctx, grad):
        LD, pivots = ctx.saved_tensors
        if ctx.needs_input_grad[0]:
            raise NotImplementedError("the derivative for 'linalg_ldl_solve' is not implemented.")
        return None, None, ldl_solve(LD, pivots, grad)


_GROWTH = (1 + math.sqrt(17)) / 8  # bounds how elements grow (Bunch and Kaufman, 1977)


def _factored(a) -> tuple:
    """(LD, pivots, code) of one matrix."""
    n, info = a.shape[0], 0
    rest = a.tril() + a.tril(-1).mT  # what is not factored yet, from k on
    out, pivots = _ops.zeros_like(rest), [0] * n
    k = 0
    while k < n:
        pivot, size, is_zero = _next_pivot(rest, k)
        if is_zero:
            info = info or k + 1
        _exchange(rest, k, k + size - 1, pivot)
        pivots[k : k + size] = [pivot + 1] if size == 1 else [-pivot - 1] * 2
        end = k + size
        block, below = rest[k:end, k:end], rest[end:, k:end]
        out[k:end, k:end] = block.tril()
        if not is_zero:
            out[end:, k:end] = factor = _divided(below.mT, block).mT
            rest[end:, end:] -= factor @ below.mT
        k = end
    return out, pivots, info


def _next_pivot(rest, k: int) -> tuple:
    """Which row comes to k, or to k + 1 where the block has two; the block's size; whether there is nothing but 0."""
    column = rest[k:, k].abs()
    size, others = column[0].item(), column[1:]
    largest = others.max().item() if others.numel() else 0.0
    if max(size, largest) == 0:
        return k, 1, True
    if not size < _GROWTH * largest:
        return k, 1, False
    row = k + 1 + others.argmax().item()
    beside = rest[row, k:].abs()
    own = beside[row - k].item()
    beside[row - k] = 0
    widest = beside.max().item()
    if size >= _GROWTH * largest * (largest / widest):
        return k, 1, False
    return row, 1 if own >= _GROWTH * widest else 2, False


def _exchange(x, begin: int, i: int, j: int) -> None:
    """Swaps rows i and j, and columns, of what is behind `begin`."""
    if i != j:
        part, pair, turned = x[begin:, begin:], [i - begin, j - begin], [j - begin, i - begin]
        part[pair] = part[turned]
        part[:, pair] = part[:, turned]


def _divided(b, block):
    """X of block @ X = b, of one row or two; only the block's lower triangle is read."""
    if block.shape[0] == 1:
        return b / block
    # By the element beside the diagonal, which is the largest.
    beside = block[1, 0]
    first, second = block[1, 1] / beside, block[0, 0] / beside
    top, bottom = b[0] / beside, b[1] / beside
    return _ops.stack([first * top - bottom, second * bottom - top]) / (first * second - 1)


def _solved(ld, pivots: list, b):
    x, n = _ops.clone(b), len(pivots)
    blocks, k = [], 0
    while k < n:
        end = k + (1 if pivots[k] > 0 else 2)
        blocks.append((k, end, abs(pivots[k]) - 1))
        k = end
    for k, end, pivot in blocks:
        _swap_rows(x, end - 1, pivot)
        x[end:] -= ld[end:, k:end] @ x[k:end]
        x[k:end] = _divided(x[k:end], ld[k:end, k:end])
    for k, end, pivot in reversed(blocks):
        x[k:end] -= ld[end:, k:end].mT @ x[end:]
        _swap_rows(x, end - 1, pivot)
    return x


def _swap_rows(x, i: int, j: int) -> None:
    if i != j:
        x[[i, j]] = x[[j, i]]
