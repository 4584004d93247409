"""Functions of torch whose twins in torch.nn.functional have another order of arguments: as PyTorch's."""

import dumbtorch as dt
import pytest

CALLS = {
    "embedding": lambda t, x, y: [t.embedding(x, t.tensor([1, 0, 1])), t.embedding(x, t.tensor([0]), 0, True, False)],
    "batch_norm": lambda t, x, y: [
        t.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False),
        t.batch_norm(x, y[0], y[1], y[0] * 2, y[1].abs() + 1, False, 0.1, 1e-3, True),
    ],
    "instance_norm": lambda t, x, y: t.instance_norm(
        t.stack([x, y]), x[0, :2], y[0, :2], None, None, True, 0.1, 1e-5, False
    ),
    "layer_norm": lambda t, x, y: [
        t.layer_norm(x, (4,)), t.layer_norm(x, [2, 4], y, y * 2, 0.1, False), t.layer_norm(x, (4,), cudnn_enable=True),
    ],
    "group_norm": lambda t, x, y: [
        t.group_norm(x, 2), t.group_norm(x, 1, y[0], y[1], 0.1, t.backends.cudnn.enabled),
        t.group_norm(x, 4, cudnn_enabled=False),
    ],
    "adaptive_max_pool1d": lambda t, x, y: t.adaptive_max_pool1d(t.stack([x, y]), 2),
    "max_pool1d_with_indices": lambda t, x, y: [
        *t.max_pool1d_with_indices(t.stack([x, y]), 2),
        *t.max_pool1d_with_indices(t.stack([x, y]), [2], [1], [1], [1], True),
    ],
    "ctc_loss": lambda t, x, y: [
        t.ctc_loss(x.reshape(4, 1, 2).log_softmax(2), t.tensor([[1, 1]]), *lengths, 0, r, True)
        for r in range(3) for lengths in (([4], [2]), (t.tensor([3]), t.tensor([1])))
    ] + [t.ctc_loss(x.reshape(4, 1, 2).log_softmax(2), t.tensor([[1]]), [4], [1])],
    "embedding_bag": lambda t, x, y: [
        part for mode in range(3) for rest in ((), (False, None, False, 1))
        for part in t.embedding_bag(x, t.tensor([0, 1, 1, 0, 1]), t.tensor([0, 2, 2]), False, mode, *rest)
    ] + [*t.embedding_bag(x, t.tensor([0, 1]), t.tensor([0, 1, 2]), mode=2, include_last_offset=True),
         *t.embedding_bag(x, t.tensor([0, 1]), t.tensor([0, 1]), per_sample_weights=y[0, :2])],
    "kl_div": lambda t, x, y: [t.kl_div(x, y.abs(), r) for r in range(3)] + [t.kl_div(x, y, log_target=True)],
    "binary_cross_entropy_with_logits": lambda t, x, y: [
        t.binary_cross_entropy_with_logits(x, y.sigmoid()),
        t.binary_cross_entropy_with_logits(x, y.sigmoid(), y.abs(), x.detach().abs(), 2),
    ],
    "cosine_embedding_loss": lambda t, x, y: [
        t.cosine_embedding_loss(x, y, t.tensor([1.0, -1.0]), 0.2, r) for r in range(3)
    ],
    "hinge_embedding_loss": lambda t, x, y: [t.hinge_embedding_loss(x, y.sign(), 0.7, r) for r in range(3)]
    + [t.hinge_embedding_loss(x, y.sign()), t.margin_ranking_loss(x, y, y.sign()),
       t.cosine_embedding_loss(x, y, t.tensor([1.0, -1.0]))],
    "margin_ranking_loss": lambda t, x, y: [t.margin_ranking_loss(x, y, y.sign(), 0.1, r) for r in range(3)],
    "poisson_nll_loss": lambda t, x, y: [t.poisson_nll_loss(x, y.abs() * 3, True, True, 1e-8, r) for r in range(3)],
    "triplet_margin_loss": lambda t, x, y: [
        t.triplet_margin_loss(x, y, x.detach() * 2), t.triplet_margin_loss(x, y, y * 3, 0.5, 1.0, 1e-4, True, 0),
    ],
    "dropout": lambda t, x, y: [t.dropout(x, 0.5, False), t.dropout(x, 0.0, True), t.dropout(x, 1.0, True)],
    "alpha_dropout": lambda t, x, y: [t.alpha_dropout(x, 0.5, False), t.alpha_dropout(x, 0.0, True)],
    "feature_dropout": lambda t, x, y: [t.feature_dropout(x, 0.5, False), t.feature_dropout(x, 1.0, True)],
    "affine_grid_generator": lambda t, x, y: [
        t.affine_grid_generator(x[:, :3].reshape(1, 2, 3), [1, 1, 3, 2], ends) for ends in (False, True)
    ],
    "spmm": lambda t, x, y: [t.spmm(x, y.t()), t.spmm(x, mat2=y.t())],
    "feature_alpha_dropout": lambda t, x, y: [t.feature_alpha_dropout(x, 0.5, False)],
}  # fmt: skip


