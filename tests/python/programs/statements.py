"""Statements that are more than a call of a function: indexing, gradients, blocks, modules, optimizers."""

from __future__ import annotations

import torch

from . import (
    calls,
    rules_arrange,  # noqa: F401
    rules_order,  # noqa: F401
)
from .arguments import like
from .leaves import FLOATS, number
from .program import Program, Refused
from .rules_tensor import index_tensor
from .tensors import dtype_name


def is_float(x) -> bool:
    return x.is_floating_point()


def needs_grad(x) -> bool:
    return x.requires_grad


# ---- the schema's functions


def function(p: Program) -> None:
    calls.call(p, p.rng.choice(calls.FUNCTIONS))


def view(p: Program) -> None:
    calls.call(p, p.rng.choice(calls.VIEWS), p.existing())


def inplace(p: Program) -> None:
    calls.call(p, p.rng.choice(calls.INPLACE), p.existing())


def arithmetic(p: Program) -> None:
    """The ops that programs consist of, on floats."""
    name = p.choose("add", "sub", "mul", "true_divide", "div", "exp", "tanh", "sum", "mean", "matmul", "relu", "pow",
                    "sigmoid", "where", "max_dim", "softmax", "log_softmax")  # fmt: skip
    calls.call(
        p, calls.SCHEMA.functions[name], p.existing(is_float) if name not in ("where",) else ""
    )


def operator_with_number(p: Program) -> None:
    x, sign = (
        p.existing(),
        p.choose("+", "-", "*", "/", "//", "%", "**", "==", "<", ">=", "&", "|", "^"),
    )
    # Large powers are a matter of rounding.
    n = number(p.rng, p.choose("float32", "int32", "bool"), "whole" if sign == "**" else "")
    if p.chance(0.25) and sign not in ("==", "<", ">="):
        p.line(f"{x} {sign}= {n}")
    else:
        p.assign(f"{n} {sign} {x}" if p.chance(0.4) else f"{x} {sign} {n}")


def unary_operator(p: Program) -> None:
    x = p.existing()
    p.assign(p.choose(f"-{x}", f"~{x}", f"abs({x})", f"+{x}", f"{x}.T", f"{x}.mT"))


# ---- indexing


def _index(p: Program, x: torch.Tensor, *, distinct: bool) -> str:
    """What stands in the brackets."""
    items, dim = [], 0
    tensors = 0
    while dim < x.dim() and len(items) < 5:
        size = x.shape[dim]
        kind = p.choose(
            "int", "slice", "slice", "all", "tensor", "mask", "none", "list", "end", "scalar"
        )
        if kind == "int":
            items.append(str(p.rng.randrange(-size, size) if size else 0))
        elif kind == "slice":
            items.append(p.choose("1:", ":-1", "::2", f":{size}", "1:3", "-2:", "0:0", "1::2"))
        elif kind == "all":
            items.append(":")
        elif kind == "tensor" and size:
            shape = [p.rng.randint(1, 3)] if tensors == 0 or p.chance(0.5) else [1]
            items.append(index_tensor(p, shape, size, distinct=distinct and tensors == 0))
            tensors += 1
        elif kind == "mask":
            dims = p.rng.randint(1, x.dim() - dim)
            items.append(
                p.tensor(shape=tuple(x.shape[dim : dim + dims]), dtype="bool", values="mask")
            )
            dim += dims - 1
        elif kind == "none":
            items.append("None")
            continue
        elif kind == "list" and size:
            items.append(
                str(
                    [p.rng.randrange(size)]
                    if distinct
                    else [p.rng.randrange(size) for _ in range(2)]
                )
            )
            tensors += 1
        elif kind == "scalar" and size:
            items.append(f"t.tensor({p.rng.randrange(-size, size)})")
        else:
            if kind == "end":
                items.append("...")
            break
        dim += 1
    if not items:
        items = [p.choose("...", "None", "True", "False") if p.chance(0.8) else ":"]
    return ", ".join(items) + ("," if len(items) == 1 and p.chance(0.1) else "")


def read_index(p: Program) -> None:
    x = p.existing()
    p.assign(f"{x}[{_index(p, p.value(x), distinct=False)}]")


