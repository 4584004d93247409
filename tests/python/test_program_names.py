"""Names beside the ops that programs import: types, tuples of sizes, settings of attention, what is not downloaded."""

import importlib
import inspect
import threading

import dumbtorch as dt
import numpy as np
import pytest


@pytest.mark.parametrize("x", [3, (1, 2), [4, 5], range(2)])
@pytest.mark.parametrize("name", ["_single", "_pair", "_triple", "_quadruple", "_reverse_repeat_tuple"])  # fmt: skip
def test_tuples_of_sizes(x, name, both):
    arguments = (x, 2) if name == "_reverse_repeat_tuple" else (x,)
    if arguments[-1] == 2 and not isinstance(x, tuple):
        pytest.skip("of tuples alone")
    ours, theirs = both(lambda t: getattr(t.nn.modules.utils, name)(*arguments))
    assert ours == theirs


def test_names_of_types(torch):
    for place in ("nn.common_types", "types"):
        ours, theirs = (
            importlib.import_module(f"{name}.{place}") for name in ("dumbtorch", "torch")
        )
        own = (n for n, x in vars(ours).items() if n[0] == "_" != n[1] and not inspect.ismodule(x))
        names = [*getattr(ours, "__all__", []), *own]
        assert names and all(hasattr(theirs, n) for n in names)
    from dumbtorch.nn.common_types import _size_2_t
    from dumbtorch.types import Number

    assert isinstance(3.5, Number) and int in _size_2_t.__args__


def attend(t):
    x = t.linspace(-1, 1, 24).reshape(1, 2, 3, 4)
    return t.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)


def test_ways_of_attention(both, same):
    def run(t):
        attention, cuda = t.nn.attention, t.backends.cuda
        with attention.sdpa_kernel(attention.SDPBackend.MATH):
            one = attend(t)
        with attention.sdpa_kernel(
            [attention.SDPBackend.MATH, attention.SDPBackend.FLASH_ATTENTION], True
        ):
            several = attend(t)
        before = cuda.flash_sdp_enabled(), cuda.math_sdp_enabled()
        cuda.enable_flash_sdp(False)
        off = cuda.flash_sdp_enabled(), cuda.cudnn_sdp_enabled(), cuda.mem_efficient_sdp_enabled()
        cuda.enable_flash_sdp(True)
        return one, several, before, off

    same(*both(run))


def test_which_ways_of_attention_are_allowed(both, same, refusals):
    def run(t):
        attention, cuda = t.nn.attention, t.backends.cuda
        ways = attention.SDPBackend
        seen = []

        def look():
            allowed = cuda.flash_sdp_enabled(), cuda.math_sdp_enabled()
            allowed += cuda.mem_efficient_sdp_enabled(), cuda.cudnn_sdp_enabled()
            known = attention._cur_sdpa_kernel_backends
            seen.append((allowed, [w.name for w in known()], [w.name for w in known(True)]))

        look()
        for chosen, in_order in (
            (ways.MATH, False),
            ([ways.MATH, ways.CUDNN_ATTENTION, ways.MATH], True),
            ([ways.EFFICIENT_ATTENTION, ways.MATH], False),
            ([], True),
            (["math"], False),
        ):
            with attention.sdpa_kernel(chosen, in_order) as context:
                look()
                with attention.sdpa_kernel(ways.FLASH_ATTENTION, set_priority=True):
                    look()
                look()
            assert context == {}
        look()
        return seen

    same(*both(run))

    def refuse(t):
        with t.nn.attention.sdpa_kernel(("math",)):
            pass

    ours, theirs = refusals(refuse, AssertionError)
    assert ours == theirs


def test_handles_of_hooks(both, same):
    def run(t):
        x, layer = t.ones(2, requires_grad=True), t.nn.Linear(2, 2)
        handles = [
            x.register_hook(print),
            x.register_post_accumulate_grad_hook(print),
            (x * 2).grad_fn.register_hook(print),
            layer.register_forward_hook(print),
        ]
        return [isinstance(h, t.utils.hooks.RemovableHandle) for h in [*handles, x]]

    same(*both(run))


def test_the_module_of_a_class(both, same, refusals):
    def run(t):
        class Named:
            pass

        t.utils.set_module(Named, "elsewhere")
        return Named.__module__, t.torch is t

    same(*both(run))
    ours, theirs = refusals(lambda t: t.utils.set_module(run, 1), TypeError)
    assert ours == theirs


