"""torch.profiler: what runs is counted, nested and measured without contradictions; schedules as PyTorch's."""

import gc
import json
import os
import resource
import threading
import warnings
from pathlib import Path
from xml.etree import ElementTree

import dumbtorch as dt
import pytest
from dumbtorch.profiler import ProfilerActivity, profile, record_function, schedule

F = dt.nn.functional


def test_ops_are_counted():
    x = dt.ones(3, 4)
    with profile() as prof:
        for _ in range(5):
            y = x.exp()
        y.sum()
    averages = {a.key: a for a in prof.key_averages()}
    assert averages["exp"].count == 5 and averages["sum"].count == 1
    with profile() as prof:
        pass
    assert prof.events() == [] and "Self CPU time total: 0.000us" in prof.key_averages().table()


def test_what_is_inside_is_inside():
    w = dt.ones(4, 4).requires_grad_()
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        with record_function("forward"):
            loss = (dt.ones(2, 4) @ w).exp().sum()
        with record_function("backward"):
            loss.backward()
    events = prof.events()
    by_name = {e.name: e for e in events}
    assert by_name["exp"].cpu_parent is by_name["forward"]
    assert by_name["ExpBackward0"].cpu_parent is by_name["backward"]
    inner = by_name["ExpBackward0"].cpu_children
    assert [e.name for e in inner] == ["exp_backward"]
    for e in events:
        assert e.self_cpu_time_total == pytest.approx(
            e.cpu_time_total - sum(c.cpu_time_total for c in e.cpu_children), abs=1e-6
        )
        for c in e.cpu_children:
            assert e.time_range.start <= c.time_range.start <= c.time_range.end <= e.time_range.end
    roots = [e for e in events if e.cpu_parent is None]
    assert {e.name for e in roots} == {"forward", "backward"} or len(roots) > 2
    total = sum(e.self_cpu_time_total for e in events)
    assert total == pytest.approx(sum(e.cpu_time_total for e in roots))
    assert prof.key_averages().self_cpu_time_total == pytest.approx(total)


def test_a_range_within_its_own_kind_counts_once():
    with profile() as prof:
        with record_function("outer"), record_function("outer"):
            dt.ones(2).exp()
    (outer,) = [a for a in prof.key_averages() if a.key == "outer"]
    first = next(e for e in prof.events() if e.name == "outer")
    assert outer.count == 2 and outer.cpu_time_total == pytest.approx(first.cpu_time_total)


def test_shapes():
    with profile(record_shapes=True) as prof:
        dt.ones(2, 3) @ dt.ones(3, 5)
        dt.ones(2, 7) @ dt.ones(7, 5)
        dt.ones(2, 7) @ dt.ones(7, 5)
    products = [
        a for a in prof.key_averages(group_by_input_shape=True) if "[1, 7, 5]" in a.input_shapes
    ]
    assert len(products) == 1 and products[0].count == 2
    assert "[[1, 2, 7], [1, 7, 5]" in prof.key_averages(group_by_input_shape=True).table()


def test_memory():
    kept = [dt.ones(8)]
    before = dt.memory_stats("cpu")[0]
    with profile(profile_memory=True) as prof:
        with record_function("kept"):
            kept.append(dt.full((1 << 20,), 2.0).exp())
        with record_function("dropped"):
            dt.full((1 << 18,), 2.0).exp()
    after = dt.memory_stats("cpu")[0]
    events = prof.events()
    ops = [e for e in events if not e.is_user_annotation]
    assert max(e.memory_allocated for e in ops) >= before + (8 << 20)
    (range_,) = [e for e in events if e.name == "kept"]
    assert range_.cpu_memory_usage >= 4 << 20
    assert sum(e.self_cpu_memory_usage for e in ops) == ops[-1].memory_allocated - before
    assert after - before >= 4 << 20
    summary = prof.memory_summary()
    assert summary.startswith("cpu: ") and "at most, after kept / exp" in summary
    assert "\n(in use before) " in summary
    with profile() as prof:
        pass
    with pytest.raises(RuntimeError, match="did not look at memory"):
        prof.memory_summary()


def test_table():
    with profile(profile_memory=True) as prof:
        dt.ones(64, 64).exp().sum()
    table = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=1)
    lines = table.splitlines()
    assert lines[1].split()[:6] == ["Name", "Self", "CPU", "%", "Self", "CPU"]
    assert len(lines) == 6 and lines[-1].startswith("Self CPU time total: ")
    totals = {a.key: a.cpu_time_total for a in prof.key_averages()}
    rows = prof.key_averages().table(sort_by="cpu_time_total").splitlines()[3:-2]
    shown = [
        totals[row.split()[0]] for row in rows
    ]  # ops that took the same time stand in any order
    assert len(shown) == len(totals) and shown == pytest.approx(sorted(shown, reverse=True))
    with pytest.raises(
        ValueError, match="cannot sort by 'nothing': expected one of self_cpu_time_total"
    ):
        prof.key_averages().table(sort_by="nothing")


