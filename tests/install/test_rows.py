"""What the generator refuses in a row, with a sentence, instead of printing code that is wrong."""

import re
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "capi"))
from generate import (  # noqa: E402
    check,
    layer_programs,
    optimizer_classes,
    optimizers,
    plan,
    python_layers,
    schedules,
    schema,
)
from generate.model import Argument, Function, Kind, Schedule, Schema, SchemaError  # noqa: E402

OPTIMIZER = {
    "sig": "(lr = 0.001, momentum = 0.0, nesterov = false)",
    "args": {"lr": "Rate.", "momentum": "Share.", "nesterov": "Whether."},
    "check": [],
    "state": {"velocity": {"when": "momentum != 0"}},
    "update": "if momentum != 0:\n    velocity = velocity + grad\n    grad = velocity\nparam = param - lr * grad",
    "doc": "One for the tests.",
}


def refused(**changes) -> str:
    """What is said of the row with these changes; nothing if it is taken."""
    try:
        optimizers.parse_optimizer(Schema(), {}, "Sgd", OPTIMIZER | changes)
    except SchemaError as error:
        return str(error)
    return ""


def test_an_optimizer_is_taken():
    assert refused() == ""


@pytest.mark.parametrize(
    "update",
    [
        "param = param - lr * velocity",
        "velocity = grad",
        "if nesterov: param = param - lr * velocity",
        "if momentum > 0: grad = velocity",
        "if momentum != 0: grad = velocity\nparam = velocity",
        "param = velocity if momentum != 0 else grad",
    ],
)
def test_state_outside_of_its_condition(update):
    assert "velocity is there only under `if momentum != 0:`" in refused(update=update)


def test_a_number_with_a_condition():
    state = {"velocity": {"when": "momentum != 0", "number": "0"}}
    assert "a number is kept whatever the settings are" in refused(state=state)


def test_an_unknown_name():
    assert "nothing is called speed" in refused(update="param = param - speed")


def test_an_unknown_function():
    assert "there is no function foo" in refused(update="param = param - foo(lr) * grad")
    assert "sqrt takes 1 arguments" in refused(update="param = param - sqrt(lr, lr)")


@pytest.mark.parametrize("part", ["check", "update"])
def test_a_comparison_of_three(part):
    """The sentence says how it is written."""
    three = "0 <= momentum < 1"
    rows = {
        "check": [[three, "Invalid momentum: {momentum}"]],
        "update": f"if {three}: param = param - lr * grad",
    }
    said = f"'{three}': a comparison is of two: 'a < b and b < c'"
    assert said in refused(**{"state": {}, "update": "param = param - lr * grad", part: rows[part]})


@pytest.mark.parametrize("setting", ["momentum: f64 = 0.0", "momentum"])
def test_a_setting_of_another_form(setting):
    row = {"sig": f"(lr = 0.001, {setting}, nesterov = false)"}
    assert f"'{setting}' is not NAME = NUMBER, NAME = true or NAME = false" in refused(**row)


def test_words_of_pytorch_that_are_left_out():
    """Its choices of an implementation are arguments of the Python class only where the row names them."""
    row = {k: v for k, v in OPTIMIZER.items() if k != "state"} | {"update": "param = grad"}
    for words, passed in (("", "None, None, None"), ("*, foreach", "foreach, None, None")):
        sig = f"(lr = 0.001, momentum = 0.0, nesterov = false, {words})".replace(", )", ")")
        optimizer = optimizers.parse_optimizer(Schema(), {}, "Plain", row | {"sig": sig})
        text = optimizer_classes.python([optimizer])
        assert f"check_variants(type(self).__name__, {passed})" in text


def test_functions_of_a_schedule():
    """What a rate's formula may call is known in the core and imported in Python."""
    rate = "lr * sqrt(1 / max(epoch, 4))"
    row = {"sig": "()", "lr": rate, "closed": rate, "doc": "One for the tests."}
    files = schedules.generate(Schema(schedules={"Root": _schedule(row)}))
    assert "std::sqrt" in files["core/optim/schedules.gen.cpp"]
    assert "std::fmax" in files["core/optim/schedules.gen.cpp"]
    python = files["wrappers/python/dumbtorch/optim/lr_scheduler.py"]
    assert "from math import sqrt\n" in python
    with pytest.raises(SchemaError, match="there is no function 'foo'"):
        _schedule(row | {"lr": "foo(lr)"})