def write_index(p: Program) -> None:
    x = p.existing()
    index = _index(p, p.value(x), distinct=True)
    if p.chance(0.5):
        p.line(f"{x}[{index}] = {number(p.rng, dtype_name(p.value(x)))}")
        return
    part = p.value(f"{x}[{index}]")
    value = like(p, part) if p.chance(0.7) else p.tensor(shape=(), dtype=dtype_name(part))
    p.line(f"{x}[{index}] {p.choose('=', '=', '=', '+=', '*=')} {value}")


def mask_of_comparison(p: Program) -> None:
    x = p.existing(lambda x: x.dtype is not torch.bool)
    comparison = f"{x} {p.choose('>', '<', '>=')} {p.choose('0', '0.5', '1')}"
    if p.chance(0.5):
        p.line(f"{x}[{comparison}] = {number(p.rng, dtype_name(p.value(x)))}")
    else:
        p.assign(f"{x}[{comparison}]")


# ---- gradients


def _outputs(p: Program) -> str:
    return p.existing(lambda x: x.requires_grad and x.grad_fn is not None)


def _scalar_of(p: Program, y: str) -> str:
    """An expression of one element."""
    if p.value(y).numel() == 1 and p.chance(0.6):
        return y
    return y + p.choose(
        ".sum()", ".sum()", ".mean()", ".square().sum()", ".exp().sum()", ".mul(2).sum()"
    )


def _graph_options(p: Program) -> str:
    return p.choose("", "", ", retain_graph=True", ", create_graph=True", ", create_graph=True")


def backward(p: Program) -> None:
    y, options = _outputs(p), _graph_options(p)
    if p.chance(0.15):
        options += f", inputs=[{p.existing(needs_grad)}]"
    if p.chance(0.3):
        # A copy: PyTorch may make .grad of the tensor itself, which then changes with it.
        gradient = f"t.ones_like({y})" if p.chance(0.5) else like(p, p.value(y)) + ".clone()"
        p.line(f"{y}.backward({gradient}{options})")
    elif p.chance(0.15):
        z = _outputs(p)
        p.line(f"t.autograd.backward([{_scalar_of(p, y)}, {_scalar_of(p, z)}]{options})")
    else:
        p.line(f"{_scalar_of(p, y)}.backward({options.removeprefix(', ')})")


def grad(p: Program) -> None:
    y = _outputs(p)
    inputs = list(dict.fromkeys(p.existing(needs_grad) for _ in range(p.choose(1, 1, 2, 3))))
    if len(inputs) > 1 and any(p.value(x)._backward_hooks for x in inputs):
        raise Refused("hooks of one that is above another are known to differ")
    options = p.choose(
        "",
        ", retain_graph=True",
        ", create_graph=True",
        ", create_graph=True",
        ", create_graph=True",
    )
    if p.chance(0.6):
        options += ", allow_unused=True"
    if p.chance(0.3):
        # A copy: it may be what comes out.
        gradient = like(p, p.value(y)) + ".clone()"
        p.assign(f"t.autograd.grad({y}, [{', '.join(inputs)}], {gradient}{options})")
    else:
        p.assign(f"t.autograd.grad({_scalar_of(p, y)}, [{', '.join(inputs)}]{options})")


def penalty(p: Program) -> None:
    """The square of a gradient, differentiated."""
    y, x = _outputs(p), p.existing(needs_grad)
    g = p.assign(f"t.autograd.grad({_scalar_of(p, y)}, {x}, create_graph=True)")[0]
    z = p.assign(f"({g} * {g}).sum()")[0]
    p.line(f"{z}.backward({p.choose('', 'retain_graph=True', 'create_graph=True')})")


def _hooked(p: Program) -> str:
    """PyTorch dies of a hook on a view whose base was written since, unless somebody has asked for the view's node."""
    x = p.existing(needs_grad)
    if p.value(x)._is_view():
        p.line(f"{x}.grad_fn")
    return x


def hook(p: Program) -> None:
    x = _hooked(p)
    body = p.choose(
        "g * 2", "None", "g.clone()", "-g", "g + 1", "g.abs()", "g.detach()", "t.zeros_like(g)"
    )
    p.hooks.append(p.bind("h", f"{x}.register_hook(lambda g: {body})"))


