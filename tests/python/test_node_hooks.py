"""Hooks on the operations of a graph."""

import gc
import weakref

import dumbtorch as dt
import pytest


def listed(seen):
    return [[None if g is None else g.tolist() for g in part] for part in seen]


def test_what_they_see(both):
    def run(t):
        x = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
        bias = t.ones(2, 1)
        y = x * 2
        z = (y * y + bias).sum()
        seen = []
        y.register_hook(lambda g: seen.append(("tensor", g.tolist())))
        y.grad_fn.register_hook(lambda out, into: seen.append(("after", listed((out, into)))))
        y.grad_fn.register_prehook(lambda into: seen.append(("before", listed((into,)))))
        y.grad_fn.register_hook(lambda out, into: seen.append(("later", listed((out, into)))))
        z.grad_fn.next_functions[0][0].register_hook(lambda *g: seen.append(listed(g)))
        z.grad_fn.register_hook(lambda *g: seen.append(listed(g)))
        z.backward()
        return seen, x.grad.tolist()

    mine, theirs = both(run)
    assert mine == theirs


def test_what_they_give_back(both):
    def run(t):
        found = []
        for how in ("before", "after", "both", "none", "first"):
            x = t.tensor([1.0, 2.0], requires_grad=True)
            w = t.tensor([3.0, 4.0], requires_grad=True)
            y = x * w
            if how in ("before", "both"):
                y.grad_fn.register_prehook(lambda into: (into[0] * 10,))
                y.grad_fn.register_prehook(lambda into: tuple(g + 1 for g in into))
            if how in ("after", "both"):
                y.grad_fn.register_hook(lambda out, into: (out[0] * 2, out[1] - into[0]))
                handle = y.grad_fn.register_hook(lambda out, into: (None, None))
                handle.remove()
            if how == "none":
                y.grad_fn.register_hook(lambda out, into: out)
            if how == "first":
                y.grad_fn.register_hook(lambda out, into: (None, out[1]))
            y.sum().backward()
            found += [None if v.grad is None else v.grad.tolist() for v in (x, w)]
        return found

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.parametrize("name", ["mul", "exp", "unbind", "leaf"])
def test_no_gradient_is_left(both, name):
    """A hook that puts None in the place of all gradients ends the way."""

    def run(t):
        x, seen = t.ones(2, 2, requires_grad=True), []
        y = {"mul": lambda: x * 2, "exp": x.exp, "unbind": lambda: x.unbind()[0], "leaf": x.exp}[
            name
        ]()
        node = y.grad_fn.next_functions[0][0] if name == "leaf" else y.grad_fn
        node.register_prehook(lambda g: (None,) * len(g))
        node.register_hook(lambda *g: seen.append(listed(g)))
        y.sum().backward()
        return seen, x.grad

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.parametrize(
    "asked", ["grad of x", "grad of y", "grad of both", "inputs x", "inputs y", "inputs w", "all"]
)
def test_parts_of_a_graph(both, asked):
    def run(t):
        x = t.tensor([1.0, 2.0], requires_grad=True)
        w = t.tensor([3.0, 4.0], requires_grad=True)
        y = x * w
        a, b = (y + 1).split(1)
        z = (a * 3).sum()
        seen = []
        for name, node in (
            ("y", y.grad_fn),
            ("split", a.grad_fn),
            ("x", y.grad_fn.next_functions[0][0]),
        ):
            node.register_hook(lambda *g, name=name: seen.append((name, listed(g))))
            node.register_prehook(lambda g, name=name: seen.append((name, listed([g]))))
        y.retain_grad()
        if asked == "all":
            z.backward()
        elif asked.startswith("grad"):
            of = {"x": [x], "y": [y], "both": [y, x]}[asked.split()[-1]]
            seen.append([g.tolist() for g in t.autograd.grad(z, of)])
        else:
            z.backward(inputs=[{"x": x, "y": y, "w": w}[asked.split()[-1]]])
        return seen, [None if v.grad is None else v.grad.tolist() for v in (x, w, y)]

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.parametrize(
    "bad",
    [
        "[g[0]]",
        "(g[0],)",
        "(g[0], g[0], g[0])",
        "(g[0], g[0])",
        "(5, None)",
        "(g[0].double(), None)",
        "(g[0][:1], None)",
    ],
)
def test_refusals(both, bad):
    def run(t):
        x = t.ones(2, requires_grad=True)
        y = x * t.tensor([3.0, 4.0])
        y.grad_fn.register_hook(lambda g, into: eval(bad, {"g": g}))
        try:
            y.sum().backward()
        except Exception as error:
            return type(error), str(error)
        return x.grad.tolist()

    mine, theirs = both(run)
    assert mine == theirs


