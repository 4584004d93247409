"""DataLoader: serves a dataset in batches.

A TensorDataset goes through the library's own loader, whose threads run no Python. Any other
dataset is read in Python; with num_workers > 0, by that many processes ahead of the program.
"""

from __future__ import annotations

import itertools
import os
import random
from types import GenericAlias

from ... import _ops
from ..._warning import warn_each
from ...random import default_generator
from .collate import default_collate, default_convert, pin_memory
from .dataset import IterableDataset, TensorDataset
from .fetch import Plan
from .info import get_worker_info  # noqa: F401  where PyTorch has it, too
from .sampler import BatchSampler, RandomSampler, SequentialSampler


def _warn_of_workers(count: int) -> None:
    """Of more processes than there are processors."""
    heeds_sets = hasattr(os, "sched_getaffinity")
    processors = len(os.sched_getaffinity(0)) if heeds_sets else os.cpu_count() or count
    if count > processors:
        unheeded = "" if heeds_sets else " (`cpuset` is not taken into account)"
        warn_each(
            f"This DataLoader will create {count} worker processes in total. Our suggested max number of worker in "
            f"current system is {processors}{unheeded}, which is smaller than what this DataLoader is going to create. "
            "Please be aware that excessive worker creation might get DataLoader running slow or even freeze, lower "
            "the worker number to avoid potential slowness/freeze if necessary.",
            stacklevel=4,
        )


def _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, context) -> None:
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
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if context is not None and num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
            f"but got num_workers={num_workers}"
        )


def _check_exclusive(batch_size, shuffle, sampler, batch_sampler, drop_last) -> None:
    """Refuses two answers to how batches are made."""
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                "sampler, and drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
        )


def _context(given):
    """A way to start processes, by its name or as such."""
    if given is None:
        return None
    import multiprocessing

    if not isinstance(given, (str, multiprocessing.context.BaseContext)):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying "
            f"the start method, but got multiprocessing_context={given}"
        )
    known = multiprocessing.get_all_start_methods()
    if isinstance(given, str) and given not in known:
        raise ValueError(
            f"multiprocessing_context option should specify a valid start method in {known!r}, but got "
            f"multiprocessing_context={given!r}"
        )
    return multiprocessing.get_context(given) if isinstance(given, str) else given


# What batches are made by: nobody looks at it again.
_FIXED = {"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"}


_OF_WORKERS = (
    "For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset replica at "
    "each worker. Please see https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
)


class _Batches:
    """An epoch in this process. An error ends a batch alone: the next one may be asked for."""

    def __init__(self, jobs, fetch, loader: DataLoader):
        self._jobs, self._fetch, self._loader = iter(jobs), fetch, loader
        self._given, self._told = 0, loader._told

    def __len__(self):
        return len(self._loader)

    def __iter__(self):
        return self

    def __next__(self):
        batch = self._fetch(next(self._jobs))
        self._given += 1
        return self._loader._finish(batch, self._given, self._told)


