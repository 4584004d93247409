"""The page of names: what it calls here, partly here and not here is so."""

import importlib.util
import json
from pathlib import Path

import dumbtorch as dt

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def script(name):
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_status():
    coverage = script("coverage")
    found = coverage.status(
        "torch", {"add": "alpha out", "eye": "colour out", "banana": None, "compile": ""}
    )
    assert found == (
        ["add"],
        {"eye": "without `colour`", "compile": coverage.NOTES["torch.compile"]},
        ["banana"],
    )
    assert coverage.status("torch.banana.split", {"x": None}).absent == ["x"]
    assert coverage.status("torch.Tensor", {"add": "alpha"}).here == ["add"]


def test_what_functions_lack():
    lacking = script("coverage").lacking
    assert lacking(dt.sum, "dim axis keepdims colour") == "without `colour`"
    assert lacking(dt.flip, "dims colour") == "without `colour`"
    assert lacking(dt.compile, "colour") == ""  # it takes whatever comes


def test_what_stubs_tell(torch):
    """Of what no text and no signature tells, and of all overloads."""
    names = script("pytorch_names")
    assert {"value", "reduce", "out"} & set(names.stubbed(torch, "torch")["scatter"].split()) == {
        "reduce",
        "out",
    }
    assert names.together("a b", None, "b c", without="a") == "b c" and names.together(None) is None
    known = json.loads(names.FILE.read_text())
    assert (
        known["torch"]["adaptive_max_pool1d"] == ""
        and known["torch.Tensor"]["index_reduce"] == "include_self"
    )


def test_the_page_is_of_all_names():
    coverage = script("coverage")
    names = json.loads(coverage.NAMES.read_text())
    text = coverage.page(dict(names))
    assert names["version"] in text and "| all | " in text
    for place, members in names.items():
        if place != "version":
            section = text.partition(f"\n## {place}\n")[2].partition("\n## ")[0]
            assert members and all(f"`{name}`" in section for name in members), place


def test_the_names_are_pytorchs(torch):
    """What the file says of the installed PyTorch, if it is the one that wrote it."""
    names = json.loads((SCRIPTS / "pytorch_names.json").read_text())
    if not torch.__version__.startswith(names["version"]):
        return
    writer = script("pytorch_names")
    writer.import_module("torch.optim.swa_utils")
    for place in ("torch.linalg", "torch.optim", "torch.nn", "torch.utils.data"):
        assert dict(writer.listed(torch, place)) == names[place]
    assert hasattr(dt, "add") and {"relu", "float32", "Tensor", "inf", "abs_"} <= set(
        names["torch"]
    )
    assert not {"AliasDb", "miopen_rnn", "sys", "Any", "cudnn_convolution"} & set(names["torch"])
