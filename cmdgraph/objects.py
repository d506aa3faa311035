"""What WebGPU objects are made of: immutable records, one for each object that a dispatch can use.

wgpu-py's objects remember a label, a native handle and a device, nothing of what they were made from, and the C API
cannot be asked. `cmdgraph.tracking` makes these records when the objects are made; nodes hold records, and records hold
the objects, so whatever a graph uses stays alive as long as the graph.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

from attrs import field, frozen

from cmdgraph import wgsl

__all__ = [
    "Binding",
    "BufferUsage",
    "GroupLayout",
    "GroupRecord",
    "LayoutEntry",
    "ModuleRecord",
    "PipelineLayoutRecord",
    "PipelineRecord",
    "describe",
]


class BufferUsage:
    """Bits of GPUBufferUsage (https://www.w3.org/TR/webgpu/#buffer-usage)."""

    MAP_READ = 0x0001
    MAP_WRITE = 0x0002
    COPY_SRC = 0x0004
    COPY_DST = 0x0008
    INDEX = 0x0010
    VERTEX = 0x0020
    UNIFORM = 0x0040
    STORAGE = 0x0080
    INDIRECT = 0x0100
    QUERY_RESOLVE = 0x0200


def describe(obj: Any) -> str:
    """How messages name a GPU object: its kind and label, or its number when it has no label."""
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(obj).__name__.removeprefix("GPU")).lower()
    return f'{kind} "{obj.label}"' if obj.label else f"unlabelled {kind} #{obj.uid}"


@frozen
class LayoutEntry:
    """One entry of a bind group layout.

    ``kind`` is "uniform", "storage", "read-only-storage", "sampler", "texture" or "storage-texture"; ``detail`` holds
    what else must be equal for two entries to be equivalent (sample type, format, ...).
    """

    binding: int
    kind: str
    visibility: int = 4
    dynamic: bool = False
    min_size: int = 0
    detail: tuple[Any, ...] = ()

    @property
    def writes(self) -> bool:
        return self.kind == "storage" or (self.kind == "storage-texture" and "read-only" not in self.detail)


@frozen(eq=False)
class ModuleRecord:
    """A shader module and its text (bytes when it is SPIR-V)."""

    module: Any
    code: str | bytes

    @property
    def declarations(self) -> wgsl.Module | None:
        return wgsl.parse(self.code) if isinstance(self.code, str) else None


@frozen(eq=False, slots=False)
class GroupLayout:
    """A bind group layout: its entries by binding, or None where they are not known (SPIR-V, GLSL with "auto").

    ``exclusive`` is the pipeline for layouts that ``layout="auto"`` made, at group ``index``: they fit that pipeline
    alone (https://www.w3.org/TR/webgpu/#dom-gpubindgrouplayout-exclusivepipeline-slot). ``layout`` is the object
    otherwise.
    """

    entries: dict[int, LayoutEntry] | None
    exclusive: Any = None
    layout: Any = None
    index: int = 0

    def equivalent(self, other: GroupLayout) -> bool:
        """Group-equivalent, https://www.w3.org/TR/webgpu/#group-equivalent."""
        return self is other or (self.exclusive is other.exclusive and self.entries == other.entries)

    def native(self) -> Any:
        """The GPUBindGroupLayout to make another bind group with."""
        return self.layout if self.exclusive is None else self.exclusive.pipeline.get_bind_group_layout(self.index)

    @cached_property
    def dynamic(self) -> tuple[LayoutEntry, ...]:
        """Entries with a dynamic offset, in the order in which their offsets are given: by binding."""
        entries = self.entries or {}
        return tuple(entries[b] for b in sorted(entries) if entries[b].dynamic)


@frozen(eq=False, slots=False)
class PipelineLayoutRecord:
    """An explicit pipeline layout; ``layouts`` is None where it was made before the hooks were on."""

    layouts: tuple[GroupLayout | None, ...] | None
    immediate_size: int = 0

    @cached_property
    def needed(self) -> tuple[GroupLayout | None, ...] | None:
        """The layouts without the empty ones: those count as none, so any bind group may be set there.

        See https://www.w3.org/TR/webgpu/#dom-gpudevice-createpipelinelayout.
        """
        if self.layouts is None:
            return None
        return tuple(None if layout is None or layout.entries == {} else layout for layout in self.layouts)


