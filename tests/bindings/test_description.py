"""share/dumbtorch/dumbtorch.json is what its schema says, it says what the header says, and a binding
that knows nothing else works: it replays the calls recorded from PyTorch and trains a network."""

import json
import re
from pathlib import Path

import pytest
from building import BUILD, ROOT
from generic import Library

LIBRARY = BUILD / "libdumbtorch.so"
SHARE = ROOT / "share" / "dumbtorch"
DESCRIPTION = json.loads((SHARE / "dumbtorch.json").read_text())
HEADER = (ROOT / "capi" / "include" / "dumbtorch.h").read_text()
RECORDED = json.loads((ROOT / "tests" / "conformance" / "calls.json").read_text())
CALLS = [call for call in RECORDED if "fn" in call]  # the others are operators, brackets and lists


@pytest.fixture(scope="module")
def dt():
    return Library(LIBRARY, SHARE / "dumbtorch.json")


def test_schema():
    fastjsonschema = pytest.importorskip("fastjsonschema")
    schema = json.loads((SHARE / "dumbtorch.schema.json").read_text())
    fastjsonschema.compile(schema)(DESCRIPTION)


# ---- the description and the header


def declarations() -> dict[str, str]:
    """The parameters of each function of the header, without spaces that mean nothing."""
    code = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.DOTALL)
    found = re.findall(r"DT_API\s[^;()]*?\b(dt_\w+)\(([^;]*?)\)\s*DT_NOEXCEPT;", code)
    return {name: plain(parameters) for name, parameters in found}


def plain(c: str) -> str:
    return re.sub(r"\s*\*\s*", "*", re.sub(r"\s+", " ", c)).strip()


def described() -> dict[str, list[dict]]:
    """The parameters of each function of the description."""
    functions = {name: f["parameters"] for name, f in DESCRIPTION["plain_functions"].items()}
    for name, f in DESCRIPTION["functions"].items():
        functions[name] = [p for v in f["arguments"] + f["results"] for p in v["parameters"]]
    for name, h in DESCRIPTION["handles"].items():
        functions[h["release"]] = [{"name": "handle", "c": f"dt_{name} *"}]
    for name, o in DESCRIPTION["options"].items():
        options = {"name": "options", "c": f"dt_{name}_options *"}
        functions[o["init"]] = [options, {"name": "struct_size", "c": "int64_t"}]
    return functions


def test_functions_are_those_of_the_header():
    written = {
        name: plain(", ".join(f"{p['c']} {p['name']}" for p in parameters) or "void")
        for name, parameters in described().items()
    }
    assert len(written) > 400
    assert written == declarations()


def test_enum_values_are_those_of_the_header():
    for name, e in DESCRIPTION["enums"].items():
        assert e["values"].keys() == e["about"].keys()
        for value, number in e["values"].items():
            constant = f"DT_{name}_{value}".upper().replace("-", "_")
            assert re.search(rf"\b{constant} = {number}\b", HEADER), constant


# ---- the binding


def decode(dt, value, requires_grad: bool):
    if isinstance(value, list):
        return [decode(dt, entry, False) for entry in value]
    if not isinstance(value, dict):
        return value
    if "enum" in value:
        return value["enum"]
    facts = {"dtype": value["dtype"], "requires_grad": requires_grad}
    return dt.from_numbers([float(v) for v in value["data"]], value["shape"], **facts)


def check(dt, result, expected) -> None:
    if isinstance(expected, list):
        for one, other in zip(result, expected, strict=True):
            check(dt, one, other)
    elif not isinstance(expected, dict):
        assert result == expected
    else:
        assert result.dtype() == dt.enums["dtype"][expected["dtype"]]
        assert result.shape() == expected["shape"]
        close = 1e-8 if expected["dtype"] == "float64" else 1e-5
        numbers = [float(v) for v in expected["data"]]
        assert result.to_numbers() == pytest.approx(numbers, rel=close, abs=close)


@pytest.mark.parametrize("call", CALLS, ids=[f"{i}-{call['fn']}" for i, call in enumerate(CALLS)])
def test_recorded_call(dt, call):
    grads = call.get("grads", {})
    args = {name: decode(dt, value, name in grads) for name, value in call["args"].items()}
    function = getattr(dt, call["fn"])
    if "error" in call:
        with pytest.raises(RuntimeError) as caught:
            function(**args)
        assert call["error"] in str(caught.value)
        return
    result = function(**args)
    results = result if len(call["results"]) > 1 else [result]
    check(dt, results, call["results"])
    if grads:
        results[0].sum().tensor_backward()
        for name, expected in grads.items():
            check(dt, args[name].grad(), expected)


