"""The refusals that PyTorch tests its own operators for: the error's type and its sentence, as a pattern."""

import re
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")
pytest.importorskip("expecttest", reason="torch.testing's samples need it")

from oracle import is_older  # noqa: E402
from samples.calls import Skip, Translation, function_of, outcome  # noqa: E402
from samples.test_samples import name_of, operators  # noqa: E402

pytestmark = pytest.mark.skipif(is_older(torch), reason="the samples are of another version")

# `out=` may overlap what it is computed from, and what has to grow gets memory of its own.
TAKEN = re.compile(r"^(kthvalue|masked_select|gather|index_select|take|cat)$")
# The same type of error with a sentence of its own: it names the argument, what was expected or all values that there
# are, prints sizes as lists, or PyTorch's tells of its own inside. A bad index is an IndexError.
OWN_WORDS = re.compile(
    r"(lin|log)space|[hv]split$|cat$|nn\.functional\.(linear_cross_entropy|adaptive_max_pool.d|margin_ranking_loss"
    r"|max_pool1d|triplet_margin_loss|gaussian_nll_loss)|narrow_copy$"
)
OWN_TYPE = re.compile(r"gather$|scatter(_add)?$|narrow_copy$|nn\.functional\.gelu$")


def is_kind_of(error, kind) -> bool:
    return any(c.__name__ == kind.__name__ for c in type(error).__mro__)


def disagreement(op, ours, expected) -> str | None:
    name, sample, translated = name_of(op), expected.sample_input, Translation()
    try:
        args, kwargs = translated((sample.input, *sample.args)), translated(sample.kwargs)
    except (Skip, TypeError, RuntimeError):  # there is no such argument here
        return None
    _, theirs = outcome(op.op, sample.input, *sample.args, **sample.kwargs)
    _, mine = outcome(ours, *args, **kwargs)
    if theirs is None or (mine is None and TAKEN.match(name) and "out" in kwargs):
        return None
    if mine is None:
        return f"taken, but for {theirs!r}"
    if not is_kind_of(mine, expected.error_type):
        return None if OWN_TYPE.match(name) else f"{theirs!r} against {mine!r}"
    words = str(mine)
    sentences = words, words.replace(": ", "(): ", 1)  # PyTorch names some ops too
    fits = any(re.search(expected.error_regex, s) for s in sentences)
    return None if fits or OWN_WORDS.match(name) else f"{theirs!r} against {mine!r}"


def disagreements() -> list[str]:
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in operators():
            ours = function_of(op)
            if op.error_inputs_func is None or ours is None:
                continue
            for expected in op.error_inputs("cpu"):
                difference = disagreement(op, ours, expected)
                if difference:
                    found.append(
                        f"{name_of(op)} {expected.sample_input.summary()[:200]}: {difference}"
                    )
    return found


def test_refusals_agree():
    with ThreadPoolExecutor(1) as thread:  # as in test_samples: PyTorch writes the stack down
        found = thread.submit(disagreements).result()
    assert not found, "\n".join(found)
