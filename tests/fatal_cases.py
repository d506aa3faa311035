"""Cases that abort the process if cmdgraph does not stop them: facts about wgpu-native's abort table.

Each takes a kit on a fresh device and a setting (a walker, or "guard"), and is run by `tests.subprocesses.Outcomes` in
a process of its own. What must come out stands beside it in `EXPECTED`, and is checked by tests/test_liveness.py and
tests/test_guard.py.
"""

from __future__ import annotations

import gc
import importlib
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

import cmdgraph
from tests.kit import (
    ADD1,
    INC,
    INDIRECT,
    READBACK,
    STORAGE,
    TEXTURE,
    UPLOAD,
    Kit,
    captured,
    dispatch,
    open_device,
)

CASES: list[Callable[[Kit, str], None]] = []
EXPECTED: dict[str, tuple[str, tuple[str, ...]]] = {}
ROUNDS = 150


def _case(error: str = "", *parts: str) -> Callable[[Any], Any]:
    """Registers a case that must end with `error` (a class name, "" for none), its text holding `parts`."""

    def add(case: Any) -> Any:
        CASES.append(case)
        EXPECTED[case.__name__] = (error, parts)
        return case

    return add


# -- graphs: what a node can use, gone at each moment ----------------------------------------------------------------


def _graph(kit: Kit, setting: str, model: Callable[[], Any], **options: Any) -> cmdgraph.CommandGraph:
    graph = captured(kit.device, model, **options)
    graph.walker = setting
    return graph


def _uses(kit: Kit) -> dict[str, tuple[Any, Callable[[], None]]]:
    """For each way to use a resource: the resource, labelled "victim", and a model that uses it."""
    victim = {name: kit.buffer([1, 2, 3, 4], "victim", usage=INDIRECT) for name in ("in", "out", "source", "target")}
    arguments = kit.buffer(np.array([4, 1, 1, 0], np.uint32), "victim", usage=INDIRECT)
    other = [kit.buffer([0] * 4) for _ in range(6)]
    texture = kit.texture("victim")
    pipeline = kit.kernel(INC)
    group = kit.group(pipeline, other[4])
    textured = kit.kernel(TEXTURE)
    textured_group = kit.group(textured, texture.create_view(), other[5])

    def indirect() -> None:
        encoder = kit.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups_indirect(arguments, 0)
        compute.end()
        kit.submit(encoder.finish())

    return {
        "input": (victim["in"], kit.call(ADD1, victim["in"], other[0])),
        "output": (victim["out"], kit.call(ADD1, other[1], victim["out"])),
        "source": (victim["source"], lambda: kit.copy(victim["source"], other[2])),
        "target": (victim["target"], lambda: kit.copy(other[3], victim["target"])),
        "indirect": (arguments, indirect),
        "texture": (texture, lambda: kit.run(textured, textured_group, count=1)),
    }


USES = ("input", "output", "source", "target", "indirect", "texture")


def _add_uses() -> None:
    for use in USES:
        noun = "texture" if use == "texture" else "buffer"
        gone = (f'{noun} "victim" was destroyed', "node 1 ")

        def before(kit: Kit, setting: str, use: str = use) -> None:
            first, (victim, model) = _harmless(kit), _uses(kit)[use]
            victim.destroy()
            _graph(kit, setting, lambda: (first(), model()))

        def inside(kit: Kit, setting: str, use: str = use) -> None:
            first, (victim, model) = _harmless(kit), _uses(kit)[use]
            _graph(kit, setting, lambda: (first(), model(), victim.destroy()))

        def between(kit: Kit, setting: str, use: str = use) -> None:
            first, (victim, model) = _harmless(kit), _uses(kit)[use]
            graph = _graph(kit, setting, lambda: (first(), model()))
            graph.replay()
            victim.destroy()
            graph.replay()

        def executing(kit: Kit, setting: str, use: str = use) -> None:
            victim, model = _uses(kit)[use]
            _graph(kit, setting, lambda: (victim.destroy(), model()), execute=True)

        for moment, case in (("before", before), ("inside", inside), ("between", between)):
            case.__name__ = f"{use}_destroyed_{moment}"
            _case("DestroyedError", *gone)(case)
        executing.__name__ = f"{use}_destroyed_in_executing_capture"
        _case("DestroyedError", *gone[:1])(executing)


