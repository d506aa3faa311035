"""What must hold of a manifest before anything is made on a device: counts and sizes within the limits, every number
the number of something, every range within what it is a range of.

What WebGPU itself has rules for (usages, alignments, layouts) is left to those rules: they are the same for a graph
that is loaded and one that is captured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from cmdgraph.container import manifest as form
from cmdgraph.container.limits import FileLimits
from cmdgraph.container.manifest import Manifest, Stored
from cmdgraph.container.shader_text import too_deep
from cmdgraph.container.tensors import Tensor
from cmdgraph.errors import GraphFormatError

__all__ = ["check"]

_LISTS = ("bind_group_layouts", "pipeline_layouts", "buffers", "bind_groups")


def check(manifest: Manifest, tensors: Mapping[str, Tensor], limits: FileLimits, file: str) -> None:
    """Raises GraphFormatError, naming the place, if `manifest` must not be built."""
    checks = _Checks(manifest, tensors, limits, file)
    checks.counts()
    checks.modules()
    checks.layouts()
    checks.pipelines()
    checks.buffers()
    checks.bind_groups()
    checks.nodes()
    checks.tensors_used()


@frozen
class _Checks:
    manifest: Manifest
    tensors: Mapping[str, Tensor]
    limits: FileLimits
    file: str

    def counts(self) -> None:
        manifest = self.manifest
        if not manifest.nodes:
            raise self._wrong("/nodes", "the graph has no node")
        self._within("/nodes", len(manifest.nodes), "nodes")
        self._within("/modules", len(manifest.modules), "pipelines", "modules")
        self._within("/pipelines", len(manifest.pipelines), "pipelines")
        for name in _LISTS:
            self._within(f"/{_camel(name)}", len(getattr(manifest, name)), "objects")
        self._within("/bindGroups", sum(len(group.entries) for group in manifest.bind_groups), "bindings")
        self._within("/bindGroupLayouts", sum(len(each.entries) for each in manifest.bind_group_layouts), "bindings")
        self._within(f"/contents/{manifest.contents.file}", manifest.contents.size, "contents_bytes")
        for place in ("inputs", "outputs"):
            for at, number in enumerate(getattr(manifest, place)):
                self._number(f"/{place}/{at}", number, manifest.buffers, "buffer")

    def modules(self) -> None:
        self._within("/modules", sum(len(module.code) for module in self.manifest.modules), "code_bytes")
        for at, module in enumerate(self.manifest.modules):
            place = f"/modules/{at}/code"
            if "@compute" not in module.code:
                raise self._wrong(place, "no compute shader in it")
            try:
                problem = too_deep(module.code)
            except ValueError:
                problem = "a comment that does not end"
            if problem is not None:
                raise self._wrong(place, f"the shader has {problem}; compilers cannot take it")

    def layouts(self) -> None:
        for at, layout in enumerate(self.manifest.bind_group_layouts):
            self._distinct(f"/bindGroupLayouts/{at}/entries", layout.entries)
        for at, pipeline_layout in enumerate(self.manifest.pipeline_layouts):
            for index, number in enumerate(pipeline_layout.bind_group_layouts):
                place = f"/pipelineLayouts/{at}/bindGroupLayouts/{index}"
                self._number(place, number, self.manifest.bind_group_layouts, "bind group layout")

    def pipelines(self) -> None:
        for at, pipeline in enumerate(self.manifest.pipelines):
            place = f"/pipelines/{at}"
            self._number(f"{place}/module", pipeline.module, self.manifest.modules, "module")
            if isinstance(pipeline.layout, int):
                self._number(f"{place}/layout", pipeline.layout, self.manifest.pipeline_layouts, "pipeline layout")
        modules = self.manifest.modules
        compiled = sum(len(modules[pipeline.module].code) for pipeline in self.manifest.pipelines)
        self._within("/pipelines", compiled + sum(len(module.code) for module in modules), "code_bytes")

    def buffers(self) -> None:
        zeroed = 0
        for at, buffer in enumerate(self.manifest.buffers):
            if buffer.contents is None:
                zeroed += buffer.size
            else:
                self._stored(f"/buffers/{at}/contents", buffer.contents, buffer.size // 4 * 4)
        self._within("/buffers", zeroed, "zeroed_bytes", "bytes of buffers without contents")
        if self.manifest.writes is not None:
            self._within("/writes", self._stored("/writes", self.manifest.writes, None), "written_bytes")

    def bind_groups(self) -> None:
        for at, group in enumerate(self.manifest.bind_groups):
            place = f"/bindGroups/{at}"
            if isinstance(group.layout, int):
                layouts = self.manifest.bind_group_layouts
                self._number(f"{place}/layout", group.layout, layouts, "bind group layout")
            else:
                where = f"{place}/layout/pipeline"
                self._number(where, group.layout.pipeline, self.manifest.pipelines, "pipeline")
                if self.manifest.pipelines[group.layout.pipeline].layout != "auto":
                    raise self._wrong(where, "its layout is not automatic; name the bind group layout by its number")
            self._distinct(f"{place}/entries", group.entries)
            for index, entry in enumerate(group.entries):
                where = f"{place}/entries/{index}"
                self._range(where, entry.buffer, entry.offset, entry.size)

    def nodes(self) -> None:
        manifest = self.manifest
        for at, node in enumerate(manifest.nodes):
            place = f"/nodes/{at}"
            match node:
                case form.Dispatch() | form.DispatchIndirect():
                    self._number(f"{place}/pipeline", node.pipeline, manifest.pipelines, "pipeline")
                    for index, bound in enumerate(node.bind_groups):
                        if bound is not None:
                            where = f"{place}/bindGroups/{index}/group"
                            self._number(where, bound.group, manifest.bind_groups, "bind group")
                    if isinstance(node, form.DispatchIndirect):
                        self._range(place, node.buffer, node.offset, 12)
                case form.CopyBuffer():
                    self._range(place, node.source, node.source_offset, node.size, "source")
                    self._range(place, node.destination, node.destination_offset, node.size, "destination")
                case form.ClearBuffer():
                    self._range(place, node.buffer, node.offset, node.size)
                case form.WriteBuffer():
                    self._range(place, node.buffer, node.offset, node.size)
                    if node.data_offset + node.size > self._written:
                        end = node.data_offset + node.size
                        raise self._wrong(f"{place}/dataOffset", f"its data ends at {end} of {self._written} bytes")

    def tensors_used(self) -> None:
        used = [b.contents.tensor for b in self.manifest.buffers if b.contents is not None]
        used += [] if self.manifest.writes is None else [self.manifest.writes.tensor]
        for name, times in Counter(used).items():
            if times > 1:
                raise self._wrong(f"tensor {name[:100]!r}", "the manifest names it twice")
        for name in self.tensors.keys() - set(used):
            raise self._wrong(f"tensor {name[:100]!r}", "the manifest does not name it")

    # -- parts ------------------------------------------------------------------------------------------------------

    @property
    def _written(self) -> int:
        if self.manifest.writes is None:
            return 0
        tensor = self.tensors[self.manifest.writes.tensor]
        return tensor.end - tensor.start

    def _within(self, place: str, value: int, limit: str, what: str = "") -> None:
        most = getattr(self.limits, limit)
        if value > most:
            raise self._wrong(
                place,
                f"{value} {what or limit.replace('_', ' ')} are over the limit of {most}; if you trust the file, raise "
                f"it: cmdgraph.load(..., limits=cmdgraph.FileLimits({limit}=...))",
            )

    def _number(self, place: str, number: int, parts: Sequence[Any], what: str) -> None:
        if number >= len(parts):
            raise self._wrong(place, f"there is no {what} {number}, only {len(parts)} of them")

    def _range(self, place: str, buffer: int, offset: int, size: int, what: str = "buffer") -> None:
        self._number(f"{place}/{what}", buffer, self.manifest.buffers, "buffer")
        whole = self.manifest.buffers[buffer].size
        if offset + size > whole:
            raise self._wrong(place, f"{size} bytes at {offset} reach past the end of buffer {buffer} ({whole} bytes)")

    def _stored(self, place: str, stored: Stored, size: int | None) -> int:
        tensor = self.tensors.get(stored.tensor)
        if tensor is None:
            raise self._wrong(f"{place}/tensor", f"the contents have no tensor {stored.tensor[:100]!r}")
        if size is not None and tensor.end - tensor.start != size:
            raise self._wrong(
                f"{place}/tensor", f"the tensor has {tensor.end - tensor.start} bytes, the buffer needs {size}"
            )
        return tensor.end - tensor.start

    def _distinct(self, place: str, entries: Sequence[Any]) -> None:
        if len({entry.binding for entry in entries}) != len(entries):
            raise self._wrong(place, "two entries have the same binding")

    def _wrong(self, place: str, what: str) -> GraphFormatError:
        return GraphFormatError.at(self.file, place, what)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))
