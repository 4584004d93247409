"""Hooks of what any module registers, and the smaller names of autograd: as PyTorch has them."""

import gc
import importlib
import pickle

import dumbtorch as dt
import pytest

KINDS = ("parameter", "buffer", "module")


@pytest.mark.parametrize("kind", KINDS)
def test_hooks_of_registration(kind, both):
    def run(t):
        nn, seen = t.nn, []
        names = importlib.import_module(f"{t.__name__}.nn.modules.module")
        register = getattr(names, f"register_module_{kind}_registration_hook")
        handle = register(
            lambda m, name, x: seen.append((type(m).__name__, name, type(x).__name__))
        )
        net = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 2, bias=False))
        net[0].weight = nn.Parameter(t.ones(2))
        net[0].weight = None
        net[0].running_mean = t.ones(2)
        net.register_buffer("x", None)
        net.add_module("y", nn.ReLU())
        net.y = nn.Tanh()
        net.y = None
        handle.remove()
        nn.Linear(1, 1)
        return seen

    mine, theirs = both(run)
    assert mine == theirs and mine


def test_hooks_replace(both):
    def run(t):
        nn = t.nn
        names = importlib.import_module(f"{t.__name__}.nn.modules.module")
        others = {
            "parameter": nn.Parameter(t.full((1,), 3.0)),
            "buffer": t.zeros(1),
            "module": nn.Tanh(),
        }
        handles = [
            getattr(names, f"register_module_{kind}_registration_hook")(
                lambda m, n, x, new=new: new
            )
            for kind, new in others.items()
        ]
        net = nn.Module()
        net.a, net.b = nn.Parameter(t.ones(1)), nn.ReLU()
        net.register_buffer("c", t.ones(1))
        for handle in handles:
            handle.remove()
        return net.a.item(), type(net.b).__name__, net.c.item()

    mine, theirs = both(run)
    assert mine == theirs == (3.0, "Tanh", 0.0)


def test_old_backward_hook_of_all_modules():
    module = importlib.import_module("dumbtorch.nn.modules.module")
    assert module.register_module_backward_hook is module.register_module_full_backward_hook


def test_super_init(both):
    def run(t):
        class Base:
            def __init__(self, size):
                self.size = size

        class Net(t.nn.Module, Base):
            call_super_init = True

        out = [Net(3).size, Net(size=4).size, t.nn.Module.dump_patches]
        for args, kwargs in (((1, 2), {}), ((), {"size": 1})):
            with pytest.raises(TypeError) as error:
                t.nn.Module(*args, **kwargs)
            out.append(str(error.value))
        return out

    mine, theirs = both(run)
    assert mine == theirs


# ---- autograd


