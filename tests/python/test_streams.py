"""To a device and back, current devices and streams, and other libraries' streams. What needs devices runs on GPUs, and
on devices of host memory (tests/cuda/fake_devices.cpp) where there are none."""

import os
import subprocess
import sys
from pathlib import Path

import dumbtorch as dt
import pytest
from dumbtorch import cuda

FAKE = Path(__file__).resolve().parents[2] / "build" / "tests" / "libdt_fake_devices.so"
needs_device = pytest.mark.skipif(not cuda.is_available(), reason="there is no CUDA device")
needs_two = pytest.mark.skipif(cuda.device_count() < 2, reason="there are no two CUDA devices")
without_device = pytest.mark.skipif(cuda.is_available(), reason="there is a CUDA device")


def outcome(call):
    """What a call gives, or its error without the name of the function in front."""
    try:
        return call()
    except Exception as error:
        return type(error), str(error).split(": ", 1)[-1]


@without_device
@pytest.mark.skipif(not FAKE.exists(), reason="the devices of host memory are not built")
@pytest.mark.skipif("DT_CUDA_PLUGIN" in os.environ, reason="this is the run on such devices")
def test_on_devices_of_host_memory():
    environment = os.environ | {"DT_CUDA_PLUGIN": str(FAKE)}
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout
    for mark in (needs_device, needs_two):
        assert mark.kwargs["reason"] not in done.stdout, done.stdout


# ---- to a device and back


def test_devices_that_are_none(both):
    def run(t):
        x = t.ones(2)
        return [
            outcome(lambda: x.cuda("cpu")), outcome(lambda: x.cuda(-1)),
            outcome(lambda: t.device("cuda", -1)), outcome(lambda: t.nn.Linear(2, 2).cuda("cpu")),
            outcome(lambda: t.cuda.device("cpu")), outcome(lambda: t.cuda.set_device("cpu")),
            t.cuda.device(-1).idx, t.cuda.device_of(x).idx,
        ]  # fmt: skip

    mine, theirs = both(run)
    assert mine == theirs


def test_cpu_gives_the_tensor_itself():
    x = dt.arange(24.0).reshape(1, 2, 3, 4).requires_grad_()
    y = x.cpu()
    assert y.data_ptr() == x.data_ptr() and y.requires_grad and y.is_leaf
    assert x.cpu(memory_format=dt.channels_last).stride() == (24, 1, 8, 2)
    model = dt.nn.Linear(2, 2)
    assert model.cpu() is model


@needs_device
def test_there_and_back():
    x = dt.arange(6.0).reshape(2, 3)
    y = x.cuda()
    assert y.device == dt.device("cuda", 0) and y.cuda().data_ptr() == y.data_ptr()
    assert y.cpu().tolist() == x.tolist()
    w = dt.ones(3, requires_grad=True)
    (w.cuda() * 2).sum().backward()
    assert w.grad.tolist() == [2.0] * 3


@needs_two
def test_a_numbered_device():
    x = dt.ones(3).cuda(1)
    assert x.device == dt.device("cuda", 1) and dt.ones(3).cuda("cuda:1").device == x.device
    assert x.cuda().device == dt.device("cuda", 0) and x.cuda(1).data_ptr() == x.data_ptr()
    model = dt.nn.Linear(2, 2).cuda(1)
    assert {p.device for p in model.parameters()} == {x.device}


# ---- the current device


@without_device
def test_what_scripts_ask_without_a_device(both):
    mine, theirs = both(lambda t: (t.cuda.memory_stats(), t.cuda.is_initialized()))
    assert mine == theirs
    for call in (cuda.current_stream, cuda.get_device_properties, dt.ones(1).cuda):
        with pytest.raises(RuntimeError, match="device 'cuda:0' is not available: "):
            call()
    with pytest.raises(RuntimeError, match="is not available"), cuda.device(0):
        pass


@needs_device
def test_properties():
    properties = cuda.get_device_properties(0)
    assert properties.name == cuda.get_device_name(0)
    assert (properties.major, properties.minor) == cuda.get_device_capability()
    assert properties.total_memory == cuda.mem_get_info()[1] or properties.total_memory > 0
    assert properties.multi_processor_count > 0
    assert repr(properties).startswith(f"_CudaDeviceProperties(name='{properties.name}', major=")


@needs_two
def test_a_device_for_a_block():
    with cuda.device(1):
        assert cuda.current_device() == 1 and dt.ones(1, device="cuda").device.index == 1
        with cuda.device(-1), cuda.device_of(dt.ones(1)):
            assert cuda.current_device() == 1
        with cuda.device_of(dt.ones(1, device="cuda:0")):
            assert cuda.current_device() == 0
        assert cuda.current_device() == 1
    assert cuda.current_device() == 0
    with pytest.raises(ZeroDivisionError), cuda.device("cuda:1"):
        raise ZeroDivisionError
    assert cuda.current_device() == 0


