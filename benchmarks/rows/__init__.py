"""The rows of the table, a file per kind. A row's program is written once and runs over both
libraries, which have the same names: that is the promise under test."""

from __future__ import annotations

from measure import Row

from rows import (
    breadth,
    broadcast,
    build,
    factor,
    files,
    kernels,
    models,
    small,
    sorting,
    start,
    training,
)


def all_rows(machine, dumbtorch, torch, *, full: bool) -> list[Row]:
    """Every row, in the order of the table. `torch` may be None; `full` adds the slow ones."""
    return [
        *small.rows(machine, dumbtorch, torch),
        *training.rows(dumbtorch, torch, full=full),
        *kernels.rows(dumbtorch, torch, full=full),
        *models.rows(dumbtorch, torch, full=full),
        *sorting.rows(dumbtorch, torch),
        *breadth.rows(dumbtorch, torch),
        *factor.rows(dumbtorch, torch),
        *broadcast.rows(machine),
        *files.rows(dumbtorch),
        *start.rows(machine, torch),
        *(build.rows() if full else []),
    ]
