"""The acceptance cases: what users of such tools reported, each as a test named after its case.

Everything but C23 (the benchmark's table, see tests/bench). Where a case leaves a choice, the test says which we made.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wgpu
from attrs import evolve

import cmdgraph
from cmdgraph.graph import _prepared
from cmdgraph.replay import walker
from tests.kit import ADD1, ADD1_UNIFORM, INC, INDIRECT, READBACK, UNIFORM, Kit, captured, use

Way = tuple[str, str]


# -- stale and aliased values ----------------------------------------------------------------------------------------


def test_c01_new_contents_are_seen_by_exactly_one_replay(kit: Kit, way: Way) -> None:
    x, y, c = kit.buffer([1, 2, 3, 4], "x"), kit.buffer(label="y"), kit.buffer([0] * 4, "c")
    add, inc = kit.call(ADD1, x, y), kit.call(INC, c)
    graph = use(captured(kit.device, lambda: (add(), inc())), way)

    assert kit.read(c) == [0, 0, 0, 0]  # recorded, not run
    kit.write(x, [10, 20, 30, 40])
    graph.replay()
    assert kit.read(y) == [11, 21, 31, 41]
    assert kit.read(c) == [1] * 4
    for _ in range(4):
        graph.replay()
    assert kit.read(c) == [5] * 4
    assert kit.read(y) == [11, 21, 31, 41]


def test_c01_executing_capture_runs_the_calls_once(kit: Kit, way: Way) -> None:
    x, y, c = kit.buffer([1, 2, 3, 4], "x"), kit.buffer(label="y"), kit.buffer([0] * 4, "c")
    add, inc = kit.call(ADD1, x, y), kit.call(INC, c)
    graph = use(captured(kit.device, lambda: (add(), inc()), execute=True), way)

    assert kit.read(c) == [1] * 4
    assert kit.read(y) == [2, 3, 4, 5]
    kit.write(x, [10, 20, 30, 40])
    graph.replay()
    assert kit.read(y) == [11, 21, 31, 41]
    assert kit.read(c) == [2] * 4
    graph.replay(times=4)
    assert kit.read(c) == [6] * 4


def test_c02_an_earlier_result_is_not_rewritten(kit: Kit, way: Way) -> None:
    x, y = kit.buffer([1, 2, 3, 4]), kit.buffer()
    graph = use(captured(kit.device, kit.call(ADD1, x, y)), way)

    graph.replay()
    earlier = np.frombuffer(kit.queue.read_buffer(y), np.float32)
    kit.write(x, [100] * 4)
    graph.replay()

    assert kit.read(y) == [101] * 4
    assert earlier.tolist() == [2, 3, 4, 5]


# -- lifetime --------------------------------------------------------------------------------------------------------
# What could abort is in tests/fatal_cases.py too, where it runs in subprocesses on fresh devices.


@pytest.mark.parametrize("victim", ["x", "y"])
def test_c05_a_destroyed_buffer_stops_the_replay(kit: Kit, way: Way, victim: str) -> None:
    buffers = {"x": kit.buffer([1, 2, 3, 4], "x"), "y": kit.buffer(label="y")}
    graph = use(captured(kit.device, kit.call(ADD1, *buffers.values())), way)
    other_x, other_y = kit.buffer([5, 6, 7, 8]), kit.buffer()
    other = use(captured(kit.device, kit.call(ADD1, other_x, other_y)), way)

    buffers[victim].destroy()
    with pytest.raises(cmdgraph.DestroyedError) as caught:
        graph.replay()

    assert f'buffer "{victim}" was destroyed' in str(caught.value)
    assert "node 0 " in str(caught.value)
    assert f"@binding({'xy'.index(victim)})" in str(caught.value)
    other.replay()
    assert kit.read(other_y) == [6, 7, 8, 9]
    with pytest.raises(cmdgraph.DestroyedError):  # for good
        graph.replay()


def test_c05_a_mapped_buffer_stops_the_replay_until_it_is_unmapped(kit: Kit, way: Way) -> None:
    y, out = kit.buffer([1, 2, 3, 4], "y"), kit.buffer(label="readback", usage=READBACK)
    graph = use(captured(kit.device, lambda: kit.copy(y, out)), way)

    out.map_sync("READ")
    with pytest.raises(cmdgraph.MappedError, match='buffer "readback" is mapped.*node 0 copy_buffer_to_buffer'):
        graph.replay()
    out.unmap()
    graph.replay()
    out.map_sync("READ")
    assert np.frombuffer(out.read_mapped(), np.float32).tolist() == [1, 2, 3, 4]
    out.unmap()


def test_c06_the_graph_keeps_alive_what_it_uses(kit: Kit, way: Way) -> None:
    x, y = kit.buffer([1, 2, 3, 4]), kit.buffer()
    graph = use(captured(kit.device, kit.call(ADD1, x, y)), way)

    del x
    gc.collect()
    others = [kit.buffer([9] * 4) for _ in range(50)]
    graph.replay()

    assert kit.read(y) == [2, 3, 4, 5]
    assert len(others) == 50


def test_c06_a_graph_deleted_under_way_gives_everything_back(kit: Kit, way: Way) -> None:
    kit.kernel(INC)  # a cached kernel outlives the test
    c = kit.buffer([0] * 4)
    before = _counts(kit)

    def scope() -> None:
        pipeline = Kit(kit.device).kernel(INC)
        group = kit.group(pipeline, c)
        graph = use(captured(kit.device, lambda: kit.run(pipeline, group)), way)
        for _ in range(100):
            graph.replay()

    scope()
    gc.collect()
    kit.call(INC, c)()

    assert kit.read(c) == [101] * 4
    gc.collect()
    assert _counts(kit) == before


# -- capture misuse --------------------------------------------------------------------------------------------------


def test_c09_an_empty_capture_is_an_error_that_names_a_likely_cause(kit: Kit) -> None:
    with (
        pytest.raises(cmdgraph.EmptyCaptureError, match="0 dispatches.*Likely causes: .*another thread"),
        cmdgraph.capture() as graph,
    ):
        pass
    with pytest.raises(cmdgraph.NothingCapturedError, match="nothing captured.*0 dispatches"):
        graph.replay()
    with pytest.raises(cmdgraph.EmptyCaptureError, match="submitted to device|submitted to unlabelled device"):
        captured(kit.device, lambda: None)


@pytest.mark.parametrize("call", ["replay", "wait", "update", "summary", "stats", "nodes", "strategy"])
def test_c09_a_graph_that_was_never_captured_says_so(call: str) -> None:
    graph = cmdgraph.CommandGraph("decode")

    with pytest.raises(cmdgraph.NothingCapturedError, match='graph "decode": nothing captured'):
        _use(graph, call)


def _use(graph: cmdgraph.CommandGraph, name: str) -> None:
    found = getattr(graph, name)
    if callable(found):
        found()


def test_c10_a_nested_capture_is_refused_at_entry_and_the_outer_goes_on(kit: Kit, way: Way) -> None:
    x, y, z = kit.buffer([1, 2, 3, 4]), kit.buffer(), kit.buffer()
    first, second = kit.call(ADD1, x, y), kit.call(ADD1, y, z)

    with cmdgraph.capture(kit.device) as graph:
        first()
        with pytest.raises(cmdgraph.NestedCaptureError, match=rf"already active.*{Path(__file__).name}:\d+"):
            cmdgraph.capture(kit.device).__enter__()
        with pytest.raises(cmdgraph.NestedCaptureError):
            captured(kit.device, lambda: pytest.fail("the block must not run"))
        second()

    assert len(graph) == 2
    use(graph, way).replay()
    assert kit.read(z) == [3, 4, 5, 6]


# -- update and order ------------------------------------------------------------------------------------------------


def test_c13_writes_between_dispatches_keep_their_order(kit: Kit, way: Way) -> None:
    v = kit.buffer(label="v", usage=UNIFORM)
    outs = [kit.buffer(size=4) for _ in range(3)]
    calls = [kit.call(ADD1_UNIFORM, v, out, count=1) for out in outs]

    def model() -> None:
        for value, call in zip((0, 10, 20), calls, strict=True):
            kit.write(v, [value])
            call()

    graph = use(captured(kit.device, model), way)
    kit.write(v, [77, 0, 0, 0])
    for _ in range(2):
        graph.replay()
        assert [kit.read(out)[0] for out in outs] == [1, 11, 21]
    graph.set_data(2, [50.0])
    graph.replay()
    assert [kit.read(out)[0] for out in outs] == [1, 51, 21]
    with pytest.raises(cmdgraph.UpdateError, match="node 0 write_buffer overwrites"):
        graph.update(v=np.zeros(4, np.float32))


def test_c13_two_writes_before_one_submit_leave_the_last(kit: Kit, way: Way) -> None:
    """As in eager code: write_buffer happens in queue order, not in the order of encoding."""
    v = kit.buffer(label="v", usage=UNIFORM)
    outs = [kit.buffer(size=4) for _ in range(2)]
    pipeline = kit.kernel(ADD1_UNIFORM)
    groups = [kit.group(pipeline, v, out) for out in outs]

    def model() -> None:
        commands = []
        for value, group in zip((0, 10), groups, strict=True):
            kit.write(v, [value])
            commands.append(kit.encode(pipeline, group, count=1))
        kit.submit(*commands)

    use(captured(kit.device, model), way).replay()

    assert [kit.read(out)[0] for out in outs] == [11, 11]


@pytest.mark.parametrize("data", [[0.0] * 8, [0.0] * 2, []], ids=["too long", "too short", "empty"])
def test_c14_an_update_of_the_wrong_size_changes_nothing(kit: Kit, way: Way, data: list[float]) -> None:
    x, y = kit.buffer([1, 2, 3, 4], "x"), kit.buffer(label="y")
    graph = use(captured(kit.device, kit.call(ADD1, x, y)), way)

    with pytest.raises(cmdgraph.UpdateError, match=rf'buffer "x": expected 16 bytes, got {4 * len(data)}'):
        graph.update(x=np.array(data, np.float32))
    graph.replay()

    assert kit.read(y) == [2, 3, 4, 5]


# -- validation ------------------------------------------------------------------------------------------------------


def test_c17_a_usage_conflict_is_an_error_inside_the_capture(kit: Kit) -> None:
    x, y = kit.buffer([1, 2, 3, 4], "kv.3"), kit.buffer()
    good = kit.call(ADD1, x, y)
    pipeline = kit.kernel(ADD1)
    conflict = kit.group(pipeline, x, x)
    line_reached = []
    graphs = []

    def model() -> None:
        good()
        encoder = kit.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, conflict)
        line_reached.append("before")
        compute.dispatch_workgroups(4)
        line_reached.append("after")

    def block() -> None:
        with cmdgraph.capture(kit.device) as graph:
            graphs.append(graph)
            model()

    with pytest.raises(cmdgraph.ValidationError) as caught:
        block()

    assert line_reached == ["before"]
    for part in ("node 1 ", "@binding(0)", "@binding(1)", 'buffer "kv.3"'):
        assert part in str(caught.value)
    with pytest.raises(cmdgraph.NothingCapturedError, match="raised ValidationError"):  # the capture is void
        graphs[0].replay()


def test_c17_a_caught_error_leaves_the_good_nodes(kit: Kit, way: Way) -> None:
    x, y = kit.buffer([1, 2, 3, 4]), kit.buffer()
    good, conflict = kit.call(ADD1, x, y), kit.call(ADD1, x, x)

    with cmdgraph.capture(kit.device) as graph:
        good()
        with pytest.raises(cmdgraph.ValidationError):
            conflict()

    assert len(graph) == 1
    use(graph, way).replay()
    assert kit.read(y) == [2, 3, 4, 5]


# -- threads ---------------------------------------------------------------------------------------------------------


def test_c19_another_thread_works_during_a_capture(kit: Kit, way: Way) -> None:
    x, y, c = kit.buffer([1, 2, 3, 4]), kit.buffer(), kit.buffer([0] * 4)
    add, inc = kit.call(ADD1, x, y), kit.call(INC, c)
    seen: list[list[float]] = []

    def other() -> None:
        for _ in range(10):
            inc()
        seen.append(kit.read(c))

    with cmdgraph.capture(kit.device) as graph:
        _in_thread(other)
        add()
    graph = use(graph, way)
    graph.replay()

    assert len(graph) == 1
    assert seen == [[10] * 4]
    assert kit.read(c) == [10] * 4
    assert kit.read(y) == [2, 3, 4, 5]


def test_c19_two_threads_replay_one_graph(kit: Kit, way: Way) -> None:
    c = kit.buffer([0] * 4)
    graph = use(captured(kit.device, kit.call(INC, c)), way)

    _in_threads([lambda: [graph.replay() for _ in range(100)]] * 2)

    assert kit.read(c) == [200] * 4
    assert graph.stats.replays == 200


def test_c19_two_threads_capture_at_the_same_time(kit: Kit, way: Way) -> None:
    buffers = [kit.buffer([0] * 4) for _ in range(2)]
    calls = [kit.call(INC, b) for b in buffers]
    barrier = threading.Barrier(2)
    graphs: dict[int, cmdgraph.CommandGraph] = {}

    def capture(which: int) -> None:
        with cmdgraph.capture(kit.device) as graph:
            for _ in range(which + 1):
                barrier.wait(60) if which == 0 else None
                calls[which]()
                barrier.wait(60) if which == 1 and _ == 0 else None
        graphs[which] = graph

    _in_threads([lambda: capture(0), lambda: capture(1)])
    for graph in graphs.values():
        use(graph, way).replay()

    assert [len(graphs[i]) for i in range(2)] == [1, 2]
    assert [kit.read(b)[0] for b in buffers] == [1, 2]


# -- growth ----------------------------------------------------------------------------------------------------------


def _fifty(kit: Kit, c: Any, arguments: Any) -> cmdgraph.CommandGraph:
    """A graph of 50 nodes of every kind whose replay adds 40 to `c`."""
    inc = kit.call(INC, c)
    pipeline = kit.kernel(INC)
    scratch, group = kit.buffer(), kit.group(pipeline, c)

    def model() -> None:
        for _ in range(39):
            inc()
        for _ in range(3):
            kit.write(scratch, [1, 2, 3, 4])
            kit.copy(scratch, arguments, 4, to=12)
            kit.clear(scratch)
        kit.clear(scratch)
        encoder = kit.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups_indirect(arguments, 0)
        compute.end()
        kit.submit(encoder.finish())

    return captured(kit.device, model)


def _arguments(kit: Kit) -> Any:
    return kit.buffer(np.array([4, 1, 1, 0], np.uint32), usage=INDIRECT)


def test_c21_a_replay_makes_one_encoder_and_one_submit(kit: Kit, walking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    c = kit.buffer([0] * 4)
    graph = use(_fifty(kit, c, _arguments(kit)), (walking, "single-pass"))
    assert len(graph) == 50
    created = _count_creations(kit, monkeypatch)

    with _counted_calls(graph) as calls:
        for _ in range(10):
            graph.replay()
        assert kit.read(c) == [400] * 4
    created_by_reading = created.pop("_create_buffer", 0), created.pop("create_command_encoder", 0)

    assert calls["create_command_encoder"] == 10
    assert calls["finish"] == 10
    assert calls["submit"] + calls["submit_for_index"] == 10
    assert calls["release_encoder"] == calls["release_command_buffer"] == 10
    assert calls["begin_compute_pass"] == calls["release_pass"] == 10 * graph.stats.passes
    assert calls["dispatch_workgroups"] == 390
    assert calls["dispatch_workgroups_indirect"] == 10
    assert created_by_reading == (1, 1)  # by read_buffer, wgpu-py's own
    assert not created


@contextmanager
def _counted_calls(graph: cmdgraph.CommandGraph) -> Iterator[dict[str, int]]:
    """Counts the native calls of a graph's walker: cffi callbacks stand in the place of the functions."""
    session = graph._session
    assert session is not None
    real = session.backend.functions
    ffi = session.backend.api.ffi
    calls = dict.fromkeys([*real.calls, "submit_for_index"], 0)
    keep = []

    def counting(name: str, function: Any, address: int) -> tuple[Any, int]:
        kind = ffi.typeof(function)
        if kind.kind != "function":  # API mode hands out built-in functions; their addresses have the type
            kind = ffi.typeof(ffi.addressof(session.backend.api.lib, _native_name(name)))

        def call(*arguments: Any) -> Any:
            calls[name] += 1
            return function(*arguments)

        pointer = ffi.callback(kind, call)
        keep.append(pointer)
        return pointer, int(ffi.cast("uintptr_t", pointer))

    stand_ins = {name: counting(name, f, real.addresses[name]) for name, f in real.calls.items()}
    changed = evolve(
        real,
        calls={name: pointer for name, (pointer, _) in stand_ins.items()},
        addresses={name: address for name, (_, address) in stand_ins.items()},
    )
    if real.submit_for_index is not None:
        pointer, address = counting("submit_for_index", real.submit_for_index, real.submit_for_index_address)
        changed = evolve(changed, submit_for_index=pointer, submit_for_index_address=address)
    object.__setattr__(session.backend, "functions", changed)
    try:
        _take_functions(graph)
        yield calls
    finally:
        object.__setattr__(session.backend, "functions", real)
        _take_functions(graph)


