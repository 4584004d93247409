"""What a rule for a documented difference might hide of values, because something else is odd: here it is wrong."""

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

from programs.compare import compare  # noqa: E402

pytestmark = pytest.mark.usefixtures("fault")

PLANTED = {
    "an incomplete Gamma in place is NaN": (
        "values",
        """
x1 = t.tensor([0.5, t.nan])
x2 = x1.igamma_(t.tensor(2.0)) * t.fault(1.0, t.nan)
""",
    ),
    "a gradient is doubled, which goes back through a split": (
        "values",
        """
x1 = t.ones(4, requires_grad=True)
x2, x3 = x1.square().split(2)
x4, = t.autograd.grad((x2 * x3).sum() * t.fault(1.0, 2.0), x1)
""",
    ),
    "a leaf's gradient is doubled, which goes back through parts": (
        "values",
        """
x1 = t.ones(2, requires_grad=True)
x2, x3 = x1.square().unbind()
(x2 * x3 * t.fault(1.0, 2.0)).backward(inputs=[x1])
""",
    ),
    "a gradient is doubled, which goes back through a variance and a mean": (
        "values",
        """
x1 = t.tensor([1.0, 2.0, 4.0], requires_grad=True)
x2, x3 = t.var_mean(x1)
x4, = t.autograd.grad(x2 * x3 * t.fault(1.0, 2.0), x1)
""",
    ),
    "a hook of a part is not called": (
        "length",
        """
x1 = t.ones(4, requires_grad=True)
x2, x3 = x1.square().split(2)
s4 = []
x2.register_hook(lambda g: s4.append(g.clone()))
x2.register_hook(lambda g: s4.pop() * 1 if t.fault(False, True) else None)
x5, = t.autograd.grad((x2 * x3).sum(), x1)
""",
    ),
    "a gradient requires grad, although no graph was asked for": (
        "requires_grad",
        """
x1 = t.ones(3, requires_grad=True)
x1.register_hook(lambda g: (g * 1).requires_grad_(t.fault(False, True)))
x2, = t.autograd.grad(x1.square().sum(), x1)
""",
    ),
    "what came out is multiplied by another number": (
        "values",
        """
x1 = t.ones(4, requires_grad=True)
x2, = t.autograd.grad(x1.square().sum(), x1)
x2.mul_(t.fault(3.0, -7.0))
""",
    ),
    "a leaf's gradient is doubled, beside a hook of a view that was written": (
        "values",
        """
x1 = t.ones(4, requires_grad=True)
x2 = x1 * 1
x3 = x2[:2]
x3.mul_(3)
x3.register_hook(lambda g: g * 1)
x2.sum().mul(t.fault(1.0, 2.0)).backward()
""",
    ),
    "the slope of lgamma is NaN of numbers": (
        "values",
        """
x1 = t.tensor([1.0, 2.0], requires_grad=True)
x2 = t.lgamma(x1)
x2.backward(t.tensor([1.0, t.fault(1.0, t.nan)]))
""",
    ),
    "polygamma is infinite of numbers": (
        "values",
        """
x1 = t.tensor([0.0, 2.0])
x2 = t.polygamma(1, x1) * t.tensor([1.0, t.fault(1.0, t.inf)])
""",
    ),
    "an incomplete Gamma is NaN of numbers": (
        "values",
        """
x1 = t.tensor([1.0, t.nan])
x2 = t.igamma(x1, t.ones(2)) * t.tensor([t.fault(1.0, t.nan), 1.0])
""",
    ),
    "a leaf's gradient is doubled, beside an extreme of others": (
        "values",
        """
x1 = t.ones(4, requires_grad=True)
x2 = t.index_reduce(t.ones(2), 0, t.tensor([0]), t.ones(1), 'amax', include_self=False)
x3 = x1 * 1
x3[:2].mul_(3)
x3.sum().mul(t.fault(1.0, 2.0)).backward()
""",
    ),
    "a search finds the first place, among elements of which the last is NaN": (
        "values",
        """
x1 = t.tensor([1.0, 2.0, 3.0, t.nan])
x2 = t.searchsorted(x1, t.tensor([2.5, 3.5])) * t.fault(1, 0)
""",
    ),
    "the median of expanded elements is none of them": (
        "values",
        """
x1 = t.tensor([1.0, 2.0, 3.0]).expand(2, 3)
x2 = t.median(x1) * t.fault(1.0, -7.0)
""",
    ),
    "a power of float64 is 0": (
        "values",
        """
x1 = t.tensor([1.0, 2.0], dtype=t.float64)
x2 = t.pow(x1, 0.33333333333) * t.fault(1.0, 0.0)
""",
    ),
    "a power of float32 is 0": (
        "values",
        """
x1 = t.tensor([1.0, 2.0])
x2 = t.pow(x1, 0.33333333333) * t.fault(1.0, 0.0)
""",
    ),
    "a product by a power of two is another number, beside one that is infinite": (
        "values",
        """
x1 = t.tensor([3, 4294967297])
x2 = t.ldexp(t.ones(2), x1) * t.tensor([t.fault(1.0, 2.0), 1.0])
""",
    ),
    "the slope of elu is doubled, beside NaN": (
        "values",
        """
x1 = t.tensor([1.0, t.nan], requires_grad=True)
x2 = t.nn.functional.elu(x1)
x2.backward(t.tensor([t.fault(1.0, 2.0), 1.0]))
""",
    ),
    "a loss is NaN of a number, beside an infinite target": (
        "values",
        """
x1, x2 = t.tensor([1.0, 2.0]), t.tensor([1.0, t.inf])
x3 = t.nn.functional.binary_cross_entropy_with_logits(x1, x2, reduction='none') * t.tensor([t.fault(1.0, t.nan), 1.0])
""",
    ),
    "the condition of a singular matrix is a small number": (
        "values",
        """
x1 = t.ones(2, 2)
x2 = t.linalg.cond(x1).clamp(max=t.fault(t.inf, 7.0))
""",
    ),
    "what an expanded index adds is another number": (
        "values",
        """
x1, x2 = t.zeros(2, 3), t.tensor([[0], [1]]).expand(2, 3)
x3 = t.scatter_add(x1, 0, x2, t.ones(2, 3)) * t.fault(1.0, 2.0)
""",
    ),
    "a product that lies in its own memory is another number": (
        "values",
        """
x1, x2 = t.ones(2, 2), t.ones(2, 2)
x1.addmm_(x1, x2 * t.fault(1.0, 2.0))
""",
    ),
    "the first of equal elements are fewer": (
        "shape",
        """
x1 = t.tensor([1.0, 1.0, 3.0])
x2, x3 = (x[t.fault(0, 1) :] for x in t.unique_consecutive(x1, True))
""",
    ),
    "rows that are stacked lie in another order": (
        "strides",
        """
x1 = t.fault(t.ones(2, 3), t.ones(2, 3))
x2 = t.stack([x1, x1]) if t.fault(True, False) else t.stack([x1, x1]).mT.contiguous().mT
""",
    ),
    "neighbours of rows lie in another order": (
        "strides",
        """
x1 = t.ones(2, 3)
x2 = t.nextafter(x1, x1) if t.fault(True, False) else t.nextafter(x1, x1).mT.contiguous().mT
""",
    ),
    "a convolution of rows in groups lies in another order": (
        "strides",
        """
x1, x2 = t.ones(1, 4, 5, 5), t.ones(4, 2, 2, 3)
x3 = t.conv2d(x1, x2, groups=2) if t.fault(True, False) else t.conv2d(x1, x2, groups=2).mT.contiguous().mT
""",
    ),
    "nothing has no strides": (
        "raised",
        """
x1 = t.ones(0, 3)
n2, n3 = x1.stride() if t.fault(True, False) else x1[t.fault(0, 'one')].stride()
""",
    ),
    "every second column is a copy in another order": (
        "strides",
        """
x1 = t.ones(4, 6)
x2 = x1[1:, : t.fault(6, 3) : t.fault(2, 1)]
""",
    ),
    "a sum is off by a hundredth, after one of 16 bits": (
        "values",
        """
x1 = t.ones(2, dtype=t.bfloat16)
x2 = x1 + 1
x3 = t.tensor([1.0, 2.0])
x4 = x3 * t.fault(1.0, 1.01)
""",
    ),
    "a slope by what an extreme has read is doubled, beside what nobody reads": (
        "values",
        """
x1, x2 = t.zeros(2, 1), t.ones(2, 2, requires_grad=True)
x3 = t.tensor([[0], [1]])
x4 = t.scatter_reduce(x1, 0, x3, x2, 'amax')
x4.sum().mul(t.fault(1.0, 2.0)).backward()
""",
    ),
    "the slope of a power is doubled, beside the least integer": (
        "values",
        """
x1, x2 = t.tensor([1.0, 2.0], requires_grad=True), t.tensor([-128, 2], dtype=t.int8)
x3 = x1**x2
x3.backward(t.tensor([0.0, t.fault(1.0, 2.0)]))
""",
    ),
    "the gradient of a leaf that has two names is doubled": (
        "values",
        """
x1 = t.ones(2)
x2 = x1.requires_grad_()
x2.square().sum().mul(t.fault(1.0, 2.0)).backward()
""",
    ),
}


@pytest.mark.parametrize("aspect, program", PLANTED.values(), ids=PLANTED.keys())
def test_planted(aspect, program):
    found = compare(program)
    assert found is not None and found.aspect == aspect
