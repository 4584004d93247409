"""Some hundred random programs, a minute of them: `make programs` runs as many as one likes, of other seeds."""

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

from programs.compare import compare  # noqa: E402
from programs.generate import generate  # noqa: E402

# On whatever device the other tests run, these compare on the CPU.
TOGETHER = 20


@pytest.mark.parametrize("first", range(0, 320, TOGETHER))
def test_random_programs(first):
    for seed in range(first, first + TOGETHER):
        program = generate(seed)
        assert compare(program) is None, f"program {seed}:\n{program}"
