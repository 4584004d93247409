"""Classes derived from Tensor: how their objects are made, what these share, how long they live."""

import gc

import dumbtorch as dt
import pytest


def outcome(run, *args):
    try:
        return run(*args)
    except Exception as error:
        return type(error), str(error)


def test_subclasses():
    class Named(dt.Tensor):
        pass

    x = dt.ones(2, requires_grad=True)
    y = x.as_subclass(Named)
    assert type(y) is Named and y.data_ptr() == x.data_ptr()
    (y * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]
    assert dt.ones(2).storage_type() is dt.FloatStorage


@pytest.mark.parametrize(
    "text",
    [
        "Named()", "Named(2, 3)", "Named([1.0, 2.0])", "Named(data=[1.0])", "Named(t.Size([2]))", "Named(x)",
        "Named(x.double())", "Named(x.long())", "t.Tensor(x.double())", "t.Tensor(x > 0)", "Named(leaf)",
        "t.Tensor(leaf)", "t.FloatTensor(leaf * 2)", "x.new(leaf)", "Deeper(Named(x))", "t.Tensor(Named(x))",
        "Named(x.untyped_storage())", "With(x, 3)", "Named(2.0)", "Named(x, device='cpu')",
    ],
)  # fmt: skip
def test_constructors_of_subclasses(text, both):
    """Their objects are of the class; those of a tensor are views of it, of its dtype and in its graph."""

    def run(t):
        class Named(t.Tensor):
            pass

        class Deeper(Named):
            pass

        class With(t.Tensor):
            def __new__(cls, data, more):
                return super().__new__(cls, data)

            def __init__(self, data, more):
                self.more = more

        x, leaf = t.ones(2, 3), t.ones(2, requires_grad=True)
        names = {"t": t, "x": x, "leaf": leaf, "Named": Named, "Deeper": Deeper, "With": With}
        made = outcome(eval, text, names)
        if isinstance(made, tuple):
            return made[0]
        is_same = made.data_ptr() in (x.data_ptr(), leaf.data_ptr())
        is_view = made._base is not None and any(made._base is y for y in (x, leaf))
        kept = type(made).__name__, str(made.dtype), made.shape, getattr(made, "more", None)
        return *kept, made.requires_grad, made.is_leaf, is_same, is_view

    mine, theirs = both(run)
    assert mine == theirs


def test_objects_of_subclasses_live_as_others_do():
    """A finalizer of theirs runs, also where slots make a cycle; a gradient is the object that was assigned."""
    gone = []

    class Slotted(dt.Tensor):
        __slots__ = ("other",)

        def __del__(self):
            gone.append(len(self))

    del_at_once = Slotted(dt.ones(1))
    del del_at_once
    x, y = Slotted(dt.ones(2)), Slotted(dt.ones(3))
    x.other, y.other = y, x
    del x, y
    gc.collect()
    assert sorted(gone) == [1, 2, 3]

    class Named(dt.Tensor):
        pass

    leaf = dt.ones(2)
    leaf.grad = Named(dt.ones(2))
    assert type(leaf.grad) is Named
