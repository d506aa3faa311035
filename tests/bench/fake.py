"""A virtual clock, and a WebGPU device whose calls take exactly so long on it.

The device runs the chain's kernels in numpy, so that results can be checked: they are right, or `wrong` says how they
are not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import attrs
import numpy as np

from cmdgraph.bench.timers import Timers

COSTS_US = {"dispatch_workgroups": 10.0, "submit": 100.0, "read_buffer": 5000.0}


@attrs.define
class VirtualClock:
    """Time that only passes when a test says so."""

    wall: float = 0.0
    cpu: float = 0.0
    process: float = 0.0

    @property
    def timers(self) -> Timers:
        return Timers(wall=lambda: self.wall, cpu=lambda: self.cpu, process=lambda: self.process)

    def work(self, wall: float, cpu: float, process: float | None = None) -> Callable[[], None]:
        def run() -> None:
            self.pass_by(wall, cpu, process)

        return run

    def pass_by(self, wall: float, cpu: float, process: float | None = None) -> None:
        self.wall += wall
        self.cpu += cpu
        self.process += cpu if process is None else process


class FakeDevice:
    """What the chain needs of a device. A call that `costs` names takes so many us, the others none."""

    features: frozenset[str] = frozenset()
    limits: dict[str, int] = {}
    adapter = SimpleNamespace(
        info={
            "device": "Fake",
            "vendor": "tests",
            "description": "no driver",
            "backend_type": "None",
            "adapter_type": "CPU",
        }
    )

    def __init__(self, clock: VirtualClock, costs: dict[str, float] = COSTS_US, wrong: str = "") -> None:
        self.clock, self.costs, self.wrong = clock, costs, wrong
        self.calls: Counter[str] = Counter()
        self.queue = _Queue(self)

    def took(self, call: str) -> None:
        self.calls[call] += 1
        self.clock.pass_by(self.costs.get(call, 0.0) / 1e6, self.costs.get(call, 0.0) / 1e6)

    def create_buffer(self, *, size: int, **_: Any) -> Any:
        return SimpleNamespace(bytes=bytearray(size), size=size)

    def create_bind_group_layout(self, **_: Any) -> Any:
        return None

    create_pipeline_layout = create_bind_group_layout

    def create_shader_module(self, *, code: str) -> Any:
        return code

    def create_compute_pipeline(self, *, compute: dict[str, Any], **_: Any) -> Any:
        found = re.search(r"\* (\d+)u \+ \(b\[id.x\] \^ (\d+)u\)", compute["module"])
        assert found is not None
        return tuple(map(np.uint32, map(int, found.groups())))

    def create_bind_group(self, *, entries: list[dict[str, Any]], **_: Any) -> Any:
        self.took("create_bind_group")
        return [entry["resource"]["buffer"] for entry in entries]

    def create_command_encoder(self) -> Any:
        self.took("create_command_encoder")
        return _Encoder(self)


@attrs.define
class _Queue:
    device: FakeDevice

    def write_buffer(self, buffer: Any, offset: int, data: Any) -> None:
        raw = bytes(memoryview(data).cast("B"))
        buffer.bytes[offset : offset + len(raw)] = raw

    def read_buffer(self, buffer: Any, offset: int = 0, size: int | None = None) -> memoryview:
        self.device.took("read_buffer")
        return memoryview(bytes(buffer.bytes[offset : None if size is None else offset + size]))

    def submit(self, command_buffers: list[Any]) -> None:
        self.device.took("submit")
        for commands in command_buffers:
            for multiplier, mask, (a, b, out) in commands:
                left, right = (np.frombuffer(each.bytes, np.uint32) for each in (a, b))
                out.bytes[:] = (left * multiplier + (right ^ mask)).tobytes()


class _Encoder:
    """An encoder and its pass at once."""

    def __init__(self, device: FakeDevice) -> None:
        self._device = device
        self._commands: list[Any] = []
        self._pipeline: Any = None
        self._group: Any = None

    def begin_compute_pass(self) -> _Encoder:
        self._device.took("begin_compute_pass")
        return self

    def set_pipeline(self, pipeline: Any) -> None:
        self._device.took("set_pipeline")
        self._pipeline = pipeline

    def set_bind_group(self, index: int, group: Any) -> None:
        self._device.took("set_bind_group")
        self._group = group

    def dispatch_workgroups(self, x: int) -> None:
        self._device.took("dispatch_workgroups")
        multiplier, mask = self._pipeline
        if self._device.wrong == "arithmetic":
            mask ^= np.uint32(1)
        if self._device.wrong != "nothing runs":
            self._commands.append((multiplier, mask, self._group))

    def end(self) -> None:
        self._device.took("end")

    def finish(self) -> Any:
        self._device.took("finish")
        return self._commands
