"""The frozen form of what was captured: nodes in queue order, and what they use.

Nothing here talks to a GPU. A node describes itself for messages; a program is the sequence of its nodes.
Offsets and sizes are in bytes everywhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from attrs import evolve, field, frozen

from cmdgraph.objects import GroupRecord, PipelineRecord, describe

__all__ = [
    "Access",
    "BoundGroup",
    "ClearBuffer",
    "CopyBuffer",
    "Dispatch",
    "DispatchIndirect",
    "Node",
    "Place",
    "Program",
    "WriteBuffer",
]

WHOLE = 1 << 62
"""End of a range that covers all of a texture."""


@frozen
class Place:
    """Where in the user's code a call was made, and how its author names that part of the work.

    ``groups`` are the debug groups and labelled passes open around the call, outermost first; ``label`` is the debug
    marker inserted just before it.
    """

    file: str
    line: int
    groups: tuple[str, ...] = ()
    label: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@frozen
class Access:
    """One range of one resource that a node touches. ``writes`` alone means: overwritten without being read."""

    resource: Any
    start: int
    end: int
    reads: bool
    writes: bool
    name: str

    def overlaps(self, start: int, end: int) -> bool:
        return self.start < end and start < self.end


@frozen
class BoundGroup:
    """A bind group as a dispatch uses it, with the dynamic offsets given then."""

    record: GroupRecord
    offsets: tuple[int, ...] = ()


@frozen(kw_only=True, eq=False)
class Node:
    """One command of a graph."""

    place: Place

    operation: ClassVar[str] = "node"
    holds: ClassVar[tuple[str, ...]] = ()
    """The attributes that are buffers."""

    @property
    def path(self) -> tuple[str, ...]:
        """The debug groups and labelled passes that the node lies in, outermost first."""
        return self.place.groups

    @property
    def label(self) -> str:
        """The debug marker that names this node; empty without one."""
        return self.place.label

    def accesses(self) -> tuple[Access, ...]:
        raise NotImplementedError

    def details(self) -> str:
        """The resources concerned, for messages."""
        return ", ".join(f"{a.name} {describe(a.resource)}" for a in self.accesses())

    def replaced(self, groups: dict[int, GroupRecord], buffers: dict[int, Any]) -> Node:
        """This node with other bind groups and buffers in place of some, by ``id``; itself if none is concerned."""
        changes: dict[str, Any] = {
            name: buffers[id(getattr(self, name))] for name in self.holds if id(getattr(self, name)) in buffers
        }
        bound: tuple[BoundGroup | None, ...] = getattr(self, "groups", ())
        if any(g is not None and id(g.record) in groups for g in bound):
            changes["groups"] = tuple(
                g if g is None else evolve(g, record=groups.get(id(g.record), g.record)) for g in bound
            )
        return evolve(self, **changes) if changes else self


@frozen(kw_only=True, eq=False)
class _AnyDispatch(Node):
    pipeline: PipelineRecord
    groups: tuple[BoundGroup | None, ...]
    immediates: tuple[tuple[int, bytes], ...] = ()

    def accesses(self) -> tuple[Access, ...]:
        return tuple(itertools.chain.from_iterable(map(_group_accesses, itertools.count(), self.needed_groups())))

    def needed_groups(self) -> tuple[BoundGroup | None, ...]:
        """The bound groups that the pipeline's layout names; groups beyond it are set but not used."""
        needs = self.pipeline.needs
        if needs is None or (len(needs) == len(self.groups) and all(needs)):
            return self.groups
        return tuple(g if needed else None for g, needed in zip(self.groups, needs, strict=False))

    def needed_immediates(self) -> Iterator[tuple[int, bytes]]:
        """The immediates within the pipeline's layout; those set for others may lie beyond it."""
        size = self.pipeline.immediate_size
        for offset, data in self.immediates:
            if part := data if size is None else data[: max(0, size - offset)]:
                yield offset, part


@frozen(kw_only=True, eq=False)
class Dispatch(_AnyDispatch):
    """``dispatch_workgroups(x, y, z)``."""

    workgroups: tuple[int, int, int]

    operation = "dispatch_workgroups"

    def details(self) -> str:
        x, y, z = self.workgroups
        return f"{describe(self.pipeline.pipeline)}, workgroups {x} x {y} x {z}, {Node.details(self) or 'no bindings'}"