def _harmless(kit: Kit) -> Callable[[], None]:
    return kit.call(INC, kit.buffer([0] * 4))


_add_uses()


def _mappable(kit: Kit, kind: str) -> tuple[Any, str, Callable[[], None]]:
    other = kit.buffer([1, 2, 3, 4])
    if kind == "source":
        buffer = kit.device.create_buffer(size=16, usage=UPLOAD, label="victim")
        return buffer, "WRITE", lambda: kit.copy(buffer, other)
    buffer = kit.device.create_buffer(size=16, usage=READBACK, label="victim")
    return buffer, "READ", lambda: kit.copy(other, buffer)


def _add_mapped() -> None:
    for kind in ("source", "target"):

        def before(kit: Kit, setting: str, kind: str = kind) -> None:
            buffer, mode, model = _mappable(kit, kind)
            buffer.map_sync(mode)
            _graph(kit, setting, model)

        def between(kit: Kit, setting: str, kind: str = kind) -> None:
            buffer, mode, model = _mappable(kit, kind)
            graph = _graph(kit, setting, model)
            graph.replay()
            buffer.map_sync(mode)
            graph.replay()

        def pending(kit: Kit, setting: str, kind: str = kind) -> None:
            buffer, mode, model = _mappable(kit, kind)
            graph = _graph(kit, setting, model)
            promise = buffer.map_async(mode)
            try:
                graph.replay()
            finally:
                promise.sync_wait()

        def executing(kit: Kit, setting: str, kind: str = kind) -> None:
            buffer, mode, model = _mappable(kit, kind)
            buffer.map_sync(mode)
            _graph(kit, setting, model, execute=True)

        for moment, case in (("before", before), ("between", between), ("pending", pending), ("executing", executing)):
            case.__name__ = f"{kind}_mapped_{moment}"
            _case("MappedError", 'buffer "victim" is mapped')(case)


_add_mapped()


@_case("MappedError", 'buffer "victim" is mapped')
def bound_buffer_mapped_at_creation(kit: Kit, setting: str) -> None:
    victim = kit.device.create_buffer(size=16, usage=STORAGE, mapped_at_creation=True, label="victim")
    _graph(kit, setting, kit.call(INC, victim))


@_case()
def bound_buffer_mapped_at_creation_and_unmapped_later(kit: Kit, setting: str) -> None:
    victim = kit.device.create_buffer(size=16, usage=STORAGE, mapped_at_creation=True, label="victim")
    with cmdgraph.capture(kit.device) as graph:
        kit.call(INC, victim)()
        victim.unmap()
    graph.walker = setting
    graph.replay()
    assert kit.read(victim) == [1] * 4


@_case("MappedError", 'buffer "victim" is mapped')
def storage_buffer_mapped_with_mappable_primary_buffers(kit: Kit, setting: str) -> None:
    package = type(kit.device).__module__.partition(".")[0]
    if package == "wgpudawn":
        raise cmdgraph.MappedError('no such feature on Dawn: buffer "victim" is mapped')
    kit = Kit(open_device(package, ["mappable-primary-buffers"]))
    victim = kit.device.create_buffer(size=16, usage=STORAGE | READBACK, label="victim")
    graph = _graph(kit, setting, kit.call(INC, victim))
    graph.replay()
    victim.map_sync("READ")
    victim.unmap()
    graph.replay()
    victim.map_sync("READ")
    assert np.frombuffer(victim.read_mapped(), np.float32).tolist() == [2] * 4
    graph.replay()


@_case("DestroyedError", 'buffer "victim" was destroyed')
def bind_group_set_but_not_used(kit: Kit, setting: str) -> None:
    """Submit looks at every group that was set, also beyond the pipeline's layout."""
    victim, other = kit.buffer([0] * 4, "victim"), kit.buffer([0] * 4)
    pipeline = kit.kernel(INC)
    used, unused = kit.group(pipeline, other), kit.group(pipeline, victim)
    graph = _graph(kit, setting, lambda: kit.run(pipeline, used, unused))
    graph.replay()
    victim.destroy()
    graph.replay()


