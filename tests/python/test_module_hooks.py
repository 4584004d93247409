"""Hooks of modules and optimizers, and what goes with the state dict, against PyTorch's."""

import dumbtorch as dt
import pytest


def network(t):
    """The same numbers in both libraries."""
    net = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.Tanh(), t.nn.Linear(3, 1))
    with t.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(t.arange(float(p.numel())).reshape(p.shape) / 7 - i)
    return net


def agree(both):
    mine, theirs = both
    assert mine == theirs


def test_forward_hooks(both):
    def run(t):
        seen = []
        net = network(t)
        layer = net[0]

        def note(name, result=None):
            def hook(module, *given):
                seen.append((name, type(module).__name__, [type(g).__name__ for g in given]))
                return result and result(*given)

            return hook

        layer.register_forward_pre_hook(note("pre"))
        layer.register_forward_pre_hook(note("first"), prepend=True)
        layer.register_forward_pre_hook(note("kw", lambda a, k: ((a[0] + 1,), k)), with_kwargs=True)
        layer.register_forward_hook(note("post", lambda a, out: out * 2))
        layer.register_forward_hook(note("post kw"), with_kwargs=True)
        out = net(t.ones(1, 2))
        return seen, [round(x, 4) for x in out.flatten().tolist()]

    agree(both(run))


def test_hooks_where_forward_fails(both):
    def run(t):
        seen = []
        layer = t.nn.Linear(2, 3)
        layer.register_forward_hook(lambda m, a, out: seen.append("usual"))
        layer.register_forward_hook(lambda m, a, out: seen.append(out), always_call=True)
        with pytest.raises(RuntimeError):
            layer(t.ones(1, 5))
        layer(t.ones(1, 2))
        return seen[0], seen[1], len(seen)

    agree(both(run))


def test_hooks_of_all_modules(both):
    def run(t):
        seen = []
        register = t.nn.modules.module
        handles = [
            register.register_module_forward_pre_hook(lambda m, a: seen.append(("pre", type(m).__name__))),
            register.register_module_forward_hook(lambda m, a, out: seen.append(("post", type(m).__name__))),
            register.register_module_full_backward_pre_hook(lambda m, g: seen.append(("bpre", type(m).__name__))),
            register.register_module_full_backward_hook(lambda m, i, o: seen.append(("back", type(m).__name__))),
        ]  # fmt: skip
        net = network(t)
        net(t.ones(1, 2, requires_grad=True)).sum().backward()
        for handle in handles:
            handle.remove()
        before = len(seen)
        net(t.ones(1, 2))
        return seen, len(seen) == before

    agree(both(run))
    assert not dt.nn.Module._dt_hooked


def test_hooks_of_modules_whose_own_names_are_alike(both):
    def run(t):
        class Net(t.nn.Linear):
            def __init__(self):
                super().__init__(2, 2)
                self.register_forward_hook(lambda m, args, y: seen.append("own"))
                self._hooked, self._globals = False, None

        seen = []
        net = Net()
        register = t.nn.modules.module.register_module_forward_hook
        with register(lambda m, args, y: seen.append("all")):
            net(t.ones(1, 2))
        net(t.ones(1, 2))
        return seen

    agree(both(run))


def test_hooks_of_the_state_dict(both):
    def run(t):
        seen = []
        net = network(t)

        def rename(module, state_dict, prefix, metadata):
            seen.append((prefix, metadata.get("version")))
            state_dict[prefix + "w"] = state_dict.pop(prefix + "weight")

        def back(module, state_dict, prefix, metadata, strict, missing, unexpected, errors):
            seen.append(
                (type(module).__name__, prefix, metadata, strict, missing, unexpected, errors)
            )
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")

        def forgive(module, keys):
            seen.append((sorted(keys.missing_keys), sorted(keys.unexpected_keys)))
            keys.missing_keys.clear()

        net[0].register_state_dict_pre_hook(lambda m, prefix, keep: seen.append((prefix, keep)))
        net[0].register_state_dict_post_hook(rename)
        state = net.state_dict()
        seen.append(list(state))
        net[0].register_load_state_dict_pre_hook(back)
        other = network(t)
        with pytest.raises(RuntimeError, match="Missing key.*0.weight(.|\n)*Unexpected key.*0.w"):
            other.load_state_dict(state)
        net.load_state_dict(state)
        del state["2.bias"]
        net.register_load_state_dict_post_hook(forgive)
        result = net.load_state_dict(state)
        net[2].register_state_dict_post_hook(lambda *given: 1)
        with pytest.raises(RuntimeError, match="must return None"):
            net.state_dict()
        return seen, tuple(result), list(state._metadata)

    agree(both(run))


