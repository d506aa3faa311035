"""Which node depends on which, from the ranges that nodes read and write.

A storage binding with read_write counts as read and written over its whole bound range; what a shader really touches
is not known. From this come the dependency graph, the inputs and outputs of a graph, and which writes may move to
the head of a replay.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from cmdgraph.program import Access, Node, Program, WriteBuffer

__all__ = [
    "critical_path",
    "dependencies",
    "first_overwrite",
    "inputs",
    "leading_writes",
    "outputs",
    "reduced",
    "waves",
]


def dependencies(nodes: Sequence[Node]) -> list[tuple[int, ...]]:
    """For each node the earlier nodes that it must wait for: read after write, write after read, write after write.

    Only the nearest are listed: a write that covers a range hides what came before it there.
    """
    history: defaultdict[int, list[tuple[int, Access]]] = defaultdict(list)
    found: list[tuple[int, ...]] = []
    for index, node in enumerate(nodes):
        accesses = node.accesses()
        waits = {
            earlier
            for access in accesses
            for earlier, past in history[id(access.resource)]
            if past.overlaps(access.start, access.end) and (access.writes or past.writes)
        }
        found.append(tuple(sorted(waits - {index})))
        for access in accesses:
            past = history[id(access.resource)]
            if access.writes:
                past[:] = [(i, p) for i, p in past if not (access.start <= p.start and p.end <= access.end)]
            past.append((index, access))
    return found


def reduced(waits: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """`dependencies` without those that follow from others: the least that says the same (transitive reduction)."""
    last = {one: index for index, earlier in enumerate(waits) for one in earlier}
    before: dict[int, int] = {}  # for each node that is still waited for: it and all before it, one bit each
    found: list[tuple[int, ...]] = []
    for index, earlier in enumerate(waits):
        kept, reached = [], 0
        for one in sorted(earlier, reverse=True):  # a later node may reach an earlier one, never the other way round
            if not reached >> one & 1:
                kept.append(one)
                reached |= before[one]
            if last[one] == index:
                del before[one]
        if index in last:
            before[index] = reached | 1 << index
        found.append(tuple(reversed(kept)))
    return found


def waves(waits: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """The nodes in waves: those of one wave could run at once when all earlier waves are done."""
    depth: list[int] = []
    found: list[list[int]] = []
    for index, earlier in enumerate(waits):
        depth.append(1 + max((depth[one] for one in earlier), default=-1))
        if depth[index] == len(found):
            found.append([])
        found[depth[index]].append(index)
    return [tuple(wave) for wave in found]


def critical_path(waits: Sequence[Sequence[int]], costs: Sequence[float] | None = None) -> tuple[int, ...]:
    """The chain of dependent nodes with the highest sum of `costs` (default: each node 1): no order is quicker."""
    total: list[float] = []
    previous: list[int] = []
    for index, earlier in enumerate(waits):
        best = max(earlier, key=total.__getitem__, default=-1)
        previous.append(best)
        total.append((1 if costs is None else costs[index]) + (total[best] if best >= 0 else 0))
    at = max(range(len(total)), key=total.__getitem__, default=-1)
    path = []
    while at >= 0:
        path.append(at)
        at = previous[at]
    return tuple(reversed(path))


def leading_writes(nodes: Sequence[Node]) -> list[int]:
    """The write_buffer nodes that may run before everything else, in their order.

    One may when no earlier node, other than writes that move too, touches its range.
    """
    touched: defaultdict[int, _Ranges] = defaultdict(_Ranges)
    moved = []
    last = max((i for i, n in enumerate(nodes) if isinstance(n, WriteBuffer)), default=-1)
    for index, node in enumerate(nodes[: last + 1]):
        accesses = node.accesses()
        if isinstance(node, WriteBuffer):
            target = accesses[0]
            if not touched[id(target.resource)].meet(target.start, target.end):
                moved.append(index)
                continue
        for access in accesses:
            touched[id(access.resource)].add(access.start, access.end)
    return moved


def inputs(program: Program) -> list[Any]:
    """The buffers whose contents before a replay may matter: some range is read before it is overwritten."""
    written: defaultdict[int, _Ranges] = defaultdict(_Ranges)
    found: dict[int, Any] = {}
    for node in program:
        accesses = node.accesses()
        for access in accesses:
            key = id(access.resource)
            if access.reads and not written[key].cover(access.start, access.end):
                found.setdefault(key, access.resource)
        for access in accesses:
            if access.writes and not access.reads:
                written[id(access.resource)].add(access.start, access.end)
    return [resource for resource in found.values() if hasattr(resource, "map_state")]


def outputs(program: Program) -> list[Any]:
    """The buffers that a replay may change."""
    found = {id(a.resource): a.resource for node in program for a in node.accesses() if a.writes}
    return [resource for resource in found.values() if hasattr(resource, "map_state")]


def first_overwrite(program: Program, buffer: Any) -> int | None:
    """The first node that overwrites a part of `buffer` that nothing has read before; None if there is none."""
    unread = [(0, buffer.size)]
    for index, node in enumerate(program):
        accesses = [a for a in node.accesses() if a.resource is buffer and a.start < a.end]
        for access in accesses:
            if access.reads:
                unread = [
                    part
                    for start, end in unread
                    for part in ((start, min(end, access.start)), (max(start, access.end), end))
                    if part[0] < part[1]
                ]
        for access in accesses:
            if not access.reads and any(access.overlaps(start, end) for start, end in unread):
                return index
    return None


class _Ranges:
    """A set of bytes, as ranges that neither overlap nor touch, in their order."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        if start < end:
            first, last = bisect_left(self._ends, start), bisect_right(self._starts, end)
            if first < last:
                start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
            self._starts[first:last] = [start]
            self._ends[first:last] = [end]

    def meet(self, start: int, end: int) -> bool:
        """Whether any byte from `start` to `end` is in it."""
        at = bisect_right(self._ends, start)
        return start < end and at < len(self._starts) and self._starts[at] < end

    def cover(self, start: int, end: int) -> bool:
        """Whether all bytes from `start` to `end` are in it; of none, that is so."""
        at = bisect_right(self._starts, start) - 1
        return start >= end or (at >= 0 and end <= self._ends[at])
