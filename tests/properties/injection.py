"""An invalidating event at every point of every small program.

`python -m tests.properties.injection PACKAGE [STRATEGY]` tries all strategies, or one.

The event comes before the capture, after each of its steps, after its end, or between two replays. Whatever needs the
resource must raise the right error before any GPU work, all buffers keep their contents, another graph of the device
goes on, and so does the process. It prints one line of JSON: how many events were tried, by kind.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from attrs import frozen

import cmdgraph
from tests.cts.common import in_pass
from tests.kit import ADD1, INC, INDIRECT, MUL2, READBACK, UPLOAD, Kit, captured, open_device, use, ways
from tests.programs import KERNELS

__all__ = ["EVENTS", "PROGRAMS"]


@frozen
class Small:
    """A program: what it uses, and the steps that a capture records."""

    buffers: dict[str, Any]
    steps: tuple[Callable[[], None], ...]

    def run(self) -> None:
        for step in self.steps:
            step()


def _chain(kit: Kit) -> Small:
    x, y, z = kit.buffer([1] * 4, "x"), kit.buffer([0] * 4, "y"), kit.buffer([0] * 4, "z")
    return Small({"x": x, "y": y, "z": z}, (kit.call(ADD1, x, y), lambda: kit.copy(y, z), kit.call(MUL2, z, x)))


def _written(kit: Kit) -> Small:
    x, out = kit.buffer([0] * 4, "x"), kit.device.create_buffer(size=16, usage=READBACK, label="out")
    steps = (lambda: kit.write(x, [3] * 4), kit.call(INC, x), lambda: kit.copy(x, out))
    return Small({"x": x, "out": out}, steps)


def _uploaded(kit: Kit) -> Small:
    up, x = kit.device.create_buffer(size=16, usage=UPLOAD, label="up"), kit.buffer([5] * 4, "x")
    return Small({"up": up, "x": x}, (lambda: kit.copy(up, x), kit.call(INC, x)))


def _indirect(kit: Kit) -> Small:
    x, args = kit.buffer([1] * 4, "x"), kit.buffer(np.array([2, 1, 1, 0], np.uint32), "args", usage=INDIRECT)
    pipeline = kit.kernel(INC)
    group = kit.group(pipeline, x)

    def use(compute: Any) -> None:
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups_indirect(args, 0)

    encode = in_pass(kit, use)
    return Small({"x": x, "args": args}, (lambda: kit.clear(x), lambda: kit.submit(*encode())))


def _two_groups(kit: Kit) -> Small:
    a, o = kit.buffer(np.arange(16, dtype=np.uint32), "a"), kit.buffer(np.zeros(16, np.uint32), "o")
    pipeline = kit.kernel(KERNELS["two_groups"])
    groups = [kit.group(pipeline, buffer, index=index) for index, buffer in enumerate((a, o))]
    return Small({"a": a, "o": o}, (lambda: kit.run(pipeline, *groups, count=1),))


PROGRAMS = {"chain": _chain, "written": _written, "uploaded": _uploaded, "indirect": _indirect, "groups": _two_groups}


def _destroy(kit: Kit, buffer: Any) -> None:
    buffer.destroy()


def _map(kit: Kit, buffer: Any) -> None:
    buffer.map_sync("READ" if buffer.usage & 1 else "WRITE")


def _lose(kit: Kit, buffer: Any) -> None:
    kit.device.destroy()


EVENTS: dict[str, tuple[Callable[[Kit, Any], None], type[Exception]]] = {
    "destroy": (_destroy, cmdgraph.DestroyedError),
    "map": (_map, cmdgraph.MappedError),
    "lose the device": (_lose, cmdgraph.DeviceLostError),
}


def _victims(event: str, small: Small) -> list[str]:
    if event == "destroy":
        return list(small.buffers)
    if event == "map":
        return [name for name, buffer in small.buffers.items() if buffer.usage & 3]
    return [next(iter(small.buffers))]


def _points(small: Small) -> Iterator[str]:
    yield "before"
    yield from (f"after step {number}" for number in range(len(small.steps)))
    yield from ("after the capture", "between replays")


def _try(kit: Kit, name: str, event: str, victim: str, point: str, way: tuple[str, str]) -> None:
    small = PROGRAMS[name](kit)
    counter = kit.buffer([0] * 4, "counter")
    other = captured(kit.device, kit.call(INC, counter))
    happen, error = EVENTS[event]
    if event == "map" and small.buffers[victim].usage & 1 and point.startswith("after step"):
        error = cmdgraph.CaptureError  # nothing was run yet that could be read

    def strike() -> None:
        happen(kit, small.buffers[victim])

    def model() -> None:
        for number, step in enumerate(small.steps):
            step()
            if point == f"after step {number}":
                strike()

    before: dict[str, bytes] = {}
    graphs: list[cmdgraph.CommandGraph] = []

    def live() -> None:
        if point == "before":
            strike()
        graphs.append(use(captured(kit.device, model), way))
        if point == "between replays":
            for _ in range(3):
                graphs[0].replay()
        before.update(_contents(kit, small, victim))
        strike()
        graphs[0].replay()

    with pytest.raises(error) as raised:
        live()
    assert raised.type is error
    assert victim in str(raised.value) or error in (cmdgraph.DeviceLostError, cmdgraph.CaptureError), raised.value
    if event == "lose the device":
        return
    if before:
        assert _contents(kit, small, victim) == before, "something ran"
    other.replay()
    assert kit.read(counter) == [1] * 4, "another graph was harmed"
    if event == "map":
        if error is cmdgraph.MappedError:
            small.buffers[victim].unmap()
        again = graphs[0] if before else captured(kit.device, small.run)
        again.replay(wait=True)  # as good as new
    small_again = PROGRAMS[name](kit)
    captured(kit.device, small_again.run).replay(wait=True)


def _contents(kit: Kit, small: Small, but: str) -> dict[str, bytes]:
    return {
        name: bytes(kit.queue.read_buffer(buffer))
        for name, buffer in small.buffers.items()
        if name != but and not buffer.usage & 3
    }


def main(package: str, strategy: str = "") -> None:
    shared, tried = Kit(open_device(package)), Counter[str]()
    choices = [way for way in ways() if strategy in ("", way[1])]
    for name, make in PROGRAMS.items():
        for event in EVENTS:
            small = make(shared)
            for victim in _victims(event, small):
                for point in _points(small):
                    kit = Kit(open_device(package)) if event == "lose the device" else shared
                    way = choices[sum(tried.values()) % len(choices)]
                    try:
                        _try(kit, name, event, victim, point, way)
                    except Exception as error:
                        raise AssertionError(f"{name}: {event} {victim} {point}, {way}") from error
                    tried[event] += 1
    print(json.dumps(tried))


if __name__ == "__main__":
    main(*sys.argv[1:])
