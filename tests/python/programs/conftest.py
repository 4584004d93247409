"""What tests of random programs share."""

import dumbtorch as dt
import pytest


@pytest.fixture
def fault(monkeypatch):
    """`t.fault(right, wrong)`: wrong here alone."""
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")
    monkeypatch.setattr(torch, "fault", lambda right, wrong: right, raising=False)
    monkeypatch.setattr(dt, "fault", lambda right, wrong: wrong, raising=False)
