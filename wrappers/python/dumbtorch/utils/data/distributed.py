"""Where PyTorch has the sampler of each process's share."""

from .sampler import DistributedSampler

__all__ = ["DistributedSampler"]
