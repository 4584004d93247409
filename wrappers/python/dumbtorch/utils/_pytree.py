"""Trees: tensors, and whatever else, in dicts, lists, tuples and classes that programs register."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any, NamedTuple

from .._types import Size


class MappingKey(NamedTuple):
    """The way to an entry of a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


class SequenceKey(NamedTuple):
    """The way to an entry of a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


class GetAttrKey(NamedTuple):
    """The way to a field."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


class _Node(NamedTuple):
    """How a class comes apart and together again."""

    flatten: Any  # its children, and what else it has (the context)
    unflatten: Any  # from an iterable of children and the context
    keys: Any  # of each child, by an instance


def _by_number(x):
    return [SequenceKey(i) for i in range(len(x))]


def _by_key(x):
    return [MappingKey(k) for k in x]


def _mapping(kind):
    return _Node(
        lambda x: (list(x.values()), list(x)),
        lambda parts, keys: kind(zip(keys, parts, strict=True)),
        _by_key,
    )


_NODES: dict[type, _Node] = {
    tuple: _Node(lambda x: (list(x), None), lambda parts, _: tuple(parts), _by_number),
    list: _Node(lambda x: (list(x), None), lambda parts, _: list(parts), _by_number),
    Size: _Node(lambda x: (list(x), None), lambda parts, _: tuple(parts), _by_number),
    dict: _mapping(dict),
    OrderedDict: _mapping(OrderedDict),
    defaultdict: _Node(
        lambda x: (list(x.values()), [x.default_factory, list(x)]),
        lambda parts, context: defaultdict(context[0], zip(context[1], parts, strict=True)),
        _by_key,
    ),
    deque: _Node(
        lambda x: (list(x), x.maxlen),
        lambda parts, maxlen: deque(parts, maxlen=maxlen),
        _by_number,
    ),
}


_NAMED = _Node(
    lambda x: (list(x), type(x)),
    lambda parts, kind: kind(*parts),
    lambda x: [GetAttrKey(name) for name in x._fields],
)


def register_pytree_node(
    cls,
    flatten_fn,
    unflatten_fn,
    *,
    serialized_type_name=None,
    to_dumpable_context=None,
    from_dumpable_context=None,
    flatten_with_keys_fn=None,
):
    """From now on instances of cls are nodes: flatten_fn(x) gives the children and a context, from which
    unflatten_fn(children, context) makes such an instance again."""
    if cls in _NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    keys = None
    if flatten_with_keys_fn is not None:

        def keys(x):
            return [key for key, _ in flatten_with_keys_fn(x)[0]]

    _NODES[cls] = _Node(flatten_fn, unflatten_fn, keys or _by_number_of(flatten_fn))


def _by_number_of(flatten):
    return lambda x: [SequenceKey(i) for i in range(len(flatten(x)[0]))]


def _node_of(tree, is_leaf=None) -> _Node | None:
    """How a tree comes apart; None for a leaf."""
    if is_leaf is not None and is_leaf(tree):
        return None
    node = _NODES.get(type(tree))
    if node is None and isinstance(tree, tuple):
        if hasattr(tree, "_fields"):
            return _NAMED
        if hasattr(tree, "n_fields"):  # what functions give with named fields, as max
            node = _NODES[type(tree)] = _results(type(tree))
    return node


def _results(kind) -> _Node:
    return _Node(lambda x: (list(x), None), lambda parts, _: kind(parts), _by_number)


