"""Python's multiprocessing. A tensor in shared memory (`share_memory_`) is one for the processes that are forked
afterwards; what goes through queues, or to processes that are spawned, is a copy."""

from __future__ import annotations

import multiprocessing as _python
import multiprocessing.connection as _connection
import traceback as _traceback
from multiprocessing import *  # noqa: F403

from . import _missing

__getattr__ = _missing.getattr_of(__name__)

_STRATEGY = "file_system"


class ProcessException(Exception):
    """A process of `spawn` did not end well."""

    def __init__(self, msg: str, error_index: int, pid: int):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """It raised."""


class ProcessExitedException(ProcessException):
    """It was killed, or left by itself."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(fn, i, args, errors):
    """What a process does: errors are sent as text."""
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        errors.send(_traceback.format_exc())
        raise SystemExit(1) from None


class ProcessContext:
    """The processes that `spawn` started."""

    def __init__(self, processes, errors):
        self.processes, self._errors = processes, errors

    def pids(self) -> list:
        """Their numbers."""
        return [process.pid for process in self.processes]

    def join(self, timeout=None, grace_period=None) -> bool:
        """Waits for one of them to end, at most `timeout` seconds. Whether all have; the error of one that failed,
        when the others have been stopped."""
        waiting = [p.sentinel for p in self.processes if p.exitcode is None]
        if waiting:
            _connection.wait(waiting, timeout)
        failed = next(
            (i for i, p in enumerate(self.processes) if p.exitcode not in (None, 0)), None
        )
        if failed is None:
            return all(p.exitcode == 0 for p in self.processes)
        for process in self.processes:
            process.terminate()
            process.join(grace_period)
        self._raise(failed)

    def _raise(self, i: int):
        process = self.processes[i]
        if self._errors[i].poll():
            said = (
                f"\n\n-- Process {i} terminated with the following error:\n{self._errors[i].recv()}"
            )
            raise ProcessRaisedException(said, i, process.pid)
        said = f"process {i} terminated with exit code {process.exitcode}"
        raise ProcessExitedException(said, i, process.pid, process.exitcode)


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Runs `fn(i, *args)` in `nprocs` processes."""
    context = _python.get_context(start_method)
    processes, errors = [], []
    for i in range(nprocs):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, i, args, theirs), daemon=daemon)
        process.start()
        theirs.close()
        processes.append(process)
        errors.append(ours)
    running = ProcessContext(processes, errors)
    if not join:
        return running
    while not running.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Runs `fn(i, *args)` in `nprocs` new processes of Python, and waits for them unless `join` is false. The first
    that fails stops the others, and its error is raised here."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)


def get_all_sharing_strategies() -> set:
    """How tensors may be sent: as files in memory."""
    return {_STRATEGY}


def get_sharing_strategy() -> str:
    """How tensors are sent."""
    return _STRATEGY


def set_sharing_strategy(new_strategy) -> None:
    """Does nothing, where there is such a way."""
    if new_strategy not in get_all_sharing_strategies():
        raise ValueError(
            f"set_sharing_strategy: there is {_STRATEGY!r} alone, not {new_strategy!r}"
        )


__all__ = [
    "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException",
    "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn",
    "start_processes", *_python.__all__,
]  # fmt: skip
