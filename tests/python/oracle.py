"""PyTorch, the oracle: a machine with a GPU may have an older one than requirements/torch.txt names."""

import pathlib
import re

REQUIRED = pathlib.Path(__file__).resolve().parents[2] / "requirements" / "torch.txt"


def is_older(torch) -> bool:
    def numbers(version):
        return tuple(map(int, version.split(".")[:2]))

    pinned = re.search(r"^torch==([\d.]+)", REQUIRED.read_text(), re.M)
    return numbers(torch.__version__) < numbers(pinned.group(1))
