"""Another buffer in the place of one: everywhere it is used, checked again, all or nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cmdgraph
from tests.kit import ADD1, INC, INDIRECT, STORAGE, Kit, captured, open_device, use
from tests.programs import HALF

Way = tuple[str, str]


def test_a_rebound_buffer_is_used_by_the_next_replay(kit: Kit, way: Way) -> None:
    x, y, other = kit.buffer([1] * 4, "x"), kit.buffer(), kit.buffer([5] * 4, "other")
    graph = use(captured(kit.device, kit.call(ADD1, x, y)), way)

    graph.replay()
    graph.rebind({x: other})
    assert (graph.strategy, graph.walker) == way[::-1]
    graph.replay()

    assert kit.read(y) == [6] * 4
    assert graph.stats.rebinds == 1
    assert graph.inputs[0] is other
    graph.rebind({"other": x})
    graph.replay()
    assert kit.read(y) == [2] * 4


def test_two_buffers_change_places(kit: Kit, way: Way) -> None:
    x, y = kit.buffer([1] * 4), kit.buffer([5] * 4)
    graph = use(captured(kit.device, kit.call(ADD1, x, y)), way)

    graph.rebind({x: y, y: x})
    graph.replay()

    assert (kit.read(x), kit.read(y)) == ([6] * 4, [5] * 4)


def test_every_kind_of_use_is_rebound(kit: Kit, way: Way) -> None:
    old, new = kit.buffer([0] * 4, "old", usage=INDIRECT), kit.buffer([0] * 4, "new", usage=INDIRECT)
    c, out = kit.buffer([0] * 4), kit.buffer([0] * 4)
    inc = kit.kernel(INC)
    group = kit.group(inc, c)

    def model() -> None:
        kit.write(old, np.array([2, 1, 1, 0], np.uint32))
        encoder = kit.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(inc)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups_indirect(old, 0)
        compute.end()
        encoder.copy_buffer_to_buffer(old, 0, out, 0, 4)
        kit.submit(encoder.finish())

    graph = use(captured(kit.device, model), way)
    graph.rebind({old: new})
    old.destroy()
    graph.replay()

    assert kit.read(c) == [1, 1, 0, 0]
    assert kit.read(out, np.uint32) == [2, 0, 0, 0]
    assert kit.read(new, np.uint32) == [2, 1, 1, 0]


def test_dynamic_offsets_and_ranges_stay(kit: Kit, way: Way) -> None:
    entry = {"binding": 0, "visibility": 4, "buffer": {"type": "storage", "has_dynamic_offset": True}}
    pipeline = kit.explicit(INC, [entry])
    old, new = kit.buffer([0] * 192), kit.buffer([0] * 192)
    group = kit.group(pipeline, {"buffer": old, "offset": 256, "size": 256})

    def model() -> None:
        encoder = kit.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group, [256])
        compute.dispatch_workgroups(1)
        compute.end()
        kit.submit(encoder.finish())

    graph = use(captured(kit.device, model), way)
    graph.rebind({old: new})
    graph.replay()

    assert [i for i, value in enumerate(kit.read(new)) if value] == [2 * HALF]
    assert not any(kit.read(old))


def test_a_larger_buffer_is_bound_as_a_whole(kit: Kit, way: Way) -> None:
    code = (
        "@group(0) @binding(0) var<storage, read_write> b: array<f32>;"
        "@compute @workgroup_size(1) fn main() { b[arrayLength(&b) - 1] = f32(arrayLength(&b)); }"
    )
    old, new = kit.buffer([0] * 4), kit.buffer([0] * 8)
    graph = use(captured(kit.device, kit.call(code, old, count=1)), way)

    graph.rebind({old: new})
    graph.replay()

    assert kit.read(new) == [0] * 7 + [8]


def _bad(kit: Kit) -> dict[str, tuple[Any, type[Exception], str]]:
    package = type(kit.device).__module__.partition(".")[0]
    return {
        "without usage": (kit.device.create_buffer(size=16, usage=8, label="new"), cmdgraph.ValidationError, "new"),
        "too small": (
            kit.device.create_buffer(size=4, usage=STORAGE, label="new"),
            cmdgraph.ValidationError,
            "node 2 ",
        ),
        "other device": (
            Kit(open_device(package)).buffer(label="new"),
            cmdgraph.ValidationError,
            "rebind|another device",
        ),
        "empty": (
            kit.device.create_buffer(size=0, usage=STORAGE, label="new"),  # wgpu-native kills the process that binds it
            cmdgraph.ValidationError,
            'binding 0 would be empty: buffer "new" has no bytes',
        ),
        "conflict": (None, cmdgraph.ValidationError, "is read at .* and may be written at"),
    }


@pytest.mark.parametrize("case", ["without usage", "too small", "other device", "empty", "conflict"])
def test_a_bad_buffer_changes_nothing(kit: Kit, way: Way, case: str) -> None:
    x, y, kept = kit.buffer([1] * 4, "x"), kit.buffer(label="y"), kit.buffer()
    inc, add = kit.call(INC, x), kit.call(ADD1, x, y)
    graph = use(captured(kit.device, lambda: (inc(), add(), kit.copy(x, kept))), way)
    new, error, words = _bad(kit)[case]

    with pytest.raises(error, match=words):
        graph.rebind({x: y if case == "conflict" else new})
    assert graph.stats.rebinds == 0
    graph.replay()
    assert kit.read(kept) == [2] * 4
    assert kit.read(y) == [3] * 4


def test_what_is_not_a_buffer_is_refused_with_words(native: Kit) -> None:
    x = native.buffer([1] * 4, "x")
    graph = captured(native.device, native.call(INC, x))

    with pytest.raises(cmdgraph.CommandGraphError, match="buffer"):
        graph.rebind({x: "y"})


def test_a_buffer_that_is_not_part_of_the_graph_is_refused(kit: Kit) -> None:
    x = kit.buffer([1] * 4, "x")
    graph = captured(kit.device, kit.call(INC, x))

    with pytest.raises(cmdgraph.UpdateError, match='buffer "stranger" is no buffer of this graph'):
        graph.rebind({kit.buffer(label="stranger"): kit.buffer()})


def test_update_and_set_data_work_after_a_rebind(kit: Kit, way: Way) -> None:
    x, y, new = kit.buffer([1] * 4, "x"), kit.buffer(), kit.buffer([2] * 4, "new")
    w, add = kit.buffer(), kit.call(ADD1, x, y)
    graph = use(captured(kit.device, lambda: (add(), kit.write(w, [1] * 4))), way)

    graph.rebind({x: new})
    graph.update(new=[9] * 4)
    graph.set_data(1, np.full(4, 3, np.float32))
    graph.replay()

    assert kit.read(y) == [10] * 4
    assert kit.read(w) == [3] * 4
    with pytest.raises(cmdgraph.UpdateError, match='no buffer of this graph has the label "x"'):
        graph.update(x=[9] * 4)


def test_textures_stay_bound_when_a_buffer_is_rebound(kit: Kit, way: Way) -> None:
    from tests.kit import TEXTURE

    texture, old, new = kit.texture(), kit.buffer([0] * 4), kit.buffer([0] * 4)
    pipeline = kit.kernel(TEXTURE)
    group = kit.group(pipeline, texture.create_view(), old)
    graph = use(captured(kit.device, lambda: kit.run(pipeline, group, count=1)), way)

    graph.rebind({old: new})
    graph.replay()
    assert kit.read(new)[0] == 0.5
    texture.destroy()
    with pytest.raises(cmdgraph.DestroyedError, match="texture"):
        graph.replay()


def test_a_group_that_holds_another_destroyed_buffer_cannot_be_made_again(kit: Kit) -> None:
    x, y = kit.buffer([1] * 4, "x"), kit.buffer(label="y")
    graph = captured(kit.device, kit.call(ADD1, x, y))
    y.destroy()

    with pytest.raises(cmdgraph.DestroyedError, match='buffer "y" was destroyed; rebind'):
        graph.rebind({x: kit.buffer([2] * 4)})
    graph.rebind({x: kit.buffer([2] * 4), y: (new := kit.buffer())})
    graph.replay()

    assert kit.read(new) == [3] * 4


def test_a_dynamic_offset_past_the_end_of_the_new_buffer_is_refused(kit: Kit) -> None:
    entry = {"binding": 0, "visibility": 4, "buffer": {"type": "storage", "has_dynamic_offset": True}}
    pipeline = kit.explicit(INC, [entry])
    old = kit.buffer([0] * 192)
    group = kit.group(pipeline, {"buffer": old, "offset": 0, "size": 256})

    def model() -> None:
        encoder = kit.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group, [512])
        compute.dispatch_workgroups(1)
        compute.end()
        kit.submit(encoder.finish())

    graph = captured(kit.device, model)

    with pytest.raises(cmdgraph.ValidationError, match="node 0 .*dynamic offset 512 .* reaches past the end") as caught:
        graph.rebind({old: kit.buffer([0] * 128)})
    assert caught.value.rule == "dynamic_offsets"
    graph.replay()
    assert kit.read(old)[128] == 1
