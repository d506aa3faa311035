"""Replays that are under way while what they use goes, and what the implementation believes about them."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cmdgraph
from cmdgraph import native
from tests.kit import ADD1, INC, READBACK, UPLOAD, Kit, captured, open_device

SPIN = """
@group(0) @binding(0) var<storage, read_write> b: array<f32>;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3u) {
    var x = b[id.x];
    for (var i = 0u; i < 200000u; i++) { x = x * 1.0000001 + f32(i & 1u); }
    b[id.x] = select(x, b[id.x] + 1, x > -1.0);
}
"""
"""Counts as INC does, but takes a while."""


def _native(kit: Kit, model: Callable[[], Any]) -> cmdgraph.CommandGraph:
    """A graph that is recorded, with one replay done."""
    graph = captured(kit.device, model)
    graph.strategy = "native"
    graph.replay(wait=True)
    assert graph.stats.ready == 1
    return graph


@pytest.fixture
def slow(kit: Kit) -> tuple[cmdgraph.CommandGraph, Any]:
    c = kit.buffer([0] * 4, "c")
    return _native(kit, kit.call(SPIN, c)), c


def test_a_write_reaches_the_next_replay(kit: Kit) -> None:
    """The implementation keeps it for its next submit, of which a native replay is none."""
    x, y = kit.buffer([0] * 4), kit.buffer([0] * 4)
    graph = _native(kit, kit.call(ADD1, x, y))
    for value in range(1, 30):
        kit.write(x, [value] * 4)
        graph.replay()
        if value % 3 == 0:
            assert kit.read(y) == [value + 1] * 4
    assert graph.stats.ahead == 29


def test_what_is_written_into_a_mapped_buffer_reaches_the_next_replay(kit: Kit) -> None:
    up, y = kit.device.create_buffer(size=16, usage=UPLOAD, label="up"), kit.buffer([0] * 4)
    kit.copy(up, y)  # its first use brings zeros, which are no part of a graph
    graph = _native(kit, lambda: kit.copy(up, y))
    for value in (3, 4):
        up.map_sync("WRITE")
        up.write_mapped(np.full(4, value, np.float32))
        up.unmap()
        graph.replay()
        assert kit.read(y) == [value] * 4
    assert graph.stats.ahead == 2


def test_mapping_waits_for_the_replays_that_write_the_buffer(kit: Kit) -> None:
    c, out = kit.buffer([0] * 4), kit.device.create_buffer(size=16, usage=READBACK, label="out")
    spin = kit.call(SPIN, c)

    def model() -> None:
        spin()
        kit.copy(c, out)

    graph = _native(kit, model)
    for done in range(2, 6):
        graph.replay()
        out.map_sync("READ")
        assert np.frombuffer(out.read_mapped(), np.float32).tolist() == [done] * 4
        out.unmap()


def test_work_is_not_called_done_before_replays_are(
    kit: Kit, slow: tuple[cmdgraph.CommandGraph, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, _ = slow
    settled: list[int] = []
    real = native.NativeDevice.settle
    monkeypatch.setattr(native.NativeDevice, "settle", lambda self: (settled.append(1), real(self)))
    graph.replay()
    with contextlib.suppress(TypeError):  # wgpu-py 0.32 cannot ask
        kit.queue.on_submitted_work_done_async().sync_wait()
    assert settled


def test_a_destroyed_buffer_waits_for_the_replays_under_way(kit: Kit, slow: tuple[cmdgraph.CommandGraph, Any]) -> None:
    graph, c = slow
    kept = kit.buffer([0] * 4)
    graph.replay(times=4)
    kit.copy(c, kept)
    c.destroy()
    kit.queue.submit([])
    with pytest.raises(cmdgraph.DestroyedError, match='"c"'):
        graph.replay()

    assert kit.read(kept) == [5] * 4


def test_everything_may_be_dropped_while_replays_are_under_way(kit: Kit) -> None:
    for _ in range(5):
        graph = _native(kit, kit.call(SPIN, kit.buffer([0] * 4)))
        graph.replay(times=3)
        graph.release()
        del graph
        gc.collect()
        kit.queue.submit([])
    other = kit.buffer([0] * 4)
    kit.call(INC, other)()
    assert kit.read(other) == [1] * 4


def test_a_graph_whose_bind_group_is_gone_is_not_submitted(kit: Kit) -> None:
    """The layer's own test, should everything above it fail: nothing in Python keeps these objects."""
    device, c = native.device_of(kit.device), kit.buffer([0] * 4)
    call = kit.call(INC, c)
    with device.record() as recording:
        call()
    graph = recording.build(None)
    recording.close()
    submission = device.replay(graph, 2)
    assert submission is not None
    submission.wait()
    assert kit.read(c) == [3] * 4

    del call
    gc.collect()
    for _ in range(40):  # Dawn gives the descriptor set to the next bind group
        kit.call(INC, kit.buffer([0] * 4))()
        kit.queue.read_buffer(c)
    c.destroy()
    kit.queue.submit([])
    kit.queue.read_buffer(kit.buffer([0] * 4))
    assert device.replay(graph, 1) is None


