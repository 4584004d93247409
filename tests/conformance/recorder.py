"""What record.py records with: simple numbers, and a Recorder that calls PyTorch and keeps what comes back."""

from __future__ import annotations

import operator

import torch
from torch.nn import functional as F


def numbers(
    *shape: int, dtype=torch.float32, start: float = -1.25, step: float = 0.5
) -> torch.Tensor:
    """Different, simple numbers: start, start + step, ... wrapped into a small range."""
    count = torch.Size(shape).numel()
    values = [start + step * (7 * i % 11) for i in range(count)]
    return torch.tensor(values, dtype=torch.float64).reshape(shape).to(dtype)


def integers(*shape: int, below: int = 5) -> torch.Tensor:
    return torch.tensor([3 * i % below for i in range(torch.Size(shape).numel())]).reshape(shape)


def encode(value):
    """A value of a call: tensors become {"dtype", "shape", "data"}, dtypes {"enum"}."""
    if isinstance(value, torch.Tensor):
        data = value.detach().flatten().tolist()
        dtype = str(value.dtype).removeprefix("torch.")
        return {"dtype": dtype, "shape": list(value.shape), "data": data}
    if isinstance(value, torch.dtype):
        return {"enum": str(value).removeprefix("torch.")}
    if isinstance(value, (list, tuple)):
        return [encode(v) for v in value]
    return value


def items_of(index: str, tensors: list[torch.Tensor]):
    """The items of Python's brackets for the text that other languages give."""

    class Brackets:
        def __getitem__(self, items):
            return items

    for i in range(len(tensors)):
        index = index.replace("?", f"tensors[{i}]", 1)
    return eval(f"brackets[{index}]", {"brackets": Brackets(), "tensors": tensors})


def brackets(items):
    """What stands in brackets: [start, stop, step] is a slice, and text is Python's."""
    parts = [items_of(x, []) if isinstance(x, str) else x for x in items]
    parts = [slice(*[*x, None, None, None][:3]) if isinstance(x, list) else x for x in parts]
    return parts[0] if len(parts) == 1 else tuple(parts)


class Recorder:
    def __init__(self):
        self.calls: list[dict] = []

    def __call__(self, name: str, *function, grad: tuple[str, ...] = (), **args) -> None:
        """Calls PyTorch's function (by default the one called `name`) and keeps what comes back.
        Gradients of the first result's sum are kept for the arguments that `grad` names."""
        call, live = self._start(name, args, grad)
        result = self._function(name, function)(**live)
        results = result if isinstance(result, (tuple, list)) else (result,)
        # One list of tensors is one result.
        call["results"] = (
            [encode(results)] if isinstance(result, list) else [encode(r) for r in results]
        )
        if grad:
            results[0].sum().backward()
            call["grads"] = {key: encode(live[key].grad) for key in grad}
        self.calls.append(call)

    def error(self, name: str, *function, **args) -> None:
        """Keeps the message of a call that fails."""
        call, live = self._start(name, args, ())
        try:
            self._function(name, function)(**live)
        except (RuntimeError, IndexError, ValueError) as error:
            self.calls.append(call | {"error": str(error).splitlines()[0]})
            return
        raise AssertionError(f"{name} did not fail")

    def operator(self, name: str, *operands) -> None:
        """`name` is the special method's, without its marks."""
        result = getattr(operator, f"__{name}__")(*operands)
        args = [encode(x) for x in operands]
        self.calls.append({"operator": name, "operands": args, "results": [encode(result)]})

    def brackets(self, input: torch.Tensor, items: list, value=None) -> None:
        """input[items], or what input[items] = value makes of it."""
        call = {"brackets": encode(items), "input": encode(input)}
        if value is None:
            result = input[brackets(items)]
        else:
            call["value"] = encode(value)
            result = input.clone()
            result[brackets(items)] = value
        self.calls.append(call | {"results": [encode(result)]})

    def nested(self, data, **named) -> None:
        """torch.tensor(data), whose tolist() is what went in."""
        call = {"nested": data, "named": {k: encode(v) for k, v in named.items()}}
        try:
            x = torch.tensor(data, **named)
            call["results"] = [encode(x), x.tolist()]
        except ValueError as error:
            call["error"] = str(error)
        self.calls.append(call)

    @staticmethod
    def _function(name: str, function):
        if function:
            return function[0]
        return getattr(F, name, None) or getattr(torch, name)

    def _start(self, name: str, args: dict, grad: tuple[str, ...]) -> tuple[dict, dict]:
        call = {"fn": name, "args": {key: encode(value) for key, value in args.items()}}
        return call, {key: self._live(value, key in grad) for key, value in args.items()}

    @staticmethod
    def _live(value, needs_grad: bool):
        if not isinstance(value, torch.Tensor):
            return value
        return value.clone().requires_grad_() if needs_grad else value.clone()