def test_vjp_is_another_name(both, same):
    def run(t):
        class Triple(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_forward(x)
                return 3 * x

            @staticmethod
            def vjp(ctx, grad):
                return 3 * grad

        x = t.ones(2, requires_grad=True)
        Triple.apply(x).sum().backward()
        return x.grad

    same(*both(run))


def test_backward_and_vjp(both):
    def run(t):
        class Twice(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, grad):
                return grad

            @staticmethod
            def vjp(ctx, grad):
                return grad

        class Never(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

        out = []
        for function in (Twice, Never):
            with pytest.raises((RuntimeError, NotImplementedError)) as error:
                function.apply(t.ones(2, requires_grad=True)).sum().backward()
            out.append((type(error.value), str(error.value)))
        with pytest.raises(NotImplementedError) as error:
            t.autograd.Function.jvp(None)
        return [*out, str(error.value)]

    mine, theirs = both(run)
    assert mine == theirs


def test_once_differentiable(both):
    def run(t):
        class Square(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            @t.autograd.function.once_differentiable
            def backward(ctx, grad):
                return 2 * ctx.saved_tensors[0] * grad

        x = t.full((2,), 3.0, requires_grad=True)
        (g,) = t.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
        with pytest.raises(RuntimeError):
            g.sum().backward()
        return g.tolist()

    mine, theirs = both(run)
    assert mine == theirs


def test_setup_context(both):
    def run(t):
        class Scale(t.autograd.Function):
            @staticmethod
            def forward(x, factor):
                return x * factor

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.factor = inputs[1]

            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.factor, None

        x = t.ones(2, requires_grad=True)
        Scale.apply(x, 5).sum().backward()
        return x.grad.tolist()

    mine, theirs = both(run)
    assert mine == theirs


def test_batches_of_gradients(both, same):
    def run(t):
        x = t.arange(3.0).requires_grad_()
        y = (x**2, x.sum())
        return t.autograd.grad(y, x, (t.eye(3), t.arange(3.0)), is_grads_batched=True)

    same(*both(run))


def test_nodes(both):
    def run(t):
        x = t.ones(2, requires_grad=True)
        y = x.exp()
        edge = t.autograd.graph.get_gradient_edge(y)
        node = y.grad_fn
        leaf = node.next_functions[0][0]
        is_node = [isinstance(n, t.autograd.graph.Node) for n in (node, leaf, x)]
        return (
            node.name(),
            leaf.name(),
            len(node.next_functions),
            edge.output_nr,
            edge.node == node,
            is_node,
        )

    mine, theirs = both(run)
    assert [n.rstrip("0") for n in mine[:1]] == [n.rstrip("0") for n in theirs[:1]]
    assert mine[2:] == theirs[2:]


def test_the_leaf_of_a_node(both, monkeypatch):
    """Programs that draw graphs and those that wait for gradients ask for it."""

    def run(t):
        model = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.Linear(3, 1))
        names = {id(p): name for name, p in model.named_parameters()}
        found = []

        def walk(node):
            if hasattr(node, "variable"):
                found.append((names[id(node.variable)], type(node).__name__, node.requires_grad))
            for before, _ in node.next_functions:
                if before is not None:
                    walk(before)

        walk(model(t.ones(4, 2)).sum().grad_fn)
        x = t.ones(3, requires_grad=True)
        node = x.expand_as(x).grad_fn.next_functions[0][0]
        return sorted(found), node.variable is x, node.next_functions, node.name()

    mine, theirs = both(run)
    assert mine == theirs and len(mine[0]) == 4
    x = dt.ones(3, requires_grad=True)
    y = x.clone()
    node = y.grad_fn.next_functions[0][0]
    del x
    assert node.variable is None
    looked = []
    monkeypatch.setattr("gc.get_objects", lambda: looked.append(1) or [])
    assert node.variable is None and not looked
    arrived = []
    node.register_hook(lambda _, gradients: arrived.append(gradients[0].tolist()))  # all the same
    y.sum().backward()
    assert arrived == [[1, 1, 1]]


def test_hooks_after_a_leafs_gradient_was_added(both, same):
    def run(t):
        x, seen = t.ones(2, requires_grad=True), []
        node = x.expand_as(x).grad_fn.next_functions[0][0]

        def hook(*gradients):
            seen.append((gradients[0], gradients[1][0].clone(), x.grad.clone()))

        handle = node.register_hook(hook)
        x.grad = t.ones(2)
        (x * 3).sum().backward()
        t.autograd.grad((x * 5).sum(), x)
        (x * 2).sum().backward()
        handle.remove()
        (x * 2).sum().backward()
        return seen

    same(*both(run))


@pytest.mark.parametrize(
    "result", ["5", "[]", "t.ones(1)", "(t.ones(1),)", "(None,)", "()", "None"]
)
def test_what_hooks_of_leaves_nodes_may_return(result, both):
    def run(t):
        x = t.ones(2, requires_grad=True)
        node = x.expand_as(x).grad_fn.next_functions[0][0]  # with which PyTorch drops its hooks
        handle = node.register_hook(lambda *_: eval(result, {"t": t}))
        try:
            (x * 2).sum().backward()
        except (TypeError, RuntimeError) as error:
            return type(error), str(error).removeprefix("backward: "), x.grad.tolist()
        finally:
            handle.remove()
        return x.grad.tolist()

    ours, theirs = both(run)
    assert ours == theirs


def test_hooks_of_leaves_nodes_keep_no_gradient():
    x = dt.ones(2, requires_grad=True)
    seen, inside = [], []
    node = x.expand_as(x).grad_fn.next_functions[0][0]
    node.register_hook(lambda _, gradients: seen.append(gradients[0].tolist()))
    gc.collect()
    before = dt.live_handles()
    dt.autograd.grad((x * 5).sum(), x)
    assert dt.live_handles() == before

    def inner(gradient):
        if not inside:
            inside.append(gradient.tolist())
            with dt.enable_grad():
                dt.autograd.grad((x * 7).sum(), x)

    x.register_hook(inner)  # after the gradient of the outer backward has come, before it is added
    (x * 3).sum().backward(inputs=[x])
    assert seen == [[3.0, 3.0]] and inside == [[3.0, 3.0]]


def test_multithreading_is_remembered(both):
    def run(t):
        a, out = t.autograd, [t.autograd.is_multithreading_enabled()]
        with a.set_multithreading_enabled(False):
            out.append(a.is_multithreading_enabled())
        return [*out, a.is_multithreading_enabled()]

    mine, theirs = both(run)
    assert mine == theirs


def test_forward_mode_is_refused():
    ad = dt.autograd.forward_ad
    x = dt.ones(1)
    for call in (ad.dual_level, ad.enter_dual_level, ad.exit_dual_level, lambda: ad.make_dual(x, x),
                 lambda: ad.unpack_dual(x)):  # fmt: skip
        with pytest.raises(NotImplementedError, match="torch.func.jvp"):
            call()


@pytest.mark.parametrize("before", ["number", "parameter", "module", "buffer", "nothing"])
def test_buffers_take_the_place_of_buffers_alone(before, both):
    def run(t):
        m = t.nn.Module()
        values = {
            "number": 5, "parameter": t.nn.Parameter(t.ones(1)), "module": t.nn.ReLU(),
            "buffer": t.nn.Buffer(t.ones(1), persistent=False),
        }  # fmt: skip
        if before in values:
            m.a = values[before]
        try:
            m.a = t.nn.Buffer(t.zeros(1))
        except (KeyError, TypeError) as error:
            return type(error).__name__
        return list(m.state_dict())

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.parametrize("persistent", [True, False])
@pytest.mark.parametrize("arguments", ["name, tensor", "name, tensor, persistent=True"])
def test_buffers_of_a_method_of_ones_own(arguments, persistent, both):
    """It may be from before there was `persistent`."""

    def run(t):
        names = {"Module": t.nn.Module}
        exec(
            "class M(Module):\n"
            f"  def register_buffer(self, {arguments}):\n"
            f"    super().register_buffer({arguments.removesuffix('=True')})\n",
            names,
        )
        m = names["M"]()
        try:
            m.a = t.nn.Buffer(t.zeros(1), persistent=persistent)
        except RuntimeError as error:
            return str(error)
        return m.a.tolist(), list(m.state_dict())

    mine, theirs = both(run)
    assert mine == theirs


def test_buffers_like_tensors(both):
    class Like:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise NotImplementedError

    def run(t):
        m, first, second = t.nn.Module(), Like(), Like()
        m.register_buffer("a", first)
        out = [m.a is first, m.get_buffer("a") is first]
        m.a = second
        return [*out, m.a is second, dict(m.named_buffers()) == {"a": second}]

    mine, theirs = both(run)
    assert mine == theirs


def test_hooks_that_are_deleted(both):
    def run(t):
        m = t.nn.Linear(2, 2)
        m.register_forward_pre_hook(lambda m, x: (x[0] + 1,))
        before = m(t.zeros(1, 2))
        del m._forward_pre_hooks, m._state_dict_hooks, m._load_state_dict_pre_hooks
        m = pickle.loads(pickle.dumps(m))
        m(t.zeros(1, 2)).sum().backward()
        return len(m._forward_pre_hooks), len(m.state_dict()), before.shape == (1, 2)

    mine, theirs = both(run)
    assert mine == theirs


def test_a_state_dict_hook_is_of_one_kind(refusals, both):
    def run(t):
        def hook(module, state, prefix, metadata):
            pass

        x = t.nn.Linear(1, 1)
        x.register_state_dict_post_hook(hook)
        assert len(x.state_dict()) == 2
        x._register_state_dict_hook(hook)

    mine, theirs = refusals(run, RuntimeError)
    assert mine == theirs
