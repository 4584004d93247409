"""What is known of floats of 16 bits."""

from __future__ import annotations

import re

import torch

from .case import Case, documented
from .elements import all_that_differ

PAGE = "**float16 and bfloat16**"


# What PyTorch's CPU lacks.
@documented(PAGE)
def _(c: Case) -> bool:
    return c.only_theirs_raises("(not implemented for|but got:?) '?(Half|BFloat16)")


# A bound so near to 1 that it rounds to that.
@documented(PAGE)
def _(c: Case) -> bool:
    bound = re.search(r"\blogit_?\((?:.*, )?(?:eps=)?([\d.e-]+)\)", c.statement)
    narrow = isinstance(c.theirs, torch.Tensor) and c.theirs.dtype in (
        torch.float16,
        torch.bfloat16,
    )
    if bound is None or not narrow or float(bound[1]) > torch.finfo(c.theirs.dtype).eps / 4:
        return False
    return all_that_differ(c, lambda ours, theirs: ours.isfinite() & theirs.isinf())
