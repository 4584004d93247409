"""Modules of the core, as C, C++ and Lua have them: their files are PyTorch's."""

import dumbtorch as dt
import pytest
from dumbtorch import _ops

safetensors = pytest.importorskip("safetensors.torch")


def core_network():
    net = _ops.nn_sequential()
    for layer in (_ops.nn_conv2d(2, 3, (3, 3)), _ops.nn_batch_norm2d(3), _ops.nn_relu()):
        net.append(layer)
    return net


@pytest.fixture
def network(torch):
    nn = torch.nn
    net = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU())
    net(torch.randn(4, 2, 5, 5))  # running statistics of its own
    return net


def test_pytorch_reads_what_was_saved(network, torch, same, tmp_path):
    ours, path = core_network(), str(tmp_path / "ours.safetensors")
    x = torch.randn(4, 2, 5, 5)
    ours.forward(dt.tensor(x.numpy()))
    ours.save(path)
    network.load_state_dict(safetensors.load_file(path))
    same(ours.forward(dt.tensor(x.numpy())), network(x))


def test_what_pytorch_saved_is_read(network, torch, same, tmp_path):
    ours, path = core_network(), str(tmp_path / "theirs.safetensors")
    safetensors.save_file(network.state_dict(), path)
    ours.load(path)
    ours.train(False)
    network.eval()
    x = torch.randn(4, 2, 5, 5)
    same(ours.forward(dt.tensor(x.numpy())), network(x))


def test_what_does_not_fit_is_listed_as_pytorch_does(network, torch):
    state = {
        "x": torch.ones(2),
        "2.more": torch.ones(1),
        "0.bias": torch.ones(4),
        "1.num_batches_tracked": torch.tensor(3),
        "1.bias": torch.ones(3),
        "1.weight": torch.ones(2, 3),
    }
    ours, kind = core_network(), type(network).__name__
    for strict in (True, False):
        with pytest.raises(RuntimeError) as expected:
            network.load_state_dict(state, strict=strict)
        with pytest.raises(RuntimeError) as found:
            values = [dt.tensor(x.numpy()) for x in state.values()]
            ours.load_state_dict(list(state), values, strict=strict)
        begin = f"Error(s) in loading state_dict for {kind}:"
        told = str(found.value)
        assert told[told.index(begin) :] == str(expected.value)


def test_wrong_files(tmp_path):
    path = str(tmp_path / "other.safetensors")
    dt.safetensors.save_file({"0.bias": dt.ones(3), "more": dt.ones(1)}, path)
    ours = core_network()
    with pytest.raises(RuntimeError, match=r"Missing key.*0\.weight(.|\n)*Unexpected key.*more"):
        ours.load(path)
    ours.load(path, strict=False)
    dt.safetensors.save_file({"0.bias": dt.ones(4)}, path)
    with pytest.raises(RuntimeError, match=r"size mismatch for 0\.bias"):
        ours.load(path, strict=False)
    with pytest.raises(OSError):
        ours.load(str(tmp_path / "none"))
    with pytest.raises(OSError):
        ours.save(str(tmp_path / "no" / "folder"))


def test_extra_state_that_is_a_module(both):
    def run(t):
        class Holder(t.nn.Module):
            def __init__(self, held):
                super().__init__()
                self.held = held

            def get_extra_state(self):
                return self.held

            def set_extra_state(self, state):
                self.held = state

        x, y = Holder(Holder(3)), Holder("nothing")
        y.load_state_dict(x.state_dict())
        return list(y.state_dict()), y.held is x.held, y.held.held

    mine, theirs = both(run)
    assert mine == theirs
