"""Graphs for graphviz: the nodes and edges that PyTorch's graph of the same computation has."""

import re

import dumbtorch as dt
import pytest
from dumbtorch.models import draw_graph, graph_dot

torch = pytest.importorskip("torch")


def loss(t, w, b):
    hidden = t.tanh(w * b)
    return (hidden * hidden + w.exp()).sum()


def nodes_and_edges(text):
    names = dict(re.findall(r'^  (n\d+) \[label="([^"\\]*)', text, re.M))
    edges = [(names[a], names[b]) for a, b in re.findall(r"^  (n\d+) -> (n\d+);$", text, re.M)]
    return sorted(names.values()), sorted(edges)


def torchs(node, seen, edges):
    """Their names, and those of each pair of neighbours."""
    seen.add(node)
    for before, _ in node.next_functions:
        if before is not None:
            edges.append((before.name().rpartition(":")[2], node.name()))
            if before not in seen:
                torchs(before, seen, edges)
    return sorted(n.name().rpartition(":")[2] for n in seen), sorted(edges)


def test_the_graph_is_pytorchs():
    w, b = (dt.ones(2, 3, requires_grad=True) for _ in range(2))
    x, y = (torch.ones(2, 3, requires_grad=True) for _ in range(2))
    found = nodes_and_edges(graph_dot(loss(dt, w, b)))
    expected = torchs(loss(torch, x, y).grad_fn, set(), [])
    assert found == expected and expected[0].count("AccumulateGrad") == 2


def test_leaves_have_names():
    model = dt.nn.Sequential(dt.nn.Linear(2, 3), dt.nn.Tanh(), dt.nn.Linear(3, 1))
    with dt.no_grad():
        names = {name: p for name, p in model.named_parameters()}
    result = model(dt.ones(4, 2)).sum()
    for params in (names, model.named_parameters()):
        text = graph_dot(result, params)
        assert '[label="0.weight\\n(3, 2)", style=filled' in text and "AccumulateGrad" not in text
    assert '"a \\"b\\" \\\\' in graph_dot(result, {'a "b" \\': model[0].weight})
    with pytest.raises(ValueError, match="the result has no graph"):
        graph_dot(dt.ones(2))


def test_files(tmp_path, monkeypatch):
    """By graphviz, for which a program stands that copies, and without it."""
    w = dt.ones(2, requires_grad=True)
    text = graph_dot(w.exp())
    monkeypatch.setenv("PATH", str(tmp_path))
    assert draw_graph(w.exp(), tmp_path / "a.svg") == str(tmp_path / "a.dot")
    assert (tmp_path / "a.dot").read_text() == text and not (tmp_path / "a.svg").exists()
    program = tmp_path / "dot"
    program.write_text('#!/bin/sh\nread first\n{ echo "$1 $2"; } > "$3"\n')
    program.chmod(0o755)
    assert draw_graph(w.exp(), tmp_path / "b.svg") == str(tmp_path / "b.svg")
    assert (tmp_path / "b.svg").read_text() == "-Tsvg -o\n"
