"""Memory runs out: an error that says of what, and a library that works on."""

import os
import resource
import shutil
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ.get("DT_BUILD_DIR", Path(__file__).parents[3] / "build"))

LIMITED = """
    import gc, resource
    import dumbtorch as dt

    dt.ones(300, 300) @ dt.ones(300, 300)  # the pool's threads exist before memory is short
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    limit = used + (512 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
    before = dt.live_handles()

    def fails(f, op="", size=0):
        # f runs out of memory in op, which asked for size bytes and a header.
        try:
            f()
        except dt.OutOfMemoryError as error:
            assert isinstance(error, MemoryError) and isinstance(error, RuntimeError)
            assert str(error).startswith(op), str(error)
            asked = int(str(error).split("tried to allocate ")[1].split()[0])
            assert 0 <= asked - size <= 64 or not size, str(error)
        else:
            raise AssertionError("memory was found")

    def works():
        gc.collect()
        assert dt.live_handles() == before, (dt.live_handles(), before)
        w = dt.ones(100, 100, requires_grad=True)
        (w @ w).sum().backward()
        assert w.grad[0, 0].item() == 200
        del w
        gc.collect()
"""


def test_one_huge_tensor(python):
    python(
        LIMITED
        + """
    fails(lambda: dt.empty(2**30, dtype=dt.float64), "empty", 8 * 2**30)
    fails(lambda: dt.zeros(1 << 40, dtype=dt.uint8), "zeros", 1 << 40)
    works()
    row = dt.ones(1, 2**15).expand(2**15, 2**15)
    fails(lambda: row + 1, "add", 4 * 2**30)
    fails(lambda: row.contiguous(), "contiguous", 4 * 2**30)
    fails(lambda: row.T @ row, "matmul")
    fails(lambda: dt.cat([row, row]), "cat")
    fails(lambda: dt.randperm(2**33), "randperm")
    fails(lambda: row.softmax(1), "softmax")
    fails(lambda: row.clone(), "clone")
    del row
    works()
    """
    )


def test_many_tensors_until_none_is_left(python):
    """The cache of freed blocks is given back before a call fails."""
    python(
        LIMITED
        + """
    def fill():
        kept = []
        while True:
            kept.append(dt.ones(1 << 20))

    for _ in range(3):
        fails(fill, "ones", 4 << 20)
        works()
    for size in (1 << 18, 1 << 22, 1 << 24, 1 << 26):
        for _ in range(20):  # freed blocks of one size do not starve the next
            dt.ones(size).sum().item()
    works()
    """
    )


def test_in_the_middle_of_a_backward(python):
    python(
        LIMITED
        + """
    def train():
        x = dt.ones(2**12, 2**12, requires_grad=True)
        y = x
        while True:
            y = (y * y).exp()

    fails(train)
    works()

    w = dt.ones(75 << 20, requires_grad=True)
    fails(w[0].backward, "backward", 300 << 20)
    assert w.grad is None
    del w
    works()

    def hungry(grad):
        return dt.ones(2**31)

    x = dt.ones(2, requires_grad=True)
    x.register_hook(hungry)
    fails((x * 2).sum().backward)
    assert x.grad is None
    del x
    works()
    """
    )


def test_in_place_writes_leave_the_target(python):
    """What is written needs memory that is not there: the target is as it was."""
    python(
        LIMITED
        + """
    n = 60 << 20
    x = dt.zeros(n)
    everywhere = dt.ones(1, dtype=dt.bool).expand(n)
    rest = [dt.ones(8 << 20) for _ in range(5)]
    failed = 0
    for write in (
        lambda: x[1:].copy_(x[:-1]),
        lambda: x.add_(dt.ones(2, n)[0]),
        lambda: x.index_put_((everywhere,), dt.ones(1)),
        lambda: x.index_add_(0, dt.zeros(1, dtype=dt.int64).expand(n), dt.ones(1).expand(n)),
        lambda: x.scatter_(0, dt.arange(n), 1.0),
        lambda: x.cumsum(0),
    ):
        try:
            write()
        except dt.OutOfMemoryError:
            failed += 1
            assert not x.any().item()
        x.zero_()
    assert failed >= 3
    del x, write, everywhere, rest
    works()
    """
    )


# The script waits until its memory is limited.
LUA = """
    local dt, numbers = require("dumbtorch"), {}
    for i = 1, 1000000 do numbers[i] = i end
    print("ready") io.flush() io.read()
    print(pcall(dt.zeros, numbers))
    print(dt.ones({2}):sum():item() == 2)
"""


@pytest.mark.parametrize("lua", ["lua5.4", "luajit"])
def test_a_long_list_from_lua(lua):
    if not (shutil.which(lua) and (BUILD / lua / "dumbtorch.so").exists()):
        pytest.skip(f"no {lua}")
    with subprocess.Popen(
        [lua, "-e", LUA], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"LUA_CPATH": f"{BUILD}/{lua}/?.so;;"},
    ) as script:  # fmt: skip
        assert script.stdout.readline() == "ready\n"
        pages = int(Path(f"/proc/{script.pid}/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + (1 << 20)
        resource.prlimit(script.pid, resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        out, _ = script.communicate("\n")
    assert (out.split("\n"), script.returncode) == (["false\tout of memory", "true", ""], 0)
