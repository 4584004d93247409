"""Python's garbage collector and what the library keeps: hooks that refer to their own tensors."""

import gc
import threading
import weakref

import dumbtorch as dt
import pytest


class Marker:
    """Something that a function can hold, and that tells when it is gone."""


def hook_of_a_leaf(torch, marker):
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: (x, marker) and None)
    return x


def hook_of_a_result(torch, marker):
    y = torch.ones(2, requires_grad=True) * 2
    y.register_hook(lambda g: (y, marker) and None)
    y.sum().backward()
    return y


def two_hooks(torch, marker):
    y = torch.ones(2, requires_grad=True) * 2
    y.register_hook(lambda g: (y, marker) and None)
    y.register_hook(lambda g: (y, marker) and None)
    return y


def hook_of_a_parameter(torch, marker):
    layer = torch.nn.Linear(2, 2)
    layer.marker = marker
    layer.weight.register_hook(lambda g: layer and None)
    layer(torch.ones(1, 2)).sum().backward()
    return layer


def hook_that_knows_how_to_go(torch, marker):
    y = torch.ones(2, requires_grad=True) * 2
    marker.hook = y.register_hook(lambda g: (y, marker) and None)
    return y


def method_of_the_tensor(torch, marker):
    x = torch.nn.Parameter(torch.ones(2))
    x.marker = marker
    x.register_hook(x.mul)
    return x


def output_in_the_context(torch, marker):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.kept = [marker]
            keep.append(ctx.kept)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    keep = []
    y = Double.apply(torch.ones(2, requires_grad=True))
    keep.pop().append(y)
    return y


def context_of_a_dirty_input(torch, marker):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.marker, ctx.output = marker, x
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Double.apply(torch.ones(2, requires_grad=True) * 1)


CYCLES = [
    hook_of_a_leaf,
    hook_of_a_result,
    two_hooks,
    hook_of_a_parameter,
    hook_that_knows_how_to_go,
    method_of_the_tensor,
    output_in_the_context,
    context_of_a_dirty_input,
]


@pytest.mark.parametrize("make", CYCLES, ids=lambda f: f.__name__)
def test_a_cycle_is_collected(make):
    """Not sooner than the tensor is gone. PyTorch leaves hooks of results alone."""
    marker = Marker()
    gone = weakref.ref(marker)
    tensor = make(dt, marker)
    del marker
    gc.collect()
    assert gone() is not None
    del tensor
    gc.collect()
    assert gone() is None  # and no_leaks counts the handles


def hook_on_the_way(torch, call):
    y = torch.ones(2, requires_grad=True) * 2
    y.register_hook(call(y))
    return y.sum()


def hook_of_what_was_overwritten(torch, call):
    """The hook lives with y's first node, which y has no part in any more."""
    y = torch.ones(2, requires_grad=True) * 2
    y.register_hook(call(y))
    z = y + 1
    y.add_(1)
    return z.sum()


def hook_of_a_leaf_in_a_graph(torch, call):
    x = torch.ones(2, requires_grad=True)
    x.register_hook(call(x))
    return (x * 2).sum()


@pytest.mark.parametrize(
    "make", [hook_on_the_way, hook_of_what_was_overwritten, hook_of_a_leaf_in_a_graph]
)
def test_what_a_graph_needs_is_not_collected(make, both):
    def run(torch):
        seen, cell = [], []

        def call(tensor):
            cell.append(tensor)
            return lambda g: seen.append((g.tolist(), cell[0].tolist()))

        loss = make(torch, call)
        gc.collect()
        loss.backward()
        cell.clear()
        return seen

    mine, theirs = both(run)
    assert mine == theirs
    assert len(mine) == 1


def test_a_second_object_of_the_tensor_keeps_its_hooks():
    x = dt.ones(2, requires_grad=True)
    seen = []
    hook = x.register_hook(lambda g, kept=[x]: seen.append(kept[0].tolist()))
    other = x.float()
    del x
    gc.collect()
    other.sum().backward()
    assert seen == [[1, 1]]
    hook.remove()  # the collector leaves a cycle alone through which another object can be reached


def test_a_removed_hook_lets_go():
    marker = Marker()
    gone = weakref.ref(marker)
    x = dt.ones(2, requires_grad=True)
    hooks = [x.register_hook(lambda g, kept=marker: kept and None) for _ in range(3)]
    del marker
    for hook in hooks:
        hook.remove()
        hook.remove()
    assert gone() is None
    seen = []
    x.register_hook(seen.append)
    x.sum().backward()
    assert len(seen) == 1


def test_collections_while_other_threads_compute():
    """A tensor that a thread is using is never taken for garbage, whatever the graph holds then."""
    stop = threading.Event()
    calls, failures = [], []

    def work():
        x = dt.ones(8, requires_grad=True)
        cell = [x, 0]

        def hook(g):
            cell[1] += len(cell[0])
            calls.append(1)

        x.register_hook(hook)
        try:
            while not stop.is_set():
                before = cell[1]
                y = x * 2
                y.register_hook(lambda g, y=y: calls.append(len(y)))
                y.sum().backward()
                assert cell[1] == before + 8
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    while len(calls) < 1000 and not failures:
        gc.collect(0)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures
    gc.collect()
