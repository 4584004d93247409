"""What modules and what they give show, against PyTorch."""

from inspect import signature

import dumbtorch as dt
import pytest
from layer_rows import LAYERS

IN_PLACE = [
    (name, args)
    for name, args, _, _ in LAYERS
    if "inplace" in signature(getattr(dt.nn, name)).parameters
]


def test_what_load_state_dict_gives_shows_as_in_pytorch(torch):
    for state in ({}, {"weight": 0, "bias": 0}, {"bias": 0, "scale": 0}):
        shown = []
        for t in (dt, torch):
            layer = t.nn.Linear(2, 1)
            loaded = {name: t.zeros_like(layer.state_dict().get(name, t.ones(1))) for name in state}
            result = layer.load_state_dict(loaded, strict=False)
            shown.append((repr(result), str(result)))
        assert shown[0] == shown[1]


def test_identity_takes_any_arguments(torch):
    ours, theirs = (t.nn.Identity(54, unused=0.1) for t in (dt, torch))
    assert repr(ours) == repr(theirs)
    assert ours(x := dt.ones(2)) is x


@pytest.mark.parametrize("name, args", IN_PLACE)
def test_a_layer_that_works_in_place_says_so(name, args, torch):
    ours, theirs = (getattr(t.nn, name)(*args, inplace=True) for t in (dt, torch))
    assert repr(ours) == repr(theirs)
