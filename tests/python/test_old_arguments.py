"""Arguments and names that older programs use, losses that have layers inside, and what is said of what is missing."""

import importlib
import traceback
import warnings

import dumbtorch as dt
import pytest

LOSSES = {
    "mse_loss": ("MSELoss", 2),
    "l1_loss": ("L1Loss", 2),
    "smooth_l1_loss": ("SmoothL1Loss", 2),
    "soft_margin_loss": ("SoftMarginLoss", 2),
    "hinge_embedding_loss": ("HingeEmbeddingLoss", 2),
    "kl_div": ("KLDivLoss", 2),
    "poisson_nll_loss": ("PoissonNLLLoss", 2),
    "margin_ranking_loss": ("MarginRankingLoss", 3),
    "triplet_margin_loss": ("TripletMarginLoss", 3),
    "binary_cross_entropy": ("BCELoss", 2),
    "binary_cross_entropy_with_logits": ("BCEWithLogitsLoss", 2),
    "multilabel_soft_margin_loss": ("MultiLabelSoftMarginLoss", 2),
    "cosine_embedding_loss": ("CosineEmbeddingLoss", 2),
    "cross_entropy": ("CrossEntropyLoss", 1),
    "nll_loss": ("NLLLoss", 1),
    "multi_margin_loss": ("MultiMarginLoss", 1),
    "multilabel_margin_loss": ("MultiLabelMarginLoss", 1),
}
OLD = [(None, False), (False, None), (True, True), (False, True), (True, False)]


def operands(t, name, count):
    rows = [t.linspace(low, 0.9, 12).reshape(4, 3) for low in (0.1, 0.3, 0.2)[:count]]
    if name == "cosine_embedding_loss":
        return [*rows, t.tensor([1, -1, 1, -1])]
    if name == "multilabel_margin_loss":
        return [*rows, t.tensor([[0, 2, -1], [1, -1, 0], [2, 1, 0], [-1, 0, 1]])]
    return rows if count > 1 else [*rows, t.tensor([0, 2, 1, 1])]


@pytest.mark.parametrize("name", LOSSES)
def test_size_average_and_reduce(name, both, same):
    def run(t):
        layer, count = LOSSES[name]
        given = operands(t, name, count)
        out = []
        for size_average, reduce in OLD:
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                old = {"size_average": size_average, "reduce": reduce}
                out.append(getattr(t.nn.functional, name)(*given, **old))
                made = getattr(t.nn, layer)(**old)
            out += [made(*given), made.reduction]
            assert not hasattr(made, "size_average")
            words = [str(w.message) for w in seen if "size_average" in str(w.message)]
            out += [len(words), words[0]]
        return out

    same(*both(run))


def test_reductions_by_position(both, same):
    def run(t):
        f = t.nn.functional
        x, y = t.linspace(-1, 1, 12).reshape(4, 3), t.tensor([0, 2, 1, 1])
        return (
            f.mse_loss(x, x * x, None, None, "sum"),
            f.cross_entropy(x, y, None, None, 2, None, "sum", 0.1),
            f.kl_div(x, x.exp(), None, None, "batchmean"),
            t.nn.CrossEntropyLoss(None, None, 1, None, "none")(x, y),
        )

    same(*both(run))


@pytest.mark.parametrize("name", ["Softmax", "Softmin", "LogSoftmax"])
def test_softmax_layers_of_no_dimension(name, both, same):
    def run(t):
        layer = getattr(t.nn, name)()
        x = t.linspace(-1, 1, 24)
        with pytest.warns(UserWarning, match="Implicit dimension choice for"):
            return [layer(x.reshape(s)) for s in ((24,), (4, 6), (2, 3, 4))], repr(layer)

    same(*both(run))


