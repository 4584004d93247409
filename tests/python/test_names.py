"""The older and smaller names of PyTorch: what they say is what PyTorch's say."""

import itertools
import pickle

import dumbtorch as dt
import numpy as np
import pytest

FLOATING = ("float32", "float64", "float16", "bfloat16")
DTYPES = (*FLOATING, "int64", "int32", "int16", "int8", "uint8", "bool")


def outcome(call, *args):
    """What a call gives, or its error."""
    try:
        return call(*args)
    except Exception as error:
        return type(error), str(error)


def plain(x):
    """What both libraries write alike."""
    if isinstance(x, (tuple, list)):
        return [plain(y) for y in x]
    return x if isinstance(x, (int, float, type(None))) else str(x)


@pytest.fixture
def agree(torch):
    """agree("t.finfo()"): an expression over t gives the same in both libraries, errors included."""

    def compare(text):
        ours, theirs = (outcome(eval, text, {"t": t}) for t in (dt, torch))
        assert plain(ours) == plain(theirs), text

    return compare


@pytest.mark.parametrize("name", DTYPES)
def test_limits_of_dtypes(agree, name):
    info = "finfo" if name in FLOATING else "iinfo"
    agree(f"t.finfo(t.{name})")
    agree(f"t.iinfo(t.{name})")
    if name == "bool":
        return
    for word in ("bits", "max", "min", "dtype"):
        agree(f"t.{info}(t.{name}).{word}")
    if info == "finfo":
        for word in ("eps", "tiny", "smallest_normal", "resolution"):
            agree(f"t.finfo(t.{name}).{word}")


def test_limits_of_other_things(agree):
    for text in ("t.finfo()", "t.finfo(3)", "t.iinfo(None)", "t.finfo(t.half) == t.finfo(t.float16)",
                 "t.finfo(t.half) == t.finfo(t.double)", "t.iinfo(t.int8) == t.iinfo(t.int8)"):  # fmt: skip
        agree(text)


def test_dtypes_meet(agree):
    for a, b in itertools.product(DTYPES, DTYPES):
        agree(f"t.promote_types(t.{a}, t.{b})")
        agree(f"t.can_cast(t.{a}, t.{b})")
        for x, y in (("(2, 3)", "()"), ("()", "()"), ("(1,)", "(1,)")):
            agree(f"t.result_type(t.ones({x}, dtype=t.{a}), t.ones({y}, dtype=t.{b}))")
    for a, number in itertools.product(DTYPES, ("2", "2.5", "True")):
        for shape in ("(2,)", "()"):
            agree(f"t.result_type(t.ones({shape}, dtype=t.{a}), {number})")
            agree(f"t.result_type({number}, t.ones({shape}, dtype=t.{a}))")
    for a, b in itertools.product(("2", "2.5", "True"), repeat=2):
        agree(f"t.result_type({a}, {b})")


@pytest.mark.parametrize("name", DTYPES)
def test_questions(agree, name):
    x = f"t.ones(2, 3, dtype=t.{name})"
    for word in ("is_floating_point", "is_complex", "is_signed"):
        agree(f"t.{word}({x})")
        agree(f"{x}.{word}()")
    for text in (
        f"t.{name}.to_real()", f"{x}.type()", f"t.typename({x})", f"{x}.storage().nbytes()",
        f"{x}.untyped_storage().size()", f"len({x}.storage())", f"{x}.storage()",
        f"{x}.untyped_storage()", f"{x}[1:].storage().tolist()", f"{x}.storage().dtype",
        f"{x}.storage()[1]", f"t.is_storage({x}.storage())", f"t.is_storage({x})",
        f"{x}.angle()", f"(-{x}).angle()",
    ):  # fmt: skip
        if not (name == "bool" and "-" in text):
            agree(text)


