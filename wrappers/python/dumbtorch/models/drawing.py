"""A drawing of the graph that a backward pass goes through."""

from __future__ import annotations

import os
import shutil
import subprocess

from ..autograd import enable_grad


def graph_dot(result, params=None) -> str:
    """The graph of `result`, from the leaves down to it, in the language of graphviz. `params` is a dict or (name,
    parameter) pairs, such as model.named_parameters(): leaves that are among them have their names."""
    if result.grad_fn is None:
        raise ValueError("the result has no graph: nothing that it was computed from requires grad")
    leaves = {}
    with enable_grad():
        for name, p in dict(params or {}).items():
            if p.requires_grad and p.is_leaf:  # its node is the one before that of a view
                leaves[p.view_as(p).grad_fn.next_functions[0][0]] = name, tuple(p.shape)
    numbers, waiting, edges = {result.grad_fn: 0}, [result.grad_fn], []
    while waiting:
        node = waiting.pop()
        for before, _ in node.next_functions:
            if before is None:
                continue
            if before not in numbers:
                numbers[before] = len(numbers)
                waiting.append(before)
            edges.append(f"  n{numbers[before]} -> n{numbers[node]};")
    lines = []
    for node, number in numbers.items():
        name, shape = leaves.get(node, (type(node).__name__, None))
        text = str(name).replace("\\", "\\\\").replace('"', '\\"') + (
            f"\\n{shape}" if shape else ""
        )
        style = ", style=filled, fillcolor=lightblue" if not node.next_functions else ""
        lines.append(f'  n{number} [label="{text}"{style}];')
    return "\n".join(["digraph {", "  node [shape=box];", *lines, *edges, "}"]) + "\n"


def draw_graph(result, path, params=None) -> str:
    """Draws graph_dot(result, params) into a file, an SVG picture by the name of `path`, and gives the file's name.
    Where graphviz is not installed, that is a .dot file beside it, for graphviz elsewhere."""
    text, path = graph_dot(result, params), os.fspath(path)
    dot = shutil.which("dot")
    if dot is None or path.endswith(".dot"):
        path = os.path.splitext(path)[0] + ".dot"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        command = [dot, "-Tsvg", "-o", path]
        subprocess.run(command, input=text.encode(), check=True, stderr=subprocess.PIPE)
    return path