def test_bind_groups_come_and_go_while_a_graph_is_replayed(kit: Kit) -> None:
    c = kit.buffer([0] * 4)
    graph = _native(kit, kit.call(INC, c))
    for done in range(2, 60):
        kit.call(INC, kit.buffer([0] * 4))()
        graph.replay()
        if done % 10 == 0:
            gc.collect()
            assert kit.read(c) == [done] * 4
    assert graph.stats.ahead == 58


@pytest.mark.parametrize("change", ["rebind", "set_workgroups", "set_data"])
def test_a_change_reaches_the_next_replay_and_not_those_under_way(kit: Kit, change: str) -> None:
    c, d, v = kit.buffer([0] * 4, "c"), kit.buffer([0] * 4, "d"), kit.buffer([0] * 4, "v")
    spin = kit.call(SPIN, c)

    def model() -> None:
        spin()
        kit.write(v, [1] * 4)

    graph = _native(kit, model)
    graph.replay(times=2)
    if change == "rebind":
        graph.rebind({c: d})
    elif change == "set_workgroups":
        graph.set_workgroups(0, 1)
    else:
        graph.set_data(1, np.full(4, 2, np.float32))
    for _ in range(3):
        graph.replay()

    assert kit.read(c) == {"rebind": [3] * 4, "set_workgroups": [6, 3, 3, 3], "set_data": [6] * 4}[change]
    assert kit.read(d) == ([3] * 4 if change == "rebind" else [0] * 4)
    assert kit.read(v) == [2 if change == "set_data" else 1] * 4
    assert graph.stats.ahead == (5 if change == "set_data" else 4)


def test_eager_work_and_replays_follow_each_other(kit: Kit) -> None:
    """The implementation believes that a buffer is as its own last use left it, and puts no barrier there."""
    c = kit.buffer([0] * 4)
    inc = kit.call(INC, c)
    graph = _native(kit, inc)
    done = 1
    for number in range(60):
        graph.replay(times=1 + number % 3)
        done += 1 + number % 3
        if number % 2:
            inc()
            done += 1
        if number % 5 == 0:
            assert kit.read(c) == [done] * 4
    assert kit.read(c) == [done] * 4


def test_a_device_may_go_while_a_graph_is_held(package: str) -> None:
    kit = Kit(open_device(package))
    graph = _native(kit, kit.call(SPIN, kit.buffer([0] * 4)))
    graph.replay(times=3)
    kit.device.destroy()
    with pytest.raises(cmdgraph.DeviceLostError):
        graph.replay()
    with pytest.raises(cmdgraph.DeviceLostError):
        graph.wait()
    graph.release()


def test_a_lost_device_is_an_error_and_leaves_the_thread_as_it_was(package: str) -> None:
    kit = Kit(open_device(package))
    graph = captured(kit.device, kit.call(INC, kit.buffer([0] * 4)))
    kit.device.destroy()
    with pytest.raises(cmdgraph.DeviceLostError):
        graph.strategy = "native"

    again = Kit(open_device(package))
    c = again.buffer([0] * 4)
    _native(again, again.call(INC, c)).replay(times=2)
    assert again.read(c) == [3] * 4


def test_devices_come_and_go(package: str) -> None:
    for _ in range(6):
        kit = Kit(open_device(package))
        c = kit.buffer([0] * 4)
        graph = _native(kit, kit.call(INC, c))
        graph.replay(times=3)
        assert kit.read(c) == [4] * 4
        del graph, c
        kit.device.destroy()
        del kit
        gc.collect()


def test_submits_are_bounded_and_waited_for(kit: Kit, slow: tuple[cmdgraph.CommandGraph, Any]) -> None:
    graph, c = slow
    graph.max_in_flight = 2
    for _ in range(7):
        graph.replay()
        assert graph.stats.in_flight <= 2
    graph.wait()

    assert graph.stats.in_flight == 0
    assert kit.read(c) == [8] * 4


def test_very_many_replays_in_one_call(kit: Kit) -> None:
    c = kit.buffer([0] * 4)
    graph = _native(kit, kit.call(INC, c))
    graph.replay(times=300)

    assert kit.read(c) == [301] * 4
