"""Clipping, vectors of parameters, pruning, fusion: what torch.nn.utils has besides parametrizations."""

import copy
import importlib
import math
import warnings

import dumbtorch as dt
import pytest


def filled(t, module):
    for k, p in enumerate(module.parameters()):
        with t.no_grad():
            p.copy_((t.arange(float(p.numel())) * 0.7 + k + 1).sin().reshape(p.shape))
    return module


def with_gradients(t):
    ps = [
        t.nn.Parameter(t.arange(6.0).reshape(2, 3) - 2),
        t.nn.Parameter(t.ones(2)),
        t.nn.Parameter(t.ones(3)),
    ]
    (ps[0].square().sum() + (ps[1] * 5).sum()).backward()
    return ps


@pytest.mark.parametrize("order", [2.0, 1, 0.5, math.inf])
def test_clipping(order, both, same):
    def run(t):
        u, ps = t.nn.utils, with_gradients(t)
        total = u.get_total_norm([p.grad for p in ps[:2]], order)
        u.clip_grads_with_norm_(ps, 3.0, total)
        out = [total, ps[0].grad, ps[1].grad, ps[2].grad]
        out += [u.clip_grad_norm_(ps, 1.0, order), ps[0].grad]
        u.clip_grad_value_(iter(ps), 0.25)
        u.clip_grad_value_(ps[1], 0.125)
        return [*out, ps[0].grad, ps[1].grad, u.get_total_norm([]), u.get_total_norm(ps[0].grad)]

    same(*both(run))


def test_clipping_nothing(both):
    """A generator that has been used up is a mistake, an empty list may be meant."""

    def run(t):
        said = []
        for empty in ((p for p in ()), [], iter([])):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                norm = t.nn.utils.clip_grad_norm_(empty, 1.0).item()
            said.append((norm, [(w.category, str(w.message), w.filename) for w in seen]))
        return said

    mine, theirs = both(run)
    assert mine == theirs


def test_clipping_refuses_infinite_norms(both):
    def run(t):
        with pytest.raises(RuntimeError) as error:
            t.nn.utils.get_total_norm([t.tensor([math.inf])], 1.0, True)
        return str(error.value)

    mine, theirs = both(run)
    assert mine == theirs


def test_vectors(both, same):
    """A parameter shares its part of the vector."""

    def run(t):
        ps = [t.nn.Parameter(t.zeros(2, 3)), t.nn.Parameter(t.zeros(2))]
        vector = t.arange(8.0)
        t.nn.utils.vector_to_parameters(vector, ps)
        out = [p.detach().clone() for p in ps]
        vector.mul_(2)
        joined = t.nn.utils.parameters_to_vector(ps)
        joined.sum().backward()
        return [*out, joined, *ps, ps[0].grad, [p.requires_grad for p in ps]]

    same(*both(run))
    with pytest.raises(TypeError, match="expected torch.Tensor, but got: list"):
        dt.nn.utils.vector_to_parameters([1.0], [])


def test_skip_init():
    layer = dt.nn.utils.skip_init(dt.nn.Linear, 3, 2, bias=False, dtype=dt.float64)
    assert type(layer) is dt.nn.Linear and layer.weight.dtype is dt.float64 and layer.bias is None
    state = dt.get_rng_state().tolist()
    dt.nn.utils.skip_init(dt.nn.Linear, 3, 2)
    assert dt.get_rng_state().tolist() == state  # nothing was drawn
    with pytest.raises(RuntimeError, match="Expected a Module"):
        dt.nn.utils.skip_init(dict)
    with pytest.raises(RuntimeError, match="must support a 'device' arg"):
        dt.nn.utils.skip_init(dt.nn.ReLU)


@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_stateless(both, same):
    def run(t):
        net = filled(t, t.nn.Linear(2, 2))
        return t.nn.utils.stateless.functional_call(
            net, {"weight": t.ones(2, 2)}, t.ones(1, 2)
        ), net.weight

    same(*both(run))


# ---- fusion


def norm_with_statistics(t, norm):
    filled(t, norm)
    if norm.running_mean is not None:
        norm.running_mean.copy_((t.arange(float(norm.num_features)) + 1).cos())
        norm.running_var.copy_(t.arange(float(norm.num_features)) * 0.5 + 0.7)
    return norm.eval()


