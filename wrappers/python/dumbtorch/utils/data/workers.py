"""Batches from worker processes: jobs go out in turn, a few ahead, and batches come back in order."""

from __future__ import annotations

import multiprocessing
import os
import weakref
from multiprocessing import connection

from .fetch import Plan
from .messages import receive, send
from .worker import End, Failure, parents_ends, run

_PATIENCE = 5.0  # seconds for a worker to end by itself


class Workers:
    """The iterator of a loader with workers. reset() begins a new epoch with the same processes."""

    def __init__(self, plan: Plan, count: int, context, ahead: int, timeout: float, in_order: bool):
        self._plan, self._count, self._ahead = plan, count, ahead
        self._timeout, self._in_order = timeout, in_order
        self._context = context or multiprocessing.get_context()
        self._epoch = -1
        self._processes: list = []
        self._ends: list = []

    def __len__(self):
        return len(self._loader)

    def reset(self, jobs, seed: int, loader) -> Workers:
        """Begins to go through the jobs of a loader."""
        self._epoch += 1
        self._jobs, self._loader = iter(jobs), loader
        self._given, self._told = 0, loader._told
        self._sent = self._next = 0
        self._here: dict[int, object] = {}  # batches that have arrived too early
        self._owner: dict[int, int] = {}  # which worker has which job
        self._active = list(range(self._count))
        if not self._processes:
            self._start(seed)
        else:
            for end in self._ends:
                send(end, (self._epoch, None, None))
        for _ in range(self._ahead * self._count):
            self._send_job()
        return self

    def _start(self, seed: int) -> None:
        for number in range(self._count):
            mine, theirs = self._context.Pipe()
            parents_ends.add(mine)
            process = self._context.Process(
                target=run,
                args=(theirs, self._plan, number, self._count, seed, os.getpid()),
                daemon=True,
            )
            self._ends.append(mine)
            self._processes.append(process)
            if number == 0:
                weakref.finalize(self, _end, os.getpid(), self._processes, self._ends)
            process.start()
            theirs.close()

    def _send_job(self) -> None:
        """Gives the next job to the next worker in turn."""
        if not self._active:
            return
        job = next(self._jobs, self)
        if job is self:  # there are no more
            return
        worker = self._active.pop(0)
        self._active.append(worker)
        self._owner[self._sent] = worker
        send(self._ends[worker], (self._epoch, self._sent, job))
        self._sent += 1

    def __iter__(self):
        return self

    def __next__(self):
        while self._owner or self._here:
            number = self._first_here()
            if number is None:
                self._receive()
                continue
            batch = self._here.pop(number)
            self._next = number + 1
            self._send_job()
            if isinstance(batch, End):
                continue
            if isinstance(batch, Failure):
                batch.raise_again()
            self._given += 1
            return self._loader._finish(batch, self._given, self._told)
        raise StopIteration

    def _first_here(self) -> int | None:
        """The number of the batch that may be given now."""
        if not self._in_order:
            return next(iter(self._here), None)
        return self._next if self._next in self._here else None

    def _receive(self) -> None:
        """Waits until a worker has something to say, and keeps that."""
        ready = connection.wait(self._ends, self._timeout or None)
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        for end in ready:
            epoch, number, batch = self._message(end)
            if epoch != self._epoch:
                continue  # of an epoch that was left early
            worker = self._owner.pop(number)
            self._here[number] = batch
            if isinstance(batch, End) and worker in self._active:
                self._active.remove(worker)

    def _message(self, end):
        try:
            return receive(end)
        except (EOFError, ConnectionResetError):
            process = self._processes[self._ends.index(end)]
            process.join(_PATIENCE)
            raise RuntimeError(
                f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly"
            ) from None


def _end(owner: int, processes: list, ends: list) -> None:
    if os.getpid() != owner:  # a fork's copy
        return
    for end in ends:
        try:
            send(end, None)
        except OSError:
            pass  # it is gone already
        end.close()
    for process in processes:
        process.join(_PATIENCE)
        if process.is_alive():
            process.terminate()
            process.join()