def test_long_names_are_cut_between_characters():
    for name in ("x" * before + "\u00e9" * 60 for before in range(2)):
        with profile() as prof, record_function(name):
            dt.ones(2)
        row = prof.key_averages().table().splitlines()[3]
        assert row.split("...")[0] == name[: len(row.split("...")[0])] and "..." in row


def test_chrome_trace(tmp_path):
    with profile(record_shapes=True, profile_memory=True) as prof, record_function('a "name"\n'):
        dt.ones(2, 2).exp()
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(path)
    events = json.loads(path.read_text())["traceEvents"]
    spans = {e["name"]: e for e in events if e["ph"] == "X"}
    assert spans["exp"]["args"]["Input Dims"] == [[4]] and spans["exp"]["cat"] == "cpu_op"
    outer, inner = spans['a "name"\n'], spans["exp"]
    assert (
        outer["ts"] <= inner["ts"]
        and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 1e-3
    )
    assert any(e["ph"] == "C" and e["args"]["bytes"] > 0 for e in events)
    with pytest.raises(OSError):
        prof.export_chrome_trace(tmp_path / "nowhere" / "trace.json")


def test_threads():
    with profile() as prof:
        threads = [
            threading.Thread(target=lambda: [dt.ones(8).exp() for _ in range(50)]) for _ in range(4)
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    exps = [e for e in prof.events() if e.name == "exp"]
    assert len(exps) == 200 and all(e.cpu_parent is None for e in exps)


def test_a_range_that_a_thread_left_open_is_not_around_the_next_thread():
    """The system gives a new thread the number of one that has ended."""

    def run(work):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    with profile() as prof:
        run(lambda: record_function("left open").__enter__())
        for _ in range(20):
            run(lambda: dt.ones(8).exp())
    exps = [e for e in prof.events() if e.name == "exp"]
    assert len(exps) == 20 and all(e.cpu_parent is None for e in exps)


def test_one_at_a_time():
    with profile() as prof:
        with pytest.raises(RuntimeError, match="already enabled"):
            profile().start()
        with pytest.raises(RuntimeError, match="stop it first"):
            prof.key_averages()
    with pytest.raises(AssertionError, match="must be initialized"):
        profile().key_averages()
    with record_function("outside"):
        dt.ones(1).exp()  # nothing looks


def test_a_decorated_function():
    @record_function("work")
    def work(x):
        return x.exp()

    x = dt.ones(1)
    with profile() as prof:
        work(x)
    assert [e.name for e in prof.events()][:1] == ["work"]


CYCLES = [
    {"wait": 1, "warmup": 1, "active": 2},
    {"wait": 0, "warmup": 0, "active": 1, "repeat": 3},
    {"wait": 2, "warmup": 1, "active": 3, "repeat": 2, "skip_first": 4},
    {"wait": 3, "warmup": 1, "active": 1, "skip_first": 2, "skip_first_wait": 1},
]


@pytest.mark.parametrize("cycle", CYCLES, ids=str)
def test_schedules(cycle, torch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = schedule(**cycle), torch.profiler.schedule(**cycle)
    assert [ours(i).name for i in range(40)] == [theirs(i).name for i in range(40)]
    with pytest.raises(AssertionError, match="Invalid profiler schedule arguments"):
        schedule(**cycle | {"active": 0})


@pytest.mark.parametrize("cycle", CYCLES, ids=str)
def test_steps(cycle, torch):
    def steps(t):
        seen = []

        def ready(prof):
            steps = [e for e in prof.events() if e.name.startswith("ProfilerStep")]
            seen.append((prof.step_num, len(steps)))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plan = t.profiler.schedule(**cycle)
            with t.profiler.profile(
                activities=[t.profiler.ProfilerActivity.CPU], schedule=plan, on_trace_ready=ready
            ) as prof:
                for _ in range(11):
                    t.ones(2).exp()
                    prof.step()
        return seen

    assert steps(dt) == steps(torch)


def times(numbers, names, name):
    row = numbers[names.index(name)]
    return row[2], row[2] + row[3]


def test_a_range_ends_by_its_number():
    """Not the innermost one: what is left open within it ends with it, and what has ended stays as it is."""
    prof = dt._ops.profiler_start()
    outer, inner = (dt._ops.profiler_range_begin(name) for name in ("outer", "inner"))
    dt._ops.profiler_range_end(outer)
    dt.ones(2).exp()
    dt._ops.profiler_range_end(inner)
    other = dt._ops.profiler_range_begin("other")
    dt._ops.profiler_range_end(outer)
    dt.ones(2).sin()
    dt._ops.profiler_range_end(other)
    prof.stop()
    names, _, numbers = prof.activities()
    numbers = numbers.tolist()
    assert numbers[names.index("exp")][-1] == -1
    assert numbers[names.index("sin")][-1] == names.index("other")
    assert numbers[names.index("inner")][-1] == names.index("outer")
    began = numbers[names.index("exp")][2]
    assert times(numbers, names, "inner")[1] <= times(numbers, names, "outer")[1] <= began
    later = dt._ops.profiler_start()
    dt._ops.profiler_range_end(other)  # of a profiler that has stopped
    later.stop()
    assert dt._ops.profiler_range_begin("nowhere") == 0


def test_a_profiler_that_is_full():
    prof = dt._ops.profiler_start(max_activities=5)
    with record_function("range"):
        for _ in range(8):
            dt.ones(2).exp()
        with record_function("no room"):
            dt.ones(2, requires_grad=True).exp().sum().backward()
    prof.stop()
    names, _, _ = prof.activities()
    assert len(names) == 5 and names[0] == "range" and "no room" not in names
    assert "more activities were left out: max_activities is 5" in prof.table()
    with pytest.raises(ValueError, match="max_activities must be positive"):
        dt._ops.profiler_start(max_activities=0)


def test_a_profiler_that_is_full_keeps_nothing():
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    prof = dt._ops.profiler_start(max_activities=1)
    before = resident()
    for i in range(2000):
        dt._ops.profiler_range_begin(f"{i:050000}")
    after = resident()
    prof.stop()
    assert after - before < 30e6  # of 100 MB


def test_a_name_outlives_its_node():
    def run(name: str):
        def backward(ctx, grad):
            return grad * 2

        double = {"forward": staticmethod(lambda ctx, x: x * 2), "backward": staticmethod(backward)}
        x = dt.ones(2, requires_grad=True)
        type(name, (dt.autograd.Function,), double).apply(x).sum().backward()

    with profile() as prof:
        for i in range(20):
            run(f"Double{i}")
            gc.collect()
    names = [e.name for e in prof.events() if e.name.startswith("Double")]
    assert names == [f"Double{i}Backward" for i in range(20)]


def test_a_child_is_not_profiled():
    """Also if it came into being while another thread's ops were written down."""
    prof = dt._ops.profiler_start()
    stop = threading.Event()

    def work():
        while not stop.is_set():
            dt.ones(2).exp()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                dt.ones(2).exp()
                fresh = dt._ops.profiler_start()
                dt.ones(2).sin()
                fresh.stop()
                os._exit(0 if "sin" in fresh.activities()[0] else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()
    prof.stop()
    assert "exp" in prof.activities()[0]


@pytest.mark.skipif(dt.cuda.is_available(), reason="there is a GPU")
def test_nvtx_says_what_it_needs():
    words = "NVTX functions not installed. Are you sure you have a CUDA build"
    nvtx, emit = dt.cuda.nvtx, dt.autograd.profiler.emit_nvtx
    for call in (
        lambda: nvtx.range_push("x"),
        nvtx.range_pop,
        lambda: nvtx.range_start("x"),
        lambda: nvtx.range_end(1),
        lambda: nvtx.mark("x"),
        lambda: nvtx.range("{}", 1).__enter__(),
        lambda: emit().__enter__(),
    ):
        with pytest.raises(RuntimeError, match=words):
            call()
    with emit(enabled=False):
        assert (dt.ones(2) + 1).tolist() == [2, 2]
    with pytest.raises(NotImplementedError, match="leave record_shapes out"):
        emit(record_shapes=True)


def test_a_picture_of_memory(tmp_path):
    """It shows the peak that the events have, and is well-formed."""
    with profile(profile_memory=True) as prof:
        x = dt.ones(300, 400)
        y = x * 2
        del x
        (y + 1).sum()
    prof.export_memory_timeline(tmp_path / "memory.svg")
    root = ElementTree.parse(tmp_path / "memory.svg").getroot()
    words = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    peak = max(prof.events(), key=lambda e: e.memory_allocated)
    assert f"after {peak.name}" in words[0] and root.tag.endswith("svg")
    step = next(e for e in root.iter("{http://www.w3.org/2000/svg}path") if e.get("fill"))
    assert step.get("d").count("H") == len(prof.events())

    with profile() as prof:
        dt.ones(2) * 2
    with pytest.raises(ValueError, match="profile_memory=True"):
        prof.export_memory_timeline(tmp_path / "nothing.svg")
