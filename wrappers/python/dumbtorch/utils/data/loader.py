"""DataLoader: serves a dataset in batches.

A TensorDataset goes through the library's own loader, whose threads run no Python. Any other
dataset is read in Python; with num_workers > 0, by that many threads ahead of the program.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from typing import NamedTuple

from ... import _ops
from ...random import default_generator
from .collate import default_collate, default_convert
from .dataset import IterableDataset, TensorDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler


class WorkerInfo(NamedTuple):
    """What a worker thread knows about itself."""

    id: int
    num_workers: int
    seed: int
    dataset: object


_worker = threading.local()


def get_worker_info() -> WorkerInfo | None:
    """Which worker of a DataLoader calls; None outside of one."""
    return getattr(_worker, "info", None)


def _check_workers(num_workers, timeout, prefetch_factor, persistent_workers) -> None:
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


class DataLoader:
    """Batches of a dataset, in order or shuffled; iterate over it once per epoch."""

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=None,
        sampler=None,
        batch_sampler=None,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
        timeout=0,
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor=None,
        persistent_workers=False,
        pin_memory_device="",
        in_order=True,
    ):
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        if multiprocessing_context is not None and num_workers == 0:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading "
                f"(num_workers > 0), but got num_workers={num_workers}"
            )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                    "sampler, and drop_last"
                )
            batch_size = None
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.num_workers, self.worker_init_fn = num_workers, worker_init_fn
        self.generator, self.timeout = generator, timeout
        self.pin_memory, self.persistent_workers = pin_memory, persistent_workers
        # Workers are threads and batches always come in order: these are kept, not used.
        self.multiprocessing_context, self.in_order = multiprocessing_context, in_order
        self.pin_memory_device = pin_memory_device
        self.prefetch_factor = 2 if prefetch_factor is None else prefetch_factor
        # The library's loader serves what needs no Python; it shuffles as RandomSampler does.
        self._plain = (
            type(dataset) is TensorDataset and batch_sampler is None and sampler is None
            and collate_fn is None and batch_size is not None
            and worker_init_fn is None and not timeout
        )  # fmt: skip
        self._shuffle = bool(shuffle)
        self._set_samplers(sampler, batch_sampler)
        whole = default_collate if self.batch_sampler is not None else default_convert
        self.collate_fn = collate_fn or whole

    def _set_samplers(self, sampler, batch_sampler) -> None:
        if isinstance(self.dataset, IterableDataset):
            if self._shuffle or sampler is not None or batch_sampler is not None:
                raise ValueError(
                    "DataLoader with IterableDataset: expected unspecified shuffle and samplers"
                )
            self.sampler = None
        elif sampler is None and self._shuffle:
            self.sampler = RandomSampler(self.dataset, generator=self.generator)
        else:
            self.sampler = SequentialSampler(self.dataset) if sampler is None else sampler
        if batch_sampler is None and self.batch_size is not None:
            if self.sampler is None:
                batch_sampler = BatchSampler(self.dataset, self.batch_size, self.drop_last)
            else:
                batch_sampler = BatchSampler(self.sampler, self.batch_size, self.drop_last)
        self.batch_sampler = batch_sampler

    def __len__(self):
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        return len(self.dataset if self.sampler is None else self.sampler)

    def __iter__(self):
        if self._plain:
            return self._core_batches()
        if self.sampler is None and self.batch_sampler is not None:
            # The "indices" of an iterable dataset are its items.
            return (self.collate_fn(items) for items in self.batch_sampler)
        if self.sampler is None:
            return (self.collate_fn(item) for item in self.dataset)
        jobs = self.sampler if self.batch_sampler is None else self.batch_sampler
        return self._threaded(iter(jobs)) if self.num_workers else map(self._fetch, jobs)

    def _core_batches(self):
        dataset = _ops.dataset_new(self.dataset.tensors)
        loader = _ops.data_loader_new(
            dataset, batch_size=self.batch_size, shuffle=self._shuffle, drop_last=self.drop_last,
            num_workers=self.num_workers, prefetch_factor=self.prefetch_factor,
            generator=self.generator,
        )  # fmt: skip
        loader.start()
        while batch := loader.next():
            yield list(batch)

    def _fetch(self, job):
        if self.batch_sampler is None:
            return self.collate_fn(self.dataset[job])
        if hasattr(self.dataset, "__getitems__"):
            return self.collate_fn(self.dataset.__getitems__(job))
        return self.collate_fn([self.dataset[i] for i in job])

    def _threaded(self, jobs):
        """The batches in order, fetched by threads up to num_workers * prefetch_factor ahead."""
        from concurrent.futures import ThreadPoolExecutor

        numbers = itertools.count()

        seed = (self.generator or default_generator()).initial_seed()

        def start():
            number = next(numbers)
            _worker.info = WorkerInfo(number, self.num_workers, seed + number, self.dataset)
            if self.worker_init_fn is not None:
                self.worker_init_fn(number)

        pool = ThreadPoolExecutor(self.num_workers, initializer=start)
        waiting: deque = deque()
        try:
            ahead = self.num_workers * self.prefetch_factor
            waiting.extend(pool.submit(self._fetch, job) for job in itertools.islice(jobs, ahead))
            while waiting:
                batch = self._wait(waiting.popleft())
                waiting.extend(pool.submit(self._fetch, job) for job in itertools.islice(jobs, 1))
                yield batch
        finally:
            # After a timeout somebody hangs: nobody waits for it.
            pool.shutdown(wait=not self.timeout, cancel_futures=True)

    def _wait(self, job):
        """A batch, or PyTorch's error after `timeout` seconds; 0 waits for ever."""
        from concurrent.futures import TimeoutError

        try:
            return job.result(self.timeout or None)
        except TimeoutError:
            if job.done():  # the dataset's own
                raise
            raise RuntimeError(f"DataLoader timed out after {self.timeout} seconds") from None