def seen_by_hook(p: Program) -> None:
    """A hook that keeps what it sees."""
    x = _hooked(p)
    seen = p.bind("s", "[]")
    p.line(f"{x}.register_hook(lambda g: {seen}.append(g.clone()))")


def remove_hook(p: Program) -> None:
    if not p.hooks:
        raise Refused("no hook")
    p.line(f"{p.rng.choice(p.hooks)}.remove()")


def flags(p: Program) -> None:
    if p.chance(0.4):
        x = p.existing(lambda x: is_float(x) and not x._is_view())
        p.line(p.choose(f"{x}.requires_grad_()", f"{x}.requires_grad = True"))
        return
    x = p.existing(is_float)
    p.line(p.choose(f"{x}.retain_grad()", f"{x}.retain_grad()", f"{x}.requires_grad_(False)", f"{x}.detach_()",
                    f"{x}.grad = None"))  # fmt: skip


def detached(p: Program) -> None:
    x = p.existing()
    p.assign(p.choose(f"{x}.detach()", f"{x}.data.clone()", f"{x}.clone()", f"{x}.detach().clone()",
                      f"{x}.detach().requires_grad_()", f"{x}.clone().detach()"))  # fmt: skip


def write_data(p: Program) -> None:
    """At once: what it does to a graph depends on what ops have kept."""
    x = p.new()
    p.line(f"{x}.data.{p.choose('fill_(1)', 'zero_()', 'mul_(2)', 'add_(1)', 'neg_()')}")


def use_grad(p: Program) -> None:
    x = p.existing(lambda x: x.is_leaf and x.grad is not None)
    if p.chance(0.6):
        p.assign(
            f"{x}.grad{p.choose('', '', '.sum()', '.view(-1)', '[..., :1]', '.clone()', '.detach()', '.t()')}"
        )
    else:
        p.line(p.choose(f"{x}.grad.zero_()", f"{x}.grad.mul_(2)", f"{x}.grad += 1", f"{x}.grad = None",
                        f"{x}.grad = t.ones_like({x})", f"{x}.grad.detach_()"))  # fmt: skip


def step_by_hand(p: Program) -> None:
    x = p.existing(lambda x: x.is_leaf and x.grad is not None)

    def fill() -> None:
        p.line(
            p.choose(
                f"{x} -= 0.1 * {x}.grad", f"{x}.sub_({x}.grad, alpha=0.5)", f"{x}.add_({x}.grad)"
            )
        )

    p.block("with t.no_grad()", fill)


# ---- blocks


def block(p: Program) -> None:
    opening = p.choose(
        "with t.no_grad()",
        "with t.no_grad()",
        "with t.enable_grad()",
        "with t.set_grad_enabled(False)",
    )

    def fill() -> None:
        for _ in range(p.choose(1, 2, 3, 4)):
            try:
                p.rng.choice(
                    (function, view, inplace, inplace, write_index, arithmetic, flags, read_index)
                )(p)
            except Refused:
                continue
        if not torch.is_grad_enabled():
            # PyTorch says that such views require a gradient: see known_gradients.py.
            views = p.tensors(lambda x: x._is_view() and x.is_leaf and x.requires_grad)
            if views:
                p.line(f"del {', '.join(views)}")

    p.block(opening, fill)


# ---- Python


def conversion(p: Program) -> None:
    x = p.existing()
    y = p.existing()
    p.assign(p.choose(
        f"{x}.{p.choose('float', 'double', 'long', 'int', 'byte', 'bool')}()",
        f"{x}.to(t.{p.dtype()})",
        f"{x}.to(t.{p.dtype()}, copy=True)",
        f"{x}.to({y})",
        f"{x}.type_as({y})",
        f"{x}.new_tensor([1, 2.5])",
        f"t.as_tensor({x})",
        f"{x}.contiguous()",
        f"{x}.clone(memory_format=t.contiguous_format)",
    ))  # fmt: skip


def looked_at(p: Program) -> None:
    """What a tensor says to Python."""
    x = p.existing()
    p.assign(p.choose(
        f"{x}.tolist()", f"{x}.item()", f"float({x})", f"int({x})", f"bool({x})", f"len({x})", f"{x}.size()",
        f"{x}.stride()", f"{x}.is_contiguous()", f"{x}.numel()", f"{x}.dim()",
        f"[row.sum() for row in {x}]", f"1 in {x}", f"{x}.nelement()", f"{x}.type()", f"{x}.is_floating_point()",
        f"t.equal({x}, {p.existing()})",
    ))  # fmt: skip