def test_what_a_tensor_is(agree):
    x = "t.ones(2, 3)"
    for word in (
        "layout", "is_cpu", "is_cuda", "is_sparse", "is_sparse_csr", "is_quantized", "is_nested", "is_meta",
        "is_mkldnn", "is_mps", "is_xla", "is_xpu", "is_vulkan", "is_inference()", "is_shared()",
        "is_conj()", "is_neg()", "is_distributed()", "name", "output_nr", "retains_grad", "grad_dtype",
        "get_device()", "ndimension()", "dim_order()", "t().dim_order()", "dense_dim()", "sparse_dim()",
        "to_dense()", "real", "imag", "conj()", "resolve_conj()", "resolve_neg()", "conj_physical()",
        "H", "mH", "mT", "adjoint()", "[0].H", "[0].mH", "[0].adjoint()", "expand(2, 2, 3).H",
        "expand(2, 2, 3).mH", "expand(2, 2, 3).adjoint()", "is_nonzero()",
        "is_same_size(t.ones(2, 3))", "is_same_size(t.ones(3, 2))",
    ):  # fmt: skip
        agree(f"{x}{word}" if word[0] == "[" else f"{x}.{word}")
    for text in (
        "t.is_nonzero(t.zeros(1))", "t.is_nonzero(t.ones(0))", "t.is_signed(3)", "t.strided",
        "t.is_same_size(t.ones(2), t.ones(2))", "t.get_device(t.ones(2))", "t.newaxis",
        "t.typename(3)", "t.typename('')", "t.typename([].append)", "t.typename(str.join)", "t.typename(len)",
        "t.typename(None)",
        "setattr(t.nn.Linear(1, 1), 'weight', str.join)", "t.imag(t.ones(2))", "t.real(t.ones(2))",
        "t.angle(t.tensor([1.0, -1.0, float('nan'), -0.0]))",
        "t.autograd.grad(t.angle(x := t.tensor([1.0, -1.0, float('nan')], requires_grad=True)).sum(), x)[0]",
        "t.empty(0).untyped_storage().data_ptr()",
        "t.version.cuda", "t.Generator().clone_state().initial_seed()", "t.backends.mps.is_available()",
        "t.backends.cudnn.benchmark", "t.backends.cudnn.deterministic", "t.backends.cudnn.enabled",
        "t.cuda.is_bf16_supported()", "t.compiler.is_compiling()", "t.set_flush_denormal(False)",
    ):  # fmt: skip
        agree(text)


def test_typed_tensors(agree):
    for name in (
        "FloatTensor",
        "DoubleTensor",
        "LongTensor",
        "IntTensor",
        "ByteTensor",
        "BoolTensor",
    ):
        for given in (
            "[1, 2]",
            "[[1], [0]]",
            "2, 0",
            "t.Size([2, 0])",
            "",
            "t.ones(2)",
            "2.5",
            "()",
        ):
            text = f"t.{name}({given})"
            if given != "t.ones(2)" or name == "FloatTensor":
                agree(text)
        agree(f"t.{name}")
        agree(f"t.{name}.dtype")
        for d in DTYPES:
            agree(f"isinstance(t.ones(2, dtype=t.{d}), t.{name})")
        agree(f"t.tensor([1.5, 0.0]).type(t.{name})")
        agree(f"t.tensor([1.5, 0.0]).type('torch.{name}')")
    for text in (
        "t.tensor([1.5]).type(t.int8)", "t.tensor([1]).type(t.Tensor)", "t.ones(2).type('torch.BananaTensor')",
        "t.ones(2).new(2, 0)", "t.ones(2).long().new([1, 2])", "t.LongTensor([1.5])", "t.Tensor([1, 2])",
        "t.Tensor()", "t.Tensor(t.Size([0, 3]))", "isinstance(t.ones(2), t.cuda.FloatTensor)",
        "t.Tensor(2.5)",
    ):  # fmt: skip
        agree(text)
    with pytest.raises(TypeError, match="expected a tensor of dtype"):
        dt.FloatTensor(dt.ones(2).long())


@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_default_tensor_type(agree, torch):
    for given in ("t.LongTensor", "3"):
        agree(f"t.set_default_tensor_type({given})")
    try:
        for given in ("'torch.DoubleTensor'", "t.DoubleTensor"):
            agree(f"t.set_default_tensor_type({given})")
            agree("t.Tensor([1]).dtype, t.ones(1).dtype, t.finfo().bits")
    finally:
        agree("t.set_default_tensor_type('torch.FloatTensor')")


