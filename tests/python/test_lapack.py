"""The machine's LAPACK, where there is one, and own code where it is refused: the same results, and visibly so."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

# Large enough for the library; NaN does not reach it, and small matrices do not.
PROGRAM = """
import sys
import numpy as np
import dumbtorch as dt

rng = np.random.default_rng(0)
print(next(line for line in dt.build_info().splitlines() if line.startswith("lapack: ")))
for name in ("float64", "float32"):
    a = dt.tensor(rng.standard_normal((2, 190, 170))).to(getattr(dt, name))
    s = a.mT @ a
    w, v = dt.linalg.eigh(s)
    results = {"s": s, "w": w, "v": v, "values": dt.linalg.eigvalsh(s), "a": a}
    for full in (False, True):
        results[f"u{full}"], results[f"d{full}"], results[f"vh{full}"] = dt.linalg.svd(a.mT, full_matrices=full)
    results["singular"] = dt.linalg.svdvals(a)
    np.savez(f"{sys.argv[1]}/{name}.npz", **{key: x.numpy() for key, x in results.items()})
for f in (dt.linalg.eigvalsh, dt.linalg.svdvals):
    try:
        f(dt.full((170, 170), float("nan")))
    except dt.linalg.LinAlgError as error:
        print(str(error).split(": ", 1)[1])
print(dt.linalg.eigvalsh(dt.eye(3) * 2).tolist())
"""
NAN = [
    "linalg.eigh: The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
    "repeated eigenvalues (error code: 169).",
    "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values.",
    "[2.0, 2.0, 2.0]",
]
# Says that it was called, and that nothing converged.
FAKE = """
#include <stdint.h>
#include <stdio.h>
#define FAKE(NAME, AT) \\
  void NAME(void* a1, void* a2, void* a3, void* a4, void* a5, void* a6, void* a7, void* a8, void* a9, void* a10, \\
            void* a11, void* a12, void* a13, void* a14) { \\
    void* all[] = {a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14}; \\
    if (AT == 14 && *(int32_t*)a12 == -1) return; \\
    puts(#NAME); \\
    fflush(stdout); \\
    *(int32_t*)all[AT - 1] = 7; \\
  }
FAKE(ssyevd_, 11)
FAKE(dsyevd_, 11)
FAKE(sgesdd_, 14)
FAKE(dgesdd_, 14)
"""
FAILS = """
import dumbtorch as dt
for dtype in (dt.float32, dt.float64):
    for f in (dt.linalg.eigvalsh, dt.linalg.svdvals):
        try:
            f(dt.eye(200, dtype=dtype))
        except dt.linalg.LinAlgError as error:
            print(str(error)[-16:])
"""


def run(program, *arguments, **variables):
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env={**os.environ, **variables},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.splitlines()


def turned(x):
    return np.swapaxes(x, -1, -2)


def assert_product(left, diagonal, right, expected, near):
    k = diagonal.shape[-1]
    product = left[..., :k] * diagonal[:, None] @ right[:, :k]
    np.testing.assert_allclose(product, expected, **near)


def assert_orthonormal(columns, near):
    own = turned(columns) @ columns
    np.testing.assert_allclose(own, np.broadcast_to(np.eye(own.shape[-1]), own.shape), **near)


@pytest.mark.parametrize("library", ["none", ""])
def test_factors(tmp_path, library):
    words, *rest = run(PROGRAM, tmp_path, DT_LAPACK=library)
    assert rest[-3:] == NAN
    if library == "none":
        assert words == "lapack: none (DT_LAPACK is none)"
    for name in ("float64", "float32"):
        y = np.load(tmp_path / f"{name}.npz")
        norm = np.linalg.norm(y["s"], 2, axis=(-2, -1)).max()
        near = {"rtol": 0, "atol": 4 * np.sqrt(170) * np.finfo(name).eps * norm}
        assert_product(y["v"], y["w"], turned(y["v"]), y["s"], near)
        assert_orthonormal(y["v"], near)
        exact = np.linalg.svd(y["a"].astype("float64"))[1]
        for key in ("singular", "dFalse", "dTrue"):
            np.testing.assert_allclose(y[key], exact, **near)
        np.testing.assert_allclose(y["values"][:, ::-1], exact**2, **near)
        for full in (False, True):
            u, d, vh = (y[key + str(full)] for key in ("u", "d", "vh"))
            assert_product(u, d, vh, turned(y["a"]), near)
            assert_orthonormal(u, near)
            assert_orthonormal(turned(vh), near)


def test_library_is_used(tmp_path):
    """A library that fails: its calls are seen, and its codes are PyTorch's sentences."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    source, library = tmp_path / "fake.c", tmp_path / "fake.so"
    source.write_text(FAKE)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    expected = []
    for name in ("ssyevd_", "sgesdd_", "dsyevd_", "dgesdd_"):
        expected += [name, "(error code: 7)."]
    assert run(FAILS, DT_LAPACK=str(library)) == expected


def test_library_that_is_not_there():
    said = run("import dumbtorch as dt; print(dt.build_info())", DT_LAPACK="/no/such/library.so")
    assert any(line.startswith("lapack: none (/no/such/library.so: ") for line in said)