@_case("DestroyedError", 'buffer "victim" was destroyed')
def destroyed_new_buffer_of_a_rebind(kit: Kit, setting: str) -> None:
    x, victim = kit.buffer([0] * 4, "x"), kit.buffer([0] * 4, "victim")
    graph = _graph(kit, setting, kit.call(INC, x))
    victim.destroy()
    graph.rebind({x: victim})


@_case("DestroyedError", 'buffer "victim" was destroyed')
def buffer_destroyed_after_a_rebind(kit: Kit, setting: str) -> None:
    x, victim = kit.buffer([0] * 4, "x"), kit.buffer([0] * 4, "victim")
    graph = _graph(kit, setting, kit.call(INC, x))
    graph.rebind({x: victim})
    x.destroy()
    graph.replay()
    victim.destroy()
    graph.replay()


@_case()
def old_buffer_destroyed_after_a_rebind(kit: Kit, setting: str) -> None:
    x, y = kit.buffer([0] * 4, "x"), kit.buffer([5] * 4, "y")
    graph = _graph(kit, setting, kit.call(INC, x))
    graph.rebind({x: y})
    x.destroy()
    graph.replay()
    assert kit.read(y) == [6] * 4


@_case("DestroyedError", 'buffer "victim" was destroyed')
def update_of_a_destroyed_buffer(kit: Kit, setting: str) -> None:
    victim = kit.buffer([0] * 4, "victim")
    graph = _graph(kit, setting, kit.call(INC, victim))
    victim.destroy()
    graph.update(victim=np.zeros(4, np.float32))


# -- command buffers -------------------------------------------------------------------------------------------------


@_case("CaptureError", "submitted before")
def command_buffer_twice_in_a_capture(kit: Kit, setting: str) -> None:
    def model() -> None:
        commands = kit.encode(kit.kernel(INC), kit.group(kit.kernel(INC), kit.buffer([0] * 4)))
        kit.submit(commands)
        kit.submit(commands)

    _graph(kit, setting, model)


@_case("CaptureError", "submitted before")
def command_buffer_twice_in_one_submit(kit: Kit, setting: str) -> None:
    def model() -> None:
        commands = kit.encode(kit.kernel(INC), kit.group(kit.kernel(INC), kit.buffer([0] * 4)))
        kit.submit(commands, commands)

    _graph(kit, setting, model)


@_case("CaptureError", "submitted before")
def command_buffer_twice_in_an_executing_capture(kit: Kit, setting: str) -> None:
    def model() -> None:
        commands = kit.encode(kit.kernel(INC), kit.group(kit.kernel(INC), kit.buffer([0] * 4)))
        kit.submit(commands)
        kit.submit(commands)

    _graph(kit, setting, model, execute=True)


@_case("CaptureError", "another device")
def command_buffer_of_another_device_in_a_capture(kit: Kit, setting: str) -> None:
    other = _other(kit)
    foreign = other.encode(other.kernel(INC), other.group(other.kernel(INC), other.buffer([0] * 4)))
    with cmdgraph.capture() as graph:
        _harmless(kit)()
        other.submit(foreign)
    graph.replay()


@_case("CaptureError", "begun outside")
def foreign_command_buffer_to_the_captured_queue(kit: Kit, setting: str) -> None:
    other = _other(kit)
    foreign = other.encode(other.kernel(INC), other.group(other.kernel(INC), other.buffer([0] * 4)))
    with cmdgraph.capture(kit.device, execute=True):
        kit.submit(foreign)


def _submit_recorded_outside(kit: Kit, execute: bool) -> None:
    call, kept = _harmless(kit), []
    with cmdgraph.capture(kit.device, execute=execute):
        call()
        kept.append(kit.encode(kit.kernel(INC), kit.group(kit.kernel(INC), kit.buffer([0] * 4))))
        kit.submit(kept[0])
    kit.submit(kept[0])


