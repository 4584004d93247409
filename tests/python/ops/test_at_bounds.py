"""Signs of zeros at bounds, and slopes by odd settings."""

import pytest

FLOATS = ("float32", "float64", "float16", "bfloat16")


@pytest.mark.parametrize("dtype", FLOATS)
def test_zeros_that_equal_a_number_keep_their_sign(both, dtype):
    def run(t):
        found = []
        for n in (1, 4, 67, 5000):
            for zero, bound in ((-0.0, 0), (0.0, -0.0), (-0.0, -0.0)):
                x = t.full((n,), zero, dtype=getattr(t, dtype))
                made = [x.clamp(bound), x.clamp(max=bound), x.clamp(bound, bound), x.clamp(bound, 1),
                        x.clamp(-1, bound), t.clamp_min(x, bound), t.clamp_max(x, bound), x.clone().clamp_(bound),
                        x[::2].clamp(bound), t.nn.functional.hardtanh(x, -1, bound)]  # fmt: skip
                found += [t.signbit(y).tolist() for y in made]
        return found

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("eps", [None, 0.0, 0.3, 0.5, 0.7, 1.0, 2.0, -1.0, "nan", "inf", "-inf"])
def test_logit_between_odd_bounds(both, same, dtype, eps):
    def run(t):
        x = t.tensor(
            [-float("inf"), -2.0, -0.0, 0.0, 0.3, 0.6, 1.0, 2.0, float("inf"), -100.0],
            dtype=getattr(t, dtype),
        )
        x.requires_grad_()
        y = t.logit(x, eps if eps is None else float(eps))
        y.sum().backward()
        return y.detach(), x.grad, x.detach().clone().logit_(eps if eps is None else float(eps))

    same(*both(run))


@pytest.mark.parametrize("alpha", ["inf", "-inf", "nan", "0", "-1"])
def test_elu_by_odd_scales(both, same, alpha):
    def run(t):
        x = t.tensor(
            [-float("inf"), -2.0, -0.0, 0.0, 0.3, float("inf"), -1000.0],
            dtype=t.float64,
            requires_grad=True,
        )
        y = t.nn.functional.elu(x, float(alpha))
        y.sum().backward()
        return y.detach(), x.grad

    same(*both(run))
