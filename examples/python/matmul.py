"""The product of two matrices in four ways: how much is lost where Python computes number by number.

python matmul.py [size]

One sees, for each way, how many billion additions and multiplications it does in a second, and its share of
what the library does: some ten-thousandths for three loops, a third row by row. examples/c/matmul.c
goes on where this ends: it measures what the processor can do, and comes near to it step by step.
"""

import sys
import time

import dumbtorch as torch


def naive(a, b):
    """Each element is a row of a times a column of b."""
    rows, columns = a.tolist(), b.T.tolist()
    return torch.tensor([[sum(x * y for x, y in zip(r, c)) for c in columns] for r in rows])


def by_element(a, b):
    """The same; a call of the library multiplies a row by a column."""
    columns = b.T.contiguous()
    return torch.stack([torch.stack([row.dot(column) for column in columns]) for row in a])


def by_row(a, b):
    """A call for each row of the result."""
    return torch.stack([row @ b for row in a])


def library(a, b):
    """One call: it cuts the matrices into tiles and uses vectors and all threads."""
    return a @ b


def speed(product, a, b, repeat: int) -> float:
    """In GFLOP/s, the best of some tries; looking at an element waits for a GPU."""
    best = float("inf")
    for _ in range(repeat):
        begun = time.perf_counter()
        product(a, b)[0, 0].item()
        best = min(best, time.perf_counter() - begun)
    return 2e-9 * len(a) ** 3 / best


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    torch.manual_seed(0)
    a, b = torch.randn(n, n), torch.randn(n, n)
    limit = speed(library, a, b, 20)
    for product in (naive, by_element, by_row, library):
        found = speed(product, a, b, 1 if product is naive else 3)
        right = (product(a, b) - a @ b).abs().max().item() < 1e-3 * n**0.5
        share = 100 * found / limit
        print(
            f"{product.__name__:12} {found:10.4f} GFLOP/s {share:9.4f} % {'right' if right else 'WRONG'}"
        )
    if torch.cuda.is_available():
        a = torch.randn(8192, 8192, device="cuda")
        print(f"GPU, float32 {speed(library, a, a, 5):10.1f} GFLOP/s")
        a = a.to(torch.bfloat16)
        print(f"GPU, tensor cores, bfloat16 {speed(library, a, a, 5):10.1f} GFLOP/s")


if __name__ == "__main__":
    main()
