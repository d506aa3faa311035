"""Runs a random program on a device through plain wgpu-py calls, so that it can be captured.

Pipelines, layouts and buffers are made once for a device and used by all programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

from cmdgraph.objects import BufferUsage as U
from tests.fuzz.kernels import KERNELS
from tests.fuzz.programs import Buffer, Command, Event, Program
from tests.kit import Kit, open_device

__all__ = ["LIMITS", "Scene", "World"]

LIMITS = {
    "max-bind-groups": 4,
    "max-immediate-size": 64,
    "min-storage-buffer-offset-alignment": 256,
    "min-uniform-buffer-offset-alignment": 256,
    "max-storage-buffers-per-shader-stage": 12,
}
"""The same for both implementations, or one would refuse what the other must take."""
_PATTERN = np.arange(1024, dtype=np.uint32) % 5 + 1
_BYTES = np.arange(2048 + 64)
_GATHERED = 12 * 1024


def open_world(package: str, *extra: str) -> World:
    features = [*extra, *(["immediates"] if package == "wgpu" else [])]
    return World(Kit(open_device(package, features, LIMITS)), package)


class World:
    """A device and everything that programs share."""

    def __init__(self, kit: Kit, package: str) -> None:
        self.kit = kit
        self.device = kit.device
        self.pipeline: Callable[[int], Any] = cache(self._pipeline)
        self._buffers: dict[tuple[int, Buffer], Any] = {}
        self._stranger: Callable[[], Any] = cache(lambda: open_device(package))
        self._gather = kit.buffer(size=_GATHERED)

    def buffer(self, slot: int, wanted: Buffer) -> Any:
        """The buffer of this kind at this place of a program; a new one if the last was destroyed."""
        key = (slot, wanted)
        if key not in self._buffers:
            device = self._stranger() if wanted.foreign else self.device
            self._buffers[key] = device.create_buffer(size=wanted.size, usage=wanted.usage, label=f"b{slot}")
        return self._buffers[key]

    def forget(self, slot: int, wanted: Buffer) -> None:
        del self._buffers[slot, wanted]

    def contents(self, buffers: Iterable[Any]) -> bytes:
        """What all of `buffers` hold, in one read."""
        encoder = self.device.create_command_encoder()
        place = 0
        for buffer in buffers:
            if buffer.size:
                encoder.copy_buffer_to_buffer(buffer, 0, self._gather, place, buffer.size)
                place += buffer.size
        self.kit.submit(encoder.finish())
        return bytes(self.kit.queue.read_buffer(self._gather, 0, place)) if place else b""

    def _pipeline(self, number: int) -> Any:
        kernel = KERNELS[number]
        if kernel.auto:
            return self.kit.kernel(kernel.code)
        groups = [[slot.entry() for slot in slots] for slots in kernel.groups]
        return self.kit.explicit(kernel.code, *groups, immediate_size=kernel.immediate_size)


class Scene:
    """One program's objects on a world.

    Raises (from the constructor): whatever the implementation raises when it refuses to make one.
    """

    def __init__(self, world: World, program: Program, apart: frozenset[int] = frozenset()) -> None:
        """``apart``: places whose buffers are not those of other scenes."""
        self.world = world
        self.program = program
        self.buffers = [world.buffer(slot + (100 if slot in apart else 0), b) for slot, b in enumerate(program.buffers)]
        self.done, self._most = 0, 0
        self._gone: set[int] = set()
        self.groups = [self._group(g.kernel, g.index, g.entries) for g in program.groups]
        for command in program.commands():
            if command[0] == "pipeline":
                world.pipeline(command[1])

    def reset(self) -> None:
        """Puts known contents into all buffers that take them."""
        for wanted, buffer in zip(self.program.buffers, self.buffers, strict=True):
            if wanted.usage & U.COPY_DST and wanted.size and not wanted.foreign and buffer.map_state == "unmapped":
                self.world.kit.queue.write_buffer(buffer, 0, _PATTERN[: wanted.size // 4])

    @property
    def comparable(self) -> bool:
        """Whether `reset` puts everything back that a program may change."""
        return not any(b.usage & U.STORAGE and not b.usage & U.COPY_DST for b in self.program.buffers)

    def contents(self) -> bytes:
        own = (b for b, wanted in zip(self.buffers, self.program.buffers, strict=True) if not wanted.foreign)
        return self.world.contents(b for b in own if b.usage & U.COPY_SRC and not b.usage & U.MAP_WRITE)

    def happen(self, events: Iterable[Event]) -> None:
        for kind, slot in events:
            buffer, wanted = self.buffers[slot], self.program.buffers[slot]
            if kind == "destroy":
                buffer.destroy()
                if slot not in self._gone:
                    self._gone.add(slot)
                    self.world.forget(slot, wanted)
            elif wanted.usage & (U.MAP_READ | U.MAP_WRITE) and wanted.size and slot not in self._gone:
                if buffer.map_state == "unmapped":
                    buffer.map_sync("READ" if wanted.usage & U.MAP_READ else "WRITE")
                if kind == "map and unmap":
                    buffer.unmap()

    def close(self) -> None:
        for slot, buffer in enumerate(self.buffers):
            if slot not in self._gone and buffer.map_state != "unmapped":
                buffer.unmap()

    def run(self, most: int = 1 << 30) -> None:
        """The program's calls; of its commands only the first `most`. `done` counts those that were begun."""
        queue, device = self.world.kit.queue, self.world.device
        self.done, self._most = 0, most
        for step in self.program.steps:
            if self.done >= most:
                return
            if step[0] == "write":
                self.done += 1
                _, slot, offset, size, seed = step
                data = (_BYTES + seed) % 7 * (_BYTES % 4 == 0)
                queue.write_buffer(self.buffers[slot], offset, data[:size].astype(np.uint8))
            else:
                commands = []
                for parts in step[1]:
                    encoder = device.create_command_encoder()
                    for part in parts:
                        self._encode(encoder, part)
                    commands.append(encoder.finish())
                queue.submit(commands)

    def _begin(self) -> bool:
        self.done += 1
        return self.done <= self._most

    def _encode(self, encoder: Any, part: Command) -> None:
        if part[0] != "pass" and not self._begin():
            return
        if part[0] == "copy":
            _, source, offset, target, place, size = part
            encoder.copy_buffer_to_buffer(self.buffers[source], offset, self.buffers[target], place, size)
        elif part[0] == "clear":
            encoder.clear_buffer(self.buffers[part[1]], part[2], part[3])
        else:
            compute = encoder.begin_compute_pass()
            for command in part[1]:
                if self._begin():
                    self._pass(compute, command)
            compute.end()

    def _pass(self, compute: Any, command: Command) -> None:
        match command:
            case ("pipeline", number):
                compute.set_pipeline(self.world.pipeline(number))
            case ("group", index, number, offsets):
                compute.set_bind_group(index, self.groups[number], list(offsets))
            case ("immediates", offset, words):
                data = np.array(words, np.uint32)
                compute.set_immediates(offset, data, 0, data.nbytes)
            case ("dispatch", x, y, z):
                compute.dispatch_workgroups(x, y, z)
            case ("indirect", number, offset):
                compute.dispatch_workgroups_indirect(self.buffers[number], offset)

    def _group(self, kernel: int, index: int, entries: Any) -> Any:
        layout = self.world.pipeline(kernel).get_bind_group_layout(index)
        bound = []
        for binding, slot, offset, size in entries:
            if size == 0 or (size is None and offset == self.program.buffers[slot].size):
                raise ValueError("an empty binding; wgpu-native kills the process that asks for one")
            part = {"buffer": self.buffers[slot], "offset": offset}
            if size is not None:
                part["size"] = size
            bound.append({"binding": binding, "resource": part})
        return self.world.device.create_bind_group(layout=layout, entries=bound, label=f"g{kernel}.{index}")