def test_storages_share_memory():
    x = dt.arange(6.0).reshape(2, 3)
    assert x[1].storage() == x.storage() and x[1].storage().data_ptr() == x.data_ptr()
    assert x.clone().untyped_storage() != x.untyped_storage()
    assert x.untyped_storage().tolist() == list(bytes(x.numpy().tobytes()))
    for n in (3, np.int16(3)):
        assert dt.FloatStorage(n).size() == dt.FloatTensor(n).numel() == x.new(n).numel() == 3
    for storage in (x.storage(), x.untyped_storage()):
        assert dt.FloatTensor(storage).tolist() == x.flatten().tolist()
        assert x.new(storage).data_ptr() == x.data_ptr()


def test_retains_grad_and_output_nr(both):
    def run(t):
        x = t.ones(4, requires_grad=True)
        x.retain_grad()
        y = x * 2
        before = y.retains_grad
        y.retain_grad()

        class Both(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone(), x * 2

            @staticmethod
            def backward(ctx, a, b):
                return a + 2 * b

        outputs = Both.apply(y)
        return x.retains_grad, before, y.retains_grad, [z.output_nr for z in outputs]

    mine, theirs = both(run)
    assert mine == theirs


def test_graphs_can_be_walked(both):
    """Not the names: those are of the steps that each library takes."""

    def shape(node):
        return node and [(shape(n), i) for n, i in node.next_functions]

    def run(t):
        x, y = t.ones(4, requires_grad=True), t.ones(4)
        a = (x * y).exp()
        fn = (a + a).grad_fn
        found = {n for n, _ in fn.next_functions}
        return shape(fn), len(found), fn == fn.next_functions[0][0], x.grad_fn

    mine, theirs = both(run)
    assert mine == theirs


def test_python_functions_of_elements(agree):
    for text in (
        "t.arange(6.0).reshape(2, 3).apply_(lambda x: x * x)",
        "t.arange(3).apply_(lambda x: x + 1)",
        "t.arange(6.0).reshape(2, 3).t().apply_(lambda x: x + 1)",
        "t.arange(4.0).map_(t.ones(4), lambda x, y: x + 2 * y)",
        "t.ones(3, requires_grad=True).apply_(lambda x: x)",
    ):
        agree(text)


OPTIONS = (
    {"precision": 2}, {"precision": 8}, {"sci_mode": True}, {"sci_mode": False}, {"threshold": 5},
    {"threshold": 5, "edgeitems": 1}, {"linewidth": 40}, {"profile": "short"}, {"profile": "full"},
    {"precision": 0}, {"linewidth": 5},
)  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_print_options(torch, options):
    def texts(t):
        grid = t.arange(60.0).reshape(10, 6)
        numbers = t.tensor([1.0, 0.5, 12345.678, 1e-3])
        return [str(x) for x in (grid, grid / 7, grid.long(), numbers, t.tensor(2.5), t.tensor([1e10, 2]),
                                 t.arange(1100.0), grid.reshape(2, 5, 6) * 1e5, t.tensor([1.0, 100.0]))]  # fmt: skip

    try:
        found = []
        for t in (dt, torch):
            t.set_printoptions(**options)
            found.append(texts(t))
        assert found[0] == found[1]
    finally:
        for t in (dt, torch):
            t.set_printoptions(profile="default")
    assert texts(dt) == texts(torch)


def test_determinism(agree):
    try:
        for text in (
            "t.get_deterministic_debug_mode()", "t.use_deterministic_algorithms(1)",
            "t.use_deterministic_algorithms(True)", "t.are_deterministic_algorithms_enabled()",
            "t.is_deterministic_algorithms_warn_only_enabled()", "t.get_deterministic_debug_mode()",
            "t.use_deterministic_algorithms(True, warn_only=True)", "t.get_deterministic_debug_mode()",
            "t.is_deterministic_algorithms_warn_only_enabled()",
            "t.use_deterministic_algorithms(False, warn_only=True)", "t.are_deterministic_algorithms_enabled()",
            "t.is_deterministic_algorithms_warn_only_enabled()", "t.set_deterministic_debug_mode('error')",
            "t.is_deterministic_algorithms_warn_only_enabled()",
            "t.get_deterministic_debug_mode()", "t.set_deterministic_debug_mode(5)",
            "t.set_deterministic_debug_mode('foo')", "t.set_deterministic_debug_mode(None)",
        ):  # fmt: skip
            agree(text)
    finally:
        agree("t.use_deterministic_algorithms(False)")


def test_precision_of_products(agree):
    try:
        for text in (
            "t.get_float32_matmul_precision()", "t.set_float32_matmul_precision('medium')",
            "t.get_float32_matmul_precision()", "t.set_float32_matmul_precision('high')",
            "t.backends.cuda.matmul.allow_tf32", "t.get_float32_matmul_precision()",
        ):  # fmt: skip
            agree(text)
        with pytest.warns(UserWarning, match="not one of 'highest'"):
            dt.set_float32_matmul_precision("x")
        assert dt.get_float32_matmul_precision() == "high"
    finally:
        agree("t.set_float32_matmul_precision('highest')")


def test_fork_rng():
    dt.manual_seed(3)
    a = dt.rand(2).tolist()
    dt.manual_seed(3)
    with dt.random.fork_rng():
        dt.manual_seed(9)
        dt.rand(5)
    assert dt.rand(2).tolist() == a
    generator = dt.Generator().manual_seed(5)
    clone = generator.clone_state()
    assert dt.rand(2, generator=clone).tolist() == dt.rand(2, generator=generator).tolist()


def test_compile_is_the_identity():
    def f(x):
        return x + 1

    assert dt.compile(f) is f and dt.compile(mode="reduce-overhead")(f) is f
    assert dt.compiler.disable(f) is f and dt.compiler.disable()(f) is f
    assert not dt.compiler.is_compiling()


def test_accelerators(agree):
    for text in ("is_available()", "device_count()", "current_accelerator(True)"):
        if not dt.cuda.is_available():
            agree(f"t.accelerator.{text}")
    assert dt.accelerator.is_available() == dt.cuda.is_available()
    assert dt.Stream is dt.cuda.Stream and dt.Event is dt.cuda.Event


def test_cudnn_flags():
    with dt.backends.cudnn.flags(enabled=False, benchmark=True):
        assert dt.backends.cudnn.benchmark and not dt.backends.cudnn.enabled
    assert dt.backends.cudnn.enabled and not dt.backends.cudnn.benchmark


def test_backends_are_modules():
    """Programs import them by name."""
    import dumbtorch.backends.cudnn as cudnn
    from dumbtorch.backends import mps

    assert cudnn is dt.backends.cudnn and not mps.is_available()
    cudnn.allow_tf32 = False
    try:
        assert not dt.backends.cudnn.allow_tf32
    finally:
        cudnn.allow_tf32 = True


def test_capsules():
    x = dt.arange(3.0)
    assert dt.from_dlpack(dt.utils.dlpack.to_dlpack(x)).data_ptr() == x.data_ptr()


@pytest.mark.parametrize("shapes", [((-12,),), ((1, -12), (2,)), (-3,)])
def test_broadcast_shapes_refuses_negative_sizes(shapes):
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError) as theirs:
        torch.broadcast_shapes(*shapes)
    with pytest.raises(ValueError, match=f"^{theirs.value}$"):
        dt.broadcast_shapes(*shapes)


def test_a_device_without_memory_is_refused_with_what_there_is():
    with pytest.raises(RuntimeError, match="device string: meta; .*skip_init"):
        dt.device("meta")
    with pytest.raises(RuntimeError, match="device string: meta; .*skip_init"):
        dt.zeros(2, device="meta")


@pytest.mark.parametrize("name", ["hardtanh", "elu", "dropout", "mish", "leaky_relu"])
def test_names_of_functions_of_layers(name, both):
    """As errors tell them, and as files of modules do."""

    def run(t):
        function = getattr(t.nn.functional, name)
        assert pickle.loads(pickle.dumps(function)) is function
        with pytest.raises(TypeError) as caught:
            function(t.ones(1), other=1)
        return function.__name__, str(caught.value)

    mine, theirs = both(run)
    assert mine == theirs
