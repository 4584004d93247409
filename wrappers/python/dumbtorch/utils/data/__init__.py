"""Datasets, samplers and the loader that serves them in batches."""

from ... import _late
from ..._ops import load_npy, load_npz, read_csv, read_idx, save_npy, save_npz
from . import _utils  # noqa: F401 (its older place, by which programs import collate)
from .collate import default_collate, default_convert
from .dataloader import DataLoader
from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .info import get_worker_info
from .sampler import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__getattr__, __dir__ = _late.names(__name__, "distributed")

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset",
    "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "default_collate",
    "default_convert", "get_worker_info", "load_npy", "load_npz", "random_split", "read_csv", "read_idx", "save_npy",
    "save_npz",
]  # fmt: skip