@needs_two
def test_a_default_device_without_a_number_follows_the_current_one():
    try:
        dt.set_default_device("cuda")
        with cuda.device(1):
            assert dt.get_default_device() == dt.device("cuda", 1) == dt.ones(1).device
            assert "device=" not in repr(dt.ones(1))
        assert dt.ones(1).device == dt.device("cuda", 0)
        dt.set_default_device("cuda:1")
        assert dt.ones(1).device == dt.get_default_device() == dt.device("cuda", 1)
    finally:
        dt.set_default_device("cpu")


# ---- memory and seeds


def test_seeding_cuda_leaves_the_cpu_alone():
    dt.manual_seed(3)
    expected = dt.rand(5).tolist()
    dt.manual_seed(3)
    cuda.manual_seed_all(7)
    cuda.manual_seed(7)
    assert dt.rand(5).tolist() == expected


@without_device
def test_states_without_a_device(both):
    mine, theirs = both(
        lambda t: (t.cuda.get_rng_state_all(), t.cuda.seed(), t.cuda.manual_seed_all(1))
    )
    assert mine == theirs


@needs_two
def test_states_of_all_devices():
    cuda.manual_seed_all(5)
    assert cuda.initial_seed() == 5
    states = cuda.get_rng_state_all()
    first = [dt.rand(3, device=f"cuda:{i}").tolist() for i in range(2)]
    assert cuda.get_rng_state(1).tolist() != states[1].tolist() and not states[1].is_cuda
    cuda.set_rng_state_all(states)
    assert [dt.rand(3, device=f"cuda:{i}").tolist() for i in range(2)] == first
    cuda.seed()
    assert cuda.initial_seed() != 5


@needs_two
def test_seeds_and_memory_of_all_devices():
    cuda.manual_seed_all(5)
    assert dt.rand(3, device="cuda:1").tolist() == dt.rand(3, device="cuda:0").tolist()
    cuda.empty_cache()
    before = [cuda.memory_reserved(i) for i in range(2)]
    for i in range(2):
        dt.empty(1 << 22, device=f"cuda:{i}")
    stats = cuda.memory_stats(1)
    assert stats["reserved_bytes.all.current"] == cuda.memory_reserved(1) > before[1]
    assert stats["allocated_bytes.all.peak"] == cuda.max_memory_allocated(1)
    cuda.empty_cache()
    assert [cuda.memory_reserved(i) for i in range(2)] == before


# ---- streams


def test_streams_of_the_cpu():
    main = cuda.default_stream("cpu")
    assert main == cuda.current_stream("cpu") and hash(main) == hash(cuda.current_stream("cpu"))
    assert main.device == dt.device("cpu") and main.cuda_stream == 0 and main.query()
    event = main.record_event()
    assert event.device == dt.device("cpu") and event.query()
    event.wait()
    event.wait(main)
    cuda.set_stream(None)
    with cuda.stream(None):
        pass


@needs_device
def test_current_streams():
    main, side = cuda.default_stream(), cuda.Stream()
    assert cuda.current_stream() == main != side
    with cuda.stream(side):
        assert cuda.current_stream() == side == cuda.ExternalStream(side.cuda_stream)
        with cuda.stream(main):
            assert cuda.current_stream() == main
        assert cuda.current_stream() == side
    assert cuda.current_stream() == main
    cuda.set_stream(side)
    assert cuda.current_stream() == side
    cuda.set_stream(main)
    assert cuda.current_stream() == main


@needs_device
def test_an_external_stream_stays_its_owners():
    """What is let go of is the look at it: the stream itself is not given to the next who asks."""
    side = cuda.Stream()
    number = side.cuda_stream
    cuda.ExternalStream(number)
    others = [cuda.Stream() for _ in range(3)]
    assert number not in {s.cuda_stream for s in others}
    side.record_event().synchronize()


@needs_device
def test_a_stream_of_the_cpu_is_not_one_of_a_gpu():
    """Each device has its own current stream, also where both have the number 0."""
    side = cuda.Stream()
    with cuda.stream(side):
        with cuda.stream(cuda.Stream(device="cpu")):
            assert cuda.current_stream() == side
        assert cuda.current_stream() == side
        assert cuda.current_stream("cpu").device.type == "cpu"


@needs_two
def test_a_stream_makes_its_device_current():
    far = cuda.Stream(device="cuda:1")
    with cuda.stream(far):
        assert cuda.current_device() == 1 and cuda.current_stream() == far
        assert dt.ones(1, device="cuda").device == far.device
        with cuda.device(0):
            assert cuda.current_stream() == cuda.default_stream("cuda:0")
    assert cuda.current_device() == 0 and cuda.current_stream(1) == cuda.default_stream(1)
    cuda.set_stream(far)
    assert cuda.current_device() == 1
    cuda.set_stream(cuda.default_stream("cuda:1"))
    cuda.set_device(0)


@needs_two
def test_a_name_without_a_number_keeps_the_current_device():
    with cuda.device(1):
        cuda.set_device("cuda")
        assert cuda.current_device() == 1
        with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
            cuda.set_device("cpu")
        assert cuda.current_device() == 1


