"""Nodes on stand-ins for GPU objects: for rules, hazards and summaries that touch no GPU."""

from __future__ import annotations

import itertools
from typing import Any

from cmdgraph.objects import (
    Binding,
    GroupLayout,
    GroupRecord,
    LayoutEntry,
    ModuleRecord,
    PipelineLayoutRecord,
    PipelineRecord,
)
from cmdgraph.program import BoundGroup, ClearBuffer, CopyBuffer, Dispatch, DispatchIndirect, Place, WriteBuffer

PLACE = Place("model.py", 7)
_numbers = itertools.count(1)


class GPUObject:
    """What messages and rules look at."""

    def __init__(self, label: str = "", device: Any = None) -> None:
        self.label = label
        self.uid = next(_numbers)
        self._device = device


class GPUBuffer(GPUObject):
    map_state = "unmapped"

    def __init__(self, size: int = 64, label: str = "", usage: int = 0xFFF, device: Any = None) -> None:
        super().__init__(label, device)
        self.size, self.usage = size, usage


class GPUComputePipeline(GPUObject):
    pass


class GPUBindGroup(GPUObject):
    pass


Use = tuple[GPUBuffer, int, int, bool]


def dispatch(*uses: Use, indirect: tuple[GPUBuffer, int] | None = None) -> Dispatch | DispatchIndirect:
    """A dispatch that binds each (buffer, offset, size, writes) in one group."""
    entries = {i: LayoutEntry(i, "storage" if writes else "read-only-storage") for i, (*_, writes) in enumerate(uses)}
    layout = GroupLayout(entries)
    bindings = tuple(Binding(i, buffer, offset, size) for i, (buffer, offset, size, _) in enumerate(uses))
    pipeline = PipelineRecord(
        GPUComputePipeline("kernel"), ModuleRecord(None, ""), "main", PipelineLayoutRecord((layout,))
    )
    groups = (BoundGroup(GroupRecord(GPUBindGroup("bound"), layout, bindings)),)
    if indirect is None:
        return Dispatch(place=PLACE, pipeline=pipeline, groups=groups, workgroups=(1, 1, 1))
    return DispatchIndirect(place=PLACE, pipeline=pipeline, groups=groups, buffer=indirect[0], offset=indirect[1])


def copy(source: GPUBuffer, at: int, target: GPUBuffer, to: int, size: int) -> CopyBuffer:
    return CopyBuffer(
        place=PLACE, source=source, source_offset=at, destination=target, destination_offset=to, size=size
    )


def clear(buffer: GPUBuffer, offset: int, size: int) -> ClearBuffer:
    return ClearBuffer(place=PLACE, buffer=buffer, offset=offset, size=size)


def write(buffer: GPUBuffer, offset: int, data: bytes) -> WriteBuffer:
    return WriteBuffer(place=PLACE, buffer=buffer, offset=offset, data=data)
