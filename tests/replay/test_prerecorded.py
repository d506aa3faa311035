"""Strategy "prerecorded": its ring starts late, is not waited for, submits nothing stale and counts what it loses."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest

import cmdgraph
from cmdgraph.replay import prerecorded
from tests import subprocesses
from tests.kit import ADD1, IMMEDIATE, INC, UPLOAD, Kit, captured


@pytest.fixture
def counting(kit: Kit) -> tuple[cmdgraph.CommandGraph, Any]:
    """A prerecorded graph that adds 1 to a buffer of zeros."""
    c = kit.buffer([0, 0, 0, 0], "c")
    graph = captured(kit.device, kit.call(INC, c))
    graph.strategy = "prerecorded"
    return graph, c


def _replay(graph: cmdgraph.CommandGraph, times: int) -> None:
    for _ in range(times):
        graph.replay()


def test_the_ring_starts_after_a_few_unchanged_replays(counting: tuple[cmdgraph.CommandGraph, Any]) -> None:
    graph, _ = counting
    _replay(graph, prerecorded.PATIENCE - 1)
    assert (graph.stats.ready, graph.stats.ahead) == (0, 0)

    _replay(graph, 1)
    graph.fill()
    assert graph.stats.ready == graph.encode_ahead
    _replay(graph, 1)
    assert graph.stats.ahead == 1


def test_replays_count_right_whatever_the_depth(kit: Kit, counting: tuple[cmdgraph.CommandGraph, Any]) -> None:
    graph, c = counting
    done = 0
    for depth in (0, 1, 2, 5):
        graph.encode_ahead = depth
        for times in (1, 1, 3, 2, 9):
            graph.replay(times=times)
            done += times
    graph.wait()

    assert kit.read(c) == [done] * 4
    assert graph.stats.replays == done


def test_nothing_is_lost_while_nothing_changes(counting: tuple[cmdgraph.CommandGraph, Any]) -> None:
    graph, _ = counting
    _replay(graph, 50)
    graph.wait()

    assert graph.stats.abandoned == 0


def test_a_burst_is_served_from_the_full_ring(counting: tuple[cmdgraph.CommandGraph, Any]) -> None:
    graph, _ = counting
    graph.encode_ahead = 8
    graph.fill()
    graph.replay(times=8)

    assert graph.stats.ahead == 8


@pytest.mark.parametrize("change", ["set_workgroups", "rebind", "strategy", "release"])
def test_a_change_loses_no_more_than_the_ring_holds(
    kit: Kit, counting: tuple[cmdgraph.CommandGraph, Any], change: str
) -> None:
    graph, c = counting
    graph.encode_ahead = 3
    graph.fill()
    counters = graph._loaded()[1].counters
    if change == "set_workgroups":
        graph.set_workgroups(0, 2)
    elif change == "rebind":
        graph.rebind({c: kit.buffer([0, 0, 0, 0], "d")})
    elif change == "strategy":
        graph.strategy = "single-pass"
    else:
        graph.release()

    assert counters.abandoned == 3
    assert (counters.abandoned_bytes > 0) is (type(kit.device).__module__.startswith("wgpu."))


def test_each_loss_doubles_the_patience(counting: tuple[cmdgraph.CommandGraph, Any]) -> None:
    graph, _ = counting
    for round_ in range(1, 6):
        _replay(graph, 60)
        graph.fill()
        graph.set_workgroups(0, 4)
        assert graph.stats.abandoned == round_ * graph.encode_ahead
    _replay(graph, prerecorded.PATIENCE * 2**5 - 1)

    assert graph.stats.ready == 0


def test_frequent_changes_lose_little(kit: Kit, counting: tuple[cmdgraph.CommandGraph, Any]) -> None:
    """200 changes, 10 replays between them: the ring soon gives up."""
    graph, c = counting
    for number in range(200):
        graph.set_workgroups(0, 1 + number % 4)
        _replay(graph, 10)
    graph.wait()

    assert graph.stats.abandoned <= 2 * graph.encode_ahead
    assert kit.read(c) == [2000, 1500, 1000, 500]


def test_a_stale_entry_is_never_submitted(kit: Kit, counting: tuple[cmdgraph.CommandGraph, Any]) -> None:
    graph, c = counting
    graph.fill()
    graph.set_workgroups(0, 1)
    graph.replay(wait=True)
    assert kit.read(c) == [1, 0, 0, 0]

    graph.fill()
    d = kit.buffer([5, 5, 5, 5], "d")
    graph.rebind({c: d})
    graph.replay(wait=True)
    assert (kit.read(c), kit.read(d)) == ([1, 0, 0, 0], [6, 5, 5, 5])


def test_new_contents_are_seen_by_entries_encoded_before(kit: Kit) -> None:
    x, y = kit.buffer([1, 2, 3, 4], "x"), kit.buffer(size=16)
    graph = captured(kit.device, kit.call(ADD1, x, y))
    graph.strategy = "prerecorded"
    graph.fill()
    graph.update(x=[10, 20, 30, 40])
    graph.replay(wait=True)

    assert kit.read(y) == [11, 21, 31, 41]
    assert graph.stats.ahead == 1


def test_a_buffer_destroyed_after_encoding_raises(kit: Kit, counting: tuple[cmdgraph.CommandGraph, Any]) -> None:
    graph, c = counting
    graph.fill()
    c.destroy()

    with pytest.raises(cmdgraph.DestroyedError, match='"c"'):
        graph.replay()
    graph.release()


def test_a_buffer_mapped_after_encoding_raises_and_later_runs(kit: Kit) -> None:
    source = kit.device.create_buffer(size=16, usage=UPLOAD, label="upload")
    target = kit.buffer(size=16)
    graph = captured(kit.device, lambda: kit.copy(source, target))
    graph.strategy = "prerecorded"
    graph.fill()
    source.map_sync("WRITE")
    with pytest.raises(cmdgraph.MappedError, match="upload"):
        graph.replay()

    source.write_mapped(b"\x00\x00\x80\x3f" * 4)
    source.unmap()
    graph.replay(wait=True)
    assert kit.read(target) == [1, 1, 1, 1]
    assert graph.stats.ahead == 1


def test_two_threads_share_a_ring(kit: Kit, counting: tuple[cmdgraph.CommandGraph, Any]) -> None:
    graph, c = counting
    threads = [threading.Thread(target=_replay, args=(graph, 100)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    graph.wait()

    assert kit.read(c) == [200] * 4


def test_the_worker_holds_no_graph(native: Kit) -> None:
    c = native.buffer([0, 0, 0, 0])
    graph = captured(native.device, native.call(INC, c))
    graph.strategy = "prerecorded"
    _replay(graph, 20)
    graph.wait()
    watch = graph._loaded()[1].watch
    del graph
    gc.collect()

    assert not any(
        watch is other for other in gc.get_objects() if isinstance(other, type(watch)) and other is not watch
    )


def test_the_process_ends_while_the_worker_is_busy(package: str) -> None:
    printed = subprocesses.run(
        f"""
        import {package} as wgpu
        from tests.kit import INC, Kit, captured, open_device

        kit = Kit(open_device("{package}"))
        call = kit.call(INC, kit.buffer([0, 0, 0, 0]))
        graph = captured(kit.device, lambda: [call() for _ in range(500)])
        graph.strategy = "prerecorded"
        graph.encode_ahead = 50
        for _ in range(6):
            graph.replay()
        print("ends")
        """
    )

    assert "ends" in printed


def test_changed_immediates_reach_the_next_replay(native: Kit) -> None:
    """`set_immediates` on every strategy's commands, ring included."""
    if "immediates" not in native.device.adapter.features:
        pytest.skip("the device has no immediates")
    from tests.kit import open_device

    kit = Kit(open_device("wgpu", ["immediates"], {"max-immediate-size": 16}))
    y = kit.buffer(size=16)
    entries = [{"binding": 1, "visibility": 4, "buffer": {"type": "storage"}}]
    pipeline = kit.explicit(IMMEDIATE, entries, immediate_size=8)
    group = kit.device.create_bind_group(
        layout=pipeline.get_bind_group_layout(0), entries=[{"binding": 1, "resource": {"buffer": y}}]
    )

    def model() -> None:
        encoder = kit.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.set_immediates(0, b"\x00\x00\x80\x3f" * 2, 0, 8)
        compute.dispatch_workgroups(4)
        compute.end()
        kit.submit(encoder.finish())

    graph = captured(kit.device, model)
    for strategy in ("per-op", "single-pass", "prerecorded"):
        graph.strategy = strategy
        graph.set_immediates(0, b"\x00\x00\x80\x3f" * 2)
        graph.fill()
        graph.replay(wait=True)
        assert kit.read(y) == [2, 2, 2, 2]
        graph.set_immediates(0, b"\x00\x00\x00\x40", 4)
        graph.replay(wait=True)
        assert kit.read(y) == [3, 3, 3, 3]
    with pytest.raises(cmdgraph.UpdateError, match=r"bytes 8\.\.12 were not set"):
        graph.set_immediates(0, bytes(4), 8)
