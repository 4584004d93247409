"""Batches of a dataset: what a loader's process does for a job, which is an index, several of them, or a count."""

from __future__ import annotations

import itertools
from typing import NamedTuple

from .dataset import IterableDataset


class Plan(NamedTuple):
    """What a worker is to do with each job."""

    dataset: object
    whole: bool
    collate: object
    drop_last: bool
    init: object

    def fetcher(self):
        return fetcher(self.dataset, self.whole, self.collate, self.drop_last)


def fetcher(dataset, whole: bool, collate, drop_last: bool):
    """A function of a job that gives a batch, or with `whole` unset one item."""
    if isinstance(dataset, IterableDataset):
        return _of_stream(iter(dataset), whole, collate, drop_last)
    return _of_indices(dataset, whole, collate)


def _of_indices(dataset, whole: bool, collate):
    def fetch(job):
        if not whole:
            return collate(dataset[job])
        if getattr(dataset, "__getitems__", None):
            return collate(dataset.__getitems__(job))
        return collate([dataset[i] for i in job])

    return fetch


def _of_stream(items, whole: bool, collate, drop_last: bool):
    def fetch(count):
        """StopIteration says that the stream has ended."""
        if not whole:
            return collate(next(items))
        batch = list(itertools.islice(items, count))
        if not batch or drop_last and len(batch) < count:
            raise StopIteration
        return collate(batch)

    return fetch
