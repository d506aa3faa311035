"""The handle: new contents, other sizes, other data, counts, words, release."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import cmdgraph
from tests.kit import ADD1, INC, PUT, STORAGE, UNIFORM, UPLOAD, Kit, captured, use

Way = tuple[str, str]


def _add(kit: Kit, x: Any = None, y: Any = None) -> tuple[cmdgraph.CommandGraph, Any, Any]:
    x = kit.buffer([1, 2, 3, 4], "x") if x is None else x
    y = kit.buffer(label="y") if y is None else y
    return captured(kit.device, kit.call(ADD1, x, y)), x, y


# -- update ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        np.array([5, 6, 7, 8], np.float32),
        np.array([[5, 6], [7, 8]], np.float32),
        np.array([5, 0, 6, 0, 7, 0, 8, 0], np.float32)[::2],
        [5, 6, 7, 8],
        (5.0, 6.0, 7.0, 8.0),
        np.array([5, 6, 7, 8], np.float32).tobytes(),
        bytearray(np.array([5, 6, 7, 8], np.float32)),
        memoryview(np.array([5, 6, 7, 8], np.float32)),
    ],
    ids=["array", "shaped", "strided", "list", "tuple", "bytes", "bytearray", "memoryview"],
)
def test_update_takes_arrays_lists_and_bytes(kit: Kit, way: Way, data: Any) -> None:
    graph, x, y = _add(kit)
    use(graph, way)

    graph.update(x=data)
    graph.replay()
    assert kit.read(y) == [6, 7, 8, 9]
    graph.update({x: data})
    graph.update({"x": data})
    assert graph.stats.updates == 3


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (np.array([1, 2, 3, 4]), "expected dtype float32, got int64"),
        (np.array([1.0, 2.0]), "expected dtype float32, got float64"),
        (np.array([1, 2, 3, 4], np.uint32), "the shader declares f32"),
        (np.zeros(16, np.uint8), "got uint8"),
        (object(), "object is no array"),
        (None, "NoneType is no array"),
    ],
    ids=["int64", "float64", "uint32", "uint8", "object", "none"],
)
def test_update_refuses_other_types_with_what_to_do(kit: Kit, data: Any, words: str) -> None:
    graph, _, y = _add(kit)

    with pytest.raises(cmdgraph.UpdateError, match=words) as caught:
        graph.update(x=data)
    assert 'buffer "x"' in str(caught.value)
    assert isinstance(caught.value, ValueError)
    graph.replay()
    assert kit.read(y) == [2, 3, 4, 5]


def test_update_of_several_buffers_is_all_or_nothing(kit: Kit) -> None:
    a, b = kit.buffer([1] * 4, "a"), kit.buffer([1] * 4, "b")
    inc_a, inc_b = kit.call(INC, a), kit.call(INC, b)
    graph = captured(kit.device, lambda: (inc_a(), inc_b()))

    with pytest.raises(cmdgraph.UpdateError, match='buffer "b"'):
        graph.update(a=np.full(4, 7, np.float32), b=np.zeros(3, np.float32))
    assert kit.read(a) == [1] * 4
    graph.update(a=np.full(4, 7, np.float32), b=np.full(4, 8, np.float32))
    graph.replay()
    assert (kit.read(a), kit.read(b)) == ([8] * 4, [9] * 4)


def test_update_finds_no_such_label_and_says_what_is_near(kit: Kit) -> None:
    graph, _, _ = _add(kit, x=kit.buffer([1] * 4, "hidden_state"))

    with pytest.raises(
        cmdgraph.UpdateError, match='no buffer of this graph has the label "hiden_state"; did you mean hidden_state'
    ):
        graph.update(hiden_state=np.zeros(4, np.float32))
    with pytest.raises(cmdgraph.UpdateError, match='buffer "stranger" is no buffer of this graph'):
        graph.update({kit.buffer(label="stranger"): np.zeros(4, np.float32)})
    with pytest.raises(cmdgraph.UpdateError, match="3 is no buffer"):
        graph.update({3: np.zeros(4, np.float32)})


def test_update_of_an_ambiguous_label_is_refused(kit: Kit) -> None:
    x, y = kit.buffer([1] * 4, "same"), kit.buffer(label="same")
    graph, _, _ = _add(kit, x, y)

    with pytest.raises(cmdgraph.UpdateError, match='2 buffers of this graph have the label "same"'):
        graph.update(same=np.zeros(4, np.float32))
    graph.update({x: np.zeros(4, np.float32)})


def test_update_of_what_the_graph_overwrites_first_is_refused(kit: Kit) -> None:
    x, y = kit.buffer([1] * 4, "x"), kit.buffer(label="y")
    add = kit.call(ADD1, x, y)
    graph = captured(kit.device, lambda: (kit.write(x, [5] * 4), add()))

    with pytest.raises(cmdgraph.UpdateError, match='node 0 write_buffer overwrites buffer "x".*set_data'):
        graph.update(x=np.zeros(4, np.float32))


def test_update_of_what_is_partly_overwritten_before_it_is_read_is_refused(kit: Kit, way: Way) -> None:
    """The first element is read, then all is overwritten, then all is read: the rest of an update would be lost."""
    x, y = kit.buffer([0] * 128, "x"), kit.buffer(size=512)
    first = {"buffer": x, "offset": 0, "size": 256}
    pipeline = kit.kernel(ADD1)
    part, whole = kit.group(pipeline, first, kit.buffer(size=256)), kit.group(pipeline, x, y)
    ones = np.ones(128, np.float32)
    graph = captured(
        kit.device,
        lambda: (kit.run(pipeline, part, count=4), kit.write(x, ones), kit.run(pipeline, whole, count=128)),
    )

    with pytest.raises(cmdgraph.UpdateError, match="node 1 write_buffer overwrites"):
        use(graph, way).update(x=np.full(128, 7, np.float32))


def test_update_without_copy_dst_is_refused(kit: Kit) -> None:
    x = kit.device.create_buffer(size=16, usage=0x80, label="x")
    graph, _, _ = _add(kit, x)

    with pytest.raises(cmdgraph.UpdateError, match='buffer "x": it was made without usage COPY_DST'):
        graph.update(x=np.zeros(4, np.float32))


def test_update_of_unknown_elements_wants_an_array(kit: Kit, way: Way) -> None:
    a, b = kit.buffer(np.zeros(4, np.uint8), "a", size=16), kit.buffer()
    graph = use(captured(kit.device, lambda: kit.copy(a, b)), way)

    with pytest.raises(cmdgraph.UpdateError, match="element type is not known"):
        graph.update(a=[1, 2, 3, 4])
    graph.update(a=np.array([1, 2, 3, 4], np.uint32))
    graph.replay()
    assert kit.read(b, np.uint32) == [1, 2, 3, 4]


def test_updates_and_replays_follow_each_other_without_waiting(kit: Kit, way: Way) -> None:
    kv, pos = kit.buffer(np.zeros(8, np.uint32), "kv"), kit.buffer(np.zeros(1, np.uint32), "pos", usage=UNIFORM)
    graph = use(captured(kit.device, kit.call(PUT, kv, pos, count=1)), way)

    for position in range(8):
        graph.update(pos=[position])
        graph.replay()

    assert kit.read(kv, np.uint32) == [100 + p for p in range(8)]


# -- set_workgroups, set_data ----------------------------------------------------------------------------------------


def test_set_workgroups_changes_one_dispatch(kit: Kit, way: Way) -> None:
    a, b = kit.buffer([0] * 4), kit.buffer([0] * 4)
    inc_a, inc_b = kit.call(INC, a), kit.call(INC, b)
    graph = use(captured(kit.device, lambda: (inc_a(), inc_b())), way)

    graph.set_workgroups(1, 2)
    graph.replay()
    graph.set_workgroups(graph.nodes[1], 3, 1, 1)
    graph.replay()

    assert graph.nodes[1].workgroups == (3, 1, 1)
    assert kit.read(a) == [2] * 4
    assert kit.read(b) == [2, 2, 1, 0]


def test_set_workgroups_survives_a_change_of_strategy(kit: Kit) -> None:
    c = kit.buffer([0] * 4)
    graph = captured(kit.device, kit.call(INC, c))
    graph.set_workgroups(0, 1)
    for way in (("python", "per-op"), ("python", "single-pass")):
        use(graph, way).replay()

    assert kit.read(c) == [2, 0, 0, 0]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((0, 65536), cmdgraph.ValidationError, "node 0 .*65536 workgroups in x"),
        ((0, 1, -1), cmdgraph.ValidationError, "counts must not be negative"),
        ((5, 1), cmdgraph.UpdateError, "no node 5: this graph has nodes 0 to 1"),
        ((-1, 1), cmdgraph.UpdateError, "no node -1"),
        ((1, 1), cmdgraph.UpdateError, "node 1 is write_buffer, not dispatch_workgroups"),
    ],
)
def test_set_workgroups_refuses_and_changes_nothing(kit: Kit, arguments: Any, error: Any, words: str) -> None:
    c = kit.buffer([0] * 4)
    inc = kit.call(INC, c)
    graph = captured(kit.device, lambda: (inc(), kit.write(c, [9])))

    with pytest.raises(error, match=words):
        graph.set_workgroups(*arguments)
    graph.replay()
    assert kit.read(c) == [9, 1, 1, 1]


def test_a_fractional_number_of_workgroups_is_refused(kit: Kit) -> None:
    graph, _, _ = _add(kit)

    with pytest.raises(TypeError):
        graph.set_workgroups(0, 2.5)  # type: ignore[arg-type]
    assert graph.nodes[0].workgroups == (4, 1, 1)


def test_set_data_changes_one_write(kit: Kit, way: Way) -> None:
    x, y = kit.buffer(label="x"), kit.buffer()
    add = kit.call(ADD1, x, y)
    graph = use(captured(kit.device, lambda: (kit.write(x, [1] * 4), add())), way)

    graph.replay()
    graph.set_data(0, [8.0] * 4)
    graph.replay()
    assert kit.read(y) == [9] * 4
    assert graph.nodes[0].data == np.full(4, 8, np.float32).tobytes()
    with pytest.raises(cmdgraph.UpdateError, match='node 0, write_buffer to buffer "x": expected 16 bytes, got 8'):
        graph.set_data(0, [8.0] * 2)
    with pytest.raises(cmdgraph.UpdateError, match="node 1 is dispatch_workgroups, not write_buffer"):
        graph.set_data(1, [8.0] * 4)
    with pytest.raises(cmdgraph.UpdateError, match="expected dtype float32"):
        graph.set_data(graph.nodes[0], np.zeros(4, np.int32))


def test_set_data_leaves_replays_under_way_alone(kit: Kit, way: Way) -> None:
    x, sums = kit.buffer(label="x"), kit.buffer([0] * 4)
    code = (
        "@group(0) @binding(0) var<storage, read> x: array<f32>;"
        "@group(0) @binding(1) var<storage, read_write> s: array<f32>;"
        "@compute @workgroup_size(1) fn main() { s[0] = s[0] * 10 + x[0]; }"
    )
    add = kit.call(code, x, sums, count=1)
    graph = use(captured(kit.device, lambda: (kit.write(x, [0]), add())), way)

    for digit in (1, 2, 3, 4):
        graph.set_data(0, [float(digit)])
        graph.replay()

    assert kit.read(sums)[0] == 1234


def test_set_data_of_an_empty_write_takes_nothing(kit: Kit) -> None:
    x = kit.buffer([1] * 4)
    inc = kit.call(INC, x)
    with cmdgraph.capture(kit.device) as graph:
        inc()
        try:
            kit.queue.write_buffer(x, 0, b"")
        except Exception:
            pytest.skip("an empty write is refused")
    graph.set_data(1, b"")
    graph.replay()
    assert kit.read(x) == [2] * 4


# -- inputs, outputs, stats, words -----------------------------------------------------------------------------------


def test_inputs_and_outputs(kit: Kit) -> None:
    x, h, y = kit.buffer([1] * 4, "x"), kit.buffer(label="h"), kit.buffer(label="y")
    kept = kit.buffer(label="kept")
    add = kit.call(ADD1, h, y)

    def model() -> None:
        kit.copy(x, h)
        add()
        kit.copy(y, kept)

    graph = captured(kit.device, model)

    assert set(graph.inputs) == {x, y}  # y is bound read_write: what a shader really reads is not known
    assert set(graph.outputs) == {h, y, kept}


def test_stats_and_words(kit: Kit) -> None:
    x, y = kit.buffer([1] * 4), kit.buffer()
    add = kit.call(ADD1, x, y)
    graph = captured(kit.device, lambda: (kit.write(x, [1] * 4), add(), kit.copy(y, x)), name="step")
    graph.replay(times=2)
    stats = graph.stats

    assert (stats.nodes, stats.dispatches, stats.copies, stats.writes, stats.clears) == (3, 1, 1, 1, 0)
    assert (stats.replays, stats.updates, stats.rebinds) == (2, 0, 0)
    assert stats.constants_bytes == 16
    assert repr(graph) == '<CommandGraph "step": 3 nodes, 1 dispatches, single-pass, 2 replays>'
    assert repr(cmdgraph.CommandGraph()) == "<CommandGraph: empty>"
    with pytest.raises(AttributeError):
        stats.nodes = 3  # type: ignore[misc]


@pytest.mark.parametrize("times", [0, -1])
def test_times_must_be_positive(kit: Kit, times: int) -> None:
    with pytest.raises(ValueError, match=rf"replay\(times={times}\): times must be at least 1"):
        _add(kit)[0].replay(times=times)


def test_an_unknown_walker_leaves_the_graph_as_it_was(kit: Kit) -> None:
    graph, _, y = _add(kit)
    before = graph.walker

    with pytest.raises(ValueError, match='unknown walker \'rust\': choose "c" or "python"'):
        graph.walker = "rust"
    assert graph.walker == before
    graph.replay()
    assert kit.read(y) == [2, 3, 4, 5]


# -- release ---------------------------------------------------------------------------------------------------------


def test_a_released_graph_says_so_and_may_be_released_again(kit: Kit, way: Way) -> None:
    graph, x, y = _add(kit)
    use(graph, way).replay()
    graph.release()
    graph.release()

    for call in (graph.replay, graph.wait, graph.summary, lambda: graph.nodes, lambda: graph.update({x: [0.0] * 4})):
        with pytest.raises(cmdgraph.ReleasedError, match="was released; capture again"):
            call()
    assert repr(graph) == "<CommandGraph: released>"
    assert len(graph) == 0
    assert kit.read(y) == [2, 3, 4, 5]  # the replay under way finished
    x.destroy()


def test_a_released_graph_lets_go_of_the_buffers(kit: Kit) -> None:
    buffer = kit.buffer([0] * 4)
    graph = captured(kit.device, kit.call(INC, buffer))
    reference = weakref.ref(buffer)
    del buffer
    gc.collect()
    assert reference() is not None
    graph.release()
    gc.collect()
    assert reference() is None


def test_graphs_share_buffers_and_are_released_on_their_own(kit: Kit) -> None:
    c = kit.buffer([0] * 4)
    inc = kit.call(INC, c)
    first, second = captured(kit.device, inc), captured(kit.device, inc)
    first.replay()
    first.release()
    second.replay()
    assert kit.read(c) == [2] * 4
    c.destroy()
    with pytest.raises(cmdgraph.DestroyedError):
        second.replay()


def test_staging_buffers_can_be_part_of_a_graph(kit: Kit, way: Way) -> None:
    staging, target = (
        kit.device.create_buffer(size=16, usage=UPLOAD, mapped_at_creation=True),
        kit.buffer(usage=STORAGE),
    )
    staging.write_mapped(np.array([1, 2, 3, 4], np.float32))
    staging.unmap()
    graph = use(captured(kit.device, lambda: kit.copy(staging, target)), way)
    graph.replay()
    assert kit.read(target) == [1, 2, 3, 4]
    staging.map_sync("WRITE")
    staging.write_mapped(np.array([5, 6, 7, 8], np.float32))
    staging.unmap()
    graph.replay()
    assert kit.read(target) == [5, 6, 7, 8]