def test_training_with_callbacks(dt):
    """A network with a hook and a backward of the user's learns as it does in PyTorch."""
    torch = pytest.importorskip("torch")
    dt.manual_seed(0)
    layers = [dt.nn_linear(2, 8, dtype="float64"), dt.nn_linear(8, 1, bias=False, dtype="float64")]
    parameters = [p for layer in layers for p in layer.parameters()]
    twins = [torch.tensor(p.to_numbers(), dtype=torch.float64) for p in parameters]
    twins = [t.reshape(p.shape()).requires_grad_() for t, p in zip(twins, parameters, strict=True)]
    points = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    x = dt.from_numbers(sum(points, []), [4, 2], dtype="float64")
    y = dt.from_numbers([0.0, 1.0, 1.0, 0.0], [4, 1], dtype="float64")
    optimizer = dt.optim_sgd(parameters, lr=0.05, momentum=0.9)

    def backward(grads, saved):
        return [grads[0].mul(saved[0].pow(2)).mul(3)]

    def loss_here():
        hidden = layers[0].forward(x).tanh()
        hook = hidden.register_hook(lambda grad: grad.mul(0.5))
        [cubed] = dt.custom_function("Cube", [hidden], [hidden.detach().pow(3)], [hidden], backward)
        loss = layers[1].forward(cubed).mse_loss(y)
        optimizer.zero_grad()
        loss.tensor_backward()
        hook.remove()
        optimizer.step()
        return loss.item()

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            context.save_for_backward(x)
            return x.detach() ** 3

        @staticmethod
        def backward(context, grad):
            return grad * context.saved_tensors[0] ** 2 * 3

    theirs = torch.optim.SGD(twins, lr=0.05, momentum=0.9)

    def loss_there():
        hidden = torch.nn.functional.linear(torch.tensor(points).double(), *twins[:2]).tanh()
        hidden.register_hook(lambda grad: grad * 0.5)
        output = Cube.apply(hidden) @ twins[2].T
        loss = torch.nn.functional.mse_loss(output, torch.tensor([[0.0], [1], [1], [0]]).double())
        theirs.zero_grad()
        loss.backward()
        theirs.step()
        return loss.item()

    losses = [(loss_here(), loss_there()) for _ in range(200)]
    assert [one for one, _ in losses] == pytest.approx([other for _, other in losses], rel=1e-9)
    assert losses[-1][0] < 0.1 * losses[0][0]


def test_what_a_callback_raises_comes_out_of_the_call(dt):
    x = dt.ones([2], requires_grad=True)

    def fail(grad):
        raise ValueError("not today")

    hook = x.register_hook(fail)
    with pytest.raises(RuntimeError, match="not today"):
        x.sum().tensor_backward()
    hook.remove()


def test_arguments_are_checked(dt):
    with pytest.raises(TypeError, match="dt_sum has no argument dims"):
        dt.sum(dt.ones([2]), dims=[0])
    with pytest.raises(KeyError, match="out_features"):
        dt.nn_linear(3)


def test_files_and_progress(dt, tmp_path):
    path, seen = str(tmp_path / "two.safetensors"), []
    tensors = [dt.arange(0, 6), dt.full([2], 2.5)]
    dt.save_safetensors(path, ["a", "b"], tensors, lambda done, total: seen.append(total) or 0)
    names, loaded = dt.load_safetensors(path, only=["b", "a"])
    assert names == ["b", "a"] and seen[0] > 0
    assert [x.to_numbers() for x in loaded] == [[2.5, 2.5], [0, 1, 2, 3, 4, 5]]
    with pytest.raises(RuntimeError, match="asked to stop"):
        dt.save_safetensors(path, ["a"], tensors[:1], lambda done, total: 1)


def test_log(dt):
    heard = []
    dt.set_log(lambda level, message: heard.append((level, message)))
    dt.c.dt_hook_release(dt.ones([1]))
    dt.set_log(None)
    ((level, message),) = heard
    assert level == dt.enums["log_level"]["warning"] and "hook_release" in message


def test_nothing_is_left(dt):
    """Handles and the user's functions go when the last that knew them does."""

    def alive():
        return dt.c.dt_live_handles(None), len(dt.users)

    def use():
        x = dt.ones([2, 2], requires_grad=True)
        hook = x.register_hook(lambda grad: None)
        x.max_dim(1)[0].sum().tensor_backward()
        module = dt.nn_linear(2, 2)
        return x.split(1), hook, module.named_parameters(), module.forward(x), x.grad()

    before = alive()
    use()
    assert alive() == before


def test_a_binding_is_short():
    """What a generic binding needs to know stands in the description, not in the binding."""
    code = Path(__file__).with_name("generic.py").read_text()
    assert sum(bool(line.strip()) for line in code.splitlines()) < 100
