"""The rules of WebGPU for compute commands, one function each.

A rule looks at one node and gives None, or what is wrong in one sentence. Rules have no side effects and touch no GPU.
What a rule needs is fixed once a node is recorded, so a graph proves each rule once; ``watched`` names the calls after
which a rule must be looked at again (for the changed nodes only). `ELSEWHERE` lists the rules that no node shows: those
of single calls (the recorder refuses them with `refusal`), those that making an object proves, and those of the moment
of a submit (`cmdgraph.liveness`). Together they are the table in spec_proposal/validation.md.

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
    Place,
    WriteBuffer,
)

__all__ = [
    "ELSEWHERE",
    "RULES",
    "Elsewhere",
    "Rule",
    "Verdict",
    "refusal",
    "require",
    "require_set",
    "verdict",
    "verdicts",
]

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

    @property
    def summary(self) -> str:
        """What it says, in one sentence."""
        return (self.check.__doc__ or "").strip()


@frozen
class Elsewhere:
    """A rule that no node shows: what it says, when and by what it is proved, and what is watched afterwards.

    ``by`` names the code: of cmdgraph by its dotted name, of wgpu-py by "GPUClass.method".
    """

    name: str
    anchor: str
    summary: str
    proved: str
    by: str
    watched: str = ""


@frozen
class Verdict:
    """A broken rule and what is wrong."""

    rule: Rule
    text: str


RULES: list[Rule] = []
_DISPATCHES = (Dispatch, DispatchIndirect)


def verdict(node: Node, device: Any) -> Verdict | None:
    """The first rule that `node` breaks on `device`, or None."""
    return next(verdicts(node, device), None)


def verdicts(node: Node, device: Any) -> Iterator[Verdict]:
    """Every rule that `node` breaks on `device`."""
    for rule in _rules_of(type(node)):
        text = rule.check(node, device)
        if text is not None:
            yield Verdict(rule, text)


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
            broken=tuple(each.rule.name for each in verdicts(node, device)),
        )


def require_set(
    call: str, obj: Any, bound: BoundGroup | None, at: int, device: Any, node: int, place: Callable[[], Place]
) -> None:
    """Raises ValidationError if a pass may not be given a pipeline, or a bind group (at index ``at``).

    What a pass is given must be right even if no dispatch uses it. ``node`` would be the next one. ``place`` is asked
    only for an error: finding it costs more than the rules.
    """
    text, name = None, "same_device"
    if obj._device is not device:
        text = _foreign(obj)
    elif bound is not None:
        text, name = _offsets_of(at, bound, device.limits), "dynamic_offsets"
    if text is not None:
        anchor = _ANCHORS[name]
        raise ValidationError(
            f"node {node} {call}: {text} at {place()} (rule {name}, {SPEC}{anchor})",
            rule=name,
            anchor=anchor,
            node=node,
        )


def refusal(name: str, text: str, place: Place) -> ValidationError:
    """The error for a call that breaks a rule of `ELSEWHERE` before any node comes of it."""
    anchor = _ANCHORS[name]
    return ValidationError(f"{text}; at {place} (rule {name}, {SPEC}{anchor})", rule=name, anchor=anchor)


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
    """Everything that a command names belongs to the device of the encoder."""
    for obj in _objects(node):
        if obj._device is not device:
            return _foreign(obj)
    return None


def _foreign(obj: Any) -> str:
    return f"{describe(obj)} belongs to another device than the graph; use objects of one device"


def _objects(node: Any) -> Iterator[Any]:
    if isinstance(node, _DISPATCHES):
        yield node.pipeline.pipeline
        yield from (g.record.group for g in node.groups if g is not None)
    yield from (getattr(node, name) for name in node.holds)


# -- dispatches
# ---------------------------------------------------------------------------------------------------------


@_rule(Dispatch, anchor="#dom-gpucomputepassencoder-dispatchworkgroups", watched="set_workgroups")
def _workgroup_counts(node: Dispatch, device: Any) -> str | None:
    """No dimension has more workgroups than maxComputeWorkgroupsPerDimension."""
    limit = device.limits["max-compute-workgroups-per-dimension"]
    for axis, count in zip("xyz", node.workgroups, strict=True):
        if count > limit:
            return (
                f"{count} workgroups in {axis} are more than maxComputeWorkgroupsPerDimension ({limit}) of this "
                "device; spread them over two dimensions"
            )
    return None


@_rule(*_DISPATCHES, anchor="#abstract-opdef-validate-encoder-bind-groups")
def _bind_groups_set(node: Any, device: Any) -> str | None:
    """Every group index that the pipeline's layout uses has a bind group."""
    del device
    for index, layout in enumerate(node.pipeline.group_layouts or ()):
        if layout is not None and (index >= len(node.groups) or node.groups[index] is None):
            return f"{describe(node.pipeline.pipeline)} needs a bind group at index {index} and none is set"
    return None


