"""Replays the calls that record.py has recorded from PyTorch through the Python package."""

import json
import operator
import pathlib
import re

import dumbtorch as torch
import pytest
from dumbtorch import _ops
from dumbtorch.nn import functional as F
from recorder import brackets

CALLS = json.loads(pathlib.Path(__file__).with_name("calls.json").read_text())
ERRORS = (RuntimeError, IndexError, ValueError)


def decode(value, needs_grad: bool = False):
    if isinstance(value, list):
        return [decode(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if "enum" in value:
        return getattr(torch, value["enum"])
    x = torch.tensor(value["data"], dtype=getattr(torch, value["dtype"])).reshape(value["shape"])
    return x.requires_grad_() if needs_grad else x


def run(name: str, args: dict):
    """Calls the function where Python has it: in torch.nn.functional, torch or torch.nn.init, or as a method."""
    name = name.removesuffix("_dim")
    if name == "split":  # PyTorch's own names for its arguments are others
        return torch.split(*args.values())
    if name in ("from_bools", "at", "set_at"):  # other languages' torch.tensor and brackets
        return getattr(_ops, name)(**args)
    if name.endswith("_sequence"):  # Python's own take packed sequences as one object
        return getattr(_ops, name)(**args)
    for place in (F, torch, torch.nn.init):  # torch has some of F's too, with arguments by position
        if hasattr(place, name):
            return getattr(place, name)(**args)
    this, *others = args.values()
    if name == "index":
        return this[tuple(args["indices"])]
    if name == "slice":
        step = slice(args.get("start"), args.get("end"), args.get("step", 1))
        return this[(slice(None),) * args["dim"] + (step,)]
    return getattr(this, name)(*others)


def check(result, expected) -> None:
    if isinstance(expected, list):
        assert len(result) == len(expected)
        for one, other in zip(result, expected, strict=True):
            check(one, other)
    elif not isinstance(expected, dict):
        assert result == expected
    else:
        assert str(result.dtype) == f"torch.{expected['dtype']}"
        assert list(result.shape) == expected["shape"]
        close = 1e-8 if expected["dtype"] == "float64" else 1e-5
        flat = result.detach().reshape(-1).tolist()
        assert flat == pytest.approx(expected["data"], rel=close, abs=close)


def numbered(*words: str):
    """Parameters: the entries of the file that have one of the words."""
    named = [(i, call, word) for i, call in enumerate(CALLS) for word in words if word in call]
    ids = [f"{i}-{call['fn'] if word == 'fn' else word}" for i, call, word in named]
    return pytest.mark.parametrize("call", [call for _, call, _ in named], ids=ids)


@numbered("operator")
def test_operator(call):
    result = getattr(operator, f"__{call['operator']}__")(*map(decode, call["operands"]))
    check(result, call["results"][0])


@numbered("brackets")
def test_brackets(call):
    x, key = decode(call["input"]), brackets([*map(decode, call["brackets"])])
    if "value" in call:
        x[key] = decode(call["value"])
    check(x if "value" in call else x[key], call["results"][0])


@numbered("nested")
def test_nested_lists(call):
    named = {name: decode(value) for name, value in call["named"].items()}
    if "error" in call:
        with pytest.raises(ValueError, match=re.escape(call["error"])):
            torch.tensor(call["nested"], **named)
        return
    x = torch.tensor(call["nested"], **named)
    check(x, call["results"][0])
    assert x.tolist() == call["results"][1]


@numbered("fn")
def test_call(call):
    grads = call.get("grads", {})
    args = {name: decode(value, name in grads) for name, value in call["args"].items()}
    if "error" in call:
        with pytest.raises(ERRORS) as caught:
            run(call["fn"], args)
        assert call["error"] in str(caught.value)
        return
    result = run(call["fn"], args)
    results = result if isinstance(result, tuple) and len(call["results"]) > 1 else [result]
    for one, expected in zip(results, call["results"], strict=True):
        check(one, expected)
    if grads:
        results[0].sum().backward()
        for name, expected in grads.items():
            check(args[name].grad, expected)
