"""Processes that run programs. A program may take its process down with it; then that is what was found."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from time import monotonic

import torch
import torch._dynamo  # PyTorch's optimizers do, which takes seconds in each process  # noqa: F401

from .compare import Difference

# A program takes milliseconds of a processor, for which it may have to wait.
LIMIT_S = 60
PATIENCE_S = 1800
# What PyTorch leaves behind (graphs in cycles) goes with the process.
PROGRAMS_PER_PROCESS = 3000

# How processes begin: "spawn" where the device's runtime does not live on in a forked one.
start_method = "fork"


class Worker:
    """A process that answers one question at a time; a new one takes its place when it dies."""

    def __init__(self, answer: Callable):
        self._answer = answer
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context(start_method)
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(self._answer, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._asked = 0

    def ask(self, question) -> None:
        if self._asked == PROGRAMS_PER_PROCESS:
            self.stop()
            self._start()
        self._asked += 1
        self.question, self.since = question, monotonic()
        self.pipe.send(question)

    def answer(self):
        """What the process says, or, if it died or does not answer, the Difference that it is."""
        late = not self.pipe.poll(max(0.0, self.since + PATIENCE_S - monotonic()))
        try:
            if not late:
                return self.pipe.recv()
        except EOFError:
            self._process.join()
        died = "no answer" if late else _name_of(self._process.exitcode)
        self.stop()
        self._start()
        return Difference("crash", "", died, "")

    @property
    def late(self) -> bool:
        return monotonic() > self.since + PATIENCE_S

    def stop(self) -> None:
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _serve(answer: Callable, pipe: Connection) -> None:
    # Tensors are small: waiting for a second thread takes longer.
    torch.set_num_threads(1)
    # A crash is told from the exit status; what it prints is of no use here.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    while True:
        try:
            question = pipe.recv()
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_PROF, LIMIT_S)  # whose signal ends the process
        try:
            pipe.send(answer(question))
        except Exception as error:  # a fault of these tools, not of a library
            told = "".join(traceback.format_exception(error)[-2:])
            pipe.send(Difference("tools", type(error).__name__, told, ""))


def _name_of(code: int) -> str:
    if code == -signal.SIGPROF:
        return "no answer"
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"


def each(answer: Callable, questions: Iterable, jobs: int) -> Iterator[tuple]:
    """(question, answer) in the order of the answers."""
    questions = iter(questions)
    workers = [Worker(answer) for _ in range(jobs)]
    busy: list[Worker] = []
    try:
        for worker in workers:
            _next(worker, questions, busy)
        while busy:
            ready = wait([w.pipe for w in busy], timeout=1)
            for worker in [w for w in busy if w.pipe in ready or w.late]:
                busy.remove(worker)
                yield worker.question, worker.answer()
                _next(worker, questions, busy)
    finally:
        for worker in workers:
            worker.stop()


def _next(worker: Worker, questions: Iterator, busy: list[Worker]) -> None:
    for question in questions:
        worker.ask(question)
        busy.append(worker)
        return