def test_a_rate_that_does_not_follow_the_one_before():
    """What it does not read has no name: a compiler that is strict would refuse it."""
    rate = "initial_lr / epoch"
    row = {"sig": "()", "lr": rate, "closed": rate, "doc": "One for the tests."}
    files = schedules.generate(Schema(schedules={"Root": _schedule(row)}))
    assert "(double, double initial_lr, int64_t epoch)" in files["core/optim/schedules.gen.cpp"]


def _schedule(row: dict) -> Schedule:
    return schedules.parse_schedule(Schema(), {}, "Root", row, lambda args, *_: tuple(args))


def test_sqrt_of_a_layer():
    """In `let` it is a number's, elsewhere the op."""
    sqrt = Function("sqrt", "", "", (Argument("input", Kind("tensor")),), ())
    schema = Schema(functions={"sqrt": sqrt})
    assert python_layers.Printer(schema, {}).print("sqrt(input)") == "_ops.sqrt(input)"
    assert python_layers.NumberPrinter(schema, {}).print("1 / sqrt(n)") == "1 / math.sqrt(n)"


ROWS = [
    "callback",
    "fn",
    "handle",
    "layer",
    "model",
    "network",
    "optimizer",
    "options",
    "schedule",
]


@pytest.mark.parametrize("kind", ROWS)
def test_what_a_row_has_to_have(kind, tmp_path):
    shutil.copytree(ROOT / "capi" / "schema", tmp_path, dirs_exist_ok=True)
    (tmp_path / "more.toml").write_text(f"[{kind}.More]\n")
    with pytest.raises(SchemaError, match=rf"^more.toml: \[{kind}.More\]: '\w+' is missing$"):
        schema.load(tmp_path)


LAYER = """[layer.Siren]
sig = "(in_features: i64, w0: f64 = 30.0)"
forward = "sin(input * w0)"
doc = "A wave."
"""


@pytest.mark.parametrize("missing", ["input", "in_features", "w0"])
def test_an_argument_without_a_sentence(missing, tmp_path):
    """The row that a person has written is named, not what is made of it."""
    shutil.copytree(ROOT / "capi" / "schema", tmp_path, dirs_exist_ok=True)
    others = {"input", "in_features", "w0"} - {missing}
    sentences = "".join(f'args.{name} = "A sentence."\n' for name in others)
    (tmp_path / "more.toml").write_text(LAYER + sentences)
    said = f"more.toml: [layer.Siren]: '{missing}' has no documentation: add args.{missing} = "
    with pytest.raises(SchemaError, match="^" + re.escape(said)):
        schema.load(tmp_path)


def with_layer(row: str, folder: Path) -> Schema:
    shutil.copytree(ROOT / "capi" / "schema", folder, dirs_exist_ok=True)
    sentences = "".join(f'args.{name} = "It."\n' for name in ("input", "in_features", "w0"))
    (folder / "more.toml").write_text(row + sentences)
    return schema.load(folder)


def test_a_layer_that_no_test_makes(tmp_path):
    with pytest.raises(SchemaError, match=r"\[layer.Siren\]: it has no row in tests/layer_rows"):
        layer_programs.generate(plan.lower(with_layer(LAYER, tmp_path)))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("sine(input)", "there is no 'sine'"),
        ("sin(input, w0)", "sin takes 1 arguments"),
        ("input.sin()", "'input.sin' is no function's name"),
    ],
)
def test_a_layer_that_calls_what_is_not_there(call, said, tmp_path):
    row = LAYER.replace("sin(input * w0)", call)
    whole = f"more.toml: [layer.Siren]: '{call}': {said}"
    with pytest.raises(SchemaError, match="^" + re.escape(whole) + "$"):
        check.check(with_layer(row, tmp_path))


def test_a_value_of_another_form(tmp_path):
    """A check is a list of pairs, here a pair."""
    row = LAYER + 'check = ["w0 > 0", "w0 must be positive"]\n'
    with pytest.raises(SchemaError, match=r"^more.toml: \[layer.Siren\]: a value has another form"):
        with_layer(row, tmp_path)


def test_a_schedule_in_one_formula(tmp_path):
    shutil.copytree(ROOT / "capi" / "schema", tmp_path, dirs_exist_ok=True)
    (tmp_path / "more.toml").write_text('[schedule.More]\nsig = "()"\nlr = "lr"\ndoc = "More."\n')
    with pytest.raises(SchemaError, match="'closed' is missing"):
        schema.load(tmp_path)
