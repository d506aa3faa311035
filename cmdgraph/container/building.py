"""Makes a program of a manifest on a device: the objects by the implementation, the nodes by the recorder.

Nodes come from the same recorder that captures use, call by call, so that each is checked by the same code. Objects
are checked by the implementation, as when a user makes them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

from attrs import define, evolve, field

from cmdgraph.backends import backend_of
from cmdgraph.container import manifest as form
from cmdgraph.container.manifest import AnyNode, Manifest
from cmdgraph.errors import CommandGraphError, DeviceLostError, GraphFormatError
from cmdgraph.liveness import state_of
from cmdgraph.objects import BufferUsage
from cmdgraph.program import Node, Place, Program, WriteBuffer
from cmdgraph.recording import EncoderRecorder

__all__ = ["Building"]


@define(eq=False)
class Building:
    """The objects made so far, in the order of their lists, and what is to be given back if the file is refused."""

    manifest: Manifest
    device: Any
    file: str
    buffers: list[Any] = field(factory=list, init=False)
    _groups: list[Any] = field(factory=list, init=False)
    _pipelines: list[Any] = field(factory=list, init=False)

    def make_objects(self) -> None:
        """Makes everything but the nodes. Buffers that cannot be written to are mapped, for `upload`.

        Raises:
            GraphFormatError: the implementation refuses one.
        """
        device, manifest = self.device, self.manifest
        own_wgsl = backend_of(device).own_wgsl
        modules = self._each(
            "modules", lambda m: device.create_shader_module(label=m.label, code=own_wgsl(m.code)), manifest.modules
        )
        layouts = self._each("bindGroupLayouts", self._layout, manifest.bind_group_layouts)
        pipeline_layouts = self._each(
            "pipelineLayouts", lambda p: self._pipeline_layout(p, layouts), manifest.pipeline_layouts
        )
        self._pipelines = self._each(
            "pipelines", lambda p: self._pipeline(p, modules, pipeline_layouts), manifest.pipelines
        )
        self._each("buffers", self._buffer, manifest.buffers)
        self._groups = self._each("bindGroups", lambda g: self._group(g, layouts), manifest.bind_groups)

    def program(self, written: bytes) -> Program:
        """The nodes, recorded and checked; ``written`` is the data of all write_buffer nodes.

        Raises:
            GraphFormatError: a node breaks a rule of WebGPU.
        """
        recorder = EncoderRecorder(self.device, "", Place(self.file, 0), [])
        for at, node in enumerate(self.manifest.nodes):
            with self._refusals(f"/nodes/{at}"):
                self._record(recorder, node, written)
        places = map(self._placed, recorder.nodes, self.manifest.nodes)
        return Program(self.device, tuple(places))

    def give_back(self) -> None:
        """Destroys what was made; the rest goes with its references."""
        state = state_of(self.device)
        with state.lock:
            if state.lost is None:
                self.device.queue.submit([])  # writes under way must not meet a destroyed buffer
            for buffer in self.buffers:
                buffer.destroy()
        self.buffers.clear()
        self._groups.clear()
        self._pipelines.clear()

    # -- objects ----------------------------------------------------------------------------------------------------

    def _each(self, name: str, make: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        made = []
        for at, part in enumerate(parts):
            with self._refusals(f"/{name}/{at}"):
                made.append(make(part))
        return made

    @contextmanager
    def _refusals(self, place: str) -> Any:
        """Turns whatever refuses a part of the file into an error that names its place."""
        try:
            yield
        except DeviceLostError:
            raise
        except CommandGraphError as error:
            raise GraphFormatError.at(self.file, place, str(error)) from error
        except Exception as error:  # the implementation's own classes
            words = " ".join(str(error).split())[:600]
            raise GraphFormatError.at(self.file, place, f"{backend_of(self.device).name} refuses it: {words}") from None

    def _layout(self, layout: form.BindGroupLayout) -> Any:
        entries = [
            {
                "binding": entry.binding,
                "visibility": entry.visibility,
                "buffer": {
                    "type": entry.buffer.type,
                    "has_dynamic_offset": entry.buffer.has_dynamic_offset,
                    "min_binding_size": entry.buffer.min_binding_size,
                },
            }
            for entry in layout.entries
        ]
        return self.device.create_bind_group_layout(label=layout.label, entries=entries)

    def _pipeline_layout(self, layout: form.PipelineLayout, layouts: list[Any]) -> Any:
        return self.device.create_pipeline_layout(
            label=layout.label,
            bind_group_layouts=[layouts[number] for number in layout.bind_group_layouts],
            immediate_size=layout.immediate_size,
        )

    def _pipeline(self, pipeline: form.Pipeline, modules: list[Any], layouts: list[Any]) -> Any:
        compute = {"module": modules[pipeline.module], "constants": dict(pipeline.constants)}
        if pipeline.entry_point is not None:
            compute["entry_point"] = pipeline.entry_point
        layout = pipeline.layout if isinstance(pipeline.layout, str) else layouts[pipeline.layout]
        return self.device.create_compute_pipeline(label=pipeline.label, layout=layout, compute=compute)

    def _buffer(self, buffer: form.Buffer) -> None:
        mapped = buffer.contents is not None and not buffer.usage & BufferUsage.COPY_DST
        made = self.device.create_buffer(
            label=buffer.label, size=buffer.size, usage=buffer.usage, mapped_at_creation=mapped
        )
        self.buffers.append(made)

    def _group(self, group: form.BindGroup, layouts: list[Any]) -> Any:
        if isinstance(group.layout, int):
            layout = layouts[group.layout]
        else:
            layout = self._pipelines[group.layout.pipeline].get_bind_group_layout(group.layout.group)
        entries = [
            {
                "binding": entry.binding,
                "resource": {"buffer": self.buffers[entry.buffer], "offset": entry.offset, "size": entry.size},
            }
            for entry in group.entries
        ]
        return self.device.create_bind_group(label=group.label, layout=layout, entries=entries)

    # -- nodes ------------------------------------------------------------------------------------------------------

    def _record(self, recorder: EncoderRecorder, node: AnyNode, written: bytes) -> None:
        match node:
            case form.CopyBuffer():
                source, destination = self.buffers[node.source], self.buffers[node.destination]
                recorder.copy(source, node.source_offset, destination, node.destination_offset, node.size)
            case form.ClearBuffer():
                recorder.clear(self.buffers[node.buffer], node.offset, node.size)
            case form.WriteBuffer():
                data = written[node.data_offset : node.data_offset + node.size]
                place = Place(self.file, 0)
                recorder.add(WriteBuffer(place=place, buffer=self.buffers[node.buffer], offset=node.offset, data=data))
            case _:
                self._dispatch(recorder, node)

    def _dispatch(self, recorder: EncoderRecorder, node: form.Dispatch | form.DispatchIndirect) -> None:
        compute = recorder.begin_pass()
        compute.set_pipeline(self._pipelines[node.pipeline])
        for index, bound in enumerate(node.bind_groups):
            if bound is not None:
                compute.set_bind_group(index, self._groups[bound.group], bound.dynamic_offsets)
        for part in node.immediates:
            compute.set_immediates(part.offset, bytes.fromhex(part.data))
        if isinstance(node, form.Dispatch):
            compute.dispatch(*node.workgroups)
        else:
            compute.dispatch_indirect(self.buffers[node.buffer], node.offset)
        compute.end()

    def _placed(self, node: Node, written: AnyNode) -> Node:
        """With the place that the file names: where the call stood when it was captured."""
        place = written.place
        file, line = (os.path.basename(self.file), 0) if place is None else (place.file, place.line)
        return evolve(node, place=Place(file, line, written.debug_groups, written.label))