def test_old_names(both, same):
    def run(t):
        f, x = t.nn.functional, t.linspace(-1, 1, 24).reshape(2, 3, 2, 2)
        weight = t.linspace(0, 1, 18).reshape(3, 2, 3)
        line = x.reshape(4, 3, 2)
        out = t.empty(2, 3, 2, 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            resized = (
                f.upsample(x, scale_factor=2),
                f.upsample(x, (3, 3), None, "bilinear", False),
                f.upsample_nearest(x, (3, 5)),
                f.upsample_bilinear(x, (3, 5)),
                t.nn.Hardtanh(min_value=-0.25, max_value=0.5)(x),
            )
        f.normalize(x, out=out)
        parts = f.max_pool2d_with_indices(x, 2, None, 0, 1, False, False)
        return *resized, f.conv_tbc(line, weight, t.ones(3), 1), out, *parts

    same(*both(run))


def test_out_of_tensordot(both, same):
    def run(t):
        x, out = t.linspace(-1, 1, 12).reshape(4, 3), t.empty(4, 4)
        assert t.tensordot(x, x.t(), 1, out=out) is out
        return out

    same(*both(run))


def test_layout(both, same):
    def run(t):
        like = {"layout": t.strided, "dtype": t.float64}
        x = t.eye(2, **like)
        made = (t.zeros(2, **like), t.arange(3, **like), t.full((2,), 7, **like))
        permuted = t.empty_permuted((2, 3), (1, 0), layout=t.strided)
        with pytest.raises(TypeError, match="argument 'layout' must be torch.layout, not str"):
            t.zeros_like(x, layout="strided")
        return (
            *made,
            t.ones_like(x, **like),
            x.new_full((1,), 2, layout=t.strided),
            permuted.stride(),
        )

    same(*both(run))


def test_pinned_memory_without_a_gpu():
    if dt.cuda.is_available():
        assert dt.zeros(2, pin_memory=True, requires_grad=True).is_pinned()
    else:
        with pytest.raises(RuntimeError):
            dt.zeros(2, pin_memory=True)


def test_ambiguous_orders_of_dimensions(both, same):
    def run(t):
        formats = [t.contiguous_format, t.channels_last]
        tensors = [
            t.empty(2, 3, 5, 7),
            t.empty(1, 2, 3, 4),
            t.empty(2, 1, 3, 4),
            t.empty(3, 1),
            t.empty(2, 3).t(),
        ]
        tensors += [
            t.empty(2, 3, 5, 7).to(memory_format=t.channels_last),
            t.empty(2, 1).expand(2, 3),
        ]
        out = []
        for x in tensors:
            for check in (False, True, formats, formats[:1], "no"):
                try:
                    out.append(x.dim_order(ambiguity_check=check))
                except (RuntimeError, TypeError) as error:
                    out.append(type(error))
        return out

    ours, theirs = both(run)
    orders = [(a, b) for a, b in zip(ours, theirs, strict=True) if isinstance(b, tuple)]
    assert [type(a) for a in ours] == [type(b) for b in theirs]
    assert [a for a in ours if not isinstance(a, tuple)] == [
        b for b in theirs if not isinstance(b, tuple)
    ]
    assert all(sorted(a) == sorted(b) for a, b in orders)


# ---- losses with layers inside


@pytest.mark.parametrize("out_features", [(), (2,)])
def test_linear_cross_entropy_loss(out_features, both, same):
    def run(t):
        made = {"out_features": out_features, "bias": True, "label_smoothing": 0.1}
        loss = t.nn.LinearCrossEntropyLoss(3, 5, weight=t.linspace(1, 2, 5), **made)
        for i, p in enumerate(loss.parameters()):
            p.data = t.linspace(-1, i + 1, p.numel()).reshape(p.shape)
        x = t.linspace(-1, 1, 12).reshape(4, 3).requires_grad_()
        targets = t.tensor([0, 4, 2, 2])
        value = loss(x, targets[:, None].expand(4, 2) if out_features else targets)
        value.backward()
        assert list(loss.state_dict()) == ["weight", "linear.weight", "linear.bias"]
        return value, x.grad, loss.linear.weight.grad, loss.linear.bias.grad, repr(loss)

    same(*both(run))


def test_linear_cross_entropy_settings(both, same):
    def run(t):
        options = t.nn.LinearCrossEntropyOptions
        refused = []
        for wrong in ({"acc_policy": "x"}, {"chunking_method": "y:2"}, {"chunking_method": "aspect_ratio:0"},
                      {"batch_chunk_size": 0}, {"acc_dtype": t.int32}):  # fmt: skip
            with pytest.raises(ValueError) as caught:
                options(**wrong)
            refused.append(str(caught.value))
        for wrong in ({"weight": t.ones(4)}, {"label_smoothing": 2.0}):
            with pytest.raises(RuntimeError) as caught:
                t.nn.LinearCrossEntropyLoss(3, 5, **wrong)
            refused.append(str(caught.value))
        x, w = t.linspace(-1, 1, 12).reshape(4, 3), t.linspace(-2, 1, 15).reshape(5, 3)
        chunks = options(chunking_method="aspect_ratio:2", acc_policy="accurate")
        value = t.nn.functional.linear_cross_entropy(x, w, t.tensor([0, 4, 2, 2]), options=chunks)
        return refused, value, chunks.batch_chunk_size

    same(*both(run))


def test_adaptive_log_softmax(both, same):
    def run(t):
        loss = t.nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7], div_value=2.0, head_bias=True)
        for i, p in enumerate(loss.parameters()):
            p.data = t.linspace(-1, 1 + i, p.numel()).sin().reshape(p.shape)
        x = t.linspace(-2, 2, 48).reshape(6, 8).cos().requires_grad_()
        out = loss(x, t.tensor([0, 11, 3, 2, 8, 6]))
        out.loss.backward()
        one = loss(x[0], t.tensor(11))
        gradients = [p.grad for p in loss.parameters()]
        everywhere = loss.log_prob(x), loss.predict(x), loss.predict(-x)
        return *out, x.grad, *gradients, *one, *everywhere, list(loss.state_dict()), loss.cutoffs

    same(*both(run))


