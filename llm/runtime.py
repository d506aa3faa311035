"""Ops as wgpu objects: pipelines, bind groups, and the plain calls that run them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import wgpu
from attrs import frozen

from llm.device import subgroup_directive
from llm.plans import Op
from llm.shaders import shader_source
from llm.store import check_size

STORAGE = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC


@frozen
class Prepared:
    """A dispatch that is ready to run."""

    op: Op
    pipeline: Any
    bind_group: Any


class Runtime:
    """A device with the buffers and pipelines of a model. `buffers` may be added to."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self.buffers: dict[str, Any] = {}
        self._modules: dict[tuple[str, tuple[str, ...]], Any] = {}
        self._pipelines: dict[tuple[str, tuple[str, ...], tuple[tuple[str, float], ...]], Any] = {}

    def make_buffers(self, sizes: Mapping[str, int], usage: int = STORAGE) -> None:
        """Buffers of zeros, for the names that have none yet. Raises DeviceError where one is too large."""
        for name, size in sizes.items():
            if name not in self.buffers:
                check_size(self.device, name, size)
                whole = -(-size // 16) * 16
                self.buffers[name] = self.device.create_buffer(label=name, size=whole, usage=usage)

    def prepare(self, ops: Iterable[Op]) -> list[Prepared]:
        """The ops as dispatches on the buffers that they name."""
        return [Prepared(op, pipeline := self._pipeline(op), self._bind_group(op, pipeline)) for op in ops]

    def run(self, dispatches: Sequence[Prepared]) -> None:
        """An encoder, a compute pass and a submit for each dispatch. Does not wait."""
        device = self.device
        for dispatch in dispatches:
            encoder = device.create_command_encoder()
            compute_pass = encoder.begin_compute_pass()
            compute_pass.set_pipeline(dispatch.pipeline)
            compute_pass.set_bind_group(0, dispatch.bind_group)
            compute_pass.dispatch_workgroups(*dispatch.op.workgroups)
            compute_pass.end()
            device.queue.submit([encoder.finish()])

    def _bind_group(self, op: Op, pipeline: Any) -> Any:
        entries = [
            {"binding": binding, "resource": {"buffer": self.buffers[name]}} for binding, name in enumerate(op.buffers)
        ]
        return self.device.create_bind_group(label=op.name, layout=pipeline.get_bind_group_layout(0), entries=entries)

    def _pipeline(self, op: Op) -> Any:
        """One pipeline for all ops that run the same kernel with the same constants."""
        key = (op.kernel, op.parts, op.constants)
        if key not in self._pipelines:
            compute = {"module": self._module(op), "entry_point": "main", "constants": dict(op.constants)}
            self._pipelines[key] = self.device.create_compute_pipeline(label=op.kernel, layout="auto", compute=compute)
        return self._pipelines[key]

    def _module(self, op: Op) -> Any:
        key = (op.kernel, op.parts)
        if key not in self._modules:
            directive = subgroup_directive(self.device) if "reduce_subgroups" in op.parts else ""
            code = shader_source(op.kernel, op.parts, directive)
            self._modules[key] = self.device.create_shader_module(label=op.kernel, code=code)
        return self._modules[key]
