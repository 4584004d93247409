"""torch.autograd.graph: what operations save for backward in another form, hooks on several gradients."""

import gc

import dumbtorch as dt
import pytest


def model(t):
    weight = t.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
    x = t.linspace(0, 2, 6).reshape(2, 3).requires_grad_()
    return (x @ weight).tanh().exp(), x, weight


HALVED = {
    "as it is": (lambda t: lambda x: x, lambda t: lambda kept: kept),
    "a copy": (lambda t: lambda x: x.clone() * 2, lambda t: lambda kept: kept / 2),
    "a list": (
        lambda t: lambda x: (x.tolist(), "beside"),
        lambda t: lambda kept: t.tensor(kept[0]),
    ),
    "turned": (lambda t: lambda x: x.t().contiguous(), lambda t: lambda kept: kept.t()),
    "an array": (
        lambda t: lambda x: x.detach().numpy().copy(),
        lambda t: lambda kept: t.from_numpy(kept),
    ),
}


def test_functions_in_python_are_given_tensors_of_the_graph(both, same):
    """So that a checkpoint finds which inputs want gradients."""

    def run(t):
        x = t.tensor([0.5, 2.0], requires_grad=True)
        hooks = t.autograd.graph.saved_tensors_hooks
        with hooks(lambda kept: kept, lambda kept: kept):
            y = t.utils.checkpoint.checkpoint(lambda a: (a * a).exp(), x, use_reentrant=False)
            z = t.utils.checkpoint.checkpoint(lambda a: a.sin(), x * 3, use_reentrant=False)
        (y.sum() + z.sum()).backward()
        return (x.grad,)

    same(*both(run))


@pytest.mark.parametrize("form", HALVED)
def test_gradients_of_what_was_packed(form, both, same):
    def run(t):
        pack, unpack = (make(t) for make in HALVED[form])
        with t.autograd.graph.saved_tensors_hooks(pack, unpack):
            y, x, weight = model(t)
        first = t.autograd.grad(y.sum(), (x, weight), create_graph=True)
        return *first, *t.autograd.grad(sum(g.sin().sum() for g in first), (x, weight))

    same(*both(run))
    gc.collect()
    assert not dt.autograd.graph._objects


def test_when_hooks_are_called(both, same):
    def run(t):
        log = []

        def pack(x):
            log.append(("pack", x.tolist(), x.requires_grad, t.is_grad_enabled()))
            return x.detach()

        def unpack(x):
            log.append(("unpack", x.tolist()))
            return x

        a = t.tensor([1.0, 2.0], requires_grad=True)
        b = t.tensor([3.0, 4.0], requires_grad=True) * 1
        hooks = t.autograd.graph.saved_tensors_hooks
        with hooks(pack, unpack):
            y = a * b
            with hooks(lambda x: x.clone(), lambda x: x):
                z = y * y
            with t.no_grad():
                y * t.ones(2)
        z.sum().backward()
        return sorted(log), a.grad

    same(*both(run))


def test_functions_of_the_users_are_packed_too(both, same):
    def run(t):
        class Cube(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx, grad):
                return 3 * ctx.saved_tensors[0] ** 2 * grad

        x = t.tensor([2.0, 3.0], requires_grad=True)
        with t.autograd.graph.saved_tensors_hooks(lambda x: x + 1, lambda x: x):
            y = Cube.apply(x)
        y.sum().backward()
        return x.grad

    same(*both(run))


def test_refusals_of_hooks(both, same):
    def run(t):
        hooks = t.autograd.graph.saved_tensors_hooks
        x, said = t.tensor([2.0], requires_grad=True), []
        with pytest.raises(RuntimeError) as caught, hooks(lambda x: x.add_(1), lambda x: x):
            x.detach() * x
        said.append("modifying its input in place" in str(caught.value))
        with hooks(lambda x: 7, lambda x: x):
            y = x * x
        with pytest.raises(TypeError) as caught:
            y.backward()
        said.append(str(caught.value))
        with pytest.raises(ZeroDivisionError), hooks(lambda x: 1 / 0, lambda x: x):
            x * x
        with t.autograd.graph.disable_saved_tensors_hooks("not now"):
            with pytest.raises(RuntimeError, match="not now"), hooks(lambda x: x, lambda x: x):
                pass
        with hooks(lambda x: x, lambda x: x), pytest.raises(RuntimeError, match="later"):
            with t.autograd.graph.disable_saved_tensors_hooks("later"):
                pass
        with hooks(lambda x: x.detach(), lambda x: x):
            y = x * x
        y.backward()
        return said, x.grad

    same(*both(run))


def test_what_is_unpacked_fits():
    x = dt.ones(2, 3, requires_grad=True)
    for unpack in (lambda k: k[:1], lambda k: k.double()):
        with dt.autograd.graph.saved_tensors_hooks(lambda x: x.detach(), unpack):
            y = x * x
        with pytest.raises(
            RuntimeError,
            match=r"unpack hook of a saved tensor gave back .*, not \[2, 3\] of Float on cpu",
        ):
            y.sum().backward()
    with pytest.raises(RuntimeError, match="no hooks of saved tensors"):
        dt._ops.autograd_pop_saved_tensors_hooks()


