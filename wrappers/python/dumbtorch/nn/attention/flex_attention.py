"""Attention whose scores a function changes, and whose mask is a function of positions."""

from __future__ import annotations

import inspect
import itertools
import math
from typing import NamedTuple

from ... import _missing, _ops
from ..._types import bool_, float32, float64, int8, int32
from ..._vmap import vmap
from ..functional import pad, scaled_dot_product_attention

__getattr__ = _missing.getattr_of(__name__)
__all__ = ["BlockMask", "flex_attention", "AuxOutput", "AuxRequest", "FlexKernelOptions", "create_block_mask",
           "create_mask", "or_masks", "and_masks", "noop_mask"]  # fmt: skip

FlexKernelOptions = dict  # which change nothing
_BLOCK = 128


class AuxRequest(NamedTuple):
    """What is wanted besides the result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The logarithms of the sums of exponentials, and the largest scores."""

    lse: object = None
    max_scores: object = None


# ---- functions of positions


def _at_positions(function, given: tuple = ()):
    """The function for all (batch, head, query, key), and before them for all elements of what is given."""
    for k in (3, 2, 1, 0):
        dims = [None] * 4
        dims[k] = 0
        function = vmap(function, (*given, *dims))
    return function


def _positions(sizes, device) -> list:
    return [_ops.arange(0, n, device=device) for n in sizes]


def _takes_scores(mod) -> bool:
    """Whether it changes a score, from five arguments, or says of four whether a query may look at a key."""
    empty = inspect.Parameter.empty
    count = sum(p.default is empty for p in inspect.signature(mod).parameters.values())
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    return count == 5


def noop_mask(batch, head, token_q, token_kv):
    """Hides nothing."""
    return batch.new_ones((), dtype=bool_)


def _sliced_mask_mod_error(batch, head, token_q, token_kv):
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask. When you slice a BlockMask using [], the mask_mod attribute is "
        "reset. You must set it from the original BlockMask's mask_mod."
    )


def _joined(mask_mods: tuple, function, first: bool):
    if not all(map(callable, mask_mods)):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def joined(b, h, q_idx, kv_idx):
        result = b.new_full((), first, dtype=bool_)
        for mask in mask_mods:
            result = function(result, mask(b, h, q_idx, kv_idx))
        return result

    return joined


def or_masks(*mask_mods):
    """Where one of them is true."""
    return _joined(mask_mods, lambda a, b: a | b, False)


def and_masks(*mask_mods):
    """Where all of them are true."""
    return _joined(mask_mods, lambda a, b: a & b, True)


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """Where a mask function is true, or a score function leaves more than -infinity: [B, H, Q_LEN, KV_LEN]."""
    sizes = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    device = _device(device)
    positions = _positions(sizes, device)
    if not _takes_scores(mod_fn):
        return _at_positions(mod_fn)(*positions)
    scores = _at_positions(mod_fn, (0,))(_ops.zeros(sizes, device=device), *positions)
    return _ops.logical_not(_ops.isneginf(scores))


def _device(device):
    from ...accelerator import current_accelerator

    return device or current_accelerator() or "cpu"


# ---- masks by blocks


def _ordered(blocks) -> tuple:
    """For each row how many of its blocks are set, and which, before the others."""
    counts = _ops.to(_ops.sum(blocks, -1), dtype=int32)
    order = _ops.argsort(blocks, -1, descending=True, stable=True)
    return counts, _ops.to(order, dtype=int32)


def _dense(counts, order):
    """The blocks that are set, 1 or 0."""
    columns = order.shape[-1]
    places = _ops.arange(0, columns, device=order.device)
    is_set = places < _ops.unsqueeze(counts, -1)
    beyond = _ops.where(is_set, order, columns).long()  # which is cut off again
    blocks = _ops.zeros((*order.shape[:-1], columns + 1), dtype=int32, device=order.device)
    return blocks.scatter_(-1, beyond, 1)[..., :columns].contiguous()