def test_adaptive_log_softmax_refusals(both, same):
    def run(t):
        said = []
        for cutoffs in ([], [3, 3], [7, 3], [0, 3], [3, 12], [1.5]):
            with pytest.raises(ValueError) as caught:
                t.nn.AdaptiveLogSoftmaxWithLoss(8, 12, cutoffs)
            said.append(str(caught.value))
        loss = t.nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3])
        for sizes, target in (
            ((2, 8), [0, 12]),
            ((2, 8), [0]),
            ((8,), [0] * 8),
            ((1, 8), [[0]]),
            ((1, 8), 0),
        ):
            with pytest.raises(RuntimeError) as caught:
                loss(t.zeros(sizes), t.tensor(target))
            said.append(str(caught.value).replace("torch.Size(", "").replace(")", ""))
        return said

    same(*both(run))


# ---- what is missing


@pytest.mark.parametrize(
    ("place", "name", "reason"),
    [
        ("", "sparse_coo_tensor", "there are no sparse tensors"),
        ("", "istft", "there are no complex numbers"),
        ("", "quantize_per_tensor", "there are no quantized tensors"),
        (".utils.data", "IterDataPipe", "datasets and samplers do what pipes of data did"),
        (".utils.data", "no_such", ""),
        (".func", "no_such", ""),
        (
            ".utils.checkpoint",
            "CheckpointPolicy",
            "operations are not intercepted, so that none is chosen to be kept; checkpoint smaller parts",
        ),
        (".autograd.graph", "no_such", ""),
    ],
)
def test_a_missing_name_says_why(place, name, reason):
    module = importlib.import_module(f"dumbtorch{place}")
    with pytest.raises(AttributeError) as caught:
        getattr(module, name)
    why = f": {reason}" if reason else f"; dir(dumbtorch{place}) lists those that are there"
    assert str(caught.value) == f"module 'dumbtorch{place}' has no attribute '{name}'{why}"


