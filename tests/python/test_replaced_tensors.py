"""Parameters and buffers that programs take out of a layer, and what stands in their place then."""

import pytest

NORMS = ("BatchNorm1d", "InstanceNorm1d")
# What a program does with a norm `m` of three channels.
EDITS = {
    "assigned": "m.running_mean = t.full((3,), 0.5)",
    "none": "m.running_mean = m.running_var = None",
    "one none": "m.running_mean = None",
    "deleted": "del m.running_mean",
    "plain": "del m.running_mean; m.running_mean = t.full((3,), 0.5)",
    "all plain": (
        "a = m.running_mean, m.running_var, m.num_batches_tracked\n"
        "del m.running_mean, m.running_var, m.num_batches_tracked\n"
        "m.running_mean, m.running_var, m.num_batches_tracked = a"
    ),
    "registry": "m._buffers['running_mean'] = t.full((3,), 0.5)",
    "out of the registry": "m._buffers.pop('running_var')",
    "no count": "del m.num_batches_tracked",
    "count none": "m.num_batches_tracked = None",
    "count plain": "del m.num_batches_tracked; m.num_batches_tracked = t.tensor(5)",
    "mean of a plain count": "m.momentum = None; del m.num_batches_tracked; m.num_batches_tracked = t.tensor(1)",
    "not tracking": "m.track_running_stats = False",
    "not tracking, none": "m.track_running_stats = False; m.running_mean = m.running_var = None",
    "parameter": "del m.running_mean; m.running_mean = t.nn.Parameter(t.zeros(3), requires_grad=False)",
    "no tensor": "m.running_mean = 3",
    "plain weight": "del m.weight; m.weight = t.full((3,), 2.0)",
    "no weight": "m.weight = None",
    "statistics again": "del m.running_mean; m.running_mean = t.full((3,), 0.5); m.reset_running_stats()",
    "no statistics again": "del m.running_mean; m.reset_running_stats()",
    "plain weight again": "del m.weight; m.weight = t.full((3,), 2.0); m.reset_parameters()",
}


@pytest.mark.parametrize("is_training", [True, False])
@pytest.mark.parametrize("kind", NORMS)
@pytest.mark.parametrize("edit", EDITS)
def test_norms(edit, kind, is_training, both, same):
    def run(t):
        m = getattr(t.nn, kind)(3, affine=True, track_running_stats=True).train(is_training)
        try:
            exec(EDITS[edit], {"t": t, "m": m})
            result = m(t.arange(12.0).reshape(2, 3, 2) / 7)
        except (AttributeError, RuntimeError, TypeError, ValueError) as error:
            return type(error).__name__, str(error).partition("\n")[0].rpartition("_norm: ")[2]
        names = ("running_mean", "running_var", "num_batches_tracked")
        tensors = [getattr(m, name, "none") for name in names]
        return result, *tensors, list(m.state_dict()), list(m._buffers), repr(m)

    same(*both(run))


# Layers with tensors, and what they are called with.
LAYERS = {
    "Linear": ((2, 3), [(4, 2)]),
    "Bilinear": ((2, 3, 2), [(4, 2), (4, 3)]),
    "Conv1d": ((2, 3, 2), [(1, 2, 4)]),
    "ConvTranspose2d": ((2, 3, 2), [(1, 2, 4, 4)]),
    "GroupNorm": ((1, 2), [(1, 2, 4)]),
    "LayerNorm": ((2,), [(4, 2)]),
    "RMSNorm": ((2,), [(4, 2)]),
    "PReLU": ((2,), [(4, 2)]),
    "LSTMCell": ((2, 3), [(4, 2)]),
    "BatchNorm2d": ((2,), [(2, 2, 2, 2)]),
    "BCELoss": ((), [(2, 2), (2, 2)]),
    "BCEWithLogitsLoss": ((), [(2, 2), (2, 2)]),
    "MultiLabelSoftMarginLoss": ((), [(2, 2), (2, 2)]),
}


@pytest.mark.parametrize("name", LAYERS)
def test_plain_attributes_stand_for_them(name, both, same):
    given, inputs = LAYERS[name]

    def run(t):
        m = getattr(t.nn, name)(*given)
        for tensor, own in (*m.named_parameters(), *m.named_buffers()):
            value = t.arange(own.numel()).reshape(own.shape).to(own.dtype) / 8
            delattr(m, tensor)
            setattr(m, tensor, value.to(own.dtype))
        for tensor in [n for n, own in m._buffers.items() if own is None]:
            delattr(m, tensor)
            setattr(m, tensor, t.tensor([1.0, 2.0]))
        args = [(t.arange(8.0).repeat(4)[: t.zeros(s).numel()].reshape(s) / 16) for s in inputs]
        return m(*args), sorted(m.state_dict())

    same(*both(run), rtol=1e-4)
