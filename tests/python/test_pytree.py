"""utils._pytree, which programs take trees apart with, against PyTorch's."""

from collections import OrderedDict, defaultdict, deque, namedtuple
from importlib import import_module

import dumbtorch as dt
import pytest

Pair = namedtuple("Pair", "x y")
TREES = [
    3, None, [], (1, 2), {"b": [1, (2, None)], "a": {}}, Pair(3, [4]), OrderedDict(z=1, a=(2,)),
    deque([1, 2], maxlen=3),
    defaultdict(list, {"q": [1]}), [Pair(1, 2), {"k": Pair((3,), None)}], {1: "text", 2: {3}},
]  # fmt: skip


@pytest.fixture
def modules(torch):
    return import_module("dumbtorch.utils._pytree"), import_module("torch.utils._pytree")


@pytest.mark.parametrize("tree", TREES)
def test_forms(modules, tree):
    found = []
    for p in modules:
        leaves, spec = p.tree_flatten(tree)
        numbers = [
            spec.num_leaves,
            spec.num_nodes,
            spec.num_children,
            spec.type is None,
            repr(spec),
        ]
        ways = [(p.keystr(way), leaf) for way, leaf in p.tree_flatten_with_path(tree)[0]]
        doubled = p.tree_map(lambda leaf: [leaf], tree)
        pairs = p.tree_map(lambda *leaves: leaves, tree, tree)
        shown = p.tree_map_with_path(lambda way, leaf: p.keystr(way) + repr(leaf), tree)  # noqa: B023
        only = p.tree_map_only(int, lambda leaf: leaf + 1, tree)
        assert p.tree_unflatten(leaves, spec) == tree and spec == p.tree_structure(tree)
        assert type(p.tree_unflatten(leaves, spec)) is type(tree)
        found.append([leaves, numbers, ways, doubled, pairs, shown, only, p.tree_leaves(tree),
                      p.tree_is_leaf(tree), list(p.tree_iter(tree)),
                      p.tree_leaves([tree], is_leaf=lambda x: isinstance(x, dict)),
                      p.tree_all(bool, tree), p.tree_any(bool, tree), p.tree_all_only(int, lambda x: x > 1, tree),
                      p.tree_any_only((int, str), bool, tree)])  # fmt: skip
    assert found[0] == found[1]


REFUSED = [
    lambda p: p.tree_unflatten([1], p.tree_structure([1, 2])),
    lambda p: p.tree_map(lambda *x: x, [1, 2], [1]),
    lambda p: p.tree_map(lambda *x: x, [1, 2], (1, 2)),
]


@pytest.mark.parametrize("call", REFUSED)
def test_refusals(modules, call):
    said = []
    for p in modules:
        with pytest.raises(ValueError) as caught:
            call(p)
        said.append(str(caught.value).replace("PyTreeSpec", "TreeSpec"))
    assert said[0] == said[1]


def test_registered_classes(modules):
    class Point:
        def __init__(self, x, y):
            self.x, self.y = x, y

    for p in modules:
        p.register_pytree_node(
            Point, lambda q: ([q.x, q.y], "context"), lambda parts, _: Point(*parts)
        )
        made = p.tree_map(lambda leaf: leaf * 2, {"a": Point(1, [2])})
        assert (made["a"].x, made["a"].y) == (2, [4])
        assert p.tree_structure(Point(1, 2)).context == "context"
        with pytest.raises(ValueError, match="already registered as pytree node"):
            p.register_pytree_node(Point, None, None)


def test_named_results(torch):
    """What functions give with named fields is a node, keeps its class, and can be pickled."""
    import pickle

    import dumbtorch as dt
    from dumbtorch.utils import _pytree

    result = dt.ones(2, 3).max(1)
    again = _pytree.tree_map(lambda x: x + 1, result)
    assert isinstance(again, dt.return_types.max) and again.values.tolist() == [2, 2]
    assert isinstance(dt.vmap(dt.aminmax)(dt.ones(2, 3)), dt.return_types.aminmax)
    assert pickle.loads(pickle.dumps(result)).indices.tolist() == result.indices.tolist()
    theirs = torch.ones(2, 3).max(1)
    assert (result.n_fields, repr(result)) == (theirs.n_fields, repr(theirs))
    ours, theirs = (repr(t.linalg.slogdet(t.eye(2))) for t in (dt, torch))
    assert ours == theirs
    assert {"linalg_slogdet", "slogdet", "max", "topk", "sort"} <= set(vars(dt.return_types))


@pytest.mark.parametrize(
    "text",
    [
        "t.var_mean(x)", "t.std_mean(x, 1)", "t.lstm_cell(x, (x, x), w, w)", "t.nn.LSTMCell(4, 4)(x)",
        *(f"F.max_pool{d}d(v[(0,) * {3 - d}], 2, return_indices=True)" for d in (1, 2, 3)),
        *(f"F.adaptive_max_pool{d}d(v[(0,) * {3 - d}], 2, True)" for d in (1, 2, 3)),
        *(f"F.fractional_max_pool{d}d(v[(0,) * {3 - d}], 2, 2, return_indices=True)" for d in (2, 3)),
        "t.max_pool1d_with_indices(x, 2)", "t.adaptive_max_pool1d(x, 2)", "t.nn.GRU(4, 4)(x)", "t.nn.LSTM(4, 4)(x)",
        "t.unique(x, return_counts=True)", "t.nn.init._calculate_fan_in_and_fan_out(x)",
    ],
)  # fmt: skip
def test_results_without_names(text, both):
    def kinds(t):
        x, w, v = t.ones(2, 4), t.ones(16, 4), t.rand(1, 4, 4, 4)
        given = {"t": t, "F": t.nn.functional, "x": x, "w": w, "v": v}
        return type(eval(text, given))

    assert both(kinds) == (tuple, tuple)


def test_sizes(modules, torch):
    for t, p in zip((dt, torch), modules, strict=True):
        leaves, spec = p.tree_flatten({"shape": t.Size([2, 3])})
        assert leaves == [2, 3] and spec.children_specs[0].type is t.Size
        back = p.tree_map(lambda n: n + 1, t.Size([2, 3]))
        assert back == (3, 4) and type(back) is tuple


def test_spec_of_a_named_tuple(modules):
    found = []
    for tree in modules:
        spec = tree.tree_flatten(Pair(1, [2]))[1]
        inner = [tree.LeafSpec(), tree.TreeSpec(list, None, [tree.LeafSpec()])]
        made = tree.TreeSpec(namedtuple, Pair, inner)
        found.append((spec == made, spec.type is namedtuple, tree.tree_unflatten([3, 4], made)))
    assert found[0] == found[1] == (True, True, Pair(3, [4]))
