"""Factorisations of matrices: one of some size, and batches of small ones."""

from __future__ import annotations

from measure import Row, Target

from rows.compare import compare

SIZES = (3, 10, 32, 100, 255, 500, 1000)
BATCHES = ((10000, 3), (1000, 10), (200, 32), (20, 100))


def general(torch, *sizes):
    return torch.randn(*sizes)


def definite(torch, *sizes):
    x = torch.randn(*sizes)
    return x @ x.mT + sizes[-1] * torch.eye(sizes[-1])


def symmetric(torch, *sizes):
    x = torch.randn(*sizes)
    return x + x.mT


# name, what is factored, what is done
FACTORS = (
    ("cholesky", definite, lambda torch, x: torch.linalg.cholesky(x)),
    ("lu_factor", general, lambda torch, x: torch.linalg.lu_factor(x)),
    ("inv", general, lambda torch, x: torch.linalg.inv(x)),
    ("solve", general, lambda torch, x: torch.linalg.solve(x, x)),
    ("qr", general, lambda torch, x: torch.linalg.qr(x)),
    ("eigh", symmetric, lambda torch, x: torch.linalg.eigh(x)),
    ("svd", general, lambda torch, x: torch.linalg.svd(x, full_matrices=False)),
)


def rows(dumbtorch, torch) -> list[Row]:
    result = []
    for name, data, op in FACTORS:
        for batch, n in (*((1, n) for n in SIZES), *BATCHES):
            sizes = (n, n) if batch == 1 else (batch, n, n)

            def make(library, sizes=sizes, data=data, op=op):
                x = data(library, *sizes)
                return lambda: op(library, x)

            ours, theirs = compare(make, dumbtorch, torch)
            label = f"{name} {'×'.join(map(str, sizes))}"
            result.append(Row("factor", label, Target(ratio=1), ours, theirs))
    return result
