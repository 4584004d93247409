"""Datasets, samplers and the loader that serves them in batches."""

from ..._ops import load_npy, load_npz, read_csv, read_idx, save_npy, save_npz
from .collate import default_collate
from .dataset import (
    ConcatDataset,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .loader import DataLoader
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler

__all__ = [
    "BatchSampler", "ConcatDataset", "DataLoader", "Dataset", "IterableDataset", "RandomSampler",
    "Sampler", "SequentialSampler", "Subset", "SubsetRandomSampler", "TensorDataset",
    "default_collate", "load_npy", "load_npz", "random_split", "read_csv", "read_idx", "save_npy", "save_npz",
]  # fmt: skip
