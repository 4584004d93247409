"""A loader's worker: a process that makes batches of its own copy of the dataset."""

from __future__ import annotations

import os
import random
import sys
import traceback
import weakref
from typing import NamedTuple

from ... import _ops
from ...random import manual_seed
from .fetch import Plan
from .info import WorkerInfo, set_worker_info
from .messages import receive, send

_LOOK_AROUND = 5.0  # seconds between looks at whether the parent still lives

# The parent's ends of connections: a fork has copies of them, which would keep them open.
parents_ends: weakref.WeakSet = weakref.WeakSet()


class End(NamedTuple):
    """In place of a batch: the worker's part of the stream has ended."""


class Failure:
    """In place of a batch: an exception, with its traceback as text."""

    def __init__(self, error: Exception, where: str):
        text = "".join(traceback.format_exception(error))
        self.type = type(error)
        self.message = f"Caught {self.type.__name__} {where}.\nOriginal {text}"

    def __reduce__(self):
        return _failure, (_importable(self.type), self.message)

    def raise_again(self):
        """The same type with the worker's traceback as its message; RuntimeError where that cannot be made."""
        message = _Text(self.message) if self.type is KeyError else self.message
        try:
            error = self.type(message)
        except Exception:
            error = RuntimeError(self.message)
        raise error


def _failure(kind, message: str) -> Failure:
    out = Failure.__new__(Failure)
    out.type, out.message = RuntimeError if kind is None else kind, message
    return out


def _importable(kind: type) -> type | None:
    """The type, if another process finds it by its name."""
    found = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    return kind if found is kind else None


class _Text(str):
    """A message of a KeyError, which shows the repr of what it is given."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


def run(connection, plan: Plan, number: int, count: int, seed: int, parent: int) -> None:
    """Answers jobs until the parent says None, or is gone. A message is (epoch, number, job), that of a new epoch
    (epoch, None, None); the answer is the first two, and the batch."""
    for end in tuple(parents_ends):
        end.close()
    _prepare(plan, number, count, seed)
    where = f"in DataLoader worker process {number}"
    fetch, failure = None, None
    try:
        if plan.init is not None:
            plan.init(number)
        fetch = plan.fetcher()
    except Exception as error:
        failure = Failure(error, where)
    try:
        while (message := _next(connection, parent)) is not None:
            epoch, place, job = message
            if place is None:
                fetch = plan.fetcher()
                continue
            batch = failure or _made(fetch, job, where)
            failure = None
            _answer(connection, epoch, place, batch, where)
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        pass  # nobody listens any more


def _prepare(plan: Plan, number: int, count: int, seed: int) -> None:
    seed = (seed + number) % 2**63
    set_worker_info(WorkerInfo(number, count, seed, plan.dataset))
    _ops.set_num_threads(1)
    random.seed(seed)
    manual_seed(seed)
    if "numpy" in sys.modules:
        words = seed & 0xFFFFFFFF, seed >> 32, number
        sys.modules["numpy"].random.seed(words)


def _next(connection, parent: int):
    while not connection.poll(_LOOK_AROUND):
        if os.getppid() != parent:
            return None
    return receive(connection)


def _made(fetch, job, where: str):
    if fetch is None:  # it could not be made, which was said
        return End()
    try:
        return fetch(job)
    except StopIteration:
        return End()
    except Exception as error:
        return Failure(error, where)


def _answer(connection, epoch: int, place: int, batch, where: str) -> None:
    try:
        send(connection, (epoch, place, batch))
    except OSError:
        raise
    except Exception as error:  # the batch cannot be pickled
        send(connection, (epoch, place, Failure(error, where)))