@frozen(kw_only=True, eq=False)
class DispatchIndirect(_AnyDispatch):
    """``dispatch_workgroups_indirect(buffer, offset)``: three u32 workgroup counts at ``offset``."""

    buffer: Any
    offset: int

    operation = "dispatch_workgroups_indirect"
    holds = ("buffer",)

    def accesses(self) -> tuple[Access, ...]:
        indirect = Access(self.buffer, self.offset, self.offset + 12, True, False, "indirect buffer")
        return (*_AnyDispatch.accesses(self), indirect)

    def details(self) -> str:
        return f"{describe(self.pipeline.pipeline)}, {Node.details(self)}"


@frozen(kw_only=True, eq=False)
class CopyBuffer(Node):
    """``copy_buffer_to_buffer``."""

    source: Any
    source_offset: int
    destination: Any
    destination_offset: int
    size: int

    operation = "copy_buffer_to_buffer"
    holds = ("source", "destination")

    def accesses(self) -> tuple[Access, ...]:
        s, d = self.source_offset, self.destination_offset
        return (
            Access(self.source, s, s + self.size, True, False, "source"),
            Access(self.destination, d, d + self.size, False, True, "destination"),
        )


@frozen(kw_only=True, eq=False)
class ClearBuffer(Node):
    """``clear_buffer``: a range set to zero."""

    buffer: Any
    offset: int
    size: int

    operation = "clear_buffer"
    holds = ("buffer",)

    def accesses(self) -> tuple[Access, ...]:
        return (Access(self.buffer, self.offset, self.offset + self.size, False, True, "buffer"),)


@frozen(kw_only=True, eq=False)
class WriteBuffer(Node):
    """``queue.write_buffer`` with the bytes it was given; every replay writes them again at this place.

    ``address`` is where in memory the bytes came from, so that `graphed` can tell which argument they belong to.
    """

    buffer: Any
    offset: int
    data: bytes = field(repr=False)
    address: int = field(default=0, repr=False)

    operation = "write_buffer"
    holds = ("buffer",)

    @property
    def size(self) -> int:
        return len(self.data)

    def accesses(self) -> tuple[Access, ...]:
        return (Access(self.buffer, self.offset, self.offset + self.size, False, True, "buffer"),)


@frozen(eq=False, slots=False)
class Program:
    """The nodes of one graph, in queue order, on one device."""

    device: Any
    nodes: tuple[Node, ...]

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def groups(self) -> dict[int, GroupRecord]:
        """All bind groups that were set, by ``id`` of their record; submit looks at each, used or not."""
        return {
            id(g.record): g.record
            for node in self.nodes
            if isinstance(node, _AnyDispatch)
            for g in node.groups
            if g is not None
        }

    def resources(self) -> dict[int, Any]:
        """All buffers and textures that the nodes use, by ``id``, in the order of first use."""
        found: dict[int, Any] = {}
        for record in self.groups().values():
            for binding, _ in record.accesses:
                resource = binding.resource if binding.is_buffer else binding.resource.texture
                found[id(resource)] = resource
        for node in self.nodes:
            for name in node.holds:
                found[id(getattr(node, name))] = getattr(node, name)
        return found

    def buffers(self) -> list[Any]:
        """All buffers that the nodes use."""
        return [r for r in self.resources().values() if hasattr(r, "map_state")]

    def elements(self) -> dict[int, str]:
        """The scalar type of each buffer's elements, by ``id``, where all shaders agree on one."""
        found: dict[int, set[str | None]] = {}
        for node in self.nodes:
            if isinstance(node, _AnyDispatch):
                for index, group in enumerate(node.needed_groups()):
                    for b in group.record.bindings if group is not None else ():
                        if b.is_buffer:
                            found.setdefault(id(b.resource), set()).add(node.pipeline.element(index, b.binding))
        return {key: kind for key, kinds in found.items() if len(kinds) == 1 and (kind := next(iter(kinds)))}


NUMPY_TYPES = {"f32": np.float32, "i32": np.int32, "u32": np.uint32, "f16": np.float16}
"""The numpy dtype of each WGSL scalar."""


def _group_accesses(index: int, bound: BoundGroup | None) -> Iterator[Access]:
    if bound is None:
        return
    shifts = dict(zip((e.binding for e in bound.record.layout.dynamic), bound.offsets, strict=False))
    for binding, writes in bound.record.accesses:
        name = f"@group({index}) @binding({binding.binding})"
        if binding.is_buffer:
            start = binding.offset + shifts.get(binding.binding, 0)
            yield Access(binding.resource, start, start + binding.size, True, writes is not False, name)
        else:
            yield Access(binding.resource.texture, 0, WHOLE, True, writes is not False, name)
