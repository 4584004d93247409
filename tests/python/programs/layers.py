"""Statements about layers of every kind, their settings, and what is computed through them twice: derivatives of
derivatives, transforms of torch.func, results that are written into a tensor that is there."""

from __future__ import annotations

from .leaves import FLOATS
from .program import Program, Refused
from .statements import use_module

FILL = "w.data.copy_(t.linspace(-1, 1, w.numel(), dtype=w.dtype).reshape(w.shape)) for w in m.parameters(False)"


def _small(p: Program, *numbers: int) -> int:
    return p.choose(*numbers) if numbers else p.choose(1, 2, 3)


# ---- layers


def layer_and_shape(p: Program) -> tuple[str, tuple[int, ...]]:
    """One that statements.py has not, and the shape of an input that it takes."""
    n, m, batch = p.choose(1, 2, 4), p.choose(1, 2, 4), p.choose(1, 2)
    line, image = (batch, n, 6), (batch, n, 4, p.choose(4, 5))
    volume = (batch, n, 3, 2, p.choose(2, 3))
    kernel = p.choose(1, 2, 3)
    groups = n if m % n == 0 and p.chance(0.4) else 1
    options = p.choose(
        "", ", stride=2", ", padding=1", ", dilation=2, padding=2", ", padding='same'"
    )
    transposed = p.choose("", ", stride=2", ", stride=2, output_padding=1", ", padding=1")
    affine = p.choose("", ", affine=True", ", track_running_stats=True")
    return p.choose(
        (f"Conv1d({n}, {m}, {kernel}, groups={groups}{options})", line),
        (f"Conv2d({n}, {m}, {kernel}, groups={groups}{options})", image),
        (f"Conv3d({n}, {m}, {p.choose(1, 2)}, groups={groups}{p.choose('', ', padding=1')})", volume),
        (f"Conv2d({n}, {m}, 3, padding=1, padding_mode={p.choose('reflect', 'circular', 'replicate')!r})", image),
        (f"ConvTranspose1d({n}, {m}, {kernel}{transposed})", line),
        (f"ConvTranspose2d({n}, {m}, {kernel}{transposed})", image),
        (f"ConvTranspose3d({n}, {m}, 2{p.choose('', ', stride=2')})", volume),
        (f"BatchNorm3d({n}{p.choose('', ', affine=False', ', momentum=0.5')})", volume),
        (f"InstanceNorm1d({n}{affine})", line),
        (f"InstanceNorm2d({n}{affine})", image),
        (f"InstanceNorm3d({n}{affine})", volume),
        (f"GroupNorm({p.choose(1, n)}, {n}{p.choose('', ', affine=False')})", image),
        (f"RMSNorm(6{p.choose('', ', eps=0.1', ', elementwise_affine=False')})", line),
        (f"LayerNorm([{n}, 6])", line),
        (f"LocalResponseNorm({p.choose(1, 2, 3)})", image),
        (f"MaxPool1d({kernel}{p.choose('', ', stride=1', ', ceil_mode=True')})", line),
        (f"MaxPool3d({p.choose(1, 2)}{p.choose('', ', stride=1')})", volume),
        (f"AvgPool1d({kernel}{p.choose('', ', stride=1', ', ceil_mode=True')})", line),
        (f"AvgPool3d({p.choose(1, 2)}{p.choose('', ', stride=1')})", volume),
        (f"LPPool1d({p.choose(1, 2, 3)}, 2)", line),
        (f"AdaptiveAvgPool1d({p.choose(1, 2, 4)})", line),
        (f"AdaptiveAvgPool2d({p.choose(1, 2, (2, 3))})", image),
        (f"AdaptiveMaxPool2d({p.choose(1, 2, (2, 3))})", image),
        (f"AdaptiveAvgPool3d({p.choose(1, 2)})", volume),
        (f"AdaptiveMaxPool3d({p.choose(1, 2)})", volume),
        (f"PReLU({p.choose(1, n)})", image),
        ("Softmax2d()", image),
        ("GLU(-1)", line),
        ("Hardtanh(-0.5, 0.5)", line),
        (f"Threshold(0.1, 0.3{p.choose('', ', inplace=True')})", line),
        ("PixelShuffle(2)", (batch, 4 * n, 2, 3)),
        ("PixelUnshuffle(2)", (batch, n, 4, 2)),
        (f"ChannelShuffle({n})", (batch, 2 * n, 2, 2)),
        (f"ZeroPad2d({p.choose(1, (1, 0, 2, 0))})", image),
        (f"ReflectionPad2d({p.choose(1, (1, 0, 2, 0))})", image),
        (f"ReplicationPad3d({p.choose(1, (1, 0, 2, 0, 0, 1))})", volume),
        (f"CircularPad1d({p.choose(1, (2, 0))})", line),
        ("Fold((4, 4), 2, stride=2)", (batch, 4 * n, 4)),
        (f"Unfold(2{p.choose('', ', padding=1', ', stride=2')})", image),
        (f"Upsample(scale_factor=2, mode={p.choose('bilinear', 'bicubic')!r})", image),
        (f"Upsample(size={p.choose(3, 8)}, mode='linear', align_corners=True)", line),
        ("Upsample(scale_factor=2, mode='trilinear')", volume),
        (f"Dropout({p.choose(0.0, 1.0)})", line),
        (f"Flatten({p.choose('', '0', '1, 2')})", image),
        (f"TransformerEncoderLayer(6, {p.choose(1, 2, 3)}, 4, dropout=0.0{p.choose('', ', norm_first=True')})", line),
        (f"Sequential(t.nn.Conv2d({n}, {m}, 1), t.nn.BatchNorm2d({m}), t.nn.ReLU6())", image),
        (f"Sequential(t.nn.BatchNorm2d({n}), t.nn.ReLU(), t.nn.AvgPool2d(2))", image),
        (f"utils.parametrizations.weight_norm(t.nn.Linear(6, {m}))", line),
    )  # fmt: skip