FUSIONS = {
    "conv": lambda t: (t.nn.Conv2d(2, 3, 2), t.nn.BatchNorm2d(3), (1, 2, 4, 4), False),
    "no bias": lambda t: (
        t.nn.Conv2d(2, 3, 2, bias=False),
        t.nn.BatchNorm2d(3, eps=0.1),
        (1, 2, 4, 4),
        False,
    ),
    "not affine": lambda t: (
        t.nn.Conv1d(2, 3, 2),
        t.nn.BatchNorm1d(3, affine=False),
        (2, 2, 4),
        False,
    ),
    "transposed": lambda t: (
        t.nn.ConvTranspose2d(2, 3, 2),
        t.nn.BatchNorm2d(3),
        (1, 2, 4, 4),
        True,
    ),
    "linear": lambda t: (t.nn.Linear(4, 3), t.nn.BatchNorm1d(3), (5, 4), False),
    "linear without bias": lambda t: (
        t.nn.Linear(4, 3, bias=False),
        t.nn.BatchNorm1d(3),
        (5, 4),
        False,
    ),
}


@pytest.mark.parametrize("name", FUSIONS)
def test_fusion(name, both, same):
    def run(t):
        layer, norm, shape, transpose = FUSIONS[name](t)
        layer, norm = filled(t, layer).eval(), norm_with_statistics(t, norm)
        u = t.nn.utils
        linear = name.startswith("linear")
        fused = (
            u.fuse_linear_bn_eval(layer, norm)
            if linear
            else u.fuse_conv_bn_eval(layer, norm, transpose)
        )
        size = 1
        for n in shape:
            size *= n
        x = (t.arange(float(size)) * 0.3).sin().reshape(shape)
        return (
            fused.weight,
            fused.bias,
            fused(x),
            norm(layer(x)),
            [p.requires_grad for p in fused.parameters()],
        )

    mine, theirs = both(run)
    same(mine, theirs, rtol=1e-4, atol=1e-5)
    same(mine[2], theirs[3], rtol=1e-4, atol=1e-5)


def test_fusion_refuses(both):
    def run(t):
        out = []
        for call in (
            lambda: t.nn.utils.fuse_conv_bn_eval(t.nn.Conv1d(1, 1, 1), t.nn.BatchNorm1d(1)),
            lambda: t.nn.utils.fuse_linear_bn_eval(
                t.nn.Linear(1, 2).eval(), t.nn.BatchNorm1d(3).eval()
            ),
            lambda: t.nn.utils.fuse_linear_bn_eval(
                t.nn.Linear(1, 2).eval(), t.nn.BatchNorm1d(2, track_running_stats=False).eval()
            ),
        ):
            with pytest.raises(AssertionError) as error:
                call()
            out.append(str(error.value))
        return out

    mine, theirs = both(run)
    assert mine == theirs


def test_memory_format(both):
    def run(t):
        net = t.nn.Sequential(
            t.nn.Conv2d(4, 3, 2), t.nn.Sequential(t.nn.ConvTranspose2d(3, 2, 2)), t.nn.Linear(2, 2)
        )
        weight = net[0].weight
        out = t.nn.utils.convert_conv2d_weight_memory_format(net, t.channels_last)
        return out is net, net[0].weight is weight, [p.stride() for p in net.parameters()]

    mine, theirs = both(run)
    assert mine == theirs
    with pytest.raises(NotImplementedError, match="channels_last_3d"):
        dt.nn.utils.convert_conv3d_weight_memory_format(dt.nn.Linear(1, 1), dt.contiguous_format)


# ---- pruning


def pruning(t):
    """PyTorch imports it only where it is asked for."""
    return importlib.import_module(f"{t.__name__}.nn.utils.prune")


def seen(module):
    return [
        list(module.state_dict()),
        *module.state_dict().values(),
        len(module._forward_pre_hooks or ()),
    ]


def net_of(t):
    return filled(t, t.nn.Conv1d(3, 4, 2))


