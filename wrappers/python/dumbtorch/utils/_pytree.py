"""Trees: tensors in dicts, lists and tuples."""

from __future__ import annotations


def tree_flatten(tree) -> tuple[list, object]:
    """(the leaves in order, the tree with None in their places)."""
    leaves: list = []
    return leaves, tree_map(leaves.append, tree)


def tree_unflatten(leaves, shape):
    """The tree of such a shape with these leaves."""
    rest = iter(leaves)
    return tree_map(lambda _: next(rest), shape)


def tree_map(function, tree, *others):
    """The tree with function(leaf, ...) for each leaf, and for those of others at the same place."""
    if isinstance(tree, dict):
        pairs = [(k, tree_map(function, v, *(o[k] for o in others))) for k, v in tree.items()]
        return type(tree)(pairs)
    if isinstance(tree, (list, tuple)):
        parts = [tree_map(function, *row) for row in zip(tree, *others, strict=True)]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return function(tree, *others)


def describe(tree) -> str:
    """A tree as errors show it, with a star for each leaf."""

    class Leaf:
        def __repr__(self):
            return "*"

    return repr(tree_map(lambda _: Leaf(), tree))