def test_layers_with_packed_tensors(both, same):
    """What kernels read of an unpacked tensor lies as it did."""

    def run(t):
        x = (
            t.linspace(-1, 1, 2 * 3 * 6 * 6, dtype=t.float64)
            .reshape(2, 3, 6, 6)
            .to(memory_format=t.channels_last)
            .requires_grad_()
        )
        w = t.linspace(-1, 1, 4 * 3 * 3 * 3, dtype=t.float64).reshape(4, 3, 3, 3).requires_grad_()
        f = t.nn.functional
        with t.autograd.graph.saved_tensors_hooks(lambda x: x.contiguous().clone(), lambda x: x):
            y = f.layer_norm(f.max_pool2d(f.conv2d(x, w), 2).transpose(1, 2), (2,))
            loss = f.cross_entropy(y.flatten(1), t.tensor([3, 1])) + y.softmax(1).square().mean()
        loss.backward()
        return loss, x.grad, w.grad

    same(*both(run))


def test_save_on_cpu_and_mutation(both, same):
    def run(t):
        graph = t.autograd.graph
        with graph.save_on_cpu(), graph.save_on_cpu(pin_memory=True):
            y, x, weight = model(t)
        y.sum().backward()
        with graph.allow_mutation_on_saved_tensors():
            a = t.ones(2, 3, requires_grad=True)
            b = a.clone()
            z = (b**2).sum()
            b.sin_()
            z.backward()
        with (
            graph.allow_mutation_on_saved_tensors(),
            pytest.raises(RuntimeError, match="cannot be nested"),
        ):
            graph.allow_mutation_on_saved_tensors().__enter__()
        return x.grad, weight.grad, a.grad, b

    same(*both(run))


def test_versions_are_counted(both, same):
    def run(t):
        x, y = t.ones(3), t.ones(2)
        t.autograd.graph.increment_version(x)
        t.autograd.graph.increment_version([x, y])
        return x._version, y._version, x

    same(*both(run))


@pytest.mark.parametrize("mode", ["all", "any"])
def test_hooks_on_several_gradients(mode, both, same):
    def run(t):
        a, b = (t.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
        c, d = a * b, a * b
        seen = []

        def show(grads):
            listed = (
                [g if g is None else g.tolist() for g in grads] if mode == "all" else grads.tolist()
            )
            seen.append(listed)

        handle = t.autograd.graph.register_multi_grad_hook((a, b, c, d), show, mode=mode)
        c.sum().backward(retain_graph=True)
        c.sum().backward(inputs=(a,), retain_graph=True)
        (c * d).sum().backward(retain_graph=True)
        if mode == "all":
            t.autograd.grad(d.sum(), c, retain_graph=True, allow_unused=True)
        (3 * d).sum().backward(retain_graph=True)
        handle.remove()
        c.sum().backward()
        with pytest.raises(ValueError, match="Expects mode"):
            t.autograd.graph.register_multi_grad_hook((a,), show, mode="some")
        return seen

    same(*both(run))


def test_a_backward_within_a_hook(both, same):
    """Each backward has a number of its own."""

    def run(t):
        x = t.tensor([2.0], requires_grad=True)
        y, z, seen = x * 3, x * x, []
        product = (z * y).sum()

        def hook(grads):
            seen.append([g.tolist() for g in grads])
            if len(seen) == 1:
                product.backward(retain_graph=True)

        handle = t.autograd.graph.register_multi_grad_hook((z, y), hook)
        (z + y).sum().backward(retain_graph=True)
        handle.remove()  # the hook holds the graph that holds it
        return seen, x.grad

    same(*both(run))


def test_only_hooks_may_ask():
    assert dt._ops.autograd_current_backward() == 0
    with pytest.raises(RuntimeError, match="no backward runs on this thread"):
        dt._ops.autograd_is_reached(0)


# ---- torch.func.linearize


def test_linearize(torch):
    def run(t, func):
        x, y = t.tensor([0.5, 1.0], dtype=t.float64), t.tensor(2.0, dtype=t.float64)
        calls = []

        def f(x, y):
            calls.append(1)
            return (x * y).sin(), {"sum": (x**2).sum() * y}

        out, product = t.func.linearize(f, x, y)
        tangents = t.tensor([1.0, -2.0], dtype=t.float64), t.tensor(3.0, dtype=t.float64)
        first, second = product(*tangents), product(tangents[0] * 2, tangents[1])
        truth = t.func.jvp(f, (x, y), tangents)[1]
        with pytest.raises(RuntimeError) as caught:
            product(t.ones(3, dtype=t.float64), y)
        assert first[0].allclose(truth[0]) and first[1]["sum"].allclose(truth[1]["sum"])
        return (
            out,
            first,
            second,
            str(caught.value).replace("torch.Size(", "").replace(")", ""),
            len(calls),
        )

    (out, first, second, said, calls), theirs = run(dt, dt.func), run(torch, torch.func)
    assert calls == 2  # one by linearize, one by jvp
    assert said == theirs[3]
    for ours, other in zip((out, first, second), theirs, strict=False):
        assert ours[0].tolist() == pytest.approx(other[0].tolist())
        assert ours[1]["sum"].item() == pytest.approx(other[1]["sum"].item())


def test_grad_modes_of_functions(both, same):
    def run(t):
        x = t.ones(2, requires_grad=True)
        off, on = t.no_grad(orig_func=lambda: x * 2), t.enable_grad(orig_func=lambda: x * 2)
        with t.no_grad():
            return off().requires_grad, on().requires_grad

    same(*both(run))
