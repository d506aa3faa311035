"""What a capture records, in which order, what it refuses, and that it leaves nothing behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cmdgraph
from cmdgraph.recording import hooks
from tests.kit import (
    ADD1,
    ADD1_UNIFORM,
    INC,
    READBACK,
    UNIFORM,
    UPLOAD,
    Kit,
    captured,
    dispatch,
    hooks_restored,
    methods,
    open_device,
    use,
)


def _operations(graph: cmdgraph.CommandGraph) -> list[str]:
    return [node.operation for node in graph.nodes]


# -- queue order -----------------------------------------------------------------------------------------------------


def test_commands_become_nodes_in_the_order_of_their_submits(kit: Kit, way: tuple[str, str]) -> None:
    a, b = kit.buffer([1] * 4, "a"), kit.buffer(label="b")
    inc, add = kit.kernel(INC), kit.kernel(ADD1)
    inc_group, add_group = kit.group(inc, a), kit.group(add, a, b)

    def model() -> None:
        first = kit.device.create_command_encoder(label="first")
        second = kit.device.create_command_encoder(label="second")
        dispatch(first, inc, inc_group)
        dispatch(second, add, add_group)
        one, two = first.finish(), second.finish()
        kit.write(a, [5] * 4)
        kit.submit(two, one)

    graph = use(captured(kit.device, model), way)
    assert _operations(graph) == ["write_buffer", "dispatch_workgroups", "dispatch_workgroups"]
    assert [n.pipeline.pipeline for n in graph.nodes[1:]] == [add, inc]
    graph.replay()
    assert kit.read(b) == [6] * 4
    assert kit.read(a) == [6] * 4


def test_interleaved_encoders_keep_their_own_commands(kit: Kit, way: tuple[str, str]) -> None:
    a, b = kit.buffer([1] * 4), kit.buffer([2] * 4)

    def model() -> None:
        one, two = kit.device.create_command_encoder(), kit.device.create_command_encoder()
        one.copy_buffer_to_buffer(a, 0, b, 0, 4)
        two.copy_buffer_to_buffer(b, 4, a, 4, 4)
        one.copy_buffer_to_buffer(a, 8, b, 8, 4)
        second, first = two.finish(), one.finish()
        kit.submit(first)
        kit.submit()
        kit.submit(second)

    graph = captured(kit.device, model)
    assert [(n.source_offset, n.source is a) for n in graph.nodes] == [(0, True), (8, True), (4, False)]
    use(graph, way).replay()
    assert kit.read(a) == [1, 2, 1, 1]
    assert kit.read(b) == [1, 2, 1, 2]


def test_data_of_a_write_is_copied_at_the_call(kit: Kit, way: tuple[str, str]) -> None:
    b = kit.buffer([0] * 4)
    data = np.array([1, 2, 3, 4], np.float32)

    def model() -> None:
        kit.queue.write_buffer(b, 0, data)
        data[:] = 9

    graph = use(captured(kit.device, model), way)
    graph.replay()

    assert kit.read(b) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        ((4, np.arange(3, dtype=np.float32)), [9, 0, 1, 2]),
        ((0, np.arange(8, dtype=np.float32), 8, 8), [2, 3, 9, 9]),
        ((8, np.arange(4, dtype=np.float32), 8), [9, 9, 2, 3]),
        ((0, bytes(8)), [0, 0, 9, 9]),
        ((0, bytearray(4)), [0, 9, 9, 9]),
        ((0, memoryview(np.ones((2, 2), np.float32))), [1, 1, 1, 1]),
    ],
    ids=["offset", "part", "rest", "bytes", "bytearray", "two dimensions"],
)
def test_write_buffer_reads_its_arguments_as_wgpu_does(
    kit: Kit, way: tuple[str, str], arguments: Any, written: list[float]
) -> None:
    eager, b = kit.buffer([9] * 4), kit.buffer([9] * 4)
    kit.queue.write_buffer(eager, *arguments)
    assert kit.read(eager) == written

    use(captured(kit.device, lambda: kit.queue.write_buffer(b, *arguments)), way).replay()

    assert kit.read(b) == written


def test_keywords_are_taken_as_wgpu_takes_them(kit: Kit, way: tuple[str, str]) -> None:
    a, b = kit.buffer([1, 2, 3, 4]), kit.buffer([0] * 4)
    pipeline = kit.kernel(INC)
    group = kit.group(pipeline, b)

    def model() -> None:
        kit.queue.write_buffer(buffer=a, buffer_offset=0, data=np.array([7], np.float32), data_offset=0, size=4)
        encoder = kit.device.create_command_encoder(label="e")
        encoder.copy_buffer_to_buffer(source=a, source_offset=0, destination=b, destination_offset=0, size=16)
        compute = encoder.begin_compute_pass(label="p")
        compute.set_pipeline(pipeline=pipeline)
        compute.set_bind_group(index=0, bind_group=group)
        compute.dispatch_workgroups(workgroup_count_x=4, workgroup_count_y=1)
        compute.end()
        commands = encoder.finish(label="c")
        kit.queue.submit(command_buffers=[commands])

    model()
    assert kit.read(b) == [8, 3, 4, 5]
    kit.write(b, [0] * 4)
    use(captured(kit.device, model), way).replay()
    assert kit.read(b) == [8, 3, 4, 5]


# -- what is refused -------------------------------------------------------------------------------------------------


def test_an_encoder_begun_before_the_capture_is_refused_at_its_submit(kit: Kit) -> None:
    commands = kit.encode(kit.kernel(INC), kit.group(kit.kernel(INC), kit.buffer()))

    with hooks_restored(), pytest.raises(cmdgraph.CaptureError, match="begun outside of it"):
        captured(kit.device, lambda: kit.submit(commands))
    kit.submit(commands)  # it is still good


def test_an_encoder_left_unsubmitted_is_named_with_its_place(kit: Kit) -> None:
    with hooks_restored(), pytest.raises(cmdgraph.CaptureError, match=r'"late" made at .*test_capture.py:\d+ was not'):
        captured(kit.device, lambda: kit.device.create_command_encoder(label="late"))
    good = kit.call(INC, kit.buffer())
    with pytest.raises(cmdgraph.CaptureError, match="it is finished, with 1 commands"):
        captured(kit.device, lambda: (good(), kit.encode(kit.kernel(INC), kit.group(kit.kernel(INC), kit.buffer()))))


def test_encoders_of_a_capture_are_of_no_use_outside(kit: Kit) -> None:
    good, kept = kit.call(INC, kit.buffer()), []

    def model() -> None:
        good()
        encoder = kit.device.create_command_encoder()
        kept.append(encoder)
        kit.submit(encoder.finish())

    graph = captured(kit.device, model)
    for call in (
        lambda: kept[0].finish(),
        lambda: kept[0].begin_compute_pass(),
        lambda: kept[0].copy_buffer_to_buffer(kit.buffer(), 0, kit.buffer(), 0, 4),
    ):
        with pytest.raises(cmdgraph.CaptureError, match="it is submitted|it is broken"):
            call()
    assert len(graph) == 1


def test_a_capture_takes_no_command_buffer_of_another_capture(kit: Kit) -> None:
    good, kept = kit.call(INC, kit.buffer()), []

    def model() -> None:
        good()
        kept.append(kit.encode(kit.kernel(INC), kit.group(kit.kernel(INC), kit.buffer())))
        kit.submit(kept[0])

    captured(kit.device, model)
    with pytest.raises(cmdgraph.CaptureError, match="begun outside"):
        captured(kit.device, lambda: kit.submit(kept[0]))


def test_a_second_device_is_refused(kit: Kit, package: str) -> None:
    other = Kit(open_device(package))
    mine, theirs = kit.call(INC, kit.buffer()), other.call(INC, other.buffer())

    with hooks_restored(), pytest.raises(cmdgraph.CaptureError, match="another device, the first one used"):
        captured(None, lambda: (mine(), theirs()))
    with pytest.raises(cmdgraph.CaptureError, match=r"the one given to capture\(\)"):
        captured(kit.device, theirs)
    with pytest.raises(cmdgraph.CaptureError, match="another device"):
        captured(kit.device, lambda: other.write(other.buffer(usage=UNIFORM), [1]))


def test_without_a_device_the_first_one_is_taken(kit: Kit) -> None:
    c = kit.buffer([0] * 4)
    call = kit.call(INC, c)
    with cmdgraph.capture(name="any") as graph:
        call()
    graph.replay()

    assert kit.read(c) == [1] * 4
    assert '"any"' in repr(graph)


@pytest.mark.parametrize("what", [object(), 3, "device"])
def test_what_is_no_device_is_refused_at_once(what: object) -> None:
    with pytest.raises(cmdgraph.BackendError, match="not an object of wgpu-native"):
        cmdgraph.capture(what)


def _reading(kit: Kit) -> dict[str, Callable[[], Any]]:
    target = kit.device.create_buffer(size=16, usage=READBACK)
    texture = kit.texture()
    view = {"texture": texture}
    return {
        "read_buffer": lambda: kit.queue.read_buffer(kit.buffer()),
        "map_async": lambda: target.map_async("READ"),
        "map_sync": lambda: target.map_sync("READ"),
        "read_texture": lambda: kit.queue.read_texture(view, {"bytes_per_row": 4, "rows_per_image": 1}, (1, 1, 1)),
        "write_texture": lambda: kit.queue.write_texture(
            view, bytes(4), {"bytes_per_row": 4, "rows_per_image": 1}, (1, 1, 1)
        ),
    }


@pytest.mark.parametrize("call", ["read_buffer", "map_async", "map_sync", "read_texture", "write_texture"])
def test_reading_inside_is_refused_at_that_line(kit: Kit, call: str) -> None:
    inc, read = kit.call(INC, kit.buffer([0] * 4)), _reading(kit)[call]
    reached = []

    def model() -> None:
        inc()
        with pytest.raises(cmdgraph.CaptureError, match=rf"{call.replace('map_sync', 'map_async')}\(\)"):
            read()
        reached.append("after")

    captured(kit.device, model)
    assert reached == ["after"]


def test_mapping_for_writing_is_allowed(kit: Kit, way: tuple[str, str]) -> None:
    staging, target = kit.device.create_buffer(size=16, usage=UPLOAD), kit.buffer([0] * 4)

    def model() -> None:
        staging.map_sync("WRITE")
        staging.write_mapped(np.array([1, 2, 3, 4], np.float32))
        staging.unmap()
        kit.copy(staging, target)

    use(captured(kit.device, model), way).replay()

    assert kit.read(target) == [1, 2, 3, 4]


@pytest.mark.parametrize("execute", [False, True])
def test_commands_without_a_node_are_refused(kit: Kit, execute: bool) -> None:
    texture, buffer = kit.texture(), kit.buffer(size=256)
    place = {"buffer": buffer, "offset": 0, "bytes_per_row": 256, "rows_per_image": 1}

    def model() -> None:
        encoder = kit.device.create_command_encoder()
        with pytest.raises(cmdgraph.CaptureError, match=r"copy_buffer_to_texture\(\) cannot be recorded"):
            encoder.copy_buffer_to_texture(place, {"texture": texture}, (1, 1, 1))
        encoder.finish()

    with hooks_restored(), pytest.raises(cmdgraph.CaptureError, match="it is broken"):
        captured(kit.device, model, execute=execute)


def test_timestamps_of_a_pass_are_refused(kit: Kit) -> None:
    def model() -> None:
        encoder = kit.device.create_command_encoder()
        encoder.begin_compute_pass(timestamp_writes={"query_set": None})

    with pytest.raises(cmdgraph.CaptureError, match="timestamp_writes"):
        captured(kit.device, model)


def test_replay_inside_a_capture_is_refused(kit: Kit) -> None:
    inc = kit.call(INC, kit.buffer([0] * 4, "c"))
    graph = captured(kit.device, inc)

    def model() -> None:
        inc()
        for call in (graph.replay, graph.wait, lambda: graph.update(c=np.zeros(4, np.float32))):
            with pytest.raises(cmdgraph.CaptureError, match="inside a capture"):
                call()

    captured(kit.device, model)


def test_a_capture_context_cannot_be_used_twice(kit: Kit) -> None:
    context = cmdgraph.capture(kit.device)
    inc = kit.call(INC, kit.buffer([0] * 4))
    with context:
        inc()
    with pytest.raises(cmdgraph.CaptureError, match="was used before"), context:
        pass
    assert hooks.capturing() is None


def test_the_graph_is_empty_until_the_capture_ends(kit: Kit) -> None:
    inc = kit.call(INC, kit.buffer([0] * 4))
    with cmdgraph.capture(kit.device) as graph:
        inc()
        assert len(graph) == 0
        assert graph
        with pytest.raises(cmdgraph.NothingCapturedError, match="has not ended yet"):
            _ = graph.nodes
    assert len(graph) == 1


# -- nothing is left behind ------------------------------------------------------------------------------------------


class Boom(BaseException):
    """Not an Exception, like KeyboardInterrupt."""


@pytest.mark.parametrize("execute", [False, True])
@pytest.mark.parametrize("error", [ValueError("no"), Boom()], ids=["exception", "base exception"])
def test_a_block_that_raises_leaves_nothing_behind(kit: Kit, error: BaseException, execute: bool) -> None:
    c = kit.buffer([0] * 4)
    inc = kit.call(INC, c)

    context = cmdgraph.capture(kit.device, execute=execute)

    def block() -> None:
        with context:
            kit.device.create_command_encoder()
            raise error

    with hooks_restored(), pytest.raises(type(error)):
        block()
    graph = context._graph
    assert hooks.capturing() is None
    with pytest.raises(cmdgraph.NothingCapturedError, match=f"raised {type(error).__name__}"):
        graph.replay()
    inc()
    assert kit.read(c) == [1] * 4
    captured(kit.device, inc).replay()
    assert kit.read(c) == [2] * 4


def test_hooks_are_there_during_a_capture_only(kit: Kit) -> None:
    inc = kit.call(INC, kit.buffer([0] * 4))
    before = methods()

    with cmdgraph.capture(kit.device):
        inc()
        during = methods()

    changed = {name for name in before if during[name] is not before[name]}
    assert {name.partition(" ")[2] if name.startswith("Dawn") else name.split()[-1] for name in changed} == {
        "GPUDevice.create_command_encoder",
        "GPUQueue.submit",
        "GPUQueue.write_buffer",
        "GPUQueue.read_buffer",
        "GPUQueue.read_texture",
        "GPUQueue.write_texture",
        "GPUQueue.on_submitted_work_done_async",
        "GPUBuffer.map_async",
    }
    assert methods() == before


def test_hooks_stay_while_another_thread_captures(kit: Kit) -> None:
    c = kit.buffer([0] * 4)
    mine, theirs = kit.call(INC, c), kit.call(INC, kit.buffer([0] * 4))
    inside, leave = threading.Event(), threading.Event()
    graphs = []

    def other() -> None:
        with cmdgraph.capture(kit.device) as graph:
            inside.set()
            leave.wait(60)
            theirs()
        graphs.append(graph)

    with hooks_restored():
        thread = threading.Thread(target=other)
        thread.start()
        inside.wait(60)
        captured(kit.device, mine)
        leave.set()
        thread.join(60)
    assert len(graphs[0]) == 1


def test_recording_runs_nothing(kit: Kit) -> None:
    c = kit.buffer([3] * 4)
    inc = kit.call(INC, c)
    captured(kit.device, lambda: (inc(), kit.write(c, [8] * 4), inc()))

    assert kit.read(c) == [3] * 4


# -- objects handed out ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("execute", [False, True])
def test_encoders_handed_out_are_instances_of_the_real_classes(kit: Kit, execute: bool) -> None:
    plain = kit.device.create_command_encoder()
    plain_pass = plain.begin_compute_pass()
    plain_pass.end()
    kinds = type(plain), type(plain_pass), type(plain.finish())

    def model() -> None:
        encoder = kit.device.create_command_encoder(label="name")
        compute = encoder.begin_compute_pass(label="pass")
        assert (encoder.label, compute.label) == ("name", "pass")
        compute.end()
        commands = encoder.finish(label="commands")
        assert tuple(map(isinstance, (encoder, compute, commands), kinds)) == (True, True, True)
        assert commands.label == "commands"
        assert repr(encoder)
        kit.submit(commands)
        kit.call(INC, kit.buffer([0] * 4))()

    captured(kit.device, model, execute=execute)


def test_methods_saved_before_the_capture_cannot_use_recorded_encoders(kit: Kit) -> None:
    plain = kit.device.create_command_encoder()
    saved_begin, saved_finish = type(plain).begin_compute_pass, type(plain).finish
    good = kit.call(INC, kit.buffer([0] * 4))

    def model() -> None:
        good()
        for saved in (saved_begin, saved_finish):
            encoder = kit.device.create_command_encoder()
            with pytest.raises(cmdgraph.CaptureError, match="looked up before the capture"):
                saved(encoder)
            kit.submit(encoder.finish())

    assert len(captured(kit.device, model)) == 1


def test_a_saved_submit_cannot_take_recorded_commands(kit: Kit) -> None:
    submit = kit.queue.submit

    def model() -> None:
        commands = kit.encode(kit.kernel(INC), kit.group(kit.kernel(INC), kit.buffer()))
        with pytest.raises(cmdgraph.CaptureError, match="looked up before the capture"):
            submit([commands])
        kit.submit(commands)

    assert len(captured(kit.device, model)) == 1


def test_a_saved_read_buffer_is_refused_all_the_same(kit: Kit) -> None:
    c = kit.buffer([3] * 4)
    read = kit.queue.read_buffer

    with hooks_restored(), pytest.raises(cmdgraph.CaptureError, match=r"map_async\(\) inside a capture"):
        captured(kit.device, lambda: read(c))


def test_a_saved_create_command_encoder_is_refused_at_submit(kit: Kit) -> None:
    create = kit.device.create_command_encoder

    with pytest.raises(cmdgraph.CaptureError, match="looked up before the capture"):
        captured(kit.device, lambda: kit.submit(create().finish()))


# -- an executing capture --------------------------------------------------------------------------------------------


def test_an_executing_capture_runs_once_and_reads_in_the_middle(kit: Kit, way: tuple[str, str]) -> None:
    x, y = kit.buffer([1, 2, 3, 4]), kit.buffer()
    seen = []
    add, inc = kit.call(ADD1, x, y), kit.call(INC, x)

    def model() -> None:
        kit.write(x, [5] * 4)
        add()
        seen.append(kit.read(y))
        inc()

    graph = use(captured(kit.device, model, execute=True), way)

    assert seen == [[6] * 4]
    assert _operations(graph) == ["write_buffer", "dispatch_workgroups", "dispatch_workgroups"]
    assert kit.read(x) == [6] * 4
    kit.write(x, [0] * 4)
    graph.replay()
    assert kit.read(x) == [6] * 4
    assert kit.read(y) == [6] * 4


def test_an_executing_capture_maps(kit: Kit) -> None:
    x, out = kit.buffer([1, 2, 3, 4]), kit.device.create_buffer(size=16, usage=READBACK)
    inc, seen = kit.call(INC, x), []

    def model() -> None:
        inc()
        kit.copy(x, out)
        out.map_sync("READ")
        seen.extend(np.frombuffer(out.read_mapped(), np.float32).tolist())
        out.unmap()

    assert len(captured(kit.device, model, execute=True)) == 2
    assert seen == [2, 3, 4, 5]


# -- debug groups, places --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("execute", [False, True])
def test_debug_groups_and_places_are_recorded(kit: Kit, execute: bool) -> None:
    a, b = kit.buffer([0] * 4), kit.buffer()
    pipeline = kit.kernel(INC)
    group = kit.group(pipeline, a)

    def model() -> None:
        encoder = kit.device.create_command_encoder()
        encoder.push_debug_group("layer 3")
        compute = encoder.begin_compute_pass()
        compute.push_debug_group("attention")
        compute.insert_debug_marker("here")
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups(4)
        compute.pop_debug_group()
        compute.end()
        encoder.copy_buffer_to_buffer(a, 0, b, 0, 16)
        encoder.pop_debug_group()
        encoder.insert_debug_marker("there")
        encoder.copy_buffer_to_buffer(b, 0, a, 0, 16)
        kit.submit(encoder.finish())

    nodes = captured(kit.device, model, execute=execute).nodes

    assert [n.path for n in nodes] == [("layer 3", "attention"), ("layer 3",), ()]
    assert [n.label for n in nodes] == ["here", "", "there"]
    assert all(n.place.file == __file__ for n in nodes)
    first = model.__code__.co_firstlineno
    assert [n.place.line - first for n in nodes] == [8, 11, 14]


@pytest.mark.parametrize("execute", [False, True])
def test_a_labelled_pass_is_a_group_and_a_marker_names_the_next_command_alone(kit: Kit, execute: bool) -> None:
    pipeline = kit.kernel(INC)
    group = kit.group(pipeline, kit.buffer([0] * 4))

    def model() -> None:
        encoder = kit.device.create_command_encoder()
        encoder.insert_debug_marker("first of the pass")
        compute = encoder.begin_compute_pass(label="query")
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups(4)
        compute.insert_debug_marker("lost: its group ends")
        compute.push_debug_group("heads")
        compute.dispatch_workgroups(4)
        compute.pop_debug_group()
        compute.end()
        encoder.clear_buffer(kit.buffer())
        kit.submit(encoder.finish())

    graph = captured(kit.device, model, execute=execute)

    assert [n.path for n in graph.nodes] == [("query",), ("query", "heads"), ()]
    assert [n.label for n in graph.nodes] == ["first of the pass", "", ""]
    graph.replay(wait=True)


def test_a_write_between_submits_of_a_loop_is_a_node_each_time(kit: Kit, way: tuple[str, str]) -> None:
    v, out = kit.buffer(usage=UNIFORM), kit.buffer(size=4)
    sums = kit.buffer([0] * 4)
    add = kit.call(ADD1_UNIFORM, v, out, count=1)

    def model() -> None:
        for value in range(3):
            kit.write(v, [value])
            add()
            kit.copy(out, sums, 4, to=4 * value)

    use(captured(kit.device, model), way).replay()

    assert kit.read(sums) == [1, 2, 3, 0]