@_rule(*_DISPATCHES, anchor="#abstract-opdef-validate-encoder-bind-groups", watched="rebind")
def _bind_groups_compatible(node: Any, device: Any) -> str | None:
    """Each bind group's layout is equivalent to the pipeline's at that index."""
    del device
    for index, (layout, bound) in enumerate(zip(node.pipeline.group_layouts or (), node.groups, strict=False)):
        if layout is None or bound is None or layout.equivalent(bound.record.layout):
            continue
        group, pipeline = describe(bound.record.group), describe(node.pipeline.pipeline)
        if bound.record.layout.exclusive is not layout.exclusive:
            return (
                f"{group} at index {index} was made for another layout than the one of {pipeline}; with "
                "layout='auto' a bind group fits only the pipeline whose get_bind_group_layout() it was made with"
            )
        return f"{group} at index {index} has other entries than {pipeline} expects there"
    return None


@_rule(*_DISPATCHES, anchor="#dom-gpubindingcommandsmixin-setbindgroup", watched="rebind")
def _dynamic_offsets(node: Any, device: Any) -> str | None:
    """One offset for each dynamic binding, aligned, and the range behind it within the buffer."""
    for index, bound in enumerate(node.groups):
        text = None if bound is None else _offsets_of(index, bound, device.limits)
        if text is not None:
            return text
    return None


def _offsets_of(index: int, bound: BoundGroup, limits: Any) -> str | None:
    if bound.record.layout.entries is None or not (bound.offsets or bound.record.layout.dynamic):
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


@_rule(*_DISPATCHES, anchor="#minimum-buffer-binding-size", watched="rebind")
def _binding_sizes(node: Any, device: Any) -> str | None:
    """A buffer bound where the layout's minBindingSize is 0 holds what the shader's variable needs at least."""
    del device
    if node.pipeline.layout is None:
        return None  # a layout made by "auto" holds the sizes, and create_bind_group looked at them
    for index, bound in enumerate(node.needed_groups()):
        if bound is None or bound.record.layout.entries is None:
            continue
        for binding in bound.record.bindings:
            entry = bound.record.layout.entries.get(binding.binding)
            needed = node.pipeline.needed_size(index, binding.binding)
            if entry is not None and entry.min_size == 0 and needed is not None and binding.size < needed:
                return (
                    f"@group({index}) @binding({binding.binding}) binds {binding.size} bytes of "
                    f"{describe(binding.resource)}, but the shader needs at least {needed}; bind a larger range"
                )
    return None


@_rule(*_DISPATCHES, anchor="#programming-model-synchronization", watched="rebind")
def _usage_scope(node: Any, device: Any) -> str | None:
    """A buffer that one dispatch may write is not read in another way by the same dispatch."""
    del device
    for resource, uses in _shared_buffers(node):
        writing = [name for name, _, writes in uses if writes]
        reading = [name for name, _, writes in uses if writes is False]
        if writing and reading:
            return (
                f"{describe(resource)} is read at {' and '.join(reading)} and may be written at "
                f"{' and '.join(writing)} of the same dispatch; bind it in one way only, or copy it first"
            )
    return None


