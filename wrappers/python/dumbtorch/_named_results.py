"""What functions of several results give."""

from __future__ import annotations

import functools
from operator import itemgetter


def result_type(name: str, fields: str) -> type:
    """A tuple with named fields, as PyTorch's torch.return_types."""
    names = fields.split()

    def show(self):
        parts = ",\n".join(f"{n}={v!r}" for n, v in zip(names, self, strict=True))
        return f"torch.return_types.{name}(\n{parts})"

    members = {n: property(itemgetter(i)) for i, n in enumerate(names)}
    sizes = {"n_fields": len(names), "n_sequence_fields": len(names), "n_unnamed_fields": 0}
    place = {"__slots__": (), "__module__": f"{__package__}.return_types"}
    place["__match_args__"] = tuple(names)
    return type(name, (tuple,), {"__repr__": show, **place, **sizes, **members})


@functools.cache
def written(kind: type) -> type:
    """The class of such results where they were written into what was given as `out`."""
    return result_type(f"{kind.__name__}_out", " ".join(kind.__match_args__))