def layer(p: Program) -> None:
    text, shape = layer_and_shape(p)
    kind = p.choose("float32", "float64")
    dtype = ".double()" if kind == "float64" else ""
    name = p.bind("m", f"t.nn.{text}{dtype}.apply(lambda m: [{FILL}])")
    p.modules[name] = (shape, kind)
    use_module(p, name)


def module_settings(p: Program) -> None:
    if not p.modules:
        raise Refused("no module")
    m = p.rng.choice(list(p.modules))
    p.line(p.choose(
        f"{m}.eval()", f"{m}.train()", f"{m}.zero_grad()", f"{m}.zero_grad(set_to_none=False)",
        f"{m}.requires_grad_(False)", f"{m}.requires_grad_()", f"{m}.load_state_dict({m}.state_dict())",
        f"[w.detach().mul_(0.5) for w in {m}.parameters()]", f"{m}.to(memory_format=t.channels_last)",
    ))  # fmt: skip


def call_by_other_weights(p: Program) -> None:
    """functional_call with weights of the program's own."""
    if not p.modules:
        raise Refused("no module")
    m = p.rng.choice(list(p.modules))
    shape, kind = p.modules[m]
    state = f"{{n: w.detach() * 0.5 for n, w in {m}.named_parameters()}}"
    p.assign(f"t.func.functional_call({m}, {state}, ({p.tensor(shape=shape, dtype=kind)},))")


def image_layout(p: Program) -> None:
    x = p.existing(lambda x: x.dim() == 4)
    p.assign(p.choose(
        f"{x}.contiguous(memory_format=t.channels_last)", f"{x}.to(memory_format=t.channels_last)",
        f"{x}.clone(memory_format=t.channels_last)", f"t.empty_like({x}, memory_format=t.channels_last).fill_(2)",
    ))  # fmt: skip


# ---- derivatives of derivatives

