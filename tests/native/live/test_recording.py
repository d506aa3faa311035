"""What is recorded, and what is thrown away or refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cmdgraph
from cmdgraph import native
from cmdgraph.replay.barriers import matched
from tests.kit import ADD1, INC, INDIRECT, MUL2, TEXTURE, Kit, captured


def _native(kit: Kit, model: Callable[[], Any]) -> cmdgraph.CommandGraph:
    graph = captured(kit.device, model)
    graph.strategy = "native"
    return graph


def _recorded(kit: Kit, work: Callable[[], Any]) -> native.Recording:
    with native.device_of(kit.device).record() as recording:
        work()
    return recording


def test_commands_come_in_the_order_in_which_they_are_submitted(kit: Kit) -> None:
    """wgpu-native begins the command buffer with a pass's barriers after the one that follows it."""
    a, b = kit.buffer([1] * 4), kit.buffer([0] * 4)
    call, other = kit.call(ADD1, a, b), kit.call(MUL2, b, a)

    def model() -> None:
        call()
        kit.copy(b, a)
        other()
        kit.clear(b)

    graph = _native(kit, model)
    graph.replay()
    recording = _recorded(kit, model)
    recording.require()
    found = [action.kind for action in recording.actions()]
    recording.close()

    assert found == ["dispatch", "copy", "dispatch", "fill"]
    assert graph.stats.ready == 1


def test_the_zeros_of_a_first_use_are_not_replayed(kit: Kit) -> None:
    """A copy from a buffer that nobody has written brings a fill, which the graph does not hold."""
    a, b = kit.buffer(size=16), kit.buffer(size=16)
    inc = kit.call(INC, b)

    def model() -> None:
        kit.copy(a, b)
        inc()

    graph = _native(kit, model)
    graph.replay()
    kit.write(a, [5] * 4)
    graph.replay()
    graph.replay()

    assert graph.stats.ready == 1
    assert (kit.read(a), kit.read(b)) == ([5] * 4, [6] * 4)


def test_a_first_use_is_recorded_at_the_next_replay(native: Kit) -> None:
    a, b = native.buffer(size=16), native.buffer(size=16)
    graph = _native(native, lambda: native.copy(a, b))
    graph.replay()
    assert graph.stats.ready == 0

    graph.replay()
    assert (graph.stats.ready, graph.stats.ahead) == (1, 0)


def test_another_thread_is_not_recorded(kit: Kit) -> None:
    a, b = kit.buffer([0] * 4), kit.buffer([0] * 4)
    mine, theirs = kit.call(INC, a), kit.call(INC, b)
    thread = threading.Thread(target=lambda: [theirs() for _ in range(5)])

    def work() -> None:
        mine()
        thread.start()
        thread.join()
        mine()

    recording = _recorded(kit, work)
    kinds = [action.kind for action in recording.actions()]
    refused = _refusal(recording)
    recording.close()

    if refused is None:
        assert kinds == ["dispatch"] * 2
    else:  # Dawn had begun our second command buffer on the other thread
        assert not refused.for_good
        assert kinds == ["dispatch"]
    assert (kit.read(a), kit.read(b)) == ([2] * 4, [5] * 4)


