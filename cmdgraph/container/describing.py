"""A program as a manifest: what each of its objects was made of, by the number it gets in the list of its kind."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from attrs import define, field

from cmdgraph.backends import backend_of
from cmdgraph.container import manifest as form
from cmdgraph.container.manifest import AnyNode
from cmdgraph.errors import SaveError
from cmdgraph.objects import GroupLayout, GroupRecord, LayoutEntry, ModuleRecord, PipelineLayoutRecord, PipelineRecord
from cmdgraph.objects import describe as name_of
from cmdgraph.program import (
    BoundGroup,
    ClearBuffer,
    CopyBuffer,
    Dispatch,
    DispatchIndirect,
    Node,
    Program,
    WriteBuffer,
)

__all__ = ["Described", "describe"]

Part = TypeVar("Part")


@define
class _List:
    """Parts of one kind in the order in which they are first met."""

    parts: list[Any] = field(factory=list)
    _numbers: dict[Any, int] = field(factory=dict)

    def number(self, key: Any, make: Callable[[], Any]) -> int:
        if key not in self._numbers:
            part = make()  # first: what it is made of comes before it
            self._numbers[key] = len(self.parts)
            self.parts.append(part)
        return self._numbers[key]


@define
class Described:
    """The lists of a manifest, and what they were made from."""

    program: Program
    modules: _List = field(factory=_List)
    bind_group_layouts: _List = field(factory=_List)
    pipeline_layouts: _List = field(factory=_List)
    pipelines: _List = field(factory=_List)
    buffers: _List = field(factory=_List)
    bind_groups: _List = field(factory=_List)
    nodes: list[AnyNode] = field(factory=list)
    records: list[PipelineRecord] = field(factory=list)
    resources: list[Any] = field(factory=list)
    written: list[bytes] = field(factory=list)
    written_bytes: int = 0
    _at: str = ""

    # -- objects ----------------------------------------------------------------------------------------------------

    def buffer(self, buffer: Any) -> int:
        def make() -> form.Buffer:
            self.resources.append(buffer)
            return form.Buffer(label=_text(buffer.label), size=buffer.size, usage=int(buffer.usage))

        return self.buffers.number(id(buffer), make)

    def pipeline(self, record: PipelineRecord) -> int:
        def make() -> form.Pipeline:
            module = self._module(record.module)
            layout: Any = "auto" if record.layout is None else self._pipeline_layout(record.layout)
            self.records.append(record)
            return form.Pipeline(
                label=_text(record.pipeline.label),
                module=module,
                entry_point=record.entry_point,
                layout=layout,
                constants=record.constants,
            )

        return self.pipelines.number(id(record), make)

    def group(self, record: GroupRecord) -> int:
        def make() -> form.BindGroup:
            entries = []
            for b in record.bindings:
                if not b.is_buffer:
                    raise self._cannot(
                        f"{name_of(record.group)} binds {name_of(b.resource)} at {b.binding}; a file holds buffers only"
                    )
                entries.append(
                    form.Binding(binding=b.binding, buffer=self.buffer(b.resource), offset=b.offset, size=b.size)
                )
            layout = self._layout_of_group(record.layout)
            return form.BindGroup(label=_text(record.group.label), layout=layout, entries=tuple(entries))

        return self.bind_groups.number(id(record), make)

    def _module(self, record: ModuleRecord) -> int:
        def make() -> form.Module:
            if not isinstance(record.code, str) or record.code.lstrip().startswith("#version"):
                raise self._cannot("its shader is not WGSL (SPIR-V or GLSL); a file holds WGSL only")
            code = backend_of(self.program.device).standard_wgsl(record.code)
            return form.Module(label=_text(record.module.label), code=code)

        return self.modules.number(id(record), make)

    def _pipeline_layout(self, record: PipelineLayoutRecord) -> int:
        def make() -> form.PipelineLayout:
            if record.layouts is None:
                raise self._cannot(
                    "its pipeline layout was made before `import cmdgraph`, so what it holds is not known"
                )
            layouts = tuple(self._group_layout(layout) for layout in record.layouts)
            return form.PipelineLayout(bind_group_layouts=layouts, immediate_size=record.immediate_size)

        return self.pipeline_layouts.number(id(record), make)

    def _layout_of_group(self, layout: GroupLayout) -> int | form.GroupOfPipeline:
        if layout.exclusive is None:
            return self._group_layout(layout)
        return form.GroupOfPipeline(pipeline=self.pipeline(layout.exclusive), group=layout.index)

    def _group_layout(self, layout: GroupLayout | None) -> int:
        if layout is None or layout.entries is None or layout.exclusive is not None:
            raise self._cannot("a bind group layout is not known; make it with create_bind_group_layout()")
        entries = layout.entries

        def make() -> form.BindGroupLayout:
            return form.BindGroupLayout(
                label=_text(layout.layout.label), entries=tuple(self._layout_entry(entry) for entry in entries.values())
            )

        return self.bind_group_layouts.number(id(layout), make)

    def _layout_entry(self, entry: LayoutEntry) -> form.LayoutEntry:
        if entry.kind not in ("uniform", "storage", "read-only-storage"):
            raise self._cannot(f"binding {entry.binding} of its layout is a {entry.kind}; a file holds buffers only")
        buffer = form.BufferLayout(
            type=entry.kind,  # type: ignore[arg-type]
            has_dynamic_offset=entry.dynamic,
            min_binding_size=entry.min_size,
        )
        return form.LayoutEntry(binding=entry.binding, visibility=entry.visibility, buffer=buffer)

    # -- nodes ------------------------------------------------------------------------------------------------------

    def node(self, index: int, node: Node) -> None:
        self._at = f"node {index} {node.operation}"
        place = node.place
        common = {
            "label": _text(place.label),
            "debug_groups": tuple(map(_text, place.groups)),
            "place": form.Place(file=_text(os.path.basename(place.file)), line=place.line),
        }
        self.nodes.append(_NODES[type(node)](self, node, common))

    def _dispatch(self, node: Dispatch, common: Any) -> AnyNode:
        return form.Dispatch(**self._bound(node), workgroups=node.workgroups, **common)

    def _indirect(self, node: DispatchIndirect, common: Any) -> AnyNode:
        bound = self._bound(node)
        return form.DispatchIndirect(**bound, buffer=self.buffer(node.buffer), offset=node.offset, **common)

    def _copy(self, node: CopyBuffer, common: Any) -> AnyNode:
        return form.CopyBuffer(
            source=self.buffer(node.source),
            source_offset=node.source_offset,
            destination=self.buffer(node.destination),
            destination_offset=node.destination_offset,
            size=node.size,
            **common,
        )

    def _clear(self, node: ClearBuffer, common: Any) -> AnyNode:
        return form.ClearBuffer(buffer=self.buffer(node.buffer), offset=node.offset, size=node.size, **common)

    def _write(self, node: WriteBuffer, common: Any) -> AnyNode:
        start = self.written_bytes
        self.written.append(node.data)
        self.written_bytes += node.size
        return form.WriteBuffer(
            buffer=self.buffer(node.buffer), offset=node.offset, data_offset=start, size=node.size, **common
        )

    def _bound(self, node: Dispatch | DispatchIndirect) -> dict[str, Any]:
        return {
            "pipeline": self.pipeline(node.pipeline),
            "bind_groups": tuple(map(self._bound_group, node.groups)),
            "immediates": tuple(form.Immediates(offset=at, data=data.hex()) for at, data in node.immediates),
        }

    def _bound_group(self, bound: BoundGroup | None) -> form.BoundGroup | None:
        return None if bound is None else form.BoundGroup(group=self.group(bound.record), dynamic_offsets=bound.offsets)

    def _cannot(self, why: str) -> SaveError:
        return SaveError(f"{self._at} cannot be saved: {why}")


def describe(program: Program) -> Described:
    """What `program` is made of.

    Raises:
        SaveError: it uses what a file does not hold: textures, SPIR-V, objects that are not known.
    """
    described = Described(program)
    for index, node in enumerate(program.nodes):
        described.node(index, node)
    return described


def _text(label: str) -> str:
    """A label as the manifest takes it: any text, but not of any length."""
    return label[: form.LONGEST_LABEL].encode(errors="replace").decode()


_NODES: dict[type[Node], Callable[[Any, Any, Any], AnyNode]] = {
    Dispatch: Described._dispatch,
    DispatchIndirect: Described._indirect,
    CopyBuffer: Described._copy,
    ClearBuffer: Described._clear,
    WriteBuffer: Described._write,
}