@pytest.mark.parametrize("rate", [-0.5, 2, float("nan")])
@pytest.mark.parametrize(
    "name",
    [f"{n}dropout{end}" for n in ("", "alpha_", "feature_", "feature_alpha_") for end in ("", "_")],
)
def test_bad_rates_of_dropout(name, rate, both):
    """nn.functional has a ValueError, but for NaN."""

    def run(t):
        with pytest.raises(RuntimeError, match="^dropout probability has to be") as error:
            getattr(t, name)(t.ones(2, 2), rate, True)
        return str(error.value)

    ours, theirs = both(run)
    assert ours == theirs


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(name, both, same):
    def run(t):
        x = ((t.arange(8.0) * 0.7).sin().reshape(2, 4)).requires_grad_()
        y = (t.arange(8.0) * 1.3 + 1).cos().reshape(2, 4)
        out = CALLS[name](t, x, y)
        out = out if isinstance(out, (list, tuple)) else [out]
        sum((part * part).sum() for part in out if part.requires_grad).backward()
        return [*out, x.grad]

    same(*both(run), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["dropout", "alpha_dropout", "feature_alpha_dropout"])
def test_in_place(name):
    """The same numbers as the layer's function draws, written over the tensor."""
    x = dt.arange(24.0).reshape(2, 3, 4) + 1
    dt.manual_seed(1)
    wanted = getattr(dt.nn.functional, name)(x, 0.5, True)
    for function in (getattr(dt, name), getattr(dt, name + "_")):
        dt.manual_seed(1)
        y = x.clone()
        out = function(y, 0.5, True)
        assert out.tolist() == wanted.tolist()
    assert y.tolist() == wanted.tolist()


@pytest.mark.parametrize("reduction", ["mean", None, 1.0])
def test_reductions_are_numbers(reduction, torch):
    x, lengths = [[0.0, 0.0]] * 3, [3]
    for t in (dt, torch):
        given = t.tensor(x)[:, None].log_softmax(2), t.tensor([[1]]), lengths, [1]
        with pytest.raises(TypeError):
            t.ctc_loss(*given, 0, reduction)
        with pytest.raises(TypeError):
            t.kl_div(t.ones(2), t.ones(2), reduction)


def test_scaled_elu_of_integers(refusals):
    mine, theirs = refusals(
        lambda t: t.nn.functional.elu_(t.arange(3), scale=-1), NotImplementedError
    )
    assert (mine[0], mine[1].removeprefix("elu_: ")) == theirs


@pytest.mark.parametrize("is_dense", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_dropout_multiplies_by_zero(dtype, is_dense, both):
    """So that what is no number stays none, forwards and backwards."""

    def run(t):
        def filled(value):
            full = t.full((40, 50), value, dtype=getattr(t, dtype))
            return full if is_dense else full.t()

        x, found = filled(float("inf")).requires_grad_(), []
        y = t.nn.functional.dropout(x, 0.25)
        y.backward(filled(float("nan")))
        for z in (y, x.grad, t.nn.functional.dropout(filled(float("nan")), 0.5, inplace=True)):
            found.append(
                (z.isinf().any().item(), z.isnan().any().item(), z.isfinite().any().item())
            )
        return found, round(y.isnan().double().mean().item(), 1) < 0.4

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.parametrize("eps", [65504.0, 1e30, float("inf")])
def test_cosine_similarity_of_16_bits_by_a_large_eps(eps, both, same):
    def run(t):
        x = t.full((3,), 100.0, dtype=t.float16)
        f = t.nn.functional.cosine_similarity
        return [f(x, x, 0, eps), f(x, x.double(), 0, eps), f(x * float("nan"), x, 0, eps)]

    same(*both(run), atol=1e-7)


@pytest.mark.parametrize(
    "call",
    [
        "kl_div(x, x, 'mean'", "binary_cross_entropy_with_logits(x, x, None, None, 'mean'",
        "cosine_embedding_loss(x, x, x[0], 0.0, 1.5", "hinge_embedding_loss(x, x, 1.0, 'mean'",
        "margin_ranking_loss(x, x, x, 0.0, 'sum'", "poisson_nll_loss(x, x, True, False, 1e-8, 'mean'",
        "triplet_margin_loss(x, x, x, 1.0, 2.0, 1e-6, False, 'none'", "grid_sampler(x, x, 'bilinear', 0, False",
        "grid_sampler(x, x, 0, 'zeros', False",
    ],
)  # fmt: skip
def test_words_for_numbers(refusals, call):
    ours, theirs = refusals(lambda t: eval(f"t.{call})", {"t": t, "x": t.ones(2, 2)}), TypeError)
    assert ours == theirs
