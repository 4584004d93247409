"""Transposed convolutions to a size that the caller names, against PyTorch."""

import pytest

CASES = [  # dimensions, settings, what the convolution saw
    (1, {"stride": 2, "padding": 1}, (12,)),
    (1, {"stride": 3}, (11,)),
    (2, {"stride": 2, "padding": 1}, (12, 11)),
    (2, {"stride": (2, 3), "padding": (0, 1), "dilation": 2, "bias": False}, (14, 16)),
    (3, {"stride": 2, "output_padding": 1}, (5, 6, 7)),
]


def up_again(t, dims, settings, sizes, output_size):
    narrow = {k: v for k, v in settings.items() if k != "output_padding"}
    down = getattr(t.nn, f"Conv{dims}d")(1, 1, 3, **narrow)
    up = getattr(t.nn, f"ConvTranspose{dims}d")(1, 1, 3, **settings)
    for parameter in (*down.parameters(), *up.parameters()):
        t.nn.init.constant_(parameter, 0.3)
    image = t.arange(float(t.ones(sizes).numel())).reshape(1, 1, *sizes)
    below = down(image)
    return up(below, output_size(t, image))


@pytest.mark.parametrize("dims, settings, sizes", CASES)
@pytest.mark.parametrize(
    "output_size",
    [lambda t, x: x.size(), lambda t, x: list(x.shape[2:]), lambda t, x: None],
    ids=["all", "spatial", "none"],
)
def test_the_size_from_before(dims, settings, sizes, output_size, both, same):
    same(*both(lambda t: up_again(t, dims, settings, sizes, output_size)), rtol=1e-5)


@pytest.mark.parametrize("sizes", [(1, 1, 9), (9,), (6,), (3, 3), ()])
def test_refused_sizes(sizes, both):
    def run(t):
        layer = t.nn.ConvTranspose1d(1, 1, 3, stride=2)
        try:
            return tuple(layer(t.ones(1, 1, 3), sizes).shape)
        except ValueError as error:
            return str(error)

    mine, theirs = both(run)
    assert mine == theirs


def test_without_a_batch(both, same):
    def run(t):
        layer = t.nn.ConvTranspose2d(1, 1, 2, stride=2, bias=False)
        t.nn.init.ones_(layer.weight)
        return layer(t.ones(1, 2, 2), (1, 5, 4))

    same(*both(run))