FUNCTIONS = (
    "max_pool1d({}, 2, 1)", "avg_pool1d({}, 2, 1)", "adaptive_avg_pool1d({}, 2)", "adaptive_max_pool1d({}, 2)",
    "lp_pool1d({}.exp(), 3.0, 2)", "layer_norm({}, (4,))", "instance_norm({})", "group_norm({}, 1)",
    "rms_norm({}, (4,))",
    "batch_norm({}, None, None, training=True)", "normalize({}, dim=1)", "softmax({}, 1)", "log_softmax({}, -1)",
    "gelu({})", "silu({})", "mish({})", "softplus({})", "elu({})", "selu({})", "celu({})", "logsigmoid({})",
    "glu({}, -1)",
    "hardswish({})", "tanhshrink({})", "softsign({})", "cosine_similarity({0}, {0}.flip(0), -1)",
    "pairwise_distance({0}, {0}.sin() + 2)", "interpolate({}, 7, mode='linear')", "pad({}, (1, 2), mode='reflect')",
    "smooth_l1_loss({0}, {0}.cos())", "huber_loss({0}, {0}.detach() * 2)", "mse_loss({0}, {0}.exp())",
    "binary_cross_entropy({0}.sigmoid(), {0}.cos() ** 2)", "kl_div({0}.log_softmax(-1), {0}.softmax(0))",
    "poisson_nll_loss({0}, {0}.exp())", "gaussian_nll_loss({0}, {0} * 0.5, {0}.exp())",
    "cross_entropy({0}, {0}.detach().softmax(1))", "local_response_norm({}, 2)",
    "scaled_dot_product_attention({0}, {0} * 0.5, {0}.cos())", "conv1d({0}, {0}[:, :, :2])",
    "conv_transpose1d({0}, {0}.transpose(0, 1)[..., :2])",
    "bilinear({0}, {0}, {0}[0, 0, 0] + t.ones(2, 4, 4, dtype={0}.dtype))",
    "triplet_margin_loss({0}, {0}.cos(), {0}.sin() * 3)", "soft_margin_loss({0}, {0}.detach().sign())",
)  # fmt: skip


def second_derivative(p: Program) -> None:
    """Of a function of a tensor of its own, and sometimes the third."""
    n = p.choose(2, 3)
    x = p.new((n, n, 4), p.choose(*FLOATS), "decimals", lambda x: x.requires_grad)
    y = p.assign(f"t.nn.functional.{p.rng.choice(FUNCTIONS).format(x)}")[0]
    g = p.assign(f"t.autograd.grad({y}.square().sum(), {x}, create_graph=True)")[0]
    if p.chance(0.3):
        g = p.assign(f"t.autograd.grad({g}.sin().sum(), {x}, create_graph=True)")[0]
    p.line(f"{g}.square().sum().backward({p.choose('', 'retain_graph=True')})")


# ---- torch.func

MAPPED = (
    "a.sin()", "a.sum()", "a * {0}.mean()", "a.softmax(0)", "(a * a).cumsum(0)", "a.flip(0) + a", "t.stack([a, a * 2])",
    "a.max(0)[0]", "t.where(a > 0, a, a * 2)", "a.unsqueeze(0).expand(2, -1)", "a.sort()[0]",
    "a.view(-1, 1) @ a.view(1, -1)",
)  # fmt: skip
DIFFERENTIATED = (
    "a.sin().sum()", "(a * a.exp()).sum()", "a.exp().mean()", "a.logsumexp(0)", "(a[:1] * a.cos()).sum()",
    "a.exp().prod()", "a.sigmoid().square().sum()", "a.cosh().var()", "(a.tanh() * a.flip(0)).sum()",
)  # fmt: skip


def transform(p: Program) -> None:
    def fits(x) -> bool:
        # Of NaN rows become columns: derivatives come forwards in PyTorch, backwards here.
        return x.is_floating_point() and x.dim() == 2 and 0 < x.numel() < 200 and x.isfinite().all()

    x = p.existing(fits)
    y = p.existing(lambda x: x.is_floating_point() and not x.requires_grad)
    f = p.rng.choice(DIFFERENTIATED)
    # How results lie in memory is another matter.
    result = p.choose(
        f"t.vmap(lambda a: {p.rng.choice(MAPPED).format(y)})({x})",
        f"t.vmap(lambda a: {p.rng.choice(MAPPED).format(y)}, in_dims=1, out_dims={p.choose(0, -1)})({x})",
        f"t.func.grad(lambda a: {f})({x}[0])",
        f"t.func.grad_and_value(lambda a: {f})({x}[0])[{p.choose(0, 1)}]",
        f"t.vmap(t.func.grad(lambda a: {f}))({x})",
        f"t.func.jacrev(lambda a: {p.choose('a.sin()', 'a * a.sum()', 'a.softmax(0)')})({x}[0])",
        f"t.func.hessian(lambda a: {f})({x}[0])",
        f"t.func.vjp(lambda a: a.sin() * a, {x})[1]({x}.detach())[0]",
        f"t.func.jvp(lambda a: a.sin() * a, ({x},), ({x}.detach(),))[{p.choose(0, 1)}]",
        f"t.autograd.functional.jacobian(lambda a: a.sin() * a.sum(), {x}[0])",
        f"t.autograd.functional.hessian(lambda a: {f}, {x}[0])",
    )  # fmt: skip
    p.assign(f"{result}.contiguous().clone()")


