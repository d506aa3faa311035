"""Ops as wgpu objects: pipelines, bind groups, and the plain calls that run them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import wgpu
from attrs import frozen

from llm.device import half_directive, subgroup_directive
from llm.plans import Op
from llm.plans.barriers import written_bindings
from llm.plans.groups import groups_of
from llm.shaders import shader_source
from llm.store import check_size

STORAGE = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC


@frozen
class Prepared:
    """A dispatch that is ready to run. `groups`: the debug groups around it, the innermost as its pass is called."""

    op: Op
    pipeline: Any
    bind_group: Any
    groups: tuple[str, ...]


class Runtime:
    """A device with the buffers of a model. `buffers` may be added to, `pipelines` may be those of other models."""

    def __init__(self, device: Any, pipelines: "Pipelines | None" = None) -> None:
        self.device = device
        self.buffers: dict[str, Any] = {}
        self.pipelines = pipelines or Pipelines(device)

    def make_buffers(self, sizes: Mapping[str, int], usage: int = STORAGE) -> None:
        """Buffers of zeros, for the names that have none yet. Raises DeviceError where one is too large."""
        for name, size in sizes.items():
            if name not in self.buffers:
                check_size(self.device, name, size)
                whole = -(-size // 16) * 16
                self.buffers[name] = self.device.create_buffer(label=name, size=whole, usage=usage)

    def prepare(self, ops: Iterable[Op]) -> list[Prepared]:
        """The ops as dispatches on the buffers that they name."""
        return [self._prepared(op, *self.pipelines.of(op)) for op in ops]

    def run(self, dispatches: Sequence[Prepared], *, named: bool = True) -> None:
        """An encoder, a compute pass and a submit for each dispatch, in debug groups where `named`. Does not wait."""
        if not named:
            self._run_unnamed(dispatches)
            return
        device = self.device
        for dispatch in dispatches:
            encoder = device.create_command_encoder()
            *outside, block = dispatch.groups
            for group in outside:
                encoder.push_debug_group(group)
            compute_pass = encoder.begin_compute_pass(label=block)
            compute_pass.set_pipeline(dispatch.pipeline)
            compute_pass.set_bind_group(0, dispatch.bind_group)
            compute_pass.dispatch_workgroups(*dispatch.op.workgroups)
            compute_pass.end()
            for _ in outside:
                encoder.pop_debug_group()
            device.queue.submit([encoder.finish()])

    def _run_unnamed(self, dispatches: Sequence[Prepared]) -> None:
        """The fewest calls: names would be a tenth of the caller's time."""
        device = self.device
        for dispatch in dispatches:
            encoder = device.create_command_encoder()
            compute_pass = encoder.begin_compute_pass()
            compute_pass.set_pipeline(dispatch.pipeline)
            compute_pass.set_bind_group(0, dispatch.bind_group)
            compute_pass.dispatch_workgroups(*dispatch.op.workgroups)
            compute_pass.end()
            device.queue.submit([encoder.finish()])

    def _prepared(self, op: Op, pipeline: Any, layout: Any) -> Prepared:
        entries = [
            {"binding": binding, "resource": {"buffer": self.buffers[name]}}
            for binding, name in enumerate((*op.buffers, *op.early))
        ]
        group = self.device.create_bind_group(label=op.name, layout=layout, entries=entries)
        return Prepared(op, pipeline, group, groups_of(op))


class Pipelines:
    """The compiled kernels of a device: one pipeline for all ops that run the same kernel with the same constants."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self._modules: dict[tuple[str, tuple[str, ...]], Any] = {}
        self._made: dict[tuple[Any, ...], tuple[Any, Any]] = {}

    def of(self, op: Op) -> tuple[Any, Any]:
        """The op's pipeline and the layout of its bind group."""
        key = (op.kernel, op.parts, op.constants, len(op.early))
        if key not in self._made:
            compute = {"module": self._module(op), "entry_point": "main", "constants": dict(op.constants)}
            layout = self._layout(op) if op.early else None
            whole = self.device.create_pipeline_layout(bind_group_layouts=[layout]) if op.early else "auto"
            pipeline = self.device.create_compute_pipeline(label=op.kernel, layout=whole, compute=compute)
            self._made[key] = (pipeline, layout or pipeline.get_bind_group_layout(0))
        return self._made[key]

    def _layout(self, op: Op) -> Any:
        """A layout with room for buffers that the kernel does not know."""
        written, count = written_bindings(op), len(op.buffers) + len(op.early)
        kinds = ["storage" if binding in written else "read-only-storage" for binding in range(count)]
        entries = [
            {"binding": binding, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": {"type": kind}}
            for binding, kind in enumerate(kinds)
        ]
        return self.device.create_bind_group_layout(label=op.kernel, entries=entries)

    def _module(self, op: Op) -> Any:
        key = (op.kernel, op.parts)
        if key not in self._modules:
            directives = subgroup_directive(self.device) if "reduce_subgroups" in op.parts else ""
            if any(part.endswith("_half") for part in op.parts):
                directives += half_directive(self.device)
            code = shader_source(op.kernel, op.parts, directives)
            self._modules[key] = self.device.create_shader_module(label=op.kernel, code=code)
        return self._modules[key]
