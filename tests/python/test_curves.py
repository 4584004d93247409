"""The first steps of the loss curves of benchmarks/curves.py lie on PyTorch's."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("torch")
path = Path(__file__).resolve().parents[2] / "benchmarks" / "curves.py"
spec = importlib.util.spec_from_file_location("curves", path)
curves = importlib.util.module_from_spec(spec)
spec.loader.exec_module(curves)


@pytest.mark.parametrize("name", curves.TASKS)
def test_losses_lie_on_pytorchs(name):
    ours, theirs = curves.curves(name, 12, small=True)
    assert ours == pytest.approx(theirs, rel=2e-5)
    assert len(set(theirs)) == 12
