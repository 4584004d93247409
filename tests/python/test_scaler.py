"""Scaled losses, float32 masters and rounding at random: training in half precision, against PyTorch or exact
numbers. test_small_names.py compares GradScaler's loop and refusals with PyTorch's."""

import dumbtorch as dt
import numpy as np
import pytest
from meanings import class_of
from optimizer_rows import SETTINGS

torch = pytest.importorskip("torch")
F = dt.nn.functional


@pytest.mark.parametrize("interval", [3, 1, 0, -1])
def test_scale_and_count_follow_pytorchs(interval):
    for found in ([0, 0, 0, 1, 0, 0, 0, 0, 1, 1], [0] * 8):
        for start in (8.0, 3e38):
            ours = dt.tensor(start), dt.tensor(0, dtype=dt.int32)
            theirs = torch.tensor(start), torch.tensor(0, dtype=torch.int32)
            for step in found:
                dt._ops.amp_update_scale_(*ours, dt.tensor(float(step)), 4.0, 0.25, interval)
                torch._amp_update_scale_(*theirs, torch.tensor(float(step)), 4.0, 0.25, interval)
                assert [x.item() for x in ours] == [x.item() for x in theirs]


@pytest.mark.parametrize("bad", [None, "inf", "-inf", "nan"])
def test_unscaled_gradients(bad):
    values = [np.arange(6.0).reshape(2, 3), np.array(5.0), np.zeros((0, 2)), np.ones((3, 2))]
    if bad:
        values[0][1, 2] = float(bad)
    for dtype in ("float32", "float64", "bfloat16"):
        ours = [dt.tensor(v, dtype=getattr(dt, dtype)) for v in values]
        theirs = [torch.tensor(v, dtype=getattr(torch, dtype)) for v in values]
        ours[3], theirs[3] = ours[3].t(), theirs[3].t()
        versions = [g._version for g in ours]
        found = dt._ops.amp_unscale_(ours, dt.tensor(8.0))
        inf = torch.zeros(1)
        torch._amp_foreach_non_finite_check_and_unscale_(theirs, inf, torch.tensor(0.125))
        assert found.item() == inf.item() == (bad is not None)
        for a, b, version in zip(ours, theirs, versions, strict=True):
            np.testing.assert_array_equal(a.float().numpy(), b.float().numpy())
            assert a._version > version


def test_a_step_that_is_not_to_be():
    """What a GPU is told: parameters, state and counts stay as they are where found_inf is not 0."""
    for found in (0.0, 1.0):
        p, grad = dt.ones(4), dt.full((4,), 0.5)
        state = [dt.tensor(0.0), dt.zeros(4), dt.zeros(4), None]  # step, exp_avg, exp_avg_sq
        settings = (0.1, 0.9, 0.999, 1e-8, 0.0, 0.0, 0.0, 0.0)
        dt._ops.optimizer_update_unless(
            "adam", [p], [grad], state, dt.tensor(0.1), settings, False, dt.tensor(found)
        )
        expected = torch.ones(4, requires_grad=True)
        expected.grad = torch.full((4,), 0.5)
        if not found:
            torch.optim.Adam([expected], lr=0.1).step()
        assert p.tolist() == pytest.approx(expected.tolist()) and state[0].item() == 1 - found
        assert state[1].tolist() == pytest.approx([0.05 * (1 - found)] * 4)


def test_float16_gradients_are_refused():
    p = dt.ones(2, dtype=dt.float16, requires_grad=True)
    optimizer = dt.optim.SGD([p], lr=1.0)
    scaler = dt.amp.GradScaler("cpu")
    scaler.scale(p.sum()).backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.step(optimizer)


# ---- masters


def train(t, optimizer, params, dtype, steps=30):
    """Gradients of that dtype, as a network's in half precision would be."""
    for step in range(steps):
        for k, p in enumerate(params):
            wave = np.sin(np.arange(p.numel()) * (k + 1) + step).reshape(tuple(p.shape))
            p.grad = t.tensor(wave, dtype=t.float32).to(dtype).to(p.dtype)
        optimizer.step()