@frozen(eq=False, slots=False)
class PipelineRecord:
    """A compute pipeline. ``layout`` is None for ``layout="auto"``; ``constants`` are the values of overrides."""

    pipeline: Any
    module: ModuleRecord
    entry_point: str | None
    layout: PipelineLayoutRecord | None
    constants: dict[str, float] = field(factory=dict)

    @cached_property
    def used(self) -> tuple[wgsl.Declaration, ...] | None:
        """The resource variables that the entry point reaches, or None where the text is not known."""
        declarations = self.module.declarations
        return None if declarations is None else declarations.used(self.entry_point)

    @cached_property
    def immediate_size(self) -> int | None:
        """Bytes of immediates that the pipeline's layout has; None where it has some and how many is not known."""
        if self.layout is not None and self.layout.layouts is not None:
            return self.layout.immediate_size
        declarations = self.module.declarations
        return None if declarations is None or declarations.uses_immediates(self.entry_point) else 0

    @cached_property
    def group_layouts(self) -> tuple[GroupLayout | None, ...] | None:
        """The layouts that a dispatch needs, by group index; None for a group it does not need.

        None instead of a tuple where they are not known.
        """
        if self.layout is not None:
            return self.layout.needed
        if self.used is None:
            return None
        count = 1 + max((d.group for d in self.used), default=-1)
        return tuple(self._auto_layout(group) for group in range(count))

    @cached_property
    def needs(self) -> tuple[bool, ...] | None:
        """Which group indices a dispatch needs; None where that is not known."""
        layouts = self.group_layouts
        return None if layouts is None else tuple(layout is not None for layout in layouts)

    def group_layout(self, group: int) -> GroupLayout:
        """The layout behind ``pipeline.get_bind_group_layout(group)``."""
        known = self.group_layouts
        if known is not None and 0 <= group < len(known):
            return known[group] or GroupLayout({}, self, index=group)
        return GroupLayout(None if known is None else {}, self, index=group)

    def element(self, group: int, binding: int) -> str | None:
        """The scalar type that the shader declares for a binding: "f32", "i32", "u32", "f16" or None."""
        return self._elements.get((group, binding))

    @cached_property
    def _elements(self) -> dict[tuple[int, int], str | None]:
        return {(d.group, d.binding): d.element for d in self.used or ()}

    def needed_size(self, group: int, binding: int) -> int | None:
        """The bytes that the shader needs at least of a buffer binding; None where that is not known."""
        return self._sizes.get((group, binding))

    @cached_property
    def _sizes(self) -> dict[tuple[int, int], int | None]:
        return {(d.group, d.binding): d.size for d in self.used or ()}

    @cached_property
    def immediate_words(self) -> frozenset[int] | None:
        """The offsets of the 4-byte words of immediates that a dispatch needs; None where they are not known."""
        declarations = self.module.declarations
        return None if declarations is None else declarations.immediate_words(self.entry_point)

    def _auto_layout(self, group: int) -> GroupLayout | None:
        assert self.used is not None
        declared = [d for d in self.used if d.group == group]
        if any(d.kind == "handle" for d in declared):
            return GroupLayout(
                None, self, index=group
            )  # textures and samplers: the text alone does not give sample types
        entries = {d.binding: LayoutEntry(d.binding, d.kind) for d in declared}
        return GroupLayout(entries, self, index=group) if declared else None


@frozen(eq=False)
class Binding:
    """What one entry of a bind group binds. ``offset`` and ``size`` in bytes, zero for textures and samplers."""

    binding: int
    resource: Any
    offset: int = 0
    size: int = 0
    is_buffer: bool = True


@frozen(eq=False, slots=False)
class GroupRecord:
    """A bind group: its layout and what it binds."""

    group: Any
    layout: GroupLayout
    bindings: tuple[Binding, ...]

    @cached_property
    def by_binding(self) -> dict[int, Binding]:
        return {b.binding: b for b in self.bindings}

    @cached_property
    def distinct(self) -> bool:
        """Whether no buffer is bound twice in this group."""
        return len({id(b.resource) for b in self.bindings}) == len(self.bindings)

    @cached_property
    def accesses(self) -> tuple[tuple[Binding, bool | None], ...]:
        """Each buffer or texture bound, with True where it may be written, None where that is not known."""
        entries = self.layout.entries
        return tuple(
            (b, None if entries is None or b.binding not in entries else entries[b.binding].writes)
            for b in self.bindings
            if b.is_buffer or hasattr(b.resource, "texture")
        )