@_case("CaptureError", "recorded by a cmdgraph capture")
def recorded_command_buffer_submitted_outside(kit: Kit, setting: str) -> None:
    _submit_recorded_outside(kit, execute=False)


@_case("CaptureError", "recorded by a cmdgraph capture")
def recorded_encoder_used_by_a_saved_method(kit: Kit, setting: str) -> None:
    begin = type(kit.device.create_command_encoder()).begin_compute_pass
    with cmdgraph.capture(kit.device):
        begin(kit.device.create_command_encoder())


def _other(kit: Kit) -> Kit:
    return Kit(open_device(type(kit.device).__module__.partition(".")[0]))


# -- the device ------------------------------------------------------------------------------------------------------


@_case("DeviceLostError", "was destroyed")
def replay_after_device_destroy(kit: Kit, setting: str) -> None:
    graph = _graph(kit, setting, _harmless(kit))
    graph.replay()
    kit.device.destroy()
    graph.replay()


@_case("DeviceLostError", "was destroyed")
def wait_after_device_destroy(kit: Kit, setting: str) -> None:
    graph = _graph(kit, setting, _harmless(kit))
    graph.replay()
    kit.device.destroy()
    graph.wait()


@_case("DeviceLostError", "was destroyed")
def capture_after_device_destroy(kit: Kit, setting: str) -> None:
    call = _harmless(kit)
    kit.device.destroy()
    _graph(kit, setting, call)


@_case("DeviceLostError", "was destroyed")
def capture_of_a_write_after_device_destroy(kit: Kit, setting: str) -> None:
    buffer = kit.buffer([0] * 4)
    kit.device.destroy()
    _graph(kit, setting, lambda: kit.write(buffer, [1, 2, 3, 4]))


@_case("DeviceLostError", "was destroyed")
def device_destroyed_inside_a_capture(kit: Kit, setting: str) -> None:
    call = _harmless(kit)
    _graph(kit, setting, lambda: (call(), kit.device.destroy()))


@_case("DeviceLostError", "was destroyed")
def executing_capture_that_submits_after_device_destroy(kit: Kit, setting: str) -> None:
    pipeline = kit.kernel(INC)
    group = kit.group(pipeline, kit.buffer([0] * 4))
    with cmdgraph.capture(kit.device, execute=True):
        commands = kit.encode(pipeline, group)
        kit.device.destroy()
        kit.submit(commands)


@_case("GPUValidationError")
def executing_capture_that_encodes_after_device_destroy(kit: Kit, setting: str) -> None:
    """The user's own call fails, as it does in eager code."""
    call = _harmless(kit)
    with cmdgraph.capture(kit.device, execute=True):
        call()
        kit.device.destroy()
        call()


@_case("DeviceLostError", "was destroyed")
def write_in_an_executing_capture_after_device_destroy(kit: Kit, setting: str) -> None:
    buffer = kit.buffer([0] * 4)
    with cmdgraph.capture(kit.device, execute=True):
        kit.write(buffer, [1, 2, 3, 4])
        kit.device.destroy()
        kit.write(buffer, [1, 2, 3, 4])


def _changed_after_loss(change: Callable[[Kit, Any, Any, Any], None]) -> Callable[[Kit, str], None]:
    def case(kit: Kit, setting: str) -> None:
        x, new = kit.buffer([0] * 4, "x"), kit.buffer([0] * 4)
        y, call = kit.buffer([0] * 4), kit.call(INC, x)
        graph = _graph(kit, setting, lambda: (call(), kit.write(y, [1, 2, 3, 4])))
        kit.device.destroy()
        change(kit, graph, x, new)

    return case


def _add_changes() -> None:
    changes: dict[str, Callable[[Kit, Any, Any, Any], None]] = {
        "update": lambda kit, graph, x, new: graph.update(x=np.zeros(4, np.float32)),
        "rebind": lambda kit, graph, x, new: graph.rebind({x: new}),
        "set_data": lambda kit, graph, x, new: graph.set_data(1, np.zeros(4, np.float32)),
    }
    for name, change in changes.items():
        case = _changed_after_loss(change)
        case.__name__ = f"{name}_after_device_destroy"
        _case("DeviceLostError", "was destroyed")(case)