@pytest.mark.parametrize(
    "place, name, meant",
    [
        ("", "zeroes", "zeros"),
        ("", "vmapp", "vmap"),
        (".nn", "Conv2D", "Conv2d"),
        (".optim", "Adamm", "Adam"),
    ],
)
def test_a_misspelt_name_says_what_may_have_been_meant(place, name, meant):
    module = importlib.import_module(f"dumbtorch{place}")
    said = f"module 'dumbtorch{place}' has no attribute '{name}'; did you mean '{meant}'?"
    with pytest.raises(AttributeError) as caught:
        getattr(module, name)
    assert str(caught.value) == said
    shown = "".join(traceback.format_exception(caught.value))
    assert shown.endswith(f"AttributeError: {said}\n")  # and no second guess, of Python's


def test_a_name_without_letters_is_missing():
    for name in ("", "9", "é"):
        assert not hasattr(dt, name)


def test_what_tensors_do_not_have():
    x = dt.zeros(2)
    with pytest.raises(
        AttributeError,
        match=r"'Tensor' object has no attribute 'zero_grad': .*x.grad = None",
    ):
        x.zero_grad()
    with pytest.raises(
        AttributeError,
        match=r"type object 'Tensor' has no attribute 'to_sparse': there are no sparse",
    ):
        dt.Tensor.to_sparse  # noqa: B018
    assert not hasattr(x, "values") and not hasattr(dt.nn.Parameter(x), "indices")


@pytest.mark.parametrize(
    "use",
    [
        lambda t: t.zeros(1).volatile,
        lambda t: setattr(t.zeros(1), "volatile", True),
        lambda t: t.autograd.Variable(t.ones(2), volatile=True).tolist(),
    ],
)
def test_volatile(use, both):
    def run(t):
        with pytest.warns(UserWarning) as warned:
            value = use(t)
        return value, [str(w.message) for w in warned]

    ours, theirs = both(run)
    assert ours == theirs


def test_sparse_is_a_namespace_of_refusals(both, same):
    """Programs find one-hot rows behind it."""
    same(*both(lambda t: t.sparse.torch.eye(3).index_select(0, t.tensor([2, 0]))))
    from dumbtorch import sparse

    with pytest.raises(AttributeError, match="attribute 'mm': there are no sparse tensors"):
        sparse.mm  # noqa: B018


def test_synchronised_norms(both, same):
    """Of a program that runs alone, as each does here."""

    def run(t):
        nn = t.nn
        shared = nn.BatchNorm1d(3)
        net = nn.Sequential(
            nn.Linear(2, 3),
            shared,
            nn.Sequential(nn.BatchNorm1d(3, affine=False).eval(), nn.ReLU()),
        )
        with t.no_grad():
            net[0].weight.copy_(t.arange(6.0).reshape(3, 2))
            net[0].bias.fill_(0.5)
        made = nn.SyncBatchNorm.convert_sync_batchnorm(net, "group")
        x = t.arange(8.0).reshape(4, 2)
        out = [
            made(x),
            *made.buffers(),
            made[1].weight is shared.weight,
            made[1].running_var is shared.running_var,
        ]
        out += [
            made is net,
            made[2][0].training,
            made[1].process_group,
            repr(made),
            list(made.state_dict()),
        ]
        alone = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm2d(2, momentum=None))
        out += [alone(t.arange(16.0).reshape(1, 2, 2, 4)), alone.num_batches_tracked]
        for x in (t.ones(2), t.ones(2, 0)):
            with pytest.raises(ValueError) as error:
                alone(x)
            out.append(str(error.value))
        norms = nn.modules.batchnorm
        return [
            *out,
            issubclass(nn.SyncBatchNorm, norms._BatchNorm),
            isinstance(alone, norms._NormBase),
        ]

    same(*both(run))


@pytest.mark.parametrize("length", [0, 1, 2, 9])
def test_kaiser_window(length, both, same):
    def run(t):
        f = t.kaiser_window
        return f(length), f(length, False), f(length, True, 3.5, dtype=t.float64, layout=t.strided)

    same(*both(run))


