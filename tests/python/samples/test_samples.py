"""The samples that PyTorch tests its own operators with, run here and there: a list of calls that others have made.
Values, dtypes, shapes, strides, whether a gradient is required, gradients and second gradients must agree."""

import itertools
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")
pytest.importorskip("expecttest", reason="torch.testing's samples need it")

import dumbtorch as dt  # noqa: E402
from oracle import is_older  # noqa: E402
from samples.calls import (  # noqa: E402
    Skip,
    Translation,
    difference,
    flat,
    function_of,
    numbers_differ,
    outcome,
    slopes,
)
from samples.known import INTEGERS, LEFT_OUT, NUMBERS, ORDER, PLACES, REFUSED, SLOPES  # noqa: E402

PARTS = 16  # one import of PyTorch's list serves them all: it takes seconds
EACH = 4  # samples of each op and dtype

# float32 has tests of rows for every op; here it is a dtype to convert to.
SAMPLED = {torch.float64, torch.int64, torch.bool}

pytestmark = pytest.mark.skipif(is_older(torch), reason="the samples are of another version")


def operators():
    from torch.testing._internal.common_methods_invocations import op_db

    return [op for op in op_db if not LEFT_OUT.match(op.name) and not LEFT_OUT.match(name_of(op))]


def name_of(op) -> str:
    return ".".join(filter(None, (op.name, op.variant_test_name)))


def disagreement(op, ours, sample, dtype) -> str | None:
    name, translated = name_of(op), Translation()
    args, kwargs = translated((sample.input, *sample.args)), translated(sample.kwargs)
    theirs, their_error = outcome(op.op, sample.input, *sample.args, **sample.kwargs)
    mine, error = outcome(ours, *args, **kwargs)
    if isinstance(error, NotImplementedError) and INTEGERS.match(name):
        return None
    if error and REFUSED.match(name) and sample.input.ndim == 1:
        return None
    if error or their_error:
        return None if error and their_error else f"raised: {their_error!r} against {error!r}"
    results = flat(theirs), flat(mine)
    if len(results[0]) != len(results[1]):
        return f"{len(results[0])} results against {len(results[1])}"
    for i, (there, here) in enumerate(zip(*results, strict=True)):
        is_place = PLACES.match(name) and (i == 1 or name == "argsort")
        numbers = not (is_place or NUMBERS.match(name))
        found = difference(there, here, not ORDER.match(name), numbers)
        if found:
            return found
    if not dtype.is_floating_point or SLOPES.match(name) or NUMBERS.match(name):
        return None
    return slopes_disagree(op, results, translated.leaves(), dtype)


def slopes_disagree(op, results, leaves, dtype) -> str | None:
    again = op.supports_gradgrad and dtype == torch.float64
    theirs, their_error = outcome(slopes, torch, results[0], [x for x, _ in leaves], again)
    mine, error = outcome(slopes, dt, results[1], [y for _, y in leaves], again)
    # Ours may have more derivatives than PyTorch; None is zeros, and so is what ends sooner.
    if their_error:
        return None
    if error:
        return f"backward raised {error!r}"
    for there, here in itertools.zip_longest(theirs, mine[: len(theirs)]):
        if there is None and here is None:
            continue
        there = torch.zeros(here.shape, dtype=torch.float64) if there is None else there
        here = dt.zeros_like(dt.tensor(there.tolist())) if here is None else here
        if numbers_differ(there, here):
            return f"a gradient: {numbers_differ(there, here)}"
    return None


@pytest.mark.parametrize("part", range(PARTS))
def test_samples_agree(part):
    # In a thread, whose stack is short: PyTorch writes the stack down for each seed, and looks through it for each list
    # of samples; pytest's makes that half of the time.
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(disagreements, part).result()
    assert not found, "\n".join(found)


def disagreements(part) -> list[str]:
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in operators()[part::PARTS]:
            ours = function_of(op)
            if ours is None:
                found.append(f"{name_of(op)} is missing")
                continue
            for dtype in SAMPLED & op.supported_dtypes("cpu"):
                found += _of_samples(op, ours, dtype)
    return found


def _of_samples(op, ours, dtype):
    torch.manual_seed(3)
    recorded = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    samples = op.sample_inputs("cpu", dtype, requires_grad=recorded)
    for sample in itertools.islice(samples, EACH):
        if sample.kwargs.get("dropout_p"):
            continue
        try:
            found = disagreement(op, ours, sample, dtype)
        except Skip:
            continue
        if found:
            yield f"{name_of(op)} {dtype} {sample.summary()[:300]}: {found}"
