"""The rules of WebGPU for compute commands, one function each.

A rule looks at one node and gives None, or what is wrong in one sentence. Rules have no side effects and touch no GPU.
What a rule needs is fixed once a node is recorded, so a graph proves each rule once; ``watched`` names the calls after
which a rule must be looked at again (for the changed nodes only). What concerns the moment of a submit (destroyed,
mapped, lost) is not here: see `cmdgraph.liveness`.

Where the specification's text and the implementations differ, the stricter reading counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attrs import frozen

from cmdgraph.errors import ValidationError
from cmdgraph.objects import BufferUsage, describe
from cmdgraph.program import (
    BoundGroup,
    ClearBuffer,
    CopyBuffer,
    Dispatch,
    DispatchIndirect,
    Node,
    WriteBuffer,
)

__all__ = ["RULES", "Rule", "Verdict", "require", "verdict"]

SPEC = "https://www.w3.org/TR/webgpu/"
Check = Callable[[Any, Any], str | None]


@frozen
class Rule:
    """One rule: its function, the anchor of its text in the specification, and what makes it due again."""

    name: str
    anchor: str
    watched: str
    operations: tuple[type[Node], ...]
    check: Check


@frozen
class Verdict:
    """A broken rule and what is wrong."""

    rule: Rule
    text: str


RULES: list[Rule] = []
_DISPATCHES = (Dispatch, DispatchIndirect)


def verdict(node: Node, device: Any) -> Verdict | None:
    """The first rule that `node` breaks on `device`, or None."""
    for rule in _rules_of(type(node)):
        text = rule.check(node, device)
        if text is not None:
            return Verdict(rule, text)
    return None


def require(node: Node, device: Any, index: int) -> None:
    """Raises ValidationError, naming the node and what it binds, if `node` breaks a rule."""
    found = verdict(node, device)
    if found is not None:
        raise ValidationError(
            f"node {index} {node.operation}: {found.text} [{node.details()}] at {node.place} "
            f"(rule {found.rule.name}, {SPEC}{found.rule.anchor})",
            rule=found.rule.name,
            anchor=found.rule.anchor,
            node=index,
        )


def _rule(*operations: type[Node], anchor: str, watched: str = "") -> Callable[[Check], Check]:
    def add(check: Check) -> Check:
        RULES.append(Rule(check.__name__.removeprefix("_"), anchor, watched, operations, check))
        _BY_OPERATION.clear()
        return check

    return add


_BY_OPERATION: dict[type[Node], tuple[Rule, ...]] = {}


def _rules_of(operation: type[Node]) -> tuple[Rule, ...]:
    if operation not in _BY_OPERATION:
        _BY_OPERATION[operation] = tuple(r for r in RULES if operation in r.operations)
    return _BY_OPERATION[operation]


# -- all nodes
# ----------------------------------------------------------------------------------------------------------


@_rule(
    *(Dispatch, DispatchIndirect, CopyBuffer, ClearBuffer, WriteBuffer),
    anchor="#abstract-opdef-valid-to-use-with",
    watched="rebind",
)
def _same_device(node: Any, device: Any) -> str | None:
    for obj in _objects(node):
        if obj._device is not device:
            return f"{describe(obj)} belongs to another device than the graph; use objects of one device"
    return None


def _objects(node: Any) -> Iterator[Any]:
    if isinstance(node, _DISPATCHES):
        yield node.pipeline.pipeline
        yield from (g.record.group for g in node.groups if g is not None)
    yield from (getattr(node, name) for name in node.holds)


# -- dispatches
# ---------------------------------------------------------------------------------------------------------


@_rule(Dispatch, anchor="#dom-gpucomputepassencoder-dispatchworkgroups", watched="set_workgroups")
def _workgroup_counts(node: Dispatch, device: Any) -> str | None:
    limit = device.limits["max-compute-workgroups-per-dimension"]
    for axis, count in zip("xyz", node.workgroups, strict=True):
        if count > limit:
            return (
                f"{count} workgroups in {axis} are more than maxComputeWorkgroupsPerDimension ({limit}) of this "
                "device; "
                "spread them over two dimensions"
            )
    return None


@_rule(*_DISPATCHES, anchor="#abstract-opdef-validate-encoder-bind-groups")
def _bind_groups_set(node: Any, device: Any) -> str | None:
    del device
    for index, layout in enumerate(node.pipeline.group_layouts or ()):
        needed = layout is not None and layout.entries != {}
        if needed and (index >= len(node.groups) or node.groups[index] is None):
            return f"{describe(node.pipeline.pipeline)} needs a bind group at index {index} and none is set"
    return None


@_rule(*_DISPATCHES, anchor="#abstract-opdef-validate-encoder-bind-groups", watched="rebind")
def _bind_groups_compatible(node: Any, device: Any) -> str | None:
    del device
    for index, (layout, bound) in enumerate(zip(node.pipeline.group_layouts or (), node.groups, strict=False)):
        if layout is None or bound is None or layout.equivalent(bound.record.layout):
            continue
        group, pipeline = describe(bound.record.group), describe(node.pipeline.pipeline)
        if bound.record.layout.exclusive is not layout.exclusive:
            return (
                f"{group} at index {index} was made for another layout than the one of {pipeline}; with layout='auto' "
                "a "
                "bind group fits only the pipeline whose get_bind_group_layout() it was made with"
            )
        return f"{group} at index {index} has other entries than {pipeline} expects there"
    return None


@_rule(*_DISPATCHES, anchor="#dom-gpubindingcommandsmixin-setbindgroup", watched="rebind")
def _dynamic_offsets(node: Any, device: Any) -> str | None:
    for index, bound in enumerate(node.groups):
        if bound is not None and (bound.offsets or bound.record.layout.dynamic):
            text = _offsets_of(index, bound, device.limits)
            if text is not None:
                return text
    return None


def _offsets_of(index: int, bound: BoundGroup, limits: Any) -> str | None:
    if bound.record.layout.entries is None:
        return None
    dynamic = bound.record.layout.dynamic
    if len(bound.offsets) != len(dynamic):
        return (
            f"{describe(bound.record.group)} at index {index} has {len(dynamic)} bindings with a dynamic offset, "
            f"but {len(bound.offsets)} offsets are given"
        )
    for entry, offset in zip(dynamic, bound.offsets, strict=True):
        limit = f"min-{'uniform' if entry.kind == 'uniform' else 'storage'}-buffer-offset-alignment"
        where = f"dynamic offset {offset} of @group({index}) @binding({entry.binding})"
        if offset % limits[limit]:
            return f"{where} is not a multiple of {limits[limit]} ({limit})"
        binding = bound.record.by_binding[entry.binding]
        if binding.offset + offset + binding.size > binding.resource.size:
            return (
                f"{where} with its {binding.size} bytes from {binding.offset} reaches past the end of "
                f"{describe(binding.resource)} ({binding.resource.size} bytes)"
            )
    return None


@_rule(*_DISPATCHES, anchor="#programming-model-synchronization", watched="rebind")
def _usage_scope(node: Any, device: Any) -> str | None:
    del device
    for resource, uses in _shared_buffers(node):
        writing = [name for name, _, writes in uses if writes]
        reading = [name for name, _, writes in uses if writes is False]
        if writing and reading:
            return (
                f"{describe(resource)} is read at {' and '.join(reading)} and may be written at "
                f"{' and '.join(writing)} "
                "of the same dispatch; bind it in one way only, or copy it first"
            )
    return None


@_rule(*_DISPATCHES, anchor="#abstract-opdef-encoder-bind-groups-alias-a-writable-resource", watched="rebind")
def _writable_aliasing(node: Any, device: Any) -> str | None:
    del device
    for resource, uses in _shared_buffers(node):
        written = [(name, span) for name, span, writes in uses if writes]
        for position, (name, (start, end)) in enumerate(written):
            for other, (start2, end2) in written[position + 1 :]:
                if start < end2 and start2 < end:
                    return (
                        f"{name} ({start}..{end}) and {other} ({start2}..{end2}) overlap in {describe(resource)} and "
                        "both "
                        "may write; bind ranges that do not overlap"
                    )
    return None


_Use = tuple[str, tuple[int, int], bool | None]


def _shared_buffers(node: Any) -> Iterator[tuple[Any, list[_Use]]]:
    """Buffers that one dispatch binds more than once, with each use: its name, its range, whether it may write."""
    groups = node.needed_groups()
    if len(groups) == 1 and isinstance(node, Dispatch) and (groups[0] is None or groups[0].record.distinct):
        return  # the common case, decided once for each bind group
    uses: dict[int, list[_Use]] = {}
    resources: dict[int, Any] = {}
    for index, bound in enumerate(groups):
        for binding, writes in bound.record.accesses if bound is not None else ():
            if binding.is_buffer:
                shift = _shift(bound, binding.binding)
                span = (binding.offset + shift, binding.offset + shift + binding.size)
                name = f"@group({index}) @binding({binding.binding})"
                uses.setdefault(id(binding.resource), []).append((name, span, writes))
                resources[id(binding.resource)] = binding.resource
    if isinstance(node, DispatchIndirect):
        use = ("the indirect arguments", (node.offset, node.offset + 12), False)
        uses.setdefault(id(node.buffer), []).append(use)
        resources[id(node.buffer)] = node.buffer
    yield from ((resources[key], found) for key, found in uses.items() if len(found) > 1)


def _shift(bound: BoundGroup, binding: int) -> int:
    for entry, offset in zip(bound.record.layout.dynamic, bound.offsets, strict=False):
        if entry.binding == binding:
            return offset
    return 0


@_rule(*_DISPATCHES, anchor="#dom-gpubindingcommandsmixin-setimmediates")
def _immediates(node: Any, device: Any) -> str | None:
    limit = device.limits.get("max-immediate-size", 0)
    for offset, data in node.immediates:
        if offset + len(data) > limit:
            return (
                f"immediates {offset}..{offset + len(data)} reach past maxImmediateSize ({limit}); request the feature "
                "'immediates' and a larger limit with the device"
            )
    return None


@_rule(DispatchIndirect, anchor="#dom-gpucomputepassencoder-dispatchworkgroupsindirect", watched="rebind")
def _indirect_arguments(node: DispatchIndirect, device: Any) -> str | None:
    del device
    return _usage(node.buffer, "INDIRECT") or _range(node.buffer, node.offset, 12, "the indirect arguments")


# -- copies, clears, writes
# ---------------------------------------------------------------------------------------------


@_rule(CopyBuffer, anchor="#dom-gpucommandencoder-copybuffertobuffer", watched="rebind")
def _copy(node: CopyBuffer, device: Any) -> str | None:
    del device
    if node.source is node.destination:
        return f"source and destination are the same {describe(node.source)}; copy through another buffer"
    return (
        _usage(node.source, "COPY_SRC")
        or _usage(node.destination, "COPY_DST")
        or _range(node.source, node.source_offset, node.size, "the source range")
        or _range(node.destination, node.destination_offset, node.size, "the destination range")
    )


@_rule(ClearBuffer, anchor="#dom-gpucommandencoder-clearbuffer", watched="rebind")
def _clear(node: ClearBuffer, device: Any) -> str | None:
    del device
    return _usage(node.buffer, "COPY_DST") or _range(node.buffer, node.offset, node.size, "the cleared range")


@_rule(WriteBuffer, anchor="#dom-gpuqueue-writebuffer", watched="rebind, set_data")
def _write(node: WriteBuffer, device: Any) -> str | None:
    del device
    return _usage(node.buffer, "COPY_DST") or _range(node.buffer, node.offset, node.size, "the written range")


def _usage(buffer: Any, name: str) -> str | None:
    if buffer.usage & getattr(BufferUsage, name):
        return None
    return f"{describe(buffer)} was made without usage {name}; add it in create_buffer()"


def _range(buffer: Any, offset: int, size: int, what: str) -> str | None:
    if offset % 4 or size % 4:
        return f"{what} of {describe(buffer)} ({size} bytes at {offset}) is not a multiple of 4 bytes"
    if offset < 0 or size < 0 or offset + size > buffer.size:
        return f"{what} ({size} bytes at {offset}) reaches past the end of {describe(buffer)} ({buffer.size} bytes)"
    return None
