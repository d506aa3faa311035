"""The work that the strategies are compared on: a chain of tiny dispatches whose result numpy can tell.

Each dispatch reads two buffers and writes a third, `out = a * m + (b ^ k)` on unsigned integers, so a result
is right to the bit or wrong, and every dispatch matters to the end state. As in a model's decode step, `a` is
what the dispatch before has written, and `b` is a weight that nothing writes; every dispatch has a bind group of
its own, and most change the pipeline.
"""

from __future__ import annotations

import random
from typing import Any

import attrs
import numpy as np

__all__ = ["BINDINGS", "BUFFERS", "ELEMENTS", "PIPELINES", "Chain", "Step", "make_steps"]

BINDINGS = 3
BUFFERS = 64
PIPELINES = 12
ELEMENTS = 64  # of u32 in each buffer; one workgroup

SHADER = """
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

@compute @workgroup_size({elements})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    out[id.x] = a[id.x] * {multiplier}u + (b[id.x] ^ {mask}u);
}}
"""


@attrs.frozen
class Step:
    """One dispatch: which pipeline, which buffers."""

    pipeline: int
    a: int
    b: int
    out: int


def make_steps(count: int, seed: int) -> list[Step]:
    """`count` steps over the buffers and pipelines, always the same ones for a seed."""
    draw = random.Random(seed)
    half = BUFFERS // 2  # below: weights; from here on: results, written in turn
    return [
        Step(
            pipeline=draw.randrange(PIPELINES),
            a=half + n % half,
            b=draw.randrange(half),
            out=half + (n + 1) % half,
        )
        for n in range(count)
    ]


class Chain:
    """The chain on a device, and its twin in numpy."""

    def __init__(self, device: Any, count: int, seed: int = 0) -> None:
        self.device = device
        self.steps = make_steps(count, seed)
        self._start = np.random.default_rng(seed).integers(0, 2**32, (BUFFERS, ELEMENTS), dtype=np.uint32)
        self._factors = [(2 * n + 3, 0x9E3779B9 * (n + 1) % 2**32) for n in range(PIPELINES)]
        # Usage bits by number (STORAGE, COPY_DST, COPY_SRC): the same for every implementation's flags.
        self._buffers = [
            device.create_buffer(label=f"state {n}", size=4 * ELEMENTS, usage=0x80 | 0x8 | 0x4) for n in range(BUFFERS)
        ]
        layout = device.create_bind_group_layout(
            entries=[
                {"binding": 0, "visibility": 4, "buffer": {"type": "read-only-storage"}},
                {"binding": 1, "visibility": 4, "buffer": {"type": "read-only-storage"}},
                {"binding": 2, "visibility": 4, "buffer": {"type": "storage"}},
            ]
        )
        pipelines = self._make_pipelines(layout)
        #: What a user's loop goes through: (pipeline, bind group) for each dispatch.
        self.calls = [(pipelines[step.pipeline], self._bind(layout, step)) for step in self.steps]

    def reset(self) -> None:
        """Puts the buffers back to the start state."""
        for buffer, values in zip(self._buffers, self._start, strict=True):
            self.device.queue.write_buffer(buffer, 0, values)

    def state(self) -> np.ndarray:
        """What the buffers hold now; waits for the GPU."""
        read = self.device.queue.read_buffer
        return np.stack([np.frombuffer(read(buffer), np.uint32) for buffer in self._buffers])

    def wait(self) -> None:
        """Waits for all submitted work with what the public API offers: a read of four bytes."""
        self.device.queue.read_buffer(self._buffers[0], 0, 4)

    def expected(self, times: int) -> np.ndarray:
        """The state after `times` runs of the chain from the start state."""
        state = self._start.copy()
        for _ in range(times):
            for step in self.steps:
                multiplier, mask = self._factors[step.pipeline]
                state[step.out] = state[step.a] * np.uint32(multiplier) + (state[step.b] ^ np.uint32(mask))
        return state

    def _make_pipelines(self, layout: Any) -> list[Any]:
        pipeline_layout = self.device.create_pipeline_layout(bind_group_layouts=[layout])
        pipelines = []
        for multiplier, mask in self._factors:
            code = SHADER.format(elements=ELEMENTS, multiplier=multiplier, mask=mask)
            compute = {"module": self.device.create_shader_module(code=code), "entry_point": "main"}
            pipelines.append(self.device.create_compute_pipeline(layout=pipeline_layout, compute=compute))
        return pipelines

    def _bind(self, layout: Any, step: Step) -> Any:
        buffers = (self._buffers[step.a], self._buffers[step.b], self._buffers[step.out])
        entries = [{"binding": n, "resource": {"buffer": buffer}} for n, buffer in enumerate(buffers)]
        return self.device.create_bind_group(layout=layout, entries=entries)