PRUNINGS = {
    "l1": lambda t, P, n: P.l1_unstructured(n, "weight", 0.3),
    "l1 of a number": lambda t, P, n: P.l1_unstructured(n, "weight", 5),
    "l1 of nothing": lambda t, P, n: P.l1_unstructured(n, "bias", 0),
    "l1 by scores": lambda t, P, n: P.l1_unstructured(n, "bias", 2, t.tensor([3.0, -1, 2, 0.5])),
    "l1 twice": lambda t, P, n: P.l1_unstructured(
        P.l1_unstructured(n, "weight", 0.3), "weight", 0.5
    ),
    "ln": lambda t, P, n: P.ln_structured(n, "weight", 0.5, n=2, dim=0),
    "ln of a number": lambda t, P, n: P.ln_structured(n, "weight", 1, n=1, dim=-2),
    "ln inf": lambda t, P, n: P.ln_structured(n, "weight", 2, n=math.inf, dim=1),
    "ln twice": lambda t, P, n: P.ln_structured(
        P.ln_structured(n, "weight", 1, n=2, dim=0), "weight", 1, n=1, dim=1
    ),
    "l1 and ln": lambda t, P, n: P.ln_structured(
        P.l1_unstructured(n, "weight", 0.5), "weight", 2, n=2, dim=0
    ),
    "mask": lambda t, P, n: P.custom_from_mask(n, "bias", t.tensor([0, 1, 1, 0])),
    "mask and l1": lambda t, P, n: P.l1_unstructured(
        P.custom_from_mask(n, "bias", t.tensor([0, 1, 1, 1])), "bias", 1
    ),
    "identity": lambda t, P, n: P.identity(n, "weight"),
    "all at random": lambda t, P, n: P.random_unstructured(n, "weight", 1.0),
    "all channels": lambda t, P, n: P.random_structured(n, "weight", 1.0, dim=1),
    "two tensors": lambda t, P, n: P.l1_unstructured(
        P.l1_unstructured(n, "weight", 0.5), "bias", 1
    ),
}


@pytest.mark.parametrize("name", PRUNINGS)
def test_pruning(name, both, same):
    def run(t):
        P, net = pruning(t), net_of(t)
        before = P.is_pruned(net)
        assert PRUNINGS[name](t, P, net) is net
        out = [before, P.is_pruned(net), seen(net), net.weight, net.bias]
        net(t.arange(12.0).reshape(1, 3, 4).cos()).square().sum().backward()
        out += [p.grad for p in net.parameters()]
        for pruned in ("weight", "bias"):
            if hasattr(net, pruned + "_mask"):
                assert P.remove(net, pruned) is net
        return [
            *out,
            P.is_pruned(net),
            seen(net),
            [n for n, _ in net.named_parameters()],
            net.weight,
            net.bias,
        ]

    same(*both(run))


def test_global_pruning(both, same):
    def run(t):
        P = pruning(t)
        a, b = net_of(t), filled(t, t.nn.Linear(3, 5))
        chosen = [(a, "weight"), (b, "weight"), (b, "bias")]
        P.global_unstructured(chosen, P.L1Unstructured, amount=0.4)
        out = [seen(a), seen(b)]
        scores = {(b, "bias"): t.full((5,), 100.0)}
        P.global_unstructured(chosen, P.L1Unstructured, importance_scores=scores, amount=0.4)
        return [*out, seen(a), seen(b)]

    same(*both(run))


def test_random_pruning():
    """How much is the same, which is not."""
    P = pruning(dt)
    layer = P.random_unstructured(dt.nn.Linear(10, 10), "weight", 0.3)
    assert (layer.weight_mask == 0).sum().item() == 30
    layer = P.random_structured(dt.nn.Linear(10, 6), "weight", 4, dim=1)
    columns = layer.weight_mask.sum(0).tolist()
    assert sorted(set(columns)) == [0.0, 6.0] and columns.count(0.0) == 4
    masks = {
        tuple(P.RandomUnstructured(2).compute_mask(dt.ones(6), dt.ones(6)).tolist())
        for _ in range(40)
    }
    assert len(masks) > 5


def test_a_method_of_ones_own(both, same):
    def run(t):
        P = pruning(t)

        class Every(P.BasePruningMethod):
            PRUNING_TYPE = "unstructured"

            def __init__(self, step):
                self.step = step

            def compute_mask(self, t, default_mask):
                mask = default_mask.clone()
                mask.view(-1)[:: self.step] = 0
                return mask

        net = net_of(t)
        method = Every.apply(net, "bias", 2)
        again = Every.apply(net, "bias", step=2)
        out = [method._tensor_name, len(again), seen(net), net.bias]
        return [
            *out,
            P.L1Unstructured(2).prune(t.arange(5.0)),
            Every(3).prune(t.ones(2, 3), default_mask=t.zeros(2, 3)),
        ]

    same(*both(run))


