"""Tests of rows: one for each op, since what surrounds a test takes longer than most rows."""

from __future__ import annotations

import pathlib
import re
import sys
import traceback
from collections.abc import Callable

import dumbtorch as dt
import pytest
from oracle import is_older
from table import Row

# What older versions refuse: derivatives, dtypes, modes; and products of bools that they do not refuse.
LACKS = re.compile(
    r"is restricted to|has no attribute 'linear_cross_entropy'|^(?!.*PyTorch).*not implemented|einsum: .* for .?'Bool"
)


def unconfirmed(error: Exception) -> str:
    """Why an older PyTorch cannot confirm what it lacks; nothing of another error."""
    torch = sys.modules.get("torch")
    raised_in = pathlib.Path(traceback.extract_tb(error.__traceback__)[-1].filename)
    is_ours = pathlib.Path(dt.__file__).parent in raised_in.parents
    if torch and is_older(torch) and not is_ours and LACKS.search(str(error)):
        return f"PyTorch {torch.__version__}: {error}"
    return ""


def by_op(rows: list[Row]) -> Callable:
    """The decorated test of a row, of all rows of an op in turn. What fails has a note that names the row."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.op, []).append(row)
    # tests/mutate.py chooses by -op-.
    cases = [
        pytest.param(group, id=f"{k}-{op}-{len(group)}")
        for k, (op, group) in enumerate(groups.items())
    ]

    def decorate(test: Callable) -> Callable:
        @pytest.mark.parametrize("rows", cases)
        def test_rows(rows):
            skipped = ""  # why the last row that was skipped was
            for row in rows:
                dt.manual_seed(0)
                try:
                    test(row)
                except pytest.skip.Exception as reason:  # this row alone
                    skipped = reason.msg
                except Exception as error:
                    error.add_note(f"in the row {row.id}, inputs {row.inputs}")
                    skipped = unconfirmed(error)
                    if not skipped:
                        raise
            if skipped:
                pytest.skip(skipped)

        test_rows.__doc__ = test.__doc__
        return test_rows

    return decorate