@needs_two
def test_an_event_holds_up_the_current_device():
    """As in PyTorch, wait() without a stream is for the current device's, whatever the event's."""
    x, side = dt.zeros(1 << 20, device="cuda:0"), cuda.Stream("cuda:0")
    side.wait_stream(cuda.current_stream(0))
    with cuda.stream(side):
        for _ in range(10):
            x.add_(1)
        done = side.record_event()
    with cuda.device(1):
        done.wait()
        cuda.current_stream().record_event().synchronize()
    assert done.query()


@needs_two
def test_an_event_belongs_to_where_it_is_recorded_first():
    main, far = cuda.default_stream(0), cuda.Stream("cuda:1")
    start, end, current = cuda.Event(enable_timing=True), cuda.Event(True), cuda.Event()
    far.record_event(start)
    end.record(far)
    with cuda.device(1):
        current.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    assert {str(e.device) for e in (start, end, current)} == {"cuda:1"}
    for event in (start, cuda.Event(device=1)):
        with pytest.raises(RuntimeError, match="the event belongs to 'cuda:1', the stream to"):
            event.record(main)


# ---- captured steps


KINDS = {
    "SGD": lambda ps: dt.optim.SGD(ps, lr=1.0),
    "SGD momentum": lambda ps: dt.optim.SGD(ps, lr=1.0, momentum=0.5),
    "Adam": lambda ps: dt.optim.Adam(ps, lr=1.0),
}


@needs_two
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("elsewhere", ["cpu", "cuda:1"])
def test_captured_steps_obey_the_schedule(kind, elsewhere):
    """The rate lies where the step is, not where the group's first parameter lies."""
    idle = dt.nn.Parameter(dt.ones(2, device=elsewhere))
    p = dt.nn.Parameter(dt.ones(2, device="cuda:0"))
    p.grad = dt.ones_like(p)
    optimizer = KINDS[kind]([idle, p])
    captured = dt.capture(optimizer.step, device="cuda:0")
    captured()
    before = p.tolist()
    optimizer.param_groups[0]["lr"] = 0.0
    captured()
    assert p.tolist() == before != [1.0, 1.0]


# ---- DLPack


def test_streams_of_exports_from_the_cpu(both):
    def run(t):
        x = t.ones(2)
        return [
            outcome(lambda s=s: bool(x.__dlpack__(stream=s, max_version=(1, 0))))
            for s in (None, -1, 1, "1", 1.0)
        ]

    mine, theirs = both(run)
    assert mine == theirs


class Producer:
    """Another library's array over a tensor, which notes how it is asked for its memory."""

    def __init__(self, x):
        self.x, self.asked = x, []

    def __dlpack__(self, **options):
        self.asked.append(options)
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def test_imports_to_the_cpu(torch):
    producer = Producer(torch.arange(3.0))
    x = dt.from_dlpack(producer)
    assert producer.asked == [{"max_version": (1, 0)}] and x.data_ptr() == producer.x.data_ptr()
    assert dt.from_dlpack(producer, device="cpu", copy=False).data_ptr() == x.data_ptr()
    for source in (producer, x):
        y = dt.from_dlpack(source, copy=True)
        assert y.data_ptr() != x.data_ptr() and y.tolist() == [0.0, 1.0, 2.0]
    capsule = producer.x.__dlpack__(max_version=(1, 0))
    with pytest.raises(AssertionError, match="device and copy kwargs not supported"):
        dt.from_dlpack(capsule, copy=True)


def work(x):
    """Something that takes a while, after which x holds ones."""
    for _ in range(50):
        x.mul_(0.5)
    return x.fill_(1)


@needs_device
def test_an_import_says_which_stream_uses_it():
    producer, side = Producer(dt.ones(2, device="cuda")), cuda.Stream()
    dt.from_dlpack(producer)
    with cuda.stream(side):
        dt.from_dlpack(producer)
    assert [o["stream"] for o in producer.asked] == [1, side.cuda_stream]
    with pytest.raises(ValueError, match="without copying"):
        dt.from_dlpack(producer, device="cpu", copy=False)
    assert dt.from_dlpack(producer, device="cpu").tolist() == [1.0, 1.0]


@needs_device
@pytest.mark.parametrize("number", [None, 1])
def test_the_default_stream_waits_for_an_export(number):
    x, side = dt.zeros(1 << 22, device="cuda"), cuda.Stream()
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        capsule = work(x).__dlpack__(stream=number, max_version=(1, 0))
    assert dt.from_dlpack(capsule).sum().item() == 1 << 22


@needs_device
def test_another_librarys_stream_waits_for_an_export():
    x, theirs = work(dt.zeros(1 << 22, device="cuda")), cuda.Stream()
    capsule = x.__dlpack__(stream=theirs.cuda_stream, max_version=(1, 0))
    with cuda.stream(theirs):
        assert dt.from_dlpack(capsule).sum().item() == 1 << 22
    for number, error in ((0, AssertionError), (2, BufferError), ("1", TypeError)):
        with pytest.raises(error):
            x.__dlpack__(stream=number, max_version=(1, 0))