def test_state_that_is_no_tensor(both):
    def run(t):
        class Counter(t.nn.Linear):
            count = 0

            def get_extra_state(self):
                return {"count": self.count}

            def set_extra_state(self, state):
                self.count = state["count"]

        a, b = Counter(1, 1), Counter(1, 1)
        a.count = 5
        state = t.nn.Sequential(a).state_dict()
        t.nn.Sequential(b).load_state_dict(state)
        with pytest.raises(RuntimeError, match='Unexpected key.*"0._extra_state"'):
            t.nn.Sequential(t.nn.Linear(1, 1)).load_state_dict(state)
        del state["0._extra_state"]
        with pytest.raises(RuntimeError, match='Missing key.*"0._extra_state"'):
            t.nn.Sequential(b).load_state_dict(state)
        return b.count, t.nn.Sequential(b).load_state_dict(state, strict=False)[0]

    agree(both(run))


def test_state_that_makes_children(both):
    """They are there before their entries are looked for."""

    def run(t):
        class Growing(t.nn.Module):
            def __init__(self, width):
                super().__init__()
                self.set_extra_state(width)

            def get_extra_state(self):
                return self.inner.out_features

            def set_extra_state(self, width):
                self.inner = t.nn.Linear(1, width)

        state = t.nn.Sequential(Growing(3)).state_dict()
        state["0.inner.bias"].copy_(t.tensor([1.0, 2.0, 3.0]))
        net = t.nn.Sequential(Growing(1))
        return str(net.load_state_dict(state)), net[0].inner.bias.tolist()

    agree(both(run))


def test_a_class_that_loads_in_its_own_way(both):
    def run(t):
        class Doubled(t.nn.Linear):
            _version = 2

            def _save_to_state_dict(self, destination, prefix, keep_vars):
                super()._save_to_state_dict(destination, prefix, keep_vars)
                destination[prefix + "weight"] = destination[prefix + "weight"] * 2

            def _load_from_state_dict(self, state_dict, prefix, local_metadata, *others):
                versions.append(local_metadata.get("version"))
                state_dict[prefix + "weight"] = state_dict[prefix + "weight"] / 2
                super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)

        versions = []
        a, b = Doubled(1, 1), Doubled(1, 1)
        with t.no_grad():
            a.weight.fill_(3.0)
        state = t.nn.Sequential(a).state_dict()
        t.nn.Sequential(b).load_state_dict(state)
        return state["0.weight"].item(), b.weight.item(), versions

    agree(both(run))


def test_nothing_is_loaded_where_something_is_wrong():
    a, b = dt.nn.Linear(2, 2), dt.nn.Linear(2, 2)
    before = b.weight.tolist()
    state = a.state_dict()
    state["bias"] = dt.zeros(5)
    with pytest.raises(RuntimeError, match="size mismatch for bias"):
        b.load_state_dict(state)
    assert b.weight.tolist() == before
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like"):
        b.load_state_dict([1])


def test_submodules_and_empty(both):
    def run(t):
        net = t.nn.Sequential(t.nn.Linear(1, 1), t.nn.Sequential(t.nn.ReLU()))
        net.set_submodule("1.0", t.nn.Tanh())
        net.set_submodule("2", t.nn.Sigmoid())
        errors = []
        for given in (
            ("", t.nn.Tanh()),
            ("1.0", 3),
            ("9.1", t.nn.Tanh()),
            ("1.7", t.nn.Tanh(), True),
        ):
            try:
                net.set_submodule(*given)
            except Exception as error:
                errors.append((type(error), str(error).replace("torch.nn.modules.", "")))
        empty = net.to_empty(device="cpu")
        return str(net), errors, empty is net, net.share_memory() is net

    agree(both(run))
    assert dt.nn.Linear(1, 1).compile() is None


def test_hooks_of_optimizers(both):
    def run(t):
        seen = []
        p = t.nn.Parameter(t.ones(2))
        p.grad = t.ones(2)
        optimizer = t.optim.SGD([p], lr=0.5)
        optimizer.register_step_pre_hook(
            lambda o, args, kwargs: seen.append(("pre", len(args), args[0] is o, kwargs))
        )
        post = optimizer.register_step_post_hook(
            lambda o, args, kwargs: seen.append(("post", p.tolist()))
        )
        optimizer.step()
        post.remove()
        optimizer.step()
        t.optim.SGD([p], lr=0.5).step()  # has none
        optimizer.register_state_dict_pre_hook(lambda o: seen.append("pre save"))
        optimizer.register_state_dict_post_hook(lambda o, d: {**d, "more": 1})
        optimizer.register_load_state_dict_pre_hook(
            lambda o, d: {**d, "param_groups": [{**d["param_groups"][0], "lr": 3.0}]}
        )
        optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
        state = optimizer.state_dict()
        optimizer.load_state_dict(state)
        return seen, p.tolist(), state["more"], optimizer.param_groups[0]["lr"]

    agree(both(run))