_add_changes()


# -- reads in an executing capture -----------------------------------------------------------------------------------


@_case("DestroyedError", 'buffer "victim" was destroyed', "read_buffer")
def read_of_a_destroyed_buffer_in_an_executing_capture(kit: Kit, setting: str) -> None:
    victim = kit.buffer([1, 2, 3, 4], "victim")
    with cmdgraph.capture(kit.device, execute=True):
        _harmless(kit)()
        victim.destroy()
        kit.queue.read_buffer(victim)


@_case("MappedError", 'buffer "victim" is mapped', "read_buffer")
def read_of_a_mapped_buffer_in_an_executing_capture(kit: Kit, setting: str) -> None:
    victim, _, _ = _mappable(kit, "source")
    victim.map_sync("WRITE")
    with cmdgraph.capture(kit.device, execute=True):
        _harmless(kit)()
        kit.queue.read_buffer(victim)


@_case("DeviceLostError", "was destroyed")
def read_after_device_destroy_in_an_executing_capture(kit: Kit, setting: str) -> None:
    buffer = kit.buffer([1, 2, 3, 4])
    with cmdgraph.capture(kit.device, execute=True):
        _harmless(kit)()
        kit.device.destroy()
        kit.queue.read_buffer(buffer)


@_case()
def another_thread_destroys_in_the_middle_of_read_buffer(kit: Kit, setting: str) -> None:
    """read_buffer starts by making its own buffer: there the other thread gets its chance."""
    victim = kit.buffer([1, 2, 3, 4], "victim")
    with cmdgraph.capture(kit.device, execute=True):
        _harmless(kit)()
        _read_while_destroyed(kit, victim)


def _read_while_destroyed(kit: Kit, victim: Any) -> None:
    make = kit.device._create_buffer

    def create(*arguments: Any) -> Any:
        thread.start()
        thread.join(0.5)  # a right implementation keeps it waiting until the read is done
        return make(*arguments)

    thread = threading.Thread(target=victim.destroy)
    kit.device._create_buffer = create
    try:
        assert kit.read(victim) == [1, 2, 3, 4]
    except cmdgraph.DestroyedError:
        pass
    finally:
        del kit.device._create_buffer
        thread.join()


# -- threads, finalisers ---------------------------------------------------------------------------------------------


@_case()
def another_thread_destroys_during_replays(kit: Kit, setting: str) -> None:
    """An error or a right result, never an abort; many times over, so that every moment gets its turn."""
    stopped = 0
    for _ in range(ROUNDS):
        victim, out = kit.buffer([1, 2, 3, 4], "victim"), kit.buffer([0] * 4)
        graph = _graph(kit, setting, kit.call(ADD1, victim, out))
        go = threading.Event()

        def destroy(victim: Any = victim, go: threading.Event = go) -> None:
            go.wait()
            victim.destroy()

        thread = threading.Thread(target=destroy)
        thread.start()
        try:
            for turn in range(200):
                graph.replay()
                if turn == 2:
                    go.set()
        except cmdgraph.DestroyedError:
            stopped += 1
        thread.join()
        assert kit.read(out) == [2, 3, 4, 5]
        graph.release()
    assert stopped


@_case()
def another_thread_maps_and_unmaps_during_replays(kit: Kit, setting: str) -> None:
    victim, _, model = _mappable(kit, "target")
    graph = _graph(kit, setting, model)
    done = threading.Event()
    failures: list[BaseException] = []

    def remap() -> None:
        try:
            for _ in range(30):
                victim.map_sync("READ")
                victim.unmap()
        except BaseException as error:
            failures.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=remap)
    thread.start()
    replayed = 0
    while not done.is_set():
        try:
            graph.replay()
            replayed += 1
        except cmdgraph.MappedError:
            continue
    thread.join()
    assert not failures, failures
    graph.replay()
    victim.map_sync("READ")
    assert np.frombuffer(victim.read_mapped(), np.float32).tolist() == [1, 2, 3, 4]


