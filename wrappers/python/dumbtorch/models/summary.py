"""A table of a model's layers."""

from __future__ import annotations

from ..autograd import no_grad


def summary(model, *inputs) -> str:
    """The layers that `model` runs on these inputs, with their outputs' shapes and numbers of parameters.

    A layer is a module without children. It is listed each time it runs; parameters that several
    places share count once. The model is run once, as it is in evaluation, without gradients.
    """
    rows: list[tuple[str, str, int]] = []
    counted: set[int] = set()
    names = {id(module): name for name, module in model.named_modules()}

    def count(module) -> int:
        new = {id(p): p.numel() for p in module.parameters() if id(p) not in counted}
        counted.update(new)
        return sum(new.values())

    def note(module, args, output):
        first = output[0] if isinstance(output, (tuple, list)) else output
        shape = str(list(first.shape)) if hasattr(first, "shape") else type(output).__name__
        title = f"{names[id(module)]} ({type(module).__name__})".strip()
        rows.append((title, shape, count(module)))

    layers = [module for module in model.modules() if not list(module.children())]
    hooks = [layer.register_forward_hook(note) for layer in layers]
    training = {module: module.training for module in model.modules()}
    try:
        model.eval()
        with no_grad():
            model(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
        for module, mode in training.items():
            module.training = mode
    rest = count(model)
    if rest:
        rows.append(("parameters of no layer", "", rest))
    total = sum(row[2] for row in rows)
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    return _table(rows) + f"\n{total:,} parameters, {trained:,} of them trained"


def _table(rows) -> str:
    head = ("layer", "output", "parameters")
    cells = [head, *((title, shape, f"{number:,}") for title, shape, number in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(3)]
    lines = [f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c:>{widths[2]}}" for a, b, c in cells]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])
