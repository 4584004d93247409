"""Names that libraries on top of PyTorch import and call."""

import dumbtorch as dt
import pytest


def test_what_libraries_ask_for():
    from dumbtorch.distributed.optim import ZeroRedundancyOptimizer
    from dumbtorch.distributed.tensor import DTensor
    from dumbtorch.optim.optimizer import ParamsT
    from dumbtorch.serialization import MAP_LOCATION

    assert MAP_LOCATION and ParamsT
    assert not isinstance(dt.ones(1), DTensor)
    for kind in (ZeroRedundancyOptimizer, DTensor):
        with pytest.raises(NotImplementedError, match=f"{kind.__name__}: processes do not work"):
            kind([dt.ones(1)])


def test_what_optimizers_of_others_call():
    """Those that are written after PyTorch's call methods of its base class."""

    class Descent(dt.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})
            self._patch_step_function()

        def step(self):
            self._cuda_graph_capture_health_check()
            for group in self.param_groups:
                for p in group["params"]:
                    p.data.add_(p.grad, alpha=-group["lr"])

    steps = []
    w = dt.nn.Parameter(dt.ones(2))
    optimizer = Descent([w], 0.5)
    optimizer.register_step_post_hook(lambda *given: steps.append("done"))
    w.sum().backward()
    optimizer.step()
    assert w.tolist() == [0.5, 0.5] and steps == ["done"]


def test_tensors_in_groups(torch):
    def groups(t, indices):
        group = __import__(f"{t.__name__}.utils._foreach_utils", fromlist=["x"])
        group = group._group_tensors_by_device_and_dtype
        first = [t.ones(2), t.ones(3, dtype=t.float64), t.ones(1)]
        return {
            (str(device), str(dtype).split(".")[-1]): (
                [[None if x is None else x.tolist() for x in tensors] for tensors in lists],
                places,
            )
            for (device, dtype), (lists, places) in group(
                [first, [t.zeros(2), None, t.zeros(1)], []], indices
            ).items()
        }

    for indices in (False, True):
        assert groups(dt, indices) == groups(torch, indices)


def test_what_reversible_layers_are_made_of(torch):
    def parts(t):
        again = __import__(f"{t.__name__}.utils.checkpoint", fromlist=["x"])
        x, y = t.ones(2, requires_grad=True) * 2, t.zeros(2)
        a, b, c = again.detach_variable((x, y, "z"))
        devices = again.get_device_states(x, [y], {"k": 3})
        again.set_device_states(*devices)
        with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
            again.check_backward_validity([y, 5])
        again.check_backward_validity([y, x])
        with pytest.raises(RuntimeError, match="Only tuple of tensors is supported. Got.*: list"):
            again.detach_variable([x])
        return [(v.is_leaf, v.requires_grad, v.tolist()) for v in (a, b)], c, devices

    assert parts(dt) == parts(torch)