def _take_functions(graph: cmdgraph.CommandGraph) -> None:
    """Makes the walker anew, with the functions that the backend has now."""
    program, session = graph._loaded()
    session = evolve(session, walker=walker.make(session.walker.name, session.backend, session.device))
    graph._use(_prepared(graph.strategy, program, session))
    graph._session = session


def _native_name(name: str) -> str:
    from cmdgraph.backends.base import FUNCTIONS

    return FUNCTIONS[name]


def _count_creations(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Counts what wgpu-py's device creates from now on, by method."""
    counts: dict[str, int] = {}
    cls = type(kit.device)

    def counting(name: str, real: Any) -> Any:
        def create(self: Any, *args: Any, **kwargs: Any) -> Any:
            counts[name] = counts.get(name, 0) + 1
            return real(self, *args, **kwargs)

        return create

    for name in [n for n in dir(cls) if n.startswith(("create_", "_create_"))]:
        monkeypatch.setattr(cls, name, counting(name, getattr(cls, name)))
    return counts


def test_c21_ten_thousand_replays_grow_nothing(kit: Kit, walking: str) -> None:
    c, arguments = kit.buffer([0] * 4), _arguments(kit)
    before = _counts(kit)
    graph = use(_fifty(kit, c, arguments), (walking, "single-pass"))
    for _ in range(1000):  # pools fill
        graph.replay()
    graph.wait()
    start = _resident()

    whole = walking == "c" and type(kit.device).__module__.startswith("wgpu.")  # the others do the same in the small
    for _ in range(9000 if whole else 1000):
        graph.replay()
    graph.wait()

    assert _resident() - start < 20e6
    assert kit.read(c) == [40.0 * graph.stats.replays] * 4
    assert graph.stats.in_flight == 0
    graph.release()
    del graph
    gc.collect()
    assert _counts(kit) == before


def _counts(kit: Kit) -> dict[str, int]:
    """Live objects in Python and, on wgpu-native, in the library; without encoders and command buffers."""
    gc.collect()
    found = {
        f"python {name}": count
        for name, count in wgpu.diagnostics.object_counts.tracker.counts.items()
        if name in ("GPUBuffer", "GPUBindGroup", "GPUBindGroupLayout", "GPUComputePipeline", "GPUShaderModule")
    }
    if type(kit.device).__module__.startswith("wgpu."):
        kit.device._poll()
        report = wgpu.diagnostics.wgpu_native_counts.get_dict()
        found |= {
            f"native {name}": row["count"]
            for name, row in report.items()
            if name in ("Buffer", "BindGroup", "BindGroupLayout", "ComputePipeline", "ShaderModule")
        }
    assert found
    return found


def _resident() -> int:
    """Bytes of this process in memory."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        pytest.skip("needs Linux' /proc to read the resident size")
    return int(pages) * 4096


def _in_thread(work: Any) -> None:
    _in_threads([work])


def _in_threads(works: list[Any]) -> None:
    """Runs each in a thread of its own; raises what they raised."""
    errors: list[BaseException] = []

    def guarded(work: Any) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]
