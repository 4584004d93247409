"""What is known of searches for elements."""

from __future__ import annotations

import re

from .case import Case, documented
from .exact import is_result_of, result_of
from .tensors import NATURE, describe


# A flag by position, which PyTorch takes for another one.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    call = r"\bt\.unique_consecutive\((x\d+), (True|False)(?:, (True|False))?"
    flags = re.search(call, c.statement)
    if flags is None:
        return False
    if c.aspect == "raised":
        return "values to unpack" in c.difference.ours + c.difference.theirs
    counts = f", return_counts={flags[3]}" if flags[3] else ""
    named = re.sub(call, rf"t.unique_consecutive(\1, return_inverse=\2{counts}", c.statement)
    by_name = c.history.replace(c.statement, named)
    if c.aspect == "values":
        return is_result_of(c, by_name)
    ours = result_of(by_name, c.difference.place)
    if c.aspect == "type":
        return describe(ours) == c.difference.ours
    return c.aspect in NATURE and str(NATURE[c.aspect](ours)) == c.difference.ours
