"""Sorting and order statistics: one long row, and many short ones."""

from __future__ import annotations

from measure import Row, Target

from rows.compare import compare

MILLION, ODD = 1_000_000, 777_777


def normal(*sizes):
    return lambda torch: torch.randn(*sizes)


def integers(n):
    return lambda torch: torch.randint(0, n // 4, (n,))


LONG = normal(256, 50257)  # rows of a vocabulary
SHORT = normal(10000, 100)

# name, what is sorted, what is done, the ratio
SORTS = (
    ("sort 1M", normal(MILLION), lambda torch, x: x.sort(), 6),
    ("sort 777777", normal(ODD), lambda torch, x: x.sort(), 6),
    ("sort 10000×100", SHORT, lambda torch, x: x.sort(), 1),
    ("argsort stable 1M", normal(MILLION), lambda torch, x: x.argsort(stable=True), 6),
    ("unique 1M", integers(MILLION), lambda torch, x: x.unique(), 1.5),
    ("unique 777777", integers(ODD), lambda torch, x: x.unique(), 1.5),
    ("topk 50 of 256×50257", LONG, lambda torch, x: x.topk(50), 1.5),
    ("topk 50 of 777777", normal(ODD), lambda torch, x: x.topk(50), 1.5),
    ("topk 5 of 10000×100", SHORT, lambda torch, x: x.topk(5), 1.5),
    ("median 1M", normal(MILLION), lambda torch, x: x.median(), 4),
    ("median 777777", normal(ODD), lambda torch, x: x.median(), 4),
    ("median 256×50257", LONG, lambda torch, x: x.median(-1), 4),
    ("median 10000×100", SHORT, lambda torch, x: x.median(-1), 4),
    ("kthvalue 1M", normal(MILLION), lambda torch, x: x.kthvalue(MILLION // 4), 4),
    ("kthvalue 777777", normal(ODD), lambda torch, x: x.kthvalue(ODD // 3), 4),
    ("kthvalue 256×50257", LONG, lambda torch, x: x.kthvalue(100), 4),
    ("kthvalue 10000×100", SHORT, lambda torch, x: x.kthvalue(20), 4),
)


def rows(dumbtorch, torch) -> list[Row]:
    result = []
    for name, data, op, ratio in SORTS:

        def make(library, data=data, op=op):
            x = data(library)
            return lambda: op(library, x)

        ours, theirs = compare(make, dumbtorch, torch)
        result.append(Row("sorting", name, Target(ratio=ratio), ours, theirs))
    return result
