"""dumbtorch.__version__ and TorchVersion: programs ask for a PyTorch by them."""

import operator

import dumbtorch as dt
import pytest
from dumbtorch.torch_version import TorchVersion

COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
VERSIONS = """1 1.10 1.10.0 1.10.0a 1.10.0a0+git12 1.9.1 v2.0 2.0.0b1 2.13.0 2.13.0+cu130 2.13.0+dumbtorch.0.1.0
2.13.0.dev20260101 2.13.0.dev20260101+cpu 2.13.0rc1 2.13.0rc1.dev3 2.13.0-rc2 2.13.0.post1 2.13.0.post1.dev2
2.13.0+1 2.13.0+a parrot""".split()
OTHERS = [(1,), (1, 10), (2, 13, 0), ["2", "13"], (2, 13, "0a"), ()]


@pytest.mark.parametrize("version", VERSIONS)
def test_it_compares_as_pytorchs(version, torch):
    theirs = torch.torch_version.TorchVersion(version)
    for other in VERSIONS + OTHERS:
        for compare in COMPARISONS:
            assert result(compare, TorchVersion(version), other) == result(compare, theirs, other)


def result(compare, version, other):
    try:
        return compare(version, other)
    except TypeError:  # neither of the two is a version, and one no string
        return TypeError


def test_a_version_of_packaging():
    packaging = pytest.importorskip("packaging.version")
    assert TorchVersion("2.13.0") > packaging.Version("2.9")
    assert packaging.Version(dt.__version__).release == (2, 13, 0)


def test_what_is_no_version_is_another():
    assert (
        TorchVersion("1") != 1
        and TorchVersion("1") is not None
        and hash(TorchVersion("1")) == hash("1")
    )
    with pytest.raises(TypeError):
        TorchVersion("1") < 2  # noqa: B015


def test_what_programs_ask():
    assert dt.__version__ >= "2.0" and dt.__version__ >= (1, 8) and not dt.__version__ < "1.10"
    assert int(dt.__version__.split(".")[0]) >= 2
    assert dt.__version__.partition("+")[0] == dt.version.interface


def test_the_library_is_of_that_release(torch):
    assert f"dumbtorch {dt.version.release}" in dt.__config__.show()
    assert torch.__version__.startswith(dt.version.interface.rpartition(".")[0])