# ---- a result that is written into a tensor that is there

OUT = (
    "t.add({0}, {1}, out={2})", "t.mul({0}, {1}, out={2})", "t.sin({0}, out={2})", "t.exp({0}, out={2})",
    "t.clamp({0}, -1, 1, out={2})", "t.sub({0}, {1}, alpha=2, out={2})", "t.maximum({0}, {1}, out={2})",
    "t.where({0} > 0, {0}, {1}, out={2})", "t.cumsum({0}, 0, out={2})", "t.lerp({0}, {1}, 0.5, out={2})",
    "t.pow({0}, 2, out={2})", "t.flip({0}, [0]).clone()", "t.div({0}, {1}, rounding_mode='floor', out={2})",
    "t.tril({0}, out={2})", "t.sigmoid({0}, out={2})", "t.atan2({0}, {1}, out={2})",
    "t.addcmul({0}, {1}, {1}, out={2})",
)  # fmt: skip


def out_argument(p: Program) -> None:
    x = p.existing(lambda x: x.is_floating_point() and not x.requires_grad and x.dim() > 0)
    shape, kind = tuple(p.value(x).shape), str(p.value(x).dtype).removeprefix("torch.")

    def fits(z) -> bool:
        return not z.requires_grad

    y = p.tensor(fits, shape=shape, dtype=kind)
    z = p.existing(lambda z: fits(z) and tuple(z.shape) == shape and z.dtype is p.value(x).dtype)
    if len({x, y, z}) < 3 or p.value(z)._is_view():
        z = p.assign(f"t.zeros({shape}, dtype=t.{kind})")[0]
    p.assign(p.rng.choice(OUT).format(x, y, z))


# ---- optimizers and schedules

OPTIMIZERS = (
    "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop", "Adafactor",
)  # fmt: skip
SCHEDULES = (
    "StepLR({}, 1, 0.5)", "ExponentialLR({}, 0.9)", "CosineAnnealingLR({}, 3)", "LinearLR({}, 0.5, total_iters=2)",
    "PolynomialLR({}, 2)", "CyclicLR({}, 0.1, 0.2, 2, cycle_momentum=False)", "ConstantLR({}, 0.5, 1)",
    "CosineAnnealingWarmRestarts({}, 2)", "MultiStepLR({}, [1, 2])", "LambdaLR({}, lambda n: 1 / (n + 1))",
)  # fmt: skip


def other_optimizer(p: Program) -> None:
    names = p.tensors(lambda x: x.is_leaf and x.requires_grad)
    if not names:
        raise Refused("no leaves")
    chosen = p.rng.sample(names, min(len(names), p.choose(1, 2)))
    groups = f"[{', '.join(chosen)}]"
    if p.chance(0.3):
        groups = (
            "["
            + ", ".join(f"{{'params': [{x}], 'lr': {p.choose(0.1, 0.2)}}}" for x in chosen)
            + "]"
        )
    kind = p.choose(*OPTIMIZERS)
    options = p.choose("", ", weight_decay=0.1") if kind != "Rprop" else ""
    name = p.bind("o", f"t.optim.{kind}({groups}, lr=0.1{options})")
    p.optimizers.append(name)
    p.line(f"{name}.step()")


def schedule(p: Program) -> None:
    if not p.optimizers:
        raise Refused("no optimizer")
    of = p.rng.choice(p.optimizers)
    name = p.bind("l", f"t.optim.lr_scheduler.{p.rng.choice(SCHEDULES).format(of)}")
    for _ in range(p.choose(1, 2, 4)):
        p.line(f"{name}.step()")
    p.assign(f"{of}.param_groups[0]['lr']")