def test_hooks_after_accumulation(both):
    """An optimizer that steps while backward goes on."""

    def run(t):
        p = t.ones(2, requires_grad=True)
        seen = []

        def step(x):
            seen.append((x is p, x.grad.tolist()))
            if len(seen) == 2:
                x.grad = None

        handle = p.register_post_accumulate_grad_hook(step)
        for _ in range(2):
            (p * 3).sum().backward()
        seen.append(p.grad)
        (p * 2).sum().backward(inputs=[p])
        t.autograd.grad((p * 2).sum(), p)
        handle.remove()
        (p * 5).sum().backward()
        for x in (t.ones(1), p * 2):
            with pytest.raises(RuntimeError) as error:
                x.register_post_accumulate_grad_hook(step)
            seen.append(str(error.value).partition(": ")[2] or str(error.value))
        # What a hook gives back may be the tensor itself.
        q = t.zeros(2, requires_grad=True)
        handle = q.register_post_accumulate_grad_hook(lambda x: x.add_(x.grad, alpha=-1))
        q.sum().backward()
        handle.remove()
        handle = q.register_post_accumulate_grad_hook(lambda x: 3)
        with pytest.raises(TypeError) as error:
            q.sum().backward()
        seen.append(str(error.value).partition(": ")[2] or str(error.value))
        handle.remove()
        return seen, p.grad.tolist(), q.tolist()

    agree(both(run))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("path", ["0.weight", "0.in_features", "1.forward", "training"])
def test_only_modules_are_replaced(path, strict, refusals):
    def run(t):
        t.nn.Sequential(t.nn.Linear(1, 1), t.nn.Tanh()).set_submodule(path, t.nn.ReLU(), strict)

    ours, theirs = refusals(run, AttributeError)
    assert ours == theirs


def test_dictionaries_of_hooks(both):
    """Programs look into them, take all hooks off, and write into them."""

    def run(t):
        net, seen = network(t), []
        kinds = ["_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"]
        kinds += [
            "_forward_hooks_with_kwargs",
            "_forward_hooks_always_called",
            "_forward_pre_hooks_with_kwargs",
        ]
        counts = [[len(getattr(net[0], kind)) for kind in kinds]]

        def note(*given, **named):
            seen.append(len(given))

        handles = [net[0].register_forward_hook(note, with_kwargs=True, always_call=True),
                   net[0].register_forward_pre_hook(note, with_kwargs=True), net[0].register_forward_pre_hook(note),
                   net[0].register_full_backward_hook(note), net[0].register_full_backward_pre_hook(note)]  # fmt: skip
        counts.append([len(getattr(net[0], kind)) for kind in kinds])
        holds = [handle.id in handle.hooks_dict_ref() for handle in handles]
        alike = [hook is note for hook in net[0]._forward_pre_hooks.values()]
        net(t.ones(1, 2, requires_grad=True)).sum().backward()
        handles[0].remove()
        counts.append([len(getattr(net[0], kind)) for kind in kinds])
        for module in net.modules():
            module._forward_hooks.clear()
            module._forward_pre_hooks = type(module._forward_pre_hooks)()
            module._backward_hooks.clear()
        net[2]._forward_hooks[0] = note
        net(t.ones(1, 2)).sum().backward()
        return counts, holds, alike, seen

    agree(both(run))


def test_handles_of_own_dictionaries(both):
    def run(t):
        from collections import OrderedDict
        from copy import deepcopy

        hooks, kinds = OrderedDict(), OrderedDict()
        handles = [t.utils.hooks.RemovableHandle(hooks, extra_dict=kinds) for _ in range(3)]
        for handle in handles:
            hooks[handle.id] = kinds[handle.id] = "hook"
        with handles[0]:
            pass
        copied, there = deepcopy([handles[1], hooks])
        copied.remove()
        handles[2].remove()
        handles[2].remove()
        return len(there), len(hooks), len(kinds), handles[1].id > handles[0].id

    agree(both(run))