def test_two_threads_record_at_once(kit: Kit) -> None:
    graphs = [_native(kit, kit.call(INC, kit.buffer([0] * 4))) for _ in range(4)]
    threads = [threading.Thread(target=lambda graph=graph: [graph.replay() for _ in range(40)]) for graph in graphs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [kit.read(graph.outputs[0]) for graph in graphs] == [[40] * 4] * 4
    assert all(graph.stats.ahead >= 30 for graph in graphs)


def test_writes_of_another_thread_do_not_get_into_a_graph(kit: Kit) -> None:
    a, other = kit.buffer([0] * 4), kit.buffer([0] * 4)
    call, stop = kit.call(INC, a), threading.Event()

    def write() -> None:
        while not stop.is_set():
            kit.write(other, [7] * 4)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(20):
            graph = _native(kit, call)
            for _ in range(3):
                graph.replay()
            graph.release()
    finally:
        stop.set()
        thread.join()
    kit.write(other, [9] * 4)

    assert (kit.read(a), kit.read(other)) == ([60] * 4, [9] * 4)


def test_a_map_of_barriers_of_another_length_is_refused(kit: Kit) -> None:
    recording = _recorded(kit, kit.call(INC, kit.buffer([0] * 4)))
    try:
        with pytest.raises(native.Refused, match="does not have the length"):
            recording.build([True, True])
        assert recording.build([True]).barriers == 3
    finally:
        recording.close()


def test_other_commands_than_the_graph_s_do_not_match(kit: Kit) -> None:
    a, b = kit.buffer([0] * 4), kit.buffer([0] * 4)
    call = kit.call(INC, a)
    graph = _native(kit, call)
    packed = graph._ready_strategy().whole
    for work in (lambda: kit.copy(a, b), lambda: [call(), call()], lambda: kit.queue.submit([])):
        recording = _recorded(kit, work)
        assert matched(packed, recording.actions()) is None
        recording.close()


def test_images_are_refused_and_the_graph_goes_on(kit: Kit) -> None:
    out = kit.buffer([0] * 4)
    graph = _native(kit, kit.call(TEXTURE, kit.texture().create_view(), out, count=1))
    with pytest.warns(cmdgraph.NativeFallbackWarning, match="holds images"):
        graph.replay()
    kit.write(out, [0] * 4)
    graph.replay()

    assert kit.read(out)[0] == 0.5
    assert (graph.stats.ahead, graph.stats.refused) == (0, "a bind group holds images, or what the layer cannot see")


def test_copies_to_images_and_timestamps_are_refused(native: Kit) -> None:
    texture = native.device.create_texture(size=(1, 1, 1), format="r32float", usage=2)
    place, layout = {"texture": texture}, {"bytes_per_row": 4, "rows_per_image": 1}
    write = lambda: native.queue.write_texture(place, np.zeros(1, np.float32), layout, (1, 1, 1))  # noqa: E731
    assert "cannot be repeated" in _refused_for(native, lambda: [write(), native.queue.submit([])])

    if "timestamp-query" in native.device.adapter.features:
        from tests.kit import open_device

        kit = Kit(open_device("wgpu", ["timestamp-query"]))
        queries = kit.device.create_query_set(type="timestamp", count=2)

        def stamp() -> None:
            encoder = kit.device.create_command_encoder()
            writes = {"query_set": queries, "beginning_of_pass_write_index": 0, "end_of_pass_write_index": 1}
            encoder.begin_compute_pass(timestamp_writes=writes).end()
            kit.submit(encoder.finish())

        stamp()
        assert "cannot be replayed" in _refused_for(kit, stamp)


def _refusal(recording: native.Recording) -> native.Refused | None:
    try:
        recording.require()
    except native.Refused as refused:
        return refused
    return None


def _refused_for(kit: Kit, work: Callable[[], Any]) -> str:
    recording = _recorded(kit, work)
    refused = _refusal(recording)
    recording.close()
    assert refused is not None
    assert refused.for_good
    return str(refused)


def test_dawn_s_indirect_dispatches_are_refused(dawn_device: Any) -> None:
    kit = Kit(dawn_device)
    c, arguments = kit.buffer([0] * 4), kit.buffer(np.array([4, 1, 1, 0], np.uint32), usage=INDIRECT)
    graph = captured(dawn_device, lambda: _indirect(kit, c, arguments))
    with pytest.warns(cmdgraph.NativeFallbackWarning, match="Dawn keeps the arguments"):
        graph.strategy = "native"
    graph.replay(times=3)

    assert kit.read(c) == [3] * 4


def test_wgpu_native_s_check_of_indirect_arguments_is_replayed(native: Kit) -> None:
    """Arguments that are too large run nothing, at every replay."""
    c, arguments = native.buffer([0] * 4), native.buffer(np.array([4, 1, 1, 0], np.uint32), usage=INDIRECT)
    graph = _native(native, lambda: _indirect(native, c, arguments))
    graph.replay(times=3)
    native.write(arguments, np.array([0xFFFFFFFF, 1, 1, 0], np.uint32))
    graph.replay(times=2)
    native.write(arguments, np.array([2, 1, 1, 0], np.uint32))
    graph.replay()

    assert native.read(c) == [4, 4, 3, 3]
    assert graph.stats.ahead == 5


def _indirect(kit: Kit, target: Any, arguments: Any) -> None:
    pipeline = kit.kernel(INC)
    encoder = kit.device.create_command_encoder()
    compute = encoder.begin_compute_pass()
    compute.set_pipeline(pipeline)
    compute.set_bind_group(0, kit.group(pipeline, target))
    compute.dispatch_workgroups_indirect(arguments, 0)
    compute.end()
    kit.submit(encoder.finish())


def test_binds_that_change_nothing_are_left_out(kit: Kit) -> None:
    c = kit.buffer([0] * 4)
    call = kit.call(INC, c)
    recording = _recorded(kit, lambda: [call() for _ in range(10)])
    graph = recording.build(None)
    recording.close()

    assert (graph.binds, graph.binds_left_out) == (2, 18)


def test_barriers_stand_only_where_a_hazard_is(kit: Kit) -> None:
    buffers = [kit.buffer([0] * 4) for _ in range(8)]
    calls = [kit.call(INC, buffer) for buffer in buffers]
    graph = _native(kit, lambda: [call() for call in [*calls, *calls, *calls]])
    graph.replay(times=5)

    assert graph.stats.barriers == 2 + 2  # at both ends, and between the three rounds
    assert [kit.read(buffer) for buffer in buffers] == [[15] * 4] * 8
    graph.elide_barriers = False
    graph.replay(times=2)
    assert graph.stats.barriers >= 2 + 2
    assert [kit.read(buffer) for buffer in buffers] == [[21] * 4] * 8