def test_block_of_ways():
    cuda = dt.backends.cuda
    with cuda.sdp_kernel(enable_flash=False, enable_cudnn=False):
        assert not cuda.flash_sdp_enabled() and not cuda.cudnn_sdp_enabled()
        assert cuda.math_sdp_enabled() and cuda.mem_efficient_sdp_enabled()
    assert cuda.flash_sdp_enabled() and cuda.cudnn_sdp_enabled()
    assert cuda.SDPBackend is dt.nn.attention.SDPBackend


@pytest.mark.parametrize("shape", [(3, 4), (3, 4, 5), (3, 4, 5, 2)])
def test_fans(both, shape):
    def run(t):
        x, init = t.empty(shape), t.nn.init
        fans = [init._calculate_correct_fan(x, mode) for mode in ("fan_in", "fan_out", "FAN_IN")]
        refused = []
        for call in (
            lambda: init._calculate_correct_fan(x, "fan"),
            lambda: init._calculate_fan_in_and_fan_out(t.empty(3)),
        ):
            with pytest.raises(ValueError) as error:
                call()
            refused.append(str(error.value).rpartition(": ")[2])
        return init._calculate_fan_in_and_fan_out(x), fans, refused

    mine, theirs = both(run)
    assert mine == theirs


def test_nothing_is_downloaded():
    from dumbtorch.hub import load_state_dict_from_url

    for call in (load_state_dict_from_url, dt.utils.model_zoo.load_url):
        with pytest.raises(NotImplementedError, match="fetch http://x and read it by torch.load"):
            call("http://x", progress=True)
    with pytest.raises(NotImplementedError, match="nothing is downloaded"):
        dt.hub.load("somebody/something", "net")