class TreeSpec:
    """The form of a tree. A leaf's has no type."""

    def __init__(self, type=None, context=None, children_specs=()):  # noqa: A002, as PyTorch calls it
        self.type, self.context, self.children_specs = type, context, list(children_specs)
        inner = self.children_specs
        self.num_children = len(inner)
        self.num_leaves = 1 if type is None else sum(c.num_leaves for c in inner)
        self.num_nodes = 1 + sum(c.num_nodes for c in inner)

    def is_leaf(self) -> bool:
        """Whether the tree is a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The forms of the children."""
        return list(self.children_specs)

    def unflatten(self, leaves):
        """The tree of this form with these leaves."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree "
                f"that holds {self.num_leaves} items ({self})."
            )
        return self._filled(iter(leaves))

    def _filled(self, leaves):
        if self.type is None:
            return next(leaves)
        node = _NAMED if self.type is namedtuple else _NODES[self.type]
        return node.unflatten(
            [child._filled(leaves) for child in self.children_specs], self.context
        )

    def __eq__(self, other) -> bool:
        return isinstance(other, TreeSpec) and (
            self.type is other.type
            and self.context == other.context
            and self.children_specs == other.children_specs
        )

    def __hash__(self) -> int:
        return hash((self.type, self.num_nodes, self.num_leaves))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        joint = ",\n" + " " * (indent + 2)
        inner = joint.join(child.__repr__(indent + 2) for child in self.children_specs)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{inner}])"


def LeafSpec() -> TreeSpec:  # noqa: N802, as PyTorch calls it
    """The form of a leaf."""
    return TreeSpec()


def _walk(tree, is_leaf, path, found) -> TreeSpec:
    """The form of a tree, whose leaves and the ways to them go into `found`."""
    node = _node_of(tree, is_leaf)
    if node is None:
        found.append((path, tree))
        return TreeSpec()
    children, context = node.flatten(tree)
    keys = node.keys(tree)
    inner = [
        _walk(child, is_leaf, (*path, key), found)
        for key, child in zip(keys, children, strict=True)
    ]
    # The context of a named tuple is its class.
    return TreeSpec(namedtuple if node is _NAMED else type(tree), context, inner)


def tree_flatten_with_path(tree, is_leaf=None) -> tuple[list, TreeSpec]:
    """([(the way to a leaf, the leaf), ...], the form of the tree)."""
    found: list = []
    spec = _walk(tree, is_leaf, (), found)
    return found, spec


def tree_flatten(tree, is_leaf=None) -> tuple[list, TreeSpec]:
    """(the leaves in order, the form of the tree). What `is_leaf` says yes to is not looked into."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    return [leaf for _, leaf in found], spec


def tree_leaves(tree, is_leaf=None) -> list:
    """The leaves in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_leaves_with_path(tree, is_leaf=None) -> list:
    """[(the way to a leaf, the leaf), ...]."""
    return tree_flatten_with_path(tree, is_leaf)[0]


def tree_iter(tree, is_leaf=None):
    """The leaves in order, one by one."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree, is_leaf=None) -> TreeSpec:
    """The form of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree, is_leaf=None) -> bool:
    """Whether a tree is a leaf."""
    return _node_of(tree, is_leaf) is None


def tree_unflatten(leaves, treespec: TreeSpec):
    """The tree of such a form with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of PyTreeSpec but got item of "
            f"type {type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """The tree with func(way, leaf, ...) for each leaf."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [_leaves_under(spec, rest) for rest in rests]
    return spec.unflatten(
        [func(*row) for row in zip(*zip(*found, strict=True), *others, strict=True)]
    )


def _leaves_under(spec: TreeSpec, tree) -> list:
    """What stands in a tree where a form has leaves."""
    if spec.is_leaf():
        return [tree]
    node = _node_of(tree)
    kind = None if node is None else namedtuple if node is _NAMED else type(tree)
    if kind is not spec.type:
        raise ValueError(f"Node type mismatch; expected {spec.type!r}, but got {type(tree)!r}.")
    children, context = node.flatten(tree)
    if len(children) != spec.num_children:
        raise ValueError(
            f"Node arity mismatch; expected {spec.num_children}, but got {len(children)}."
        )
    if context != spec.context:
        raise ValueError(f"Node context mismatch for node type {spec.type!r}.")
    pairs = zip(spec.children_specs, children, strict=True)
    return [leaf for inner, child in pairs for leaf in _leaves_under(inner, child)]


def tree_map(func, tree, *rests, is_leaf=None):
    """The tree with func(leaf, ...) for each leaf, and for what the others have at the same place."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [_leaves_under(spec, rest) for rest in rests]
    return spec.unflatten([func(*row) for row in zip(leaves, *others, strict=True)])


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls func(leaf, ...) for each leaf; the tree itself is the result."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _only(kinds):
    """Whether a leaf is meant, by types or by a function."""
    if isinstance(kinds, (type, tuple)) or not callable(kinds):
        return lambda leaf: isinstance(leaf, kinds)
    return kinds


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """The tree with func(leaf) for leaves of these types, or of which the function says yes."""
    meant = _only(type_or_types_or_pred)
    return tree_map(lambda leaf: func(leaf) if meant(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """Calls func(leaf) for leaves of these types; the tree itself is the result."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def tree_all(pred, tree, is_leaf=None) -> bool:
    """Whether pred says yes to all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None) -> bool:
    """Whether pred says yes to one of the leaves."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None) -> bool:
    """Whether pred says yes to all leaves of these types."""
    meant = _only(type_or_types)
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if meant(leaf))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None) -> bool:
    """Whether pred says yes to one of the leaves of these types."""
    meant = _only(type_or_types)
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if meant(leaf))


def keystr(kp) -> str:
    """A way to a leaf as one writes it."""
    return "".join(map(str, kp))


def describe(tree) -> str:
    """A tree as errors show it, with a star for each leaf."""

    class Leaf:
        def __repr__(self):
            return "*"

    return repr(tree_map(lambda _: Leaf(), tree))
