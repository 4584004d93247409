"""The modules of PyTorch that programs import from."""

import importlib

import dumbtorch as dt
import pytest


@pytest.mark.parametrize(
    "text",
    [
        "nn.modules.conv.Conv2d", "nn.modules.batchnorm.BatchNorm1d", "nn.modules.loss.CrossEntropyLoss",
        "nn.modules.linear.Linear", "nn.modules.activation.ReLU", "nn.modules.rnn.LSTMCell",
        "nn.modules.sparse.Embedding", "utils.data.dataloader.DataLoader", "utils.data.dataset.Subset",
        "utils.data.distributed.DistributedSampler", "utils.data.sampler.BatchSampler",
    ],
)  # fmt: skip
def test_places_of_pytorch(torch, text):
    place, name = text.rsplit(".", 1)
    ours = getattr(importlib.import_module(f"dumbtorch.{place}"), name)
    assert getattr(importlib.import_module(f"torch.{place}"), name).__name__ == ours.__name__


@pytest.mark.parametrize(
    "text",
    ["conv._ConvNd", "conv._ConvTransposeNd", "instancenorm._InstanceNorm", "dropout._DropoutNd"],
)
def test_groups_of_layers(torch, text):
    place, name = text.split(".")
    ours, theirs = (getattr(getattr(t.nn.modules, place), name) for t in (dt, torch))
    layers = [("Conv2d", (1, 1, 1)), ("ConvTranspose1d", (1, 1, 1)), ("InstanceNorm2d", (3,)),
              ("BatchNorm2d", (3,)), ("Dropout2d", ()), ("AlphaDropout", ()), ("Linear", (1, 1))]  # fmt: skip
    for layer, args in layers:
        found = [
            isinstance(getattr(t.nn, layer)(*args), kind)
            for t, kind in ((dt, ours), (torch, theirs))
        ]
        assert found[0] == found[1], layer


def test_export_is_refused():
    """Programs that only import torch.onnx run."""
    onnx = importlib.import_module("dumbtorch.onnx")
    assert not onnx.is_in_onnx_export()
    with pytest.raises(NotImplementedError, match="networks are not exported"):
        onnx.export(dt.nn.Linear(1, 1), dt.ones(1, 1), "x.onnx")
