"""Mistakes that once were: each test fails without its fix."""

import dumbtorch as dt
import pytest


def test_too_many_dimensions_are_an_error():
    for make in (dt.zeros, dt.ones, dt.empty):
        with pytest.raises(RuntimeError, match="at most 16 dimensions"):
            make([1] * 60)


def test_view_made_without_grad_cannot_be_changed_with_grad():
    w = dt.ones(4, requires_grad=True)
    x = w * 1
    with dt.no_grad():
        v = x[:2]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        v.mul_(5)
    assert x.tolist() == [1.0, 1.0, 1.0, 1.0]


def test_a_device_that_is_not_there():
    for make in (dt.empty, dt.zeros):
        with pytest.raises(RuntimeError, match="device 'cuda:0' is not available"):
            make(2, device="cuda")


def test_threads_do_not_share_the_target_of_an_expanded_index():
    index = dt.zeros(1, dtype=dt.int64).expand(400000)
    threads = dt.get_num_threads()
    dt.set_num_threads(2)
    try:
        for _ in range(20):
            y = dt.zeros(1, 4)
            y.index_add_(0, index, dt.ones(400000, 4))
            assert y.tolist() == [[400000.0] * 4]
    finally:
        dt.set_num_threads(threads)