@pytest.mark.parametrize(
    "name", [name for name in SETTINGS if hasattr(getattr(dt.optim, name), "_row")]
)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_masters_are_what_float32_gives(name, dtype):
    """The masters go PyTorch's way in float32 by the same gradients; parameters are masters, rounded."""
    start = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
    start = torch.from_numpy(start).to(getattr(torch, dtype)).float().numpy()
    narrow = [dt.tensor(v, dtype=getattr(dt, dtype), requires_grad=True) for v in (start, start[0])]
    wide = [torch.tensor(v, requires_grad=True) for v in (start, start[0])]
    ours = getattr(dt.optim, name)(narrow, lr=1e-3)
    theirs = class_of(torch, "optim", name)(wide, lr=1e-3)
    ours.use_master_weights()
    train(dt, ours, narrow, getattr(dt, dtype), steps=12)
    again = getattr(dt.optim, name)(narrow, lr=1e-3)
    again.use_master_weights()
    again.load_state_dict(ours.state_dict())
    train(torch, theirs, wide, getattr(torch, dtype), steps=12)
    train(dt, again, narrow, getattr(dt, dtype))
    train(torch, theirs, wide, getattr(torch, dtype))
    for p, expected in zip(narrow, wide, strict=True):
        master = again.state[p]["master"]
        assert master.dtype is dt.float32
        np.testing.assert_allclose(master.numpy(), expected.detach().numpy(), rtol=2e-5, atol=2e-6)
        assert p.detach().equal(master.to(p.dtype))
    with pytest.raises(RuntimeError, match="before the first one"):
        again.use_stochastic_rounding()


def test_an_optimizer_of_ones_own_has_no_masters():
    class Own(dt.optim.Optimizer):
        def step(self):
            pass

    with pytest.raises(NotImplementedError, match="Own computes its steps by itself"):
        Own([dt.ones(1, requires_grad=True)], {}).use_master_weights()


# ---- rounding at random


def test_rounding_at_random_is_right_on_the_mean():
    """Between two neighbours of bfloat16, and each of them as often as the number is near."""
    dt.manual_seed(0)
    many = 20_000
    for x in (1.001, -3.37e-5, 1e30, 0.75, 0.0):
        x = np.float32(x)
        rounded = F.stochastic_round(dt.full((many,), float(x)), dt.bfloat16)
        assert rounded.dtype is dt.bfloat16
        found = rounded.float().numpy().astype(np.float64)
        bits = np.array([x]).view(np.uint32) & 0xFFFF0000
        toward_zero = float(bits.view(np.float32)[0])
        away = float((bits + 0x10000).view(np.float32)[0])
        assert set(found) <= {toward_zero, away}
        chance = (float(x) - toward_zero) / (away - toward_zero)
        deviation = (many * chance * (1 - chance)) ** 0.5
        assert abs((found == away).sum() - many * chance) <= 5 * deviation
    kept = dt.tensor([float("inf"), float("-inf"), float("nan")])
    assert str(F.stochastic_round(kept, dt.bfloat16).tolist()) == "[inf, -inf, nan]"
    assert F.stochastic_round(dt.zeros(2, 3).t(), dt.bfloat16).shape == (3, 2)
    with pytest.raises(RuntimeError, match="from float32 to bfloat16, got"):
        F.stochastic_round(dt.zeros(2), dt.float16)


def test_small_steps_are_not_lost():
    """A thousand steps of 1e-4 from 1, where a step of bfloat16 is 0.0078: rounding to nearest stays at 1."""
    ends = []
    for use in (None, "use_stochastic_rounding"):
        p = dt.ones(500, dtype=dt.bfloat16, requires_grad=True)
        optimizer = dt.optim.SGD([p], lr=1e-4)
        if use:
            getattr(optimizer, use)()
        dt.manual_seed(0)
        for _ in range(1000):
            p.grad = dt.full((500,), -1.0, dtype=dt.bfloat16)
            optimizer.step()
        ends.append(p.detach().float().mean().item())
    assert ends[0] == 1.0 and ends[1] == pytest.approx(1.1, abs=0.01)