def test_leaves(both):
    """What adds to a leaf's gradient, also where the leaf gets hooks afterwards, or a backward fails."""

    def run(t):
        x, seen = t.ones(2, requires_grad=True), []
        node = (x * 2).grad_fn.next_functions[0][0]
        node.register_hook(lambda *g: seen.append((listed(g), x.grad.tolist())))
        node.register_prehook(lambda g: (g[0] + 1,))
        x.register_hook(lambda g: g * 10)
        x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
        for _ in range(2):
            (x * 2).sum().backward()
        seen.append([g.tolist() for g in t.autograd.grad((x * 2).sum(), x)])
        (x * 2).sum().backward(inputs=[x, x])
        return seen, x.grad.tolist()

    mine, theirs = both(run)
    assert mine == theirs


def test_until_the_end_of_a_block(both):
    def run(t):
        x, seen = t.ones(2, requires_grad=True), []
        y = x.exp()
        for register in (
            x.register_hook,
            x.register_post_accumulate_grad_hook,
            y.grad_fn.register_hook,
            y.grad_fn.register_prehook,
        ):
            with register(lambda *g: seen.append(len(g))) as handle:
                y.sum().backward(retain_graph=True)
            y.sum().backward(retain_graph=True)
            seen.append(hasattr(handle, "remove"))
        return seen

    mine, theirs = both(run)
    assert mine == theirs


def test_functions_of_ones_own(both):
    def run(t):
        class Two(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2, x * 3

            @staticmethod
            def backward(ctx, a, b):
                return 2 * a + 3 * b

        x, seen = t.ones(2, requires_grad=True), []
        a, b = Two.apply(x)
        a.grad_fn.register_hook(lambda *g: seen.append(listed(g)))
        a.grad_fn.register_prehook(lambda g: (g[0], g[1] * 5))
        (a + b).sum().backward()
        return seen, x.grad.tolist()

    mine, theirs = both(run)
    assert mine == theirs


def test_second_derivatives(both):
    def run(t):
        x = t.tensor([1.0, 2.0], requires_grad=True)
        y = x * x
        y.grad_fn.register_hook(lambda out, into: (out[0] * x, out[1]))
        (g,) = t.autograd.grad((y * y).sum(), x, create_graph=True)
        g.sum().backward()
        return g.tolist(), x.grad.tolist()

    mine, theirs = both(run)
    assert mine == theirs


def test_they_end_with_the_node():
    class Thing:
        pass

    x = dt.ones(2, requires_grad=True)
    for of_leaf in (False, True):
        thing = Thing()
        y = x.clone() if not of_leaf else dt.ones(2, requires_grad=True)
        node = (y * 2).grad_fn.next_functions[0][0] if of_leaf else y.grad_fn
        node.register_hook(
            lambda out, into, thing=thing, y=y: None
        )  # which refers to its own tensor
        ended = weakref.ref(thing)
        del thing, node, y
        gc.collect()
        assert ended() is None, of_leaf


def test_errors_of_hooks_keep_nothing():
    """An error that a hook raises goes with all that its traceback holds, without a collection."""

    def a_number(g):
        return 5

    def fails(g):
        raise TypeError("no")

    gc.disable()
    try:
        for hook in (a_number, fails):
            x = dt.ones(2, requires_grad=True)
            ended = weakref.ref(x)
            x.register_hook(hook)
            with pytest.raises(TypeError) as caught:
                (x * 2).sum().backward()
            del x, caught
            assert ended() is None
    finally:
        gc.enable()
