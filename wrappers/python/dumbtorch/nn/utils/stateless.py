"""A module with other parameters: torch.func.functional_call by its old name."""

from ...func import functional_call

__all__ = ["functional_call"]
