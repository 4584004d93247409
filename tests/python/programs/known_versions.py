"""What an older PyTorch had wrong: a machine with a GPU may have one. The page is about the version that
requirements/torch.txt names."""

from __future__ import annotations

import re

import torch
from oracle import is_older

from .case import UNUSED, Case, documented, is_derivative

PAGE = "the tests compare with PyTorch 2.13"


# 2.11 sets elements below the diagonal of a tall matrix (pytorch/pytorch#171704).
@documented(PAGE)
def _(c: Case) -> bool:
    tall = any(x.dim() == 2 and x.shape[0] > x.shape[1] + 1 for x in c.tensors.values())
    traces = tall and c.aspect == "values" and is_derivative(c) and c.derives("Trace")
    return traces and is_older(torch)


# 2.11 leaves the input as it is (pytorch/pytorch#172200).
@documented(PAGE)
def _(c: Case) -> bool:
    clips = re.search(r"\b(clamp|clip)_?\(.*\bt\.nan\b", c.statement) is not None
    return clips and c.aspect == "values" and is_older(torch)


# 2.11 compares the NaN of both in the memory of the input's, which may be smaller.
@documented(PAGE)
def _(c: Case) -> bool:
    both = re.search(r"\b(isclose|allclose)\(.*equal_nan=True", c.statement) is not None
    sentence = "output with shape .* doesn't match the broadcast shape"
    return both and c.only_theirs_raises(sentence) and is_older(torch)


# 2.11's first derivative at a singular matrix, or of a single element, has no graph here, and one of zeros there.
@documented(PAGE)
def _(c: Case) -> bool:
    if not is_older(torch) or not c.passes(r"(linalg\.)?(slog|log)?det"):
        return False
    outside = c.aspect == "requires_grad" and str(c.difference.theirs) == "True"
    zeros = isinstance(c.theirs, torch.Tensor) and not c.theirs.any()
    none = c.aspect == "type" and c.difference.ours == "None" and zeros
    return outside or none or c.only_ours_raises(f"{UNUSED}|does not require grad")


# 2.11 writes products into a gradient of the input's dtype where elements are 0.
@documented(PAGE)
def _(c: Case) -> bool:
    wrong = c.only_theirs_raises("masked_scatter: expected self and source to have same dtypes")
    converts = re.search(r"\bcumprod\(.*dtype=", c.history) is not None
    return wrong and converts and c.passes("cumprod") and is_older(torch)


# 2.11 takes integers for the mean of nothing.
@documented(PAGE)
def _(c: Case) -> bool:
    return c.only_ours_raises("nanmean.*could not infer output dtype") and is_older(torch)
