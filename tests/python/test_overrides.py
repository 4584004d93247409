"""torch.overrides: objects that take functions of programs' own over, as with PyTorch."""

import pytest


def scaled_of(t):
    """A function that may be taken over, and classes that do that or leave it to others."""

    @t.overrides.wrap_torch_function(lambda x, y=None: (x, y))
    def scaled(x, y=None):
        return "own"

    class Base:
        def __init__(self):
            self.asked = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return cls.__name__, func is scaled, [k.__name__ for k in types], len(args), [*kwargs]

    class Derived(Base):
        pass

    class Shy(Base):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    return scaled, {"Base": Base, "Derived": Derived, "Shy": Shy, "t": t}


@pytest.mark.parametrize(
    "given", ["1", "Base()", "1, Base()", "Base(), Derived()", "Shy(), Base()", "Base(), y=Shy()", "t.ones(1)"]
)  # fmt: skip
def test_who_is_asked(given, both):
    def call(t):
        scaled, names = scaled_of(t)
        return eval(f"scaled({given})", names | {"scaled": scaled})

    mine, theirs = both(call)
    assert mine == theirs


def test_nobody_who_answers(refusals):
    def call(t):
        scaled, names = scaled_of(t)
        scaled(names["Shy"]())

    mine, theirs = refusals(call, TypeError)
    assert mine == theirs


@pytest.mark.parametrize("text", ["t.ones(1)", "t.nn.Parameter(t.ones(1))", "3", "Base()"])
def test_what_is_like_a_tensor(text, both):
    def ask(t):
        x = eval(text, scaled_of(t)[1])
        o = t.overrides
        asked = (
            o.has_torch_function((x,)),
            o.has_torch_function_unary(x),
            o.has_torch_function_variadic(1, x),
        )
        return asked, o.is_tensor_like(x)

    mine, theirs = both(ask)
    # Parameters of PyTorch's have a __torch_function__ of their own, which does nothing.
    assert mine == theirs or "Parameter" in text
