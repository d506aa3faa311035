"""Dispatches that differ in what they bind, and nothing else.

Every dispatch adds to all buffers that it binds, so that numpy can tell whether it ran, with what.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import frozen

from cmdgraph.bench.method import MeasurementError
from cmdgraph.objects import BufferUsage

__all__ = ["ELEMENTS", "SETS", "Shape", "Work"]

ELEMENTS = 64
SLOT = 256
"""Bytes of a buffer that a dispatch works on, and the step of a dynamic offset."""
SETS = 8
"""Sets of buffers and bind groups that the dispatches take in turn: each binds other ones than the one before."""


@frozen
class Shape:
    """What the dispatches bind: `groups` groups of `bindings` storage buffers each, so many of which have a dynamic
    offset; `pipelines` pipelines in turn; `immediates` bytes of immediate data.
    """

    bindings: int = 1
    groups: int = 1
    pipelines: int = 1
    dynamic_offsets: int = 0
    immediates: int = 0


class Work:
    """The dispatches of one shape."""

    def __init__(self, device: Any, shape: Shape, dispatches: int) -> None:
        self.device, self.shape, self.dispatches = device, shape, dispatches
        slots = 2 if shape.dynamic_offsets else 1
        usage = BufferUsage.STORAGE | BufferUsage.COPY_DST | BufferUsage.COPY_SRC
        self._buffers = [
            [
                [device.create_buffer(size=SLOT * slots, usage=usage) for _ in range(shape.bindings)]
                for _ in range(shape.groups)
            ]
            for _ in range(SETS)
        ]
        layouts = [device.create_bind_group_layout(entries=self._layout_entries()) for _ in range(shape.groups)]
        more = {"immediate_size": shape.immediates} if shape.immediates else {}
        layout = device.create_pipeline_layout(bind_group_layouts=layouts, **more)
        self._pipelines = [self._pipeline(layout, number) for number in range(shape.pipelines)]
        self._groups = [
            [
                device.create_bind_group(layout=layouts[g], entries=self._entries(buffers))
                for g, buffers in enumerate(groups)
            ]
            for groups in self._buffers
        ]
        self._immediates = np.ones(shape.immediates // 4, np.uint32)

    def run(self) -> None:
        """All dispatches in one pass and one submit, by the public API."""
        encoder = self.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        for number in range(self.dispatches):
            compute.set_pipeline(self._pipelines[number % len(self._pipelines)])
            for index, group in enumerate(self._groups[number % SETS]):
                compute.set_bind_group(index, group, self._offsets(number))
            if self.shape.immediates:
                compute.set_immediates(0, self._immediates, 0, self.shape.immediates)
            compute.dispatch_workgroups(1)
        compute.end()
        self.device.queue.submit([encoder.finish()])

    def wait(self) -> None:
        self.device.queue.read_buffer(self._buffers[0][0][0], 0, 4)

    def require(self, run: Callable[[], None]) -> bool:
        """Whether two runs leave in every slot of every buffer the sum of what was to be added."""
        everything = [buffer for groups in self._buffers for buffers in groups for buffer in buffers]
        for buffer in everything:
            self.device.queue.write_buffer(buffer, 0, bytes(buffer.size))
        run()
        run()
        for place, groups in enumerate(self._buffers):
            for buffers in groups:
                for binding, buffer in enumerate(buffers):
                    found = np.frombuffer(self.device.queue.read_buffer(buffer), np.uint32).reshape(-1, ELEMENTS)
                    expected = 2 * self._expected(place, binding, len(found))
                    if not (found == expected[:, None]).all():
                        raise MeasurementError(f"binding {binding} of set {place} holds {found[:, 0]}, not {expected}")
        return True

    def _expected(self, place: int, binding: int, slots: int) -> np.ndarray:
        """What one run adds to each slot of a buffer."""
        sums = np.zeros(slots, np.uint32)
        for number in range(place, self.dispatches, SETS):
            slot = self._slot(number) if binding < self.shape.dynamic_offsets else 0
            sums[slot] += 1 + number % len(self._pipelines)
        return sums

    def _slot(self, number: int) -> int:
        return number // SETS % 2

    def _offsets(self, number: int) -> list[int]:
        return [SLOT * self._slot(number)] * self.shape.dynamic_offsets

    def _layout_entries(self) -> list[dict[str, Any]]:
        return [
            {
                "binding": n,
                "visibility": 4,
                "buffer": {"type": "storage", "has_dynamic_offset": n < self.shape.dynamic_offsets},
            }
            for n in range(self.shape.bindings)
        ]

    def _entries(self, buffers: list[Any]) -> list[dict[str, Any]]:
        return [{"binding": n, "resource": {"buffer": b, "offset": 0, "size": SLOT}} for n, b in enumerate(buffers)]

    def _pipeline(self, layout: Any, number: int) -> Any:
        module = self.device.create_shader_module(code=_code(self.shape, number))
        return self.device.create_compute_pipeline(layout=layout, compute={"module": module, "entry_point": "main"})


def _code(shape: Shape, pipeline: int) -> str:
    """Adds 1 and the number of the pipeline; the 1 comes from the immediates where there are some."""
    names = {(g, b): f"buffer_{g}_{b}" for g in range(shape.groups) for b in range(shape.bindings)}
    lines = [
        f"@group({g}) @binding({b}) var<storage, read_write> {name}: array<u32>;" for (g, b), name in names.items()
    ]
    amount = f"{1 + pipeline}u"
    if shape.immediates:
        words = shape.immediates // 4
        members = "word: u32," if words == 1 else " ".join(f"words_{n}: vec4<u32>," for n in range(words // 4))
        lines += [f"struct Data {{ {members} }}", "var<immediate> data: Data;"]
        amount = f"data.{'word' if words == 1 else 'words_0.x'} + {pipeline}u"
    adds = " ".join(f"{name}[id.x] += {amount};" for name in names.values())
    lines.append(
        f"@compute @workgroup_size({ELEMENTS}) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{ {adds} }}"
    )
    return "\n".join(lines)