PRUNE_REFUSALS = {
    "share": lambda t, P, n: P.l1_unstructured(n, "weight", 1.5),
    "negative": lambda t, P, n: P.l1_unstructured(n, "weight", -1),
    "no number": lambda t, P, n: P.l1_unstructured(n, "weight", "a"),
    "too many": lambda t, P, n: P.l1_unstructured(n, "weight", 100),
    "vector": lambda t, P, n: P.ln_structured(n, "bias", 1, 2, 0),
    "dim": lambda t, P, n: P.ln_structured(n, "weight", 1, 2, 3),
    "scores": lambda t, P, n: P.l1_unstructured(n, "weight", 1, t.ones(1)),
    "scores of a tensor": lambda t, P, n: P.L1Unstructured(1).prune(
        t.ones(2), importance_scores=t.ones(3)
    ),
    "remove": lambda t, P, n: P.remove(n, "weight"),
    "mask": lambda t, P, n: P.custom_from_mask(n, "weight", t.ones(1)),
    "global": lambda t, P, n: P.global_unstructured(3, P.L1Unstructured, amount=1),
    "global scores": lambda t, P, n: P.global_unstructured([], P.L1Unstructured, [1], amount=1),
    "container": lambda t, P, n: P.PruningContainer().add_pruning_method(3),
}


@pytest.mark.parametrize("name", PRUNE_REFUSALS)
def test_pruning_refuses(name, both):
    """The module is as it was then."""

    def run(t):
        net = net_of(t)
        with pytest.raises((ValueError, TypeError, IndexError, AssertionError)) as error:
            PRUNE_REFUSALS[name](t, pruning(t), net)
        message = str(error.value).replace("dumbtorch", "torch")
        return (
            type(error.value),
            message,
            sorted(net.state_dict()),
            len(net._forward_pre_hooks or ()),
        )

    mine, theirs = both(run)
    assert mine == theirs


def test_prefixes_of_parallel_training(both):
    def run(t):
        utils = importlib.import_module(f"{t.__name__}.nn.modules.utils")
        net = t.nn.Sequential(t.nn.Linear(1, 2), t.nn.BatchNorm1d(2))
        trained = t.nn.ModuleDict({"module": net}).state_dict()
        trained["module"] = 3
        utils.consume_prefix_in_state_dict_if_present(trained, "module.")
        assert trained.pop("module") == 3
        net.load_state_dict(trained)
        return list(trained), list(trained._metadata)

    ours, theirs = both(run)
    assert ours == theirs


def test_hooks_that_prune(both):
    """A program finds the methods that prune a parameter among the hooks of its module."""

    def run(t):
        prune = t.nn.utils.prune
        layer = t.nn.Linear(4, 3)
        prune.l1_unstructured(layer, "weight", amount=2)
        prune.ln_structured(layer, "weight", amount=1, n=2, dim=0)
        prune.l1_unstructured(layer, "bias", amount=1)
        hooks = list(layer._forward_pre_hooks.values())
        names = [(type(hook).__name__, hook._tensor_name) for hook in hooks]
        inside = [
            type(each).__name__ for hook in hooks if hook._tensor_name == "weight" for each in hook
        ]
        lstm = t.nn.LSTM(3, 2, num_layers=2)
        prune.l1_unstructured(lstm, "weight_ih_l0", 0.5)
        parameters = [isinstance(w, t.nn.Parameter) for w in lstm._flat_weights]
        return sorted(names), inside, parameters, lstm._flat_weights_names, lstm._all_weights

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.parametrize("order", ["inf", "2", 1, float("inf"), 2.5])
def test_orders_of_clipped_norms(order, both, same):
    def run(t):
        p = t.nn.Parameter(t.tensor([3.0, -4.0]))
        (p * p).sum().backward()
        return t.nn.utils.clip_grad_norm_([p], 1, order), p.grad

    same(*both(run))


def test_apply_reaches_gradients_of_what_stays(both, same):
    """Also where the function writes in place and gives the parameter itself back."""

    def run(t):
        layer = t.nn.Linear(2, 1)
        with t.no_grad():
            layer.weight.fill_(1.5)
        layer(t.ones(1, 2)).sum().backward()
        before = layer.weight._version, layer.weight.grad._version
        layer._apply(lambda x: x.mul_(2))
        after = layer.weight._version, layer.weight.grad._version
        return layer.weight, layer.weight.grad, [b > a for a, b in zip(before, after, strict=True)]

    same(*both(run))


def test_a_module_takes_its_state(both, same):
    """A class of a program's own may call the method of those above it."""

    def run(t):
        class Own(t.nn.Linear):
            def __setstate__(self, state):
                super().__setstate__(state)
                self.mark = "taken"

        x = Own(2, 2)
        with t.no_grad():
            x.weight.fill_(2.0)
        y = copy.deepcopy(x)
        lstm = t.nn.LSTM(2, 3)
        lstm.__setstate__({"mark": 1})
        return y.mark, y.weight, lstm.mark

    same(*both(run))
