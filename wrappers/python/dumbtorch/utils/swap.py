"""swap_tensors: two tensors become each other."""

from __future__ import annotations

import weakref

from .._tensor_type import exchange


def swap_tensors(t1, t2) -> None:
    """Gives each tensor the class, attributes, elements, gradient and graph of the other; who refers to one of them
    finds the other's from then on."""
    for name, tensor in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    exchange(t1, t2)


def replace(tensor, new) -> None:
    """Swaps the tensor with one that nobody else has. A graph that leads to what the tensor was cannot run backward
    any more: the gradient would go where nobody looks."""
    swap_tensors(tensor, new)
    if new.requires_grad and new.is_leaf:
        new.register_hook(_refuse)


def _refuse(grad):
    raise RuntimeError(
        "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when you try to run "
        "backward on a tensor that was swapped. For a module m with "
        "`torch.__future__.set_swap_module_params_on_conversion(True)` you should not change the device or dtype of "
        "the module (e.g. `m.cpu()` or `m.half()`) between running forward and backward. To resolve this, please only "
        "change the device/dtype before running forward (or after both forward and backward)."
    )