def copied(p: Program) -> None:
    x = p.existing()
    if "copy" not in p.names:
        p.line("import copy")
    p.assign(f"copy.deepcopy({x})")


def extremes_of_two(p: Program) -> None:
    x = p.existing()
    p.assign(f"t.{p.choose('max', 'min')}({x}, {like(p, p.value(x))})")


def functional_inplace(p: Program) -> None:
    x = p.existing(is_float)
    name = p.choose("relu", "leaky_relu", "elu", "silu")
    p.assign(f"t.nn.functional.{name}({x}, inplace=True)")


def normalized(p: Program) -> None:
    x = p.existing(is_float)
    p.assign(
        f"t.nn.functional.normalize({x}, p={p.choose('2.0', '1', 't.inf')}, dim={p.choose(0, -1)})"
    )


def certain_random(p: Program) -> None:
    """Random numbers of which only one is possible."""
    x = p.existing(is_float)
    dropout = p.choose("", "1d", "2d", "3d", "alpha", "feature_alpha")
    dropout = f"{dropout}_dropout" if dropout.endswith("alpha") else f"dropout{dropout}"
    p.assign(p.choose(
        f"t.rand_like({x}).mul(0)", f"t.randn_like({x}).lt(100)", f"t.bernoulli(t.ones_like({x}))",
        f"t.randint(3, 4, {p.shape(most=2)})", f"t.rand({p.shape(most=2)}).ge(0)", "t.randperm(1)",
        f"{x}.uniform_(2, 2)", f"{x}.normal_(3.0, 0.0)", f"{x}.bernoulli_(1.0)", f"{x}.random_(3, 4)",
        f"t.nn.functional.{dropout}({x}, {p.choose('0.0', '1.0')})",
        f"t.nn.functional.{dropout}({x}, 0.5, training=False)",
        f"t.nn.functional.dropout({x}, 1.0, inplace=True)",
        f"t.nn.functional.rrelu({x}, 0.25, 0.25, training={p.chance(0.5)})",
        f"t.nn.functional.gumbel_softmax({x}[..., :1], hard={p.chance(0.5)})",
    ))  # fmt: skip


# ---- modules and optimizers


def _new_module(p: Program) -> tuple[str, tuple[int, ...]]:
    """A module, and the shape of an input that it takes."""
    n, m = p.rng.choice(p.sizes), p.rng.choice(p.sizes)
    bias = p.choose("", ", bias=False")
    rows = (p.choose(1, 2, 4), n)
    images = (2, n, p.choose(4, 5), p.choose(4, 6))
    activation = p.choose("ReLU()", "Tanh()", "Sigmoid()", "LeakyReLU(0.1)", "ELU()", "GELU()", "SiLU()", "Softplus()",
                          "LogSigmoid()", "ReLU(inplace=True)", "GELU('tanh')", "Softmax(-1)", "LogSoftmax(1)",
                          "Identity()", "Flatten(0)", "ELU(inplace=True)")  # fmt: skip
    text, shape = p.choose(
        (f"Linear({n}, {m}{bias})", rows),
        (f"Sequential(t.nn.Linear({n}, {m}{bias}), t.nn.{activation})", rows),
        (
            f"Sequential(t.nn.Linear({n}, {m}{bias}), t.nn.{activation}, t.nn.Linear({m}, {n}))",
            rows,
        ),
        (f"Conv2d({n}, {m}, {p.choose(1, 2, 3, (3, 1))}, padding={p.choose(0, 1)}{bias})", images),
        (
            f"Sequential(t.nn.Conv2d({n}, {m}, 3, padding=1), t.nn.BatchNorm2d({m}), t.nn.{activation})",
            images,
        ),
        (f"BatchNorm1d({n}{p.choose('', ', affine=False', ', momentum=None')})", rows),
        (f"BatchNorm2d({n}{p.choose('', ', track_running_stats=False')})", images),
        (f"LayerNorm({n}{p.choose('', ', elementwise_affine=False')}{bias})", rows),
        (f"MaxPool2d({p.choose(1, 2, 3)}{p.choose('', ', ceil_mode=True')})", images),
        (f"AvgPool2d({p.choose(1, 2, 3)}{p.choose('', ', padding=1')})", images),
        (f"Upsample(scale_factor={p.choose(2, 1.5)})", images),
        (activation, rows),
    )
    return f"t.nn.{text}", shape