@_rule(*_DISPATCHES, anchor="#abstract-opdef-encoder-bind-groups-alias-a-writable-resource", watched="rebind")
def _writable_aliasing(node: Any, device: Any) -> str | None:
    """Two writable bindings of one dispatch do not overlap."""
    del device
    for resource, uses in _shared_buffers(node):
        written = [(name, span) for name, span, writes in uses if writes]
        for position, (name, (start, end)) in enumerate(written):
            for other, (start2, end2) in written[position + 1 :]:
                if start < end2 and start2 < end:
                    return (
                        f"{name} ({start}..{end}) and {other} ({start2}..{end2}) overlap in {describe(resource)} "
                        "and both may write; bind ranges that do not overlap"
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
    """Immediates lie within maxImmediateSize."""
    limit = device.limits.get("max-immediate-size", 0)
    for offset, data in node.immediates:
        if offset + len(data) > limit:
            return (
                f"immediates {offset}..{offset + len(data)} reach past maxImmediateSize ({limit}); request the feature "
                "'immediates' and a larger limit with the device"
            )
    return None


@_rule(*_DISPATCHES, anchor="#abstract-opdef-validate-immediate-data")
def _immediates_set(node: Any, device: Any) -> str | None:
    """Every word of immediates that the pipeline reads was set in the same pass."""
    del device
    needed = node.pipeline.immediate_words
    if not needed:
        return None  # none, or not known: then the implementation answers
    missing = sorted(w for w in needed if not any(start <= w < start + len(d) for start, d in node.immediates))
    if missing:
        return (
            f"{describe(node.pipeline.pipeline)} reads the immediates at byte {missing[0]} ({len(needed)} words in "
            f"all, {len(missing)} not set); set_immediates() in this pass first"
        )
    return None


@_rule(DispatchIndirect, anchor="#dom-gpucomputepassencoder-dispatchworkgroupsindirect", watched="rebind")
def _indirect_arguments(node: DispatchIndirect, device: Any) -> str | None:
    """Indirect arguments: usage INDIRECT, an offset that is a multiple of 4, 12 bytes within the buffer."""
    del device
    return _usage(node.buffer, "INDIRECT") or _range(node.buffer, node.offset, 12, "the indirect arguments")


# -- copies, clears, writes
# ---------------------------------------------------------------------------------------------


@_rule(CopyBuffer, anchor="#dom-gpucommandencoder-copybuffertobuffer", watched="rebind")
def _copy(node: CopyBuffer, device: Any) -> str | None:
    """Copies: COPY_SRC and COPY_DST, two different buffers, multiples of 4, both ranges within their buffers."""
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
    """Clears: COPY_DST, multiples of 4, the range within the buffer."""
    del device
    return _usage(node.buffer, "COPY_DST") or _range(node.buffer, node.offset, node.size, "the cleared range")


@_rule(WriteBuffer, anchor="#dom-gpuqueue-writebuffer", watched="rebind, set_data")
def _write(node: WriteBuffer, device: Any) -> str | None:
    """Writes: COPY_DST, multiples of 4, the range within the buffer."""
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


# -- what no node shows
# ---------------------------------------------------------------------------------------------------------

_RECORDER = "cmdgraph.recording.recorder"
_CALL, _MADE, _DRY, _SUBMIT = "at the call", "when the object is made", "at the end of the capture", "at each replay"

ELSEWHERE: tuple[Elsewhere, ...] = (
    Elsewhere(
        "bind_group_index",
        "#dom-gpubindingcommandsmixin-setbindgroup",
        "set_bind_group names an index below maxBindGroups.",
        _CALL,
        f"{_RECORDER}.PassRecorder.set_bind_group",
    ),
    Elsewhere(
        "immediates_alignment",
        "#dom-gpubindingcommandsmixin-setimmediates",
        "set_immediates takes multiples of 4 bytes at multiples of 4.",
        _CALL,
        f"{_RECORDER}.PassRecorder.set_immediates",
    ),
    Elsewhere(
        "pipeline_set",
        "#dom-gpucomputepassencoder-dispatchworkgroups",
        "A pass has a pipeline when it dispatches.",
        _CALL,
        f"{_RECORDER}.PassRecorder.dispatch",
    ),
    Elsewhere(
        "workgroup_counts_u32",
        "#dom-gpucomputepassencoder-dispatchworkgroups",
        "Workgroup counts are u32.",
        _CALL,
        f"{_RECORDER}.PassRecorder.dispatch",
    ),
    Elsewhere(
        "written_data",
        "#dom-gpuqueue-writebuffer",
        "write_buffer takes contiguous data, of which the range asked for is a part.",
        _CALL,
        f"{_RECORDER}.written_bytes",
    ),
    Elsewhere(
        "debug_groups",
        "#debug-markers",
        "Debug groups are closed where they were opened, each once.",
        _CALL,
        f"{_RECORDER}.EncoderRecorder.pop_group",
    ),
    Elsewhere(
        "encoder_state",
        "#encoder-state",
        "Encoders and passes are used while they are open; one pass at a time.",
        _CALL,
        f"{_RECORDER}.EncoderRecorder.finish",
    ),
    Elsewhere(
        "timestamp_writes",
        "#timestamp",
        "Timestamps of a pass cannot be recorded; the call is refused.",
        _CALL,
        f"{_RECORDER}.EncoderRecorder.begin_pass",
    ),
    Elsewhere(
        "query_sets",
        "#dom-gpucommandencoder-resolvequeryset",
        "Query sets cannot be recorded; the call is refused.",
        _CALL,
        f"{_RECORDER}.EncoderRecorder.unsupported",
    ),
    Elsewhere(
        "bind_group_creation",
        "#bind-group-creation",
        "Bindings match the layout: usage, alignment, size, minBindingSize, limits.",
        _MADE,
        "GPUDevice.create_bind_group",
        "rebind",
    ),
    Elsewhere(
        "compute_pipeline_creation",
        "#compute-pipeline-creation",
        "Entry point, workgroup size and storage, and the layout fit the shader.",
        _MADE,
        "GPUDevice.create_compute_pipeline",
    ),
    Elsewhere(
        "texture_usage_scope",
        "#programming-model-synchronization",
        "A texture that a dispatch may write is not read by it in another way.",
        _DRY,
        "cmdgraph.replay.dry_run.prove",
        "rebind",
    ),
    Elsewhere(
        "unknown_layouts",
        "#abstract-opdef-validate-encoder-bind-groups",
        "Whatever WGSL text did not tell (overrides, SPIR-V): the implementation's own verdict.",
        _DRY,
        "cmdgraph.replay.dry_run.prove",
        "rebind",
    ),
    Elsewhere(
        "command_buffers_once",
        "#dom-gpuqueue-submit",
        "A command buffer is submitted once, on the queue of its device.",
        _CALL,
        "cmdgraph.capture.Capture.submit",
    ),
    Elsewhere(
        "buffers_not_destroyed",
        "#dom-gpuqueue-submit",
        "Nothing that the graph uses, or has bound, is destroyed.",
        _SUBMIT,
        "cmdgraph.liveness.Watch.check",
        "destroy, rebind",
    ),
    Elsewhere(
        "buffers_not_mapped",
        "#dom-gpuqueue-submit",
        "No buffer that the graph uses is mapped, or about to be.",
        _SUBMIT,
        "cmdgraph.liveness.Watch.check",
        "map_async, unmap, rebind",
    ),
    Elsewhere(
        "device_not_lost",
        "#lose-the-device",
        "The device is neither destroyed nor lost.",
        _SUBMIT,
        "cmdgraph.liveness.DeviceState.lose",
        "device.destroy, device loss",
    ),
    Elsewhere(
        "indirect_values",
        "#dom-gpucomputepassencoder-dispatchworkgroupsindirect",
        "Counts over the limit make an indirect dispatch do nothing: the implementation sees to it on the GPU.",
        "on the GPU",
        "GPUComputePassEncoder.dispatch_workgroups_indirect",
    ),
)
_ANCHORS = {r.name: r.anchor for r in RULES} | {e.name: e.anchor for e in ELSEWHERE}