@_case()
def a_thread_rebinds_and_destroys_during_replays(kit: Kit, setting: str) -> None:
    """The old buffer goes as soon as rebind() is back; a replay that began before must not use it."""
    first, second = kit.buffer([0] * 4, "first"), kit.buffer([0] * 4, "second")
    graph = _graph(kit, setting, kit.call(INC, first))
    strategy, go, reached = graph._strategy, threading.Event(), threading.Event()
    submit = strategy.submit

    def late(times: int) -> Any:
        reached.set()
        go.wait(0.5)
        return submit(times)

    strategy.submit = late
    errors: list[BaseException] = []

    def replay() -> None:
        try:
            graph.replay()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=replay)
    thread.start()
    reached.wait()
    graph.rebind({first: second})
    first.destroy()
    go.set()
    thread.join()
    assert all(isinstance(error, cmdgraph.CommandGraphError) for error in errors), errors
    graph.replay()
    assert kit.read(second)[0] in (1, 2)


@_case()
def a_thread_releases_during_replays(kit: Kit, setting: str) -> None:
    for _ in range(ROUNDS // 5):
        c = kit.buffer([0] * 4)
        graph = _graph(kit, setting, kit.call(INC, c))
        go = threading.Event()
        thread = threading.Thread(target=lambda graph=graph, go=go: (go.wait(), graph.release()))
        thread.start()
        count = 0
        try:
            for turn in range(500):
                graph.replay()
                count += 1
                if turn == 2:
                    go.set()
        except cmdgraph.ReleasedError:
            pass
        thread.join()
        assert kit.read(c) == [count] * 4


def _during_submit(graph: Any, action: Callable[[], None]) -> None:
    """Replays with `action` happening on this thread between the test of the flags and the submit."""
    kind = type(graph._session.walker)
    run = kind.run

    def acting(self: Any, *arguments: Any) -> Any:
        kind.run = run
        action()
        return run(self, *arguments)

    kind.run = acting
    try:
        graph.replay()
    finally:
        kind.run = run


@_case("DestroyedError", 'buffer "victim" was destroyed')
def a_finaliser_destroys_during_a_replay(kit: Kit, setting: str) -> None:
    victim, out = kit.buffer([1, 2, 3, 4], "victim"), kit.buffer([0] * 4)
    graph = _graph(kit, setting, kit.call(ADD1, victim, out))

    class Owner:
        def __init__(self) -> None:
            self.cycle = self

        def __del__(self) -> None:
            victim.destroy()

    owners = [Owner()]

    def collect() -> None:
        owners.clear()
        gc.collect()

    gc.collect()
    _during_submit(graph, collect)
    assert kit.read(out) == [2, 3, 4, 5]
    graph.replay()


@_case("DestroyedError", 'buffer "victim" was destroyed')
def a_weakref_callback_destroys_during_a_replay(kit: Kit, setting: str) -> None:
    victim, out = kit.buffer([1, 2, 3, 4], "victim"), kit.buffer([0] * 4)
    graph = _graph(kit, setting, kit.call(ADD1, victim, out))

    class Owner:
        pass

    owners = [Owner()]
    reference = weakref.ref(owners[0], lambda _: victim.destroy())
    _during_submit(graph, owners.clear)
    assert reference() is None
    assert kit.read(out) == [2, 3, 4, 5]
    graph.replay()


@_case("DeviceLostError", "was destroyed")
def a_finaliser_destroys_the_device_during_a_replay(kit: Kit, setting: str) -> None:
    graph = _graph(kit, setting, _harmless(kit))
    _during_submit(graph, kit.device.destroy)
    graph.replay()


@_case("CommandGraphError", "finaliser")
def a_finaliser_replays_during_a_replay(kit: Kit, setting: str) -> None:
    graph = _graph(kit, setting, _harmless(kit))
    _during_submit(graph, graph.replay)


@_case()
def errors_leave_the_graph_and_the_device_in_order(kit: Kit, setting: str) -> None:
    """After a stopped replay other graphs, eager code and new captures work."""
    victim, c = kit.buffer([0] * 4, "victim"), kit.buffer([0] * 4)
    broken = _graph(kit, setting, kit.call(INC, victim))
    call = kit.call(INC, c)
    graph = _graph(kit, setting, call)
    victim.destroy()
    for _ in range(3):
        try:
            broken.replay()
        except cmdgraph.DestroyedError:
            pass
        else:
            raise AssertionError("a replay with a destroyed buffer")
        graph.replay()
        call()
        _graph(kit, setting, call).replay()
    assert kit.read(c) == [9] * 4


# -- clears and copies of nothing ------------------------------------------------------------------------------------


@_case()
def capture_of_a_clear(kit: Kit, setting: str) -> None:
    buffer = kit.buffer([1, 2, 3, 4])
    graph = _graph(kit, setting, lambda: _clear(kit, buffer))
    graph.replay()
    assert kit.read(buffer) == [0] * 4


def _clear(kit: Kit, buffer: Any, *span: int) -> None:
    encoder = kit.device.create_command_encoder()
    encoder.clear_buffer(buffer, *span)
    kit.submit(encoder.finish())


@_case()
def capture_of_empty_copies_and_writes(kit: Kit, setting: str) -> None:
    a, b = kit.buffer([1, 2, 3, 4]), kit.buffer([5] * 4)

    def model() -> None:
        encoder = kit.device.create_command_encoder()
        encoder.copy_buffer_to_buffer(a, 0, b, 0, 0)
        encoder.copy_buffer_to_buffer(a, 16, b, 16, 0)
        kit.submit(encoder.finish())
        kit.call(INC, b)()

    graph = _graph(kit, setting, model)
    graph.replay()
    assert kit.read(b) == [6] * 4


@_case()
def a_dispatch_of_nothing(kit: Kit, setting: str) -> None:
    b = kit.buffer([5] * 4)
    pipeline = kit.kernel(INC)
    group = kit.group(pipeline, b)
    graph = _graph(kit, setting, lambda: kit.run(pipeline, group, count=[0, 0, 0]))
    graph.replay()
    assert kit.read(b) == [5] * 4
    graph.set_workgroups(0, 4)
    graph.replay()
    assert kit.read(b) == [6] * 4


# -- eager code under a guard ----------------------------------------------------------------------------------------

GUARDED: list[str] = []


def _guarded(error: str = "", *parts: str) -> Callable[[Any], Any]:
    """Like `_case`, for a case that runs under `cmdgraph.guard` and uses no graph."""

    def add(case: Any) -> Any:
        def under_guard(kit: Kit, setting: str) -> None:
            with cmdgraph.guard(kit.device):
                case(kit)

        under_guard.__name__ = f"guarded_{case.__name__}"
        GUARDED.append(under_guard.__name__)
        return _case(error, *parts)(under_guard)

    return add


def _add_guarded_uses() -> None:
    for use in USES:

        def destroyed(kit: Kit, use: str = use) -> None:
            victim, model = _uses(kit)[use]
            model()
            victim.destroy()
            model()

        destroyed.__name__ = f"{use}_destroyed"
        _guarded("DestroyedError", '"victim" was destroyed')(destroyed)
    for kind in ("source", "target"):

        def mapped(kit: Kit, kind: str = kind) -> None:
            buffer, mode, model = _mappable(kit, kind)
            model()
            buffer.map_sync(mode)
            model()

        mapped.__name__ = f"{kind}_mapped"
        _guarded("MappedError", 'buffer "victim" is mapped')(mapped)


_add_guarded_uses()


@_guarded("GuardError", "a second time")
def command_buffer_twice(kit: Kit) -> None:
    commands = kit.encode(kit.kernel(INC), kit.group(kit.kernel(INC), kit.buffer([0] * 4)))
    kit.submit(commands)
    kit.submit(commands)


@_guarded("GuardError", "a second time")
def command_buffer_twice_at_once(kit: Kit) -> None:
    commands = kit.encode(kit.kernel(INC), kit.group(kit.kernel(INC), kit.buffer([0] * 4)))
    kit.submit(commands, commands)


@_guarded("GuardError", "belongs to")
def command_buffer_of_another_device(kit: Kit) -> None:
    other = _other(kit)
    kit.submit(other.encode(other.kernel(INC), other.group(other.kernel(INC), other.buffer([0] * 4))))


@_guarded("DeviceLostError", "was destroyed")
def submit_after_device_destroy(kit: Kit) -> None:
    commands = kit.encode(kit.kernel(INC), kit.group(kit.kernel(INC), kit.buffer([0] * 4)))
    kit.device.destroy()
    kit.submit(commands)


@_guarded("DeviceLostError", "was destroyed")
def read_after_device_destroy(kit: Kit) -> None:
    buffer = kit.buffer([0] * 4)
    kit.device.destroy()
    kit.read(buffer)


@_guarded("DestroyedError", '"victim" was destroyed')
def read_of_a_destroyed_buffer(kit: Kit) -> None:
    victim = kit.buffer([0] * 4, "victim")
    victim.destroy()
    kit.queue.read_buffer(buffer=victim)


@_guarded("MappedError", '"victim" is mapped')
def read_of_a_mapped_buffer(kit: Kit) -> None:
    victim, _, _ = _mappable(kit, "source")
    victim.map_sync("WRITE")
    kit.queue.read_buffer(victim)


@_guarded("DestroyedError", '"victim" was destroyed')
def map_of_a_destroyed_buffer(kit: Kit) -> None:
    victim, _, _ = _mappable(kit, "target")
    victim.destroy()
    victim.map_sync("READ")


@_guarded("DestroyedError", '"victim" was destroyed')
def buffer_destroyed_between_finish_and_submit(kit: Kit) -> None:
    victim = kit.buffer([0] * 4, "victim")
    commands = kit.encode(kit.kernel(INC), kit.group(kit.kernel(INC), victim))
    victim.destroy()
    kit.submit(commands)


@_guarded()
def thread_destroys_in_the_middle_of_read_buffer(kit: Kit) -> None:
    _read_while_destroyed(kit, kit.buffer([1, 2, 3, 4], "victim"))


@_guarded()
def thread_destroys_during_submits(kit: Kit) -> None:
    pipeline = kit.kernel(INC)
    stopped = 0
    for _ in range(ROUNDS // 5):
        victim = kit.buffer([0] * 4, "victim")
        group = kit.group(pipeline, victim)
        go = threading.Event()
        thread = threading.Thread(target=lambda victim=victim, go=go: (go.wait(), victim.destroy()))
        thread.start()
        try:
            for turn in range(300):
                kit.run(pipeline, group)
                if turn == 2:
                    go.set()
        except cmdgraph.DestroyedError:
            stopped += 1
        thread.join()
    assert stopped


@_guarded()
def ordinary_work(kit: Kit) -> None:
    """Nothing of it is refused, and the results are right."""
    b, out = kit.buffer([1, 2, 3, 4]), kit.device.create_buffer(size=16, usage=READBACK)
    encoder = kit.device.create_command_encoder()
    dispatch(encoder, kit.kernel(INC), kit.group(kit.kernel(INC), b))
    encoder.copy_buffer_to_buffer(b, 0, out, 0, 16)
    kit.submit(encoder.finish())
    out.map_sync("READ")
    assert np.frombuffer(out.read_mapped(), np.float32).tolist() == [2, 3, 4, 5]
    out.unmap()
    assert kit.read(b) == [2, 3, 4, 5]
    _clear(kit, b, 0, 8)
    kit.write(b, [9], 12)
    assert kit.read(b) == [0, 0, 4, 9]
    graph = captured(kit.device, kit.call(INC, b))
    graph.replay(wait=True)
    assert kit.read(b) == [1, 1, 5, 10]


@_case()
def importing_alone_does_not_guard(kit: Kit, setting: str) -> None:
    importlib.import_module("cmdgraph")
    assert getattr(kit.device, "_cmdgraph_guard", None) is None
