"""Processes that share tensors, and those that are started anew."""

import dumbtorch as dt
import pytest


def add(shared, x):
    shared += x


def sends(i, queue):
    queue.put((i, dt.full((2,), float(i))))


def fails(i):
    if i == 1:
        raise ValueError("this is process 1")


def test_shared_with_forked_processes():
    shared = dt.zeros(3).share_memory_()
    context = dt.multiprocessing.get_context("fork")
    processes = [context.Process(target=add, args=(shared, x)) for x in (1, 2)]
    for process in processes:
        process.start()
        process.join()
    assert shared.tolist() == [3, 3, 3]


def test_spawned_processes_send_tensors():
    queue = dt.multiprocessing.get_context("spawn").SimpleQueue()
    dt.multiprocessing.spawn(sends, (queue,), nprocs=2)
    found = dict(queue.get() for _ in range(2))
    assert {i: x.tolist() for i, x in found.items()} == {0: [0, 0], 1: [1, 1]}
    found.clear()


def test_an_error_of_a_process():
    with pytest.raises(
        dt.multiprocessing.ProcessRaisedException, match="this is process 1"
    ) as caught:
        dt.multiprocessing.start_processes(fails, nprocs=2, start_method="fork")
    assert caught.value.error_index == 1