def _transposed(counts, order) -> tuple:
    return _ordered(_ops.transpose(_dense(counts, order), -2, -1))


_TENSORS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices",
            "full_q_num_blocks", "full_q_indices")  # fmt: skip


class BlockMask:
    """A mask of positions by blocks: for each row of blocks how many hold something, and which. Of those in `kv`
    mask_mod says what; those in `full_kv` hide nothing."""

    def __init__(
        self, seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, q_num_blocks, q_indices,
        full_q_num_blocks, full_q_indices, BLOCK_SIZE=(_BLOCK, _BLOCK), mask_mod=noop_mask,
    ):  # fmt: skip
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        for kind, a, b in (
            ("kv", full_kv_num_blocks, full_kv_indices),
            ("q", full_q_num_blocks, full_q_indices),
        ):
            if (a is None) != (b is None):
                raise AssertionError(
                    f"full_{kind}_num_blocks and full_{kind}_indices must be both provided or omitted"
                )
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks, kv_indices, full_kv_num_blocks=None, full_kv_indices=None, BLOCK_SIZE=_BLOCK,
        mask_mod=None, seq_lengths=None, compute_q_blocks=True,
    ):  # fmt: skip
        """The mask of these rows of blocks, with what its columns hold."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        q = full_q = (None, None)
        if compute_q_blocks:
            q = _transposed(kv_num_blocks, kv_indices)
            if full_kv_num_blocks is not None and full_kv_indices is not None:
                full_q = _transposed(full_kv_num_blocks, full_kv_indices)
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        rows, columns = kv_indices.shape[-2:]
        lengths = (rows * size[0], columns * size[1]) if seq_lengths is None else seq_lengths
        return cls(
            lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *q, *full_q, size,
            noop_mask if mask_mod is None else mask_mod,
        )  # fmt: skip

    def as_tuple(self, flatten: bool = True) -> tuple:
        """All that it consists of."""
        lengths, size = tuple(self.seq_lengths), tuple(self.BLOCK_SIZE)
        if not flatten:
            lengths, size = (self.seq_lengths,), (self.BLOCK_SIZE,)
        return (*lengths, *(getattr(self, n) for n in _TENSORS), *size, self.mask_mod)

    @property
    def shape(self) -> tuple:
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """The percentage of the mask that lies in blocks of which nothing is computed."""
        blocks = self.kv_num_blocks.sum().item()
        if self.full_kv_num_blocks is not None:
            blocks += self.full_kv_num_blocks.sum().item()
        return 100 * (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self):
        """The blocks that hold something, 1 or 0."""
        partial = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is None:
            return partial
        return partial | _dense(self.full_kv_num_blocks, self.full_kv_indices)

    def _of_elements(self, blocks):
        (rows, columns), (q, kv) = self.BLOCK_SIZE, self.seq_lengths
        wide = blocks.repeat_interleave(rows, -2)[..., :q, :].repeat_interleave(columns, -1)
        return wide[..., :kv] != 0

    def elements(self, sizes, device):
        """What is not hidden, of a query and keys of these sizes."""
        mask = _at_positions(self.mask_mod)(*_positions(sizes, device))
        mask = mask & self._of_elements(_dense(self.kv_num_blocks, self.kv_indices))
        if self.full_kv_num_blocks is None:
            return mask
        return mask | self._of_elements(_dense(self.full_kv_num_blocks, self.full_kv_indices))

    def __getitem__(self, index):
        """The mask of some batches, heads and rows of blocks, whose mask_mod has to be set anew."""
        index = index if isinstance(index, tuple) else (index,)
        sizes = self.kv_num_blocks.shape[:3]
        index = (*index, *(slice(None),) * 3)[:3]
        index = tuple(
            slice(i % n, i % n + 1) if isinstance(i, int) and -n <= i < n else i
            for i, n in zip(index, sizes, strict=True)
        )
        rows = [x if x is None else x[index] for x in (getattr(self, n) for n in _TENSORS[:4])]
        return type(self).from_kv_blocks(
            *rows, self.BLOCK_SIZE, _sliced_mask_mod_error, self.seq_lengths, self.q_indices is not None
        )  # fmt: skip

    def _adjust(self, new_q_len: int, new_kv_len: int):
        """Its upper left corner."""
        rows, columns = (
            -(-n // size) for n, size in zip((new_q_len, new_kv_len), self.BLOCK_SIZE, strict=True)
        )

        def cut(counts, order):
            if counts is None:
                return None, None
            return _ordered(_dense(counts, order)[..., :rows, :columns])

        kv = cut(self.kv_num_blocks, self.kv_indices)
        full = cut(self.full_kv_num_blocks, self.full_kv_indices)
        return type(self).from_kv_blocks(
            *kv, *full, self.BLOCK_SIZE, self.mask_mod, (new_q_len, new_kv_len), self.q_indices is not None
        )  # fmt: skip

    def to(self, device):
        """The same mask on a device."""
        tensors = [getattr(self, n) for n in _TENSORS]
        moved = [x if x is None else x.to(device) for x in tensors]
        return type(self)(self.seq_lengths, *moved, self.BLOCK_SIZE, self.mask_mod)

    def __repr__(self) -> str:
        shapes = [None if x is None else x.shape for x in (getattr(self, n) for n in _TENSORS)]
        parts = [f"{n}={shape}" for n, shape in zip(_TENSORS, shapes, strict=True)]
        parts += [
            f"BLOCK_SIZE={self.BLOCK_SIZE}",
            f"shape={self.shape}",
            f"sparsity={self.sparsity():.2f}%",
        ]
        parts.append(f"mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}")
        return "BlockMask(\n    " + ",\n    ".join(parts) + "\n)"

    def __str__(self) -> str:
        text = self.to_string().strip()
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{text}\n)"

    def to_string(self, grid_size=(20, 20), limit: int = 4) -> str:
        """A picture of the first masks: what holds all, a part and nothing."""
        blocks = self.to_dense()
        *batches, rows, columns = blocks.shape
        sizes = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        down, right = (
            max(1, -(-n // size)) for n, size in zip((rows, columns), sizes, strict=True)
        )

        def signs(mask, r: int) -> str:
            shares = [
                mask[r : r + down, c : c + right].float().mean() for c in range(0, columns, right)
            ]
            return "".join("  " if s == 0 else "██" if s == 1 else "░░" for s in shares) + "\n"

        parts = []
        for k, place in enumerate(itertools.product(*map(range, batches))):
            if k == limit:
                parts += ["...", "To print out more, set BlockMask.to_string(limit=N)",
                          "You can also index (BlockMask[batch, head]) to choose a specific batch or head"]  # fmt: skip
                break
            picture = "".join(signs(blocks[place], r) for r in range(0, rows, down))
            parts.append(f"{place}\n{picture}")
        return "\n".join(parts)


def create_block_mask(
    mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=_BLOCK, _compile=False, *, separate_full_blocks=True
):  # fmt: skip
    """The BlockMask of a mask function, which all batches or heads share where B or H is None."""
    if _takes_scores(mask_mod):
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    mask = pad(mask, (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    counts = _ops.sum(mask.unflatten(-1, (-1, columns)).unflatten(-3, (-1, rows)), (-3, -1))
    is_full = counts == rows * columns
    partial = (counts > 0) & ~is_full if separate_full_blocks else counts > 0
    full = _ordered(is_full.to(int8)) if separate_full_blocks else (None, None)
    return BlockMask.from_kv_blocks(
        *_ordered(partial.to(int8)), *full, (rows, columns), mask_mod, (Q_LEN, KV_LEN)
    )


# ---- attention


def _check(query, key, value, block_mask, enable_gqa: bool) -> None:
    if any(x.dim() != 4 for x in (query, key, value)):
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension "
            f"but got E={query.shape[-1]} and E={key.shape[-1]}."
        )
    heads, of_keys = query.shape[1], key.shape[1]
    if not enable_gqa and heads != of_keys:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={of_keys}. "
            "Try setting enable_gqa=True for GQA."
        )
    if heads % of_keys:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA "
            f"but got Hq={heads} and Hkv={of_keys}."
        )
    batch, of_key = query.shape[0], key.shape[0]
    if block_mask is None:
        if batch != of_key:
            raise ValueError(
                "Expect query and key/value to have the same batch size, or non-none block_mask, "
                f"but got block_mask=None, Bq={batch}, and Bkv={of_key}."
            )
        return
    of_mask = block_mask.kv_num_blocks.shape[0]
    if batch != of_key and batch != of_mask:
        raise ValueError(
            "Expect query and key/value to have the same batch size, or block_mask and query to have the same batch "
            f"size, but got Bq={batch}, Bkv={of_key}, B_block_mask={of_mask}."
        )
    if block_mask.mask_mod is _sliced_mask_mod_error:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    q, kv = query.shape[-2], key.shape[-2]
    if (q, kv) != tuple(block_mask.seq_lengths):
        smaller = q > block_mask.seq_lengths[0] or kv > block_mask.seq_lengths[1]
        raise ValueError(
            f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={q} and kv_len={kv}. As the "
            f"block mask was created for a {'smaller' if smaller else 'larger'} length than you're using it for, you "
            + ("likely need to create a new block mask." if smaller else
               "can either 1. create a new block mask with the correct length, or 2. 'adjust' the existing block mask "
               "to the correct length by calling block_mask._adjust(q_len, kv_len).")
        )  # fmt: skip


def flex_attention(
    query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False,
    kernel_options=None, *, return_aux=None,
):  # fmt: skip
    """Attention of [batch, heads, length, features] whose scores are score_mod(score, batch, head, query, key) and
    which sees what block_mask does not hide.

    Args:
        query: What looks.
        key: What it looks at.
        value: What is averaged.
        score_mod: A function of one score and numbers; tensors beside those may require grad.
        block_mask: What create_block_mask gives.
        scale: What scores are multiplied by first; absent means 1 / sqrt(features).
        enable_gqa: Whether several heads of the query may share a key and a value.
        return_lse: Whether the logarithms of the sums of exponentials come, too; `return_aux` is newer.
        kernel_options: Changes nothing.
        return_aux: An AuxRequest.
    """
    _check(query, key, value, block_mask, enable_gqa)
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. return_lse is deprecated, please use "
            "return_aux=AuxRequest(lse=True) instead."
        )
    sizes = (*query.shape[:3], key.shape[-2])
    mask = None if block_mask is None else block_mask.elements(sizes, query.device)
    if score_mod is None and not return_lse and return_aux is None:
        return scaled_dot_product_attention(
            query, key, value, mask, scale=scale, enable_gqa=bool(enable_gqa)
        )
    shared = query.shape[1] // key.shape[1]
    if shared > 1:
        key, value = (_ops.repeat_interleave(x, shared, 1) for x in (key, value))
    scores = _ops.matmul(query, _ops.transpose(key, -2, -1))
    scores = scores.to(float64 if query.dtype is float64 else float32)
    scores = scores * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if score_mod is not None:
        changed = _at_positions(score_mod, (0,))(scores, *_positions(sizes, query.device))
        scores = changed.to(scores.dtype)
    if mask is not None:
        scores = _ops.where(mask, scores, -math.inf)
    hidden = _ops.all(_ops.isneginf(scores), -1, True)  # those see nothing, which is 0
    weights = scores.masked_fill(hidden, 0).softmax(-1).masked_fill(hidden, 0)
    result = _ops.matmul(weights.to(value.dtype), value)
    if return_aux is not None:
        lse = scores.logsumexp(-1) if return_aux.lse else None
        return result, AuxOutput(lse, scores.amax(-1) if return_aux.max_scores else None)
    return (result, scores.logsumexp(-1)) if return_lse else result