@pytest.mark.parametrize("names", [("TORCH_HOME",), ("XDG_CACHE_HOME",), ()])
def test_where_downloads_lie(names, both, monkeypatch):
    for name in ("TORCH_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in names:
        monkeypatch.setenv(name, "~/somewhere")
    mine, theirs = both(lambda t: t.hub.get_dir())
    assert mine == theirs and mine.endswith("hub")


def test_a_folder_for_downloads(both, monkeypatch):
    monkeypatch.setattr("dumbtorch.hub._dir", None)
    monkeypatch.setattr("torch.hub._hub_dir", None)

    def run(t):
        t.hub.set_dir("~/weights")
        return t.hub.get_dir()

    mine, theirs = both(run)
    assert mine == theirs and mine.endswith("weights") and not mine.startswith("~")


def test_decorators_of_the_compiler(both):
    """They give back what they got, and blocks of them change nothing."""

    def run(t):
        def negative(x):
            return -x

        c = t.compiler
        functions = [c.allow_in_graph(negative), c.set_stance("force_eager")(negative)]
        functions += [c.assume_constant_result(negative), c.nested_compile_region(negative)]
        with c.set_stance("force_eager"):
            found = [f(-3) for f in functions]
        return found, c.is_exporting()

    mine, theirs = both(run)
    assert mine == theirs and dt.compiler.list_backends() == []


def test_streams_of_the_cpu(both):
    """For code that goes by the name of a device."""

    def run(t):
        first, event = t.cpu.current_stream(), t.cpu.Event()
        mine = t.cpu.Stream()
        with t.cpu.stream(mine):
            found = [t.cpu.current_stream() is mine]
            with t.cpu.stream(None):
                found.append(t.cpu.current_stream() is mine)
        mine.wait_stream(first)
        mine.wait_event(event)
        done = event.record(), event.wait(), event.synchronize(), mine.record_event()
        return *found, t.cpu.current_stream() is first, event.query(), done

    mine, theirs = both(run)
    assert mine == theirs


def test_streams_of_the_cpu_are_a_threads_own():
    """Blocks of two threads that overlap leave each its own stream."""
    inside, left = threading.Event(), threading.Event()
    found = []

    def other():
        with dt.cpu.stream(None):
            inside.set()
            left.wait(60)
            found.append(dt.cpu.current_stream())

    first, mine = dt.cpu.current_stream(), dt.cpu.Stream()
    thread = threading.Thread(target=other)
    with dt.cpu.stream(mine):
        thread.start()
        inside.wait(60)
        found.append(dt.cpu.current_stream())
    found.append(dt.cpu.current_stream())
    left.set()
    thread.join()
    assert all(a is b for a, b in zip(found, (mine, first, first), strict=True))


def test_names_of_accelerators(torch):
    names = "device_index get_memory_info max_memory_reserved memory_stats reset_peak_memory_stats set_stream"
    for name in names.split():
        assert callable(getattr(torch.accelerator, name))
        assert name in dt.accelerator.__all__ and callable(getattr(dt.accelerator, name))
    with dt.accelerator.device_index(None):
        pass


# ---- testing

PAIRS = [
    "t.tensor([1., 2, 3]), t.tensor([1., 2, 4])",
    "t.tensor([1, 2, 3]), t.tensor([1, 2, 4])",
    "1.0, 2.0",
    "1, 2",
    "1, 1",
    "t.ones(1), t.ones(1).double()",
    "t.ones(1), t.ones(1).double(), check_dtype=False",
    "t.ones(2), t.ones(1)",
    "[t.ones(1), t.ones(1)], [t.ones(1), t.ones(1) * 3]",
    "[t.tensor(1.)], [t.tensor(1.), t.tensor(2.)]",
    "{'a': t.tensor(1.)}, {'a': t.tensor(2.)}",
    "{'a': t.tensor(1.)}, {'b': t.tensor(2.)}",
    "[[1.5]], [[2.5]]",
    "t.tensor([1.]), t.tensor([2.]), rtol=0.1",
    "t.tensor(float('nan')), t.tensor(float('nan'))",
    "None, None",
    "None, 1",
    "t.tensor(float('nan')), t.tensor(float('nan')), equal_nan=True",
    "t.ones(2), [1., 2.]",
    "'a', 'a'",
    "t.ones(1), t.zeros(1), msg='hi'",
    "t.ones(1), t.zeros(1), msg=lambda said: 'x' + said",
    "True, False",
    "True, True",
    "t.tensor([[1., 2], [3, 4]]).t(), t.tensor([[1., 3], [2, 4]]), check_stride=True",
    "t.tensor([True]), t.tensor([False])",
    "t.tensor(1.), t.tensor(2.)",
    "1, 1.0",
    "t.zeros(1), t.tensor([float('inf')])",
    "t.tensor([1., 5]), t.tensor([0., 4])",
    "t.ones(1), 1.0",
    "np.ones(2), np.ones(2) * 2",
    "np.ones(2), np.ones(2)",
    "t.zeros(0), t.zeros(0)",
    "(1, 2.5), (1, 2.5)",
    "t.tensor([1e-6]), t.zeros(1)",
    "t.ones(1), t.ones(1), rtol=0, atol=0",
    "t.tensor([3]), t.tensor([1]), rtol=0, atol=1",
    "t.ones(2).half(), t.ones(2).half() * 1.0009765625",
    "t.ones(2).bfloat16(), t.ones(2).bfloat16() * 1.03125",
    "t.ones(2, requires_grad=True), t.ones(2)",
    "t.ones(2, 3), t.eye(2, 3)",
    "1.5, float('nan')",
    "0.0, 1e-8",
]


@pytest.mark.parametrize("text", PAIRS)
def test_assert_close(text, both):
    def run(t):
        try:
            return eval(f"t.testing.assert_close({text})", {"t": t, "np": np})
        except (AssertionError, TypeError, ValueError) as error:
            said = str(error).replace("dumbtorch._tensor.Tensor", "torch.Tensor")
            return type(error), said.replace("dumbtorch.", "torch.")

    ours, theirs = both(run)
    assert ours == theirs


def test_assert_allclose():
    dt.testing.assert_allclose(dt.ones(2), np.ones(2))
    with pytest.raises(AssertionError, match="Mismatched elements: 2 / 2"):
        dt.testing.assert_allclose(dt.ones(2), [1.1, 1.2], rtol=1e-3, atol=0)


# ---- what modules have under one underscore


def test_methods_of_modules(both, same):
    def run(t):
        nn = t.nn

        class Counted(nn.Module):
            calls = 0

            def __init__(self):
                super().__init__()
                self.register_buffer("kept", t.ones(1))
                self.register_buffer("left", t.ones(1), persistent=False)

            def forward(self, x):
                return x + self.kept

            def _call_impl(self, *args, **kwargs):
                self.calls += 1
                return super()._call_impl(*args, **kwargs)

        net = Counted()
        out = [
            net(t.zeros(2)),
            nn.Sequential(net)(t.zeros(2)),
            net.calls,
            net._non_persistent_buffers_set,
        ]
        out.append(nn.Linear(2, 2)._call_impl(t.zeros(1, 2)).shape)
        result = net.load_state_dict({}, strict=False)
        kind = nn.modules.module._IncompatibleKeys
        out += [isinstance(result, kind), repr(result), repr(kind([], []))]
        table = nn.Embedding(3, 2, padding_idx=-1)
        with t.no_grad():
            table.weight.fill_(4)
        table._fill_padding_idx_with_zero()
        table.weight.sum().backward()
        bag = nn.EmbeddingBag(2, 2, padding_idx=0)
        return [
            *out,
            table.weight,
            table.weight.grad,
            bag.weight[0].abs().sum(),
            list(net.state_dict()),
        ]

    same(*both(run))


def test_an_embedding_that_fills_its_row_otherwise():
    class Ones(dt.nn.Embedding):
        def _fill_padding_idx_with_zero(self):
            with dt.no_grad():
                self.weight[self.padding_idx] = 1

    assert Ones(3, 2, padding_idx=1).weight[1].tolist() == [1, 1]


@pytest.mark.filterwarnings("ignore:size_average and reduce", "ignore:reduction='elementwise_mean'")
def test_numbers_of_reductions(both):
    def run(t):
        of = t.nn._reduction
        found = [of.get_enum(word) for word in ("none", "mean", "sum", "elementwise_mean")]
        for given in [(None, None), (True, False), (False, None), (None, True)]:
            found += [of.legacy_get_string(*given), of.legacy_get_enum(*given, emit_warning=False)]
        with pytest.raises(ValueError) as error:
            of.get_enum("max")
        return found, str(error.value), t.nn.functional._Reduction is of

    mine, theirs = both(run)
    assert mine == theirs
    with pytest.warns(UserWarning, match="please use reduction='sum'"):
        dt.nn._reduction.legacy_get_string(False, True)


def test_tensors_in_one_line(both, same):
    def run(t):
        tensors = [t.arange(6.0).reshape(2, 3).t(), t.tensor(7.0), t.ones(0, 2)]
        flat = t._utils._flatten_dense_tensors(tensors)
        parts = t._utils._unflatten_dense_tensors(flat * 2, tensors)
        flat_parts = t._utils._unflatten_dense_tensors(flat, tensors)
        flat.zero_()
        return flat, parts, flat_parts, type(parts).__name__

    same(*both(run))


def test_what_gives_a_loaders_indices(both):
    def run(t):
        data = t.utils.data
        batches = data.DataLoader(range(5), batch_size=2)
        items = data.DataLoader(range(3), batch_size=None)
        return list(batches._index_sampler), list(items._index_sampler)

    mine, theirs = both(run)
    assert mine == theirs


def test_parameters_of_a_class_with_arguments_of_its_own(both):
    def run(t):
        class Packed(t.nn.Parameter):
            def __new__(cls, data=None, requires_grad=False, blocksize=64):
                made = t.Tensor._make_subclass(cls, data, requires_grad)
                made.blocksize = blocksize
                return made

        given = Packed(t.ones(2), blocksize=32), Packed(t.ones(2), True, 16)
        return [(p.blocksize, p.requires_grad, p.tolist()) for p in given]

    ours, theirs = both(run)
    assert ours == theirs


def test_a_way_to_be_called_that_is_inherited(both):
    def run(t):
        class More:
            def _call_impl(self, *given):
                return super()._call_impl(*given) + 9

        class Linear(More, t.nn.Linear):
            pass

        class Most(Linear):
            def _call_impl(self, *given):
                return super()._call_impl(*given) + 100

        class Same(Most):
            pass

        x = t.zeros(1, 2)
        return [c(2, 2, bias=False)(x).tolist() for c in (t.nn.Linear, Linear, Most, Same)]

    ours, theirs = both(run)
    assert ours == theirs


def test_what_modules_of_layers_have_imported(torch):
    for place, name in (("conv", "_pair"), ("loss", "F"), ("linear", "init"), ("rnn", "Parameter")):
        ours, theirs = (getattr(getattr(t.nn.modules, place), name) for t in (dt, torch))
        assert ours.__name__.split(".")[-1] == theirs.__name__.split(".")[-1]
    assert dt.nn.modules.loss.F is dt.nn.functional
    assert dt.nn.modules.instancenorm._NormBase is dt.nn.modules.batchnorm._NormBase