def test_dictionaries_of_all_modules(both):
    def run(t):
        seen, place = [], t.nn.modules.module
        for _ in range(2):
            place.register_module_forward_hook(
                lambda m, args, kwargs, out: seen.append("f"), with_kwargs=True
            )
            place.register_module_forward_pre_hook(lambda m, args: seen.append("p"))
            place.register_module_full_backward_hook(lambda m, i, o: seen.append("b"))
        x = t.ones(1, 2, requires_grad=True)
        network(t)(x).sum().backward()
        for name in ("forward_hooks", "forward_pre_hooks", "backward_hooks"):
            setattr(place, "_global_" + name, type(getattr(place, "_global_" + name))())
        network(t)(x).sum().backward()
        return seen

    agree(both(run))


def test_assigned_dictionaries_are_called(both):
    def run(t):
        from collections import OrderedDict

        seen = []
        one, other = network(t), network(t)
        one._forward_pre_hooks = OrderedDict({0: lambda m, args: seen.append("pre")})
        other.register_forward_hook(lambda m, args, out: seen.append("post"))
        one[0]._forward_hooks = other._forward_hooks
        kept = one[1]._forward_hooks
        x = t.ones(1, 2)
        one(x)
        kept[5] = lambda m, args, out: seen.append("kept")
        one(x)
        place = t.nn.modules.module
        place._global_forward_hooks[1] = lambda m, args, out: seen.append(type(m).__name__)
        try:
            one(x)
        finally:
            del place._global_forward_hooks[1]
        one(x)
        return seen

    agree(both(run))


def test_hooks_that_come_and_go_in_a_call(both):
    """Those after forward are looked for after it, those of the gradients before all others."""

    def run(t):
        seen = []

        def note(name):
            return lambda *given: seen.append(name)

        def exchange(module, args):
            old.remove()
            late.append(module.register_forward_hook(note("new")))
            module.register_forward_hook(note("always"), always_call=True)
            module.register_full_backward_hook(note("backward"))

        layer, late = t.nn.Linear(2, 3), []
        old = layer.register_forward_hook(note("old"), always_call=True)
        before = layer.register_forward_pre_hook(exchange)
        layer(t.ones(1, 2, requires_grad=True)).sum().backward()
        with pytest.raises(RuntimeError):
            layer(t.ones(1, 5))
        before.remove()
        layer(t.ones(1, 2, requires_grad=True)).sum().backward()
        return seen

    agree(both(run))


def test_layers_run_together_when_their_hooks_are_gone(monkeypatch):
    from dumbtorch.nn.modules import container

    together, run_both = [], container._run_both
    monkeypatch.setattr(
        container, "_run_both", lambda *given: together.append(1) or run_both(*given)
    )
    net, x = dt.nn.Sequential(dt.nn.Linear(2, 3), dt.nn.ReLU()), dt.ones(1, 2)
    handle = net[0].register_forward_hook(lambda m, args, out: None)
    net(x)
    assert not together
    handle.remove()
    assert len(net[1]._forward_hooks) == 0
    net(x)
    assert together


def test_copied_optimizers_have_no_hooks(both):
    """They have their parameters, settings and state, and step on with them."""

    def run(t):
        from copy import deepcopy
        from pickle import dumps, loads

        seen = []
        param = t.nn.Parameter(t.ones(2))
        param.grad = t.ones(2)
        opt = t.optim.Adam([param], lr=0.5)
        opt.register_step_pre_hook(lambda *given: seen.append("pre"))
        opt.register_step_post_hook(lambda *given: seen.append("post"))
        opt.register_state_dict_pre_hook(lambda *given: seen.append("state"))
        opt.step()
        values = []
        for other in (deepcopy(opt), loads(dumps(opt))):
            group = other.param_groups[0]
            group["params"][0].grad = t.full((2,), 2.0)
            other.step()
            other.register_step_pre_hook(lambda *given: seen.append("its own"))
            other.step()
            other.state_dict()
            values.append([round(x, 5) for x in group["params"][0].tolist()])
        opt.__setstate__({"state": opt.state})
        opt.step()
        return seen, values, sorted(opt.__getstate__())

    agree(both(run))


def test_copied_optimizers_keep_their_masters():
    from copy import deepcopy

    opt = dt.optim.SGD([dt.nn.Parameter(dt.ones(2, dtype=dt.bfloat16))], lr=1e-3)
    opt.use_master_weights()
    copied = deepcopy(opt)
    param = copied.param_groups[0]["params"][0]
    param.grad = dt.ones_like(param)
    copied.step()
    assert "master" in copied.state[param]