class DataLoader:
    """Batches of a dataset, in order or shuffled; iterate over it once per epoch."""

    __class_getitem__ = classmethod(GenericAlias)

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
        context = multiprocessing_context
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, context)
        if isinstance(dataset, IterableDataset):
            _check_stream(shuffle, sampler, batch_sampler)
        _check_exclusive(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size = None  # that of each batch is the sampler's business
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.num_workers, self.worker_init_fn = num_workers, worker_init_fn
        self.generator, self.timeout = generator, timeout
        self.pin_memory, self.persistent_workers = pin_memory, persistent_workers
        self.multiprocessing_context, self.in_order = _context(context), in_order
        self.pin_memory_device = pin_memory_device
        _warn_of_workers(num_workers)
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        # The library's loader serves what needs no Python; it shuffles as RandomSampler does.
        self._plain = (
            type(dataset) is TensorDataset and batch_sampler is None and sampler is None
            and collate_fn is None and batch_size is not None
            and worker_init_fn is None and not timeout and context is None
        )  # fmt: skip
        self._shuffle = bool(shuffle)
        self._set_samplers(sampler, batch_sampler)
        whole = default_collate if self.batch_sampler is not None else default_convert
        self.collate_fn = collate_fn or whole
        self._epochs, self._workers = 0, None
        self._told: int | None = None  # the length of a stream, once somebody has asked for it
        self._complete = True

    def __setattr__(self, name, value):
        if name in _FIXED and "_complete" in self.__dict__:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        object.__setattr__(self, name, value)

    def __getstate__(self):
        return self.__dict__ | {"_workers": None}

    def _set_samplers(self, sampler, batch_sampler) -> None:
        if isinstance(self.dataset, IterableDataset):
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
        if self.sampler is None and isinstance(self.dataset, IterableDataset):
            self._told = len(self.dataset)
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        return len(self.dataset if self.sampler is None else self.sampler)

    def __iter__(self):
        self._epochs += 1
        if self.pin_memory and not _ops.cuda_device_count():
            warn_each(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                "used."
            )
        if self._plain:
            return _Batches(self._core_batches(), lambda batch: batch, self)
        if not self.num_workers:
            return _Batches(self._jobs(), self._plan().fetcher(), self)
        if self._workers is not None:
            return self._workers.reset(self._jobs(), self._seed(), self)
        from .workers import Workers  # with it, all of multiprocessing

        context, ahead = self.multiprocessing_context, self.prefetch_factor
        workers = Workers(
            self._plan(), self.num_workers, context, ahead, self.timeout, self.in_order
        )
        self._workers = workers if self.persistent_workers else None
        return workers.reset(self._jobs(), self._seed(), self)

    def _plan(self) -> Plan:
        whole = self.batch_sampler is not None
        return Plan(self.dataset, whole, self.collate_fn, self.drop_last, self.worker_init_fn)

    def _jobs(self):
        """What makes a batch: indices or, of a dataset that can only be gone through, how many items."""
        if self.sampler is None and isinstance(self.dataset, IterableDataset):
            return itertools.repeat(self.batch_size)
        return self._index_sampler

    @property
    def _index_sampler(self):
        """What gives the indices of a batch, or, without batches, of an item."""
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def _seed(self) -> int:
        """That of the first worker: another one each epoch. Nothing is drawn for it, so that orders do not depend
        on how many workers there are."""
        state = (self.generator or default_generator()).get_state().tolist()
        return random.Random(f"{state} {self._epochs}").getrandbits(63)

    def _finish(self, batch, given: int, told: int | None):
        """The batch, which is the one of this number in its epoch. `told` is how long its stream was said to be before
        the epoch began."""
        if told is not None and given > told:
            warn_each(
                f"Length of IterableDataset {self.dataset} was reported to be {told}(when accessing "
                f"len(dataloader)), but {given} samples have been fetched. "
                + (_OF_WORKERS if self.num_workers else "")
            )
        return pin_memory(batch) if self.pin_memory and _ops.cuda_device_count() > 0 else batch

    def _core_batches(self):
        dataset = _ops.dataset_new(self.dataset.tensors)
        loader = _ops.data_loader_new(
            dataset, batch_size=self.batch_size, shuffle=self._shuffle, drop_last=self.drop_last,
            num_workers=self.num_workers, prefetch_factor=self.prefetch_factor or 2,
            generator=self.generator,
        )  # fmt: skip
        loader.start()
        while batch := loader.next():
            yield list(batch)


def _check_stream(shuffle, sampler, batch_sampler) -> None:
    if shuffle not in (None, False):
        raise ValueError(
            "DataLoader with IterableDataset: expected unspecified shuffle option, but got "
            f"shuffle={shuffle}"
        )
    for name, value in (("sampler", sampler), ("batch_sampler", batch_sampler)):
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                f"{name}={value}"
            )