FACTORS_FIRST = (
    "add(x, 2, y)", "sub(x, 2, y)", "x.add(2, y)", "x.add_(2, y)", "x.sub(0.5, y)", "x.sub_(2, y)",
    "add(x, 2, y, out=empty(0))", "addcmul(x, 2, x, y)", "addcdiv(x, 2, x, y + 1)", "x.addcmul_(2, y, y)",
    "x.addcdiv(2, y, x + 1)", "addmm(2, x, x, y)", "addmm(2, x, 3, x, y)", "x.addmm(2, x, y)", "x.addmm_(2, 3, y, y)",
    "addmv(2, v, 3, x, v)", "v.addmv_(2, x, x[0])", "addr(2, x, 3, v, v)", "x.addr(2, v, v)",
    "add(x, v[1], 2)", "x.sub(v[1], y)", "rsub(x, v[1], 2)", "x.add_(tensor(2), y)",
    "baddbmm(2, x[None], 3, x[None], y[None])", "x.addbmm(2, 3, x[None], y[None])", "addbmm(2, x, y[None], y[None])",
)  # fmt: skip


@pytest.mark.parametrize("call", FACTORS_FIRST)
def test_factors_before_what_they_multiply(call, both, same):
    def run(t):
        x = t.arange(4.0).reshape(2, 2)
        names = {**vars(t), "x": x, "y": x * x + 1, "v": t.tensor([1.0, 3.0])}
        return eval(call, names), x, names["v"]

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "This overload of")
        same(*both(run))


NO_OLD_FORMS = (
    "x.add(x, 2)", "add(x, x[:1, 0], 2)", "add(x, x[0, 0].clone().requires_grad_(), 2)",
    "x.addmm(1, 2, 3, x, x)", "x.addcmul(x, 2, 2)", "addcdiv(x, x, 2, x)", "addmm(x, x, 2, x)",
    "addmm(2, 3, x, x, x)", "addcmul(2, x, x, x)",
)  # fmt: skip


@pytest.mark.parametrize("call", NO_OLD_FORMS)
def test_what_is_no_old_form(call):
    for t in (dt, pytest.importorskip("torch")):
        with pytest.raises(TypeError):
            eval(call, {**vars(t), "x": t.ones(2, 2)})


CONSTRUCTORS = (
    "Tensor(2, 3, device='cpu')", "Tensor(size=(2, 3))", "Tensor(size=Size([2]), device='cpu')", "Tensor(device='cpu')",
    "FloatTensor(2, device='cpu')", "IntTensor(size=(3,))", "zeros(2).new(2, 3, device='cpu')",
    "ones(2).new(size=(3, 4))",
)  # fmt: skip
CONSTRUCTORS_OF_DATA = (
    "Tensor([2.0], device='cpu')", "Tensor(data=[1, 2])", "LongTensor([1, 2], device='cpu')",
    "ones(1).new([2.0], device='cpu')",
)  # fmt: skip


@pytest.mark.parametrize("call", CONSTRUCTORS + CONSTRUCTORS_OF_DATA)
def test_named_arguments_of_old_constructors(call, both, same):
    def run(t):
        made = eval(call, dict(vars(t)))
        return (
            tuple(made.shape),
            str(made.dtype),
            made if call in CONSTRUCTORS_OF_DATA else made.zero_(),
        )

    same(*both(run))


def test_old_constructors_refuse(refusals):
    ours, theirs = refusals(lambda t: t.FloatTensor(2, device="cuda"), RuntimeError)
    assert ours == theirs
    with pytest.raises(TypeError, match="unexpected keyword argument 'shape'"):
        dt.Tensor(shape=(2,))


def test_names_that_are_asked_for_again_cost_no_search(monkeypatch):
    """Programs ask in loops, by hasattr, whether this release has something."""
    searched = []
    monkeypatch.setattr("difflib.get_close_matches", lambda *a: searched.append(a) or [])
    assert not any(hasattr(dt, "a_name_of_no_release") for _ in range(5))
    assert len(searched) == 1 and all(name[0] in "aA" for name in searched[0][1])
