"""Variable: the old name of tensors that take part in graphs, which all do now."""

from __future__ import annotations

import warnings

from .. import _ops
from .._tensor_names import NO_VOLATILE
from .._tensor_type import TensorBase


class _VariableType(type):
    def __instancecheck__(cls, x) -> bool:
        return isinstance(x, TensorBase)

    def __call__(cls, data, requires_grad=False, volatile=False):
        if volatile:
            warnings.warn(NO_VOLATILE, stacklevel=2)
        return _ops.tensor_requires_grad_(_ops.detach(data), requires_grad)


class Variable(metaclass=_VariableType):
    """Variable(x) is a tensor with x's memory."""
