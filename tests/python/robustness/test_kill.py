"""A process that is killed while it saves leaves the old file or the new one, never half of one."""

import os
import random
import signal
import subprocess
import sys

import dumbtorch as dt
import pytest

SAVER = """
import sys
import dumbtorch as dt
k = 0
while True:
    k += 1
    dt.{save}({{"a": dt.full((50_000,), float(k)), "b": dt.full((3,), k)}}, sys.argv[1])
    print(k, flush=True)
"""


def check_safetensors(path):
    numpy = pytest.importorskip("safetensors.numpy")
    found = numpy.load_file(path)
    assert sorted(found) == ["a", "b"] and found["a"].shape == (50_000,)
    assert (found["a"] == found["b"][0]).all() and (found["b"] == found["b"][0]).all()
    return int(found["b"][0])


def check_pickle(path):
    found = dt.load(path)
    assert (found["a"] == found["b"][0]).all().item()
    return found["b"][0].item()


@pytest.mark.parametrize(
    ("save", "check"),
    [("safetensors.save_file", check_safetensors), ("save", check_pickle)],
    ids=["safetensors", "pickle"],
)
def test_killed_while_saving(tmp_path, save, check):
    path = tmp_path / "file"
    chance = random.Random(1)
    for _ in range(8):
        saver = subprocess.Popen(
            [sys.executable, "-c", SAVER.format(save=save), str(path)], stdout=subprocess.PIPE
        )
        for _ in range(chance.randrange(1, 12)):
            done = int(saver.stdout.readline())
        # Reading while it writes: the file is whole at any moment.
        assert check(path) >= done
        saver.send_signal(signal.SIGKILL)
        rest = saver.stdout.read().split()
        saver.wait()
        saver.stdout.close()
        done = int(rest[-1]) if rest else done
        assert check(path) in (done, done + 1)
    left_over = [name for name in os.listdir(tmp_path) if name != "file"]
    assert all(name.startswith("file.tmp-") for name in left_over)
