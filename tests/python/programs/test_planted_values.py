"""What a rule for a documented difference might hide of values, because something else is odd: here it is wrong."""

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

from programs.compare import compare  # noqa: E402

pytestmark = pytest.mark.usefixtures("fault")

PLANTED = {
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
}


@pytest.mark.parametrize("aspect, program", PLANTED.values(), ids=PLANTED.keys())
def test_planted(aspect, program):
    found = compare(program)
    assert found is not None and found.aspect == aspect