def module(p: Program) -> None:
    """A module with parameters that both libraries begin with."""
    text, shape = _new_module(p)
    kind = p.choose("float32", "float32", "float64")
    fill = "w.data.copy_(t.linspace(-1, 1, w.numel(), dtype=w.dtype).reshape(w.shape)) for w in m.parameters(False)"
    name = p.bind(
        "m", f"{text}{'.double()' if kind == 'float64' else ''}.apply(lambda m: [{fill}])"
    )
    if p.chance(0.2):
        p.line(f"{name}.eval()")
    p.modules[name] = (shape, kind)
    use_module(p, name)


def use_module(p: Program, name: str = "") -> None:
    if not p.modules:
        raise Refused("no module")
    name = name or p.rng.choice(list(p.modules))
    shape, kind = p.modules[name]
    p.assign(f"{name}({p.tensor(shape=shape, dtype=kind)})")


def parameter(p: Program) -> None:
    """A module's parameter becomes a tensor like others."""
    names = [n for n in p.modules if list(p.value(n).parameters())]
    if not names:
        raise Refused("no parameters")
    name = p.rng.choice(names)
    weight = p.rng.choice([n for n, _ in p.value(name).named_parameters()])
    head, *tail = weight.split(".")
    p.assign(f"{name}[{head}].{'.'.join(tail)}" if tail else f"{name}.{head}")


def loss_module(p: Program) -> None:
    x = p.existing(lambda x: is_float(x) and x.dim() > 0)
    y = p.tensor(
        shape=tuple(p.value(x).shape), dtype=dtype_name(p.value(x)), values=p.choose("", "unit")
    )
    kind = p.choose("MSELoss", "L1Loss", "BCEWithLogitsLoss", "CrossEntropyLoss")
    reduction = p.choose("", "reduction='sum'", "reduction='none'")
    p.assign(f"t.nn.{kind}({reduction})({x}, {y})")


def optimizer(p: Program) -> None:
    names = p.tensors(lambda x: x.is_leaf and x.requires_grad)
    if not names:
        raise Refused("no leaves")
    chosen = p.rng.sample(names, min(len(names), p.choose(1, 2, 3)))
    kind = p.choose("SGD", "Adam", "AdamW")
    options = {
        "SGD": ("lr=0.1", "lr=0.1, momentum=0.9", "lr=0.5, momentum=0.9, nesterov=True", "lr=0.1, weight_decay=0.1",
                "lr=0.1, momentum=0.5, dampening=0.5", "lr=0.1, maximize=True"),
        "Adam": ("lr=0.1", "lr=0.1, amsgrad=True", "lr=0.1, weight_decay=0.1", "lr=0.1, betas=(0.5, 0.9)"),
        "AdamW": ("lr=0.1", "lr=0.1, weight_decay=0.5", "lr=0.1, amsgrad=True", "lr=0.1, maximize=True"),
    }  # fmt: skip
    text = f"t.optim.{kind}([{', '.join(chosen)}], {p.rng.choice(options[kind])})"
    p.optimizers.append(p.bind("o", text))


def step(p: Program) -> None:
    if not p.optimizers:
        raise Refused("no optimizer")
    p.line(f"{p.rng.choice(p.optimizers)}.{p.choose('step', 'step', 'step', 'zero_grad')}()")


def clip(p: Program) -> None:
    x = p.existing(lambda x: x.is_leaf and x.grad is not None)
    p.assign(p.choose(f"t.nn.utils.clip_grad_norm_([{x}], {p.choose('0.5', '100.0')})",
                      f"t.nn.utils.clip_grad_value_([{x}], 0.5)"))  # fmt: skip


def new_leaf(p: Program) -> None:
    p.new()


def new_trainable(p: Program) -> None:
    p.assign(p.leaf(p.shape(), p.choose(*FLOATS), trained=True))
