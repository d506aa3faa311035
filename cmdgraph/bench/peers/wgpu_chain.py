"""The elementwise chain on a wgpu-py device: what `cmdgraph.bench.ways` needs to run it."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmdgraph.bench.peers.elementwise import ELEMENTS, Elementwise

__all__ = ["WgpuChain"]

SHADER = """
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> operand: array<f32>;
@group(0) @binding(2) var<storage, read_write> result: array<f32>;

@compute @workgroup_size({elements})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    result[id.x] = x[id.x] {sign} operand[id.x];
}}
"""
SIGNS = {"add": "+", "mul": "*"}


class WgpuChain:
    """Buffers, two pipelines, and a bind group for each dispatch, as in a program that makes them when it starts."""

    def __init__(self, device: Any, chain: Elementwise) -> None:
        self.device = device
        self._source, *turns = (self._buffer(np.zeros(ELEMENTS, np.float32)) for _ in range(3))
        operands = [self._buffer(row) for row in chain.operands]
        layout = device.create_bind_group_layout(
            entries=[
                {"binding": n, "visibility": 4, "buffer": {"type": kind}}
                for n, kind in enumerate(("read-only-storage", "read-only-storage", "storage"))
            ]
        )
        pipelines = {op: self._pipeline(layout, sign) for op, sign in SIGNS.items()}
        reads = [self._source, *(turns[n % 2] for n in range(chain.dispatches - 1))]
        #: What a user's loop goes through: (pipeline, bind group) for each dispatch.
        self.calls = [
            (pipelines[step.op], self._bind(layout, reads[n], operands[step.operand], turns[n % 2]))
            for n, step in enumerate(chain.steps)
        ]
        self._result = turns[(chain.dispatches - 1) % 2]

    def write(self, values: np.ndarray) -> None:
        self.device.queue.write_buffer(self._source, 0, values)

    def read(self) -> np.ndarray:
        """The result, f32 (ELEMENTS,); waits for the GPU."""
        return np.frombuffer(self.device.queue.read_buffer(self._result), np.float32)

    def wait(self) -> None:
        """Waits for all submitted work with what the public API offers: a read of four bytes."""
        self.device.queue.read_buffer(self._result, 0, 4)

    def _buffer(self, values: np.ndarray) -> Any:
        # Usage bits by number (STORAGE, COPY_DST, COPY_SRC): the same for every implementation's flags.
        buffer = self.device.create_buffer(size=values.nbytes, usage=0x80 | 0x8 | 0x4)
        self.device.queue.write_buffer(buffer, 0, values)
        return buffer

    def _pipeline(self, layout: Any, sign: str) -> Any:
        module = self.device.create_shader_module(code=SHADER.format(elements=ELEMENTS, sign=sign))
        return self.device.create_compute_pipeline(
            layout=self.device.create_pipeline_layout(bind_group_layouts=[layout]),
            compute={"module": module, "entry_point": "main"},
        )

    def _bind(self, layout: Any, *buffers: Any) -> Any:
        entries = [{"binding": n, "resource": {"buffer": buffer}} for n, buffer in enumerate(buffers)]
        return self.device.create_bind_group(layout=layout, entries=entries)
