"""Turns the calls on one command encoder into nodes.

A recorder follows the encoder's state machine (https://www.w3.org/TR/webgpu/#encoder-state) and checks each command
when it is made, so that an error appears at the line that caused it. It makes no native call. After an error the
encoder is broken, as
in WebGPU: it cannot be submitted, and nodes submitted before are not touched.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import define, field

from cmdgraph import validation
from cmdgraph.errors import CaptureError, UnknownObjectError, ValidationError
from cmdgraph.objects import PipelineRecord, describe
from cmdgraph.program import (
    BoundGroup,
    ClearBuffer,
    CopyBuffer,
    Dispatch,
    DispatchIndirect,
    Node,
    Place,
)
from cmdgraph.recording.debug import DebugNames
from cmdgraph.tracking import record_of

__all__ = ["EncoderRecorder", "PassRecorder", "caller", "written_bytes"]

_PACKAGES = ("cmdgraph.", "wgpu.", "wgpudawn.")
_U32 = 1 << 32


def caller(groups: tuple[str, ...] = (), label: str = "") -> Place:
    """Where the user's code made the call that is being recorded."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(_PACKAGES):
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno, groups, label)


@define(eq=False)
class EncoderRecorder:
    """The commands of one encoder so far.

    ``device`` is the encoder's; ``before`` are the capture's nodes so far: the first node of this encoder would come
    next if it were submitted now. ``state`` is "open", "in a pass", "finished", "submitted" or "broken".
    """

    device: Any
    label: str
    begun: Place
    before: list[Node]
    nodes: list[Node] = field(factory=list, init=False)
    state: str = field(default="open", init=False)
    names: DebugNames = field(factory=DebugNames, init=False)

    def begin_pass(self, label: str = "", timestamp_writes: Any = None) -> PassRecorder:
        self._expect_open("begin_compute_pass")
        if timestamp_writes is not None:
            raise self.broken(
                CaptureError(
                    "timestamp_writes of a compute pass cannot be recorded; measure around replay(), or capture without"
                )
            )
        self.state = "in a pass"
        return PassRecorder(self, self.names.of_pass(label))

    def copy(
        self, source: Any, source_offset: int, destination: Any, destination_offset: int, size: int | None
    ) -> None:
        self._expect_open("copy_buffer_to_buffer")
        start, target = operator.index(source_offset), operator.index(destination_offset)
        self.add(
            CopyBuffer(
                place=self._place(),
                source=source,
                source_offset=start,
                destination=destination,
                destination_offset=target,
                size=source.size - start if size is None else operator.index(size),
            )
        )

    def clear(self, buffer: Any, offset: int, size: int | None) -> None:
        self._expect_open("clear_buffer")
        start = operator.index(offset)
        length = buffer.size - start if size is None else operator.index(size)
        self.add(ClearBuffer(place=self._place(), buffer=buffer, offset=start, size=length))

    def finish(self) -> None:
        self._expect_open("finish")
        if error := self.names.unbalanced("finish", caller):
            raise self.broken(error)
        self.state = "finished"

    def push_group(self, label: str) -> None:
        self._expect_open("push_debug_group")
        self.names.push(label)

    def pop_group(self) -> None:
        self._expect_open("pop_debug_group")
        try:
            self.names.pop("before it", caller)
        except ValidationError as error:
            raise self.broken(error) from None

    def mark(self, label: str) -> None:
        self._expect_open("insert_debug_marker")
        self.names.mark(label)

    def unsupported(self, call: str) -> None:
        """A command that no node stands for."""
        raise self.broken(
            CaptureError(
                f"{call}() cannot be recorded: a graph holds dispatches, buffer copies, clears and writes. "
                "Call it outside the capture"
            )
        )

    def add(self, node: Node) -> None:
        """Checks and keeps a node.

        Raises:
            ValidationError: it breaks a rule; the encoder is broken from now on.
        """
        try:
            validation.require(node, self.device, self.next)
        except ValidationError:
            self.state = "broken"
            raise
        self.nodes.append(node)

    @property
    def next(self) -> int:
        """The index of the next node."""
        return len(self.before) + len(self.nodes)

    def broken(self, error: Exception) -> Exception:
        self.state = "broken"
        return error

    def _place(self) -> Place:
        return caller(self.names.groups, self.names.take_marker())

    def _expect_open(self, call: str) -> None:
        if self.state != "open":
            state, self.state = self.state, "broken"
            name = f'command encoder "{self.label}"' if self.label else "the command encoder"
            raise CaptureError(f"{call}() on {name} made at {self.begun}: it is {state}")


@define(eq=False)
class PassRecorder:
    """The state of one compute pass: pipeline, bind groups, immediates."""

    encoder: EncoderRecorder
    names: DebugNames
    pipeline: PipelineRecord | None = field(default=None, init=False)
    bound: list[BoundGroup | None] = field(factory=list, init=False)
    ended: bool = field(default=False, init=False)
    _slots: dict[int, bytes] = field(factory=dict, init=False)
    _immediates: tuple[tuple[int, bytes], ...] = field(default=(), init=False)

    def set_pipeline(self, pipeline: Any) -> None:
        self._expect_open("set_pipeline")
        record = self._record(pipeline)
        self._require_set("set_pipeline", pipeline)
        self.pipeline = record

    def set_bind_group(self, index: int, group: Any, offsets: Sequence[int]) -> None:
        self._expect_open("set_bind_group")
        limit = self.encoder.device.limits["max-bind-groups"]
        if not 0 <= operator.index(index) < limit:
            raise self.encoder.broken(
                validation.refusal(
                    "bind_group_index",
                    f"set_bind_group() at index {index}: this device has {limit} bind groups (maxBindGroups), from "
                    "index 0",
                    caller(),
                )
            )
        bound = None
        if group is not None:
            bound = BoundGroup(self._record(group), tuple(map(operator.index, offsets)))
            self._require_set("set_bind_group", group, bound, index)
        while len(self.bound) <= index:
            self.bound.append(None)
        self.bound[index] = bound

    def set_immediates(self, offset: int, data: bytes) -> None:
        self._expect_open("set_immediates")
        if offset % 4 or len(data) % 4 or offset < 0:
            raise self.encoder.broken(
                validation.refusal(
                    "immediates_alignment",
                    f"set_immediates(): {len(data)} bytes at {offset} are not a multiple of 4",
                    caller(),
                )
            )
        for start in range(0, len(data), 4):
            self._slots[offset + start] = data[start : start + 4]
        self._immediates = _runs(self._slots)

    def dispatch(self, x: int, y: int, z: int) -> None:
        counts = (operator.index(x), operator.index(y), operator.index(z))
        if min(counts) < 0 or max(counts) >= _U32:
            text = f"dispatch_workgroups{counts}: counts are u32, 0 to 2^32 - 1"
            raise self.encoder.broken(validation.refusal("workgroup_counts_u32", text, caller()))
        pipeline = self._ready("dispatch_workgroups")
        self.encoder.add(
            Dispatch(
                place=self._place(),
                pipeline=pipeline,
                groups=tuple(self.bound),
                immediates=self._immediates,
                workgroups=counts,
            )
        )

    def dispatch_indirect(self, buffer: Any, offset: int) -> None:
        pipeline = self._ready("dispatch_workgroups_indirect")
        self.encoder.add(
            DispatchIndirect(
                place=self._place(),
                pipeline=pipeline,
                groups=tuple(self.bound),
                immediates=self._immediates,
                buffer=buffer,
                offset=operator.index(offset),
            )
        )

    def end(self) -> None:
        self._expect_open("end")
        if error := self.names.unbalanced("end", caller):
            raise self.encoder.broken(error)
        self.ended = True
        self.encoder.state = "open"

    def push_group(self, label: str) -> None:
        self._expect_open("push_debug_group")
        self.names.push(label)

    def pop_group(self) -> None:
        self._expect_open("pop_debug_group")
        try:
            self.names.pop("in this pass", caller)
        except ValidationError as error:
            raise self.encoder.broken(error) from None

    def mark(self, label: str) -> None:
        self._expect_open("insert_debug_marker")
        self.names.mark(label)

    def _require_set(self, call: str, obj: Any, bound: BoundGroup | None = None, at: int = 0) -> None:
        encoder = self.encoder
        try:
            validation.require_set(call, obj, bound, at, encoder.device, encoder.next, caller)
        except ValidationError as error:
            raise encoder.broken(error) from None

    def _place(self) -> Place:
        return caller(self.names.groups, self.names.take_marker())

    def _record(self, obj: Any) -> Any:
        try:
            return record_of(obj)
        except UnknownObjectError as error:
            raise self.encoder.broken(error) from None

    def _ready(self, call: str) -> PipelineRecord:
        self._expect_open(call)
        if self.pipeline is None:
            raise self.encoder.broken(
                validation.refusal("pipeline_set", f"{call}() without a pipeline; call set_pipeline() first", caller())
            )
        return self.pipeline

    def _expect_open(self, call: str) -> None:
        if self.ended or self.encoder.state != "in a pass":
            state = "ended" if self.ended else f"part of an encoder that is {self.encoder.state}"
            raise self.encoder.broken(CaptureError(f"{call}() on a compute pass that is {state}"))


def written_bytes(buffer: Any, offset: int, data: Any, data_offset: int, size: int | None) -> tuple[bytes, int]:
    """The bytes that ``queue.write_buffer`` would write, copied now, and the address they came from.

    Raises:
        ValidationError: the data is not contiguous, or the range lies outside of it.
    """
    view = memoryview(data)
    if not view.contiguous:
        text = f"write_buffer() to {describe(buffer)}: the data is not contiguous; pass a contiguous copy of it"
        raise validation.refusal("written_data", text, caller())
    length = view.nbytes - data_offset if not size else operator.index(size)
    if not (0 <= data_offset < view.nbytes and 0 <= length <= view.nbytes - data_offset):
        raise validation.refusal(
            "written_data",
            f"write_buffer() to {describe(buffer)} at {offset}: {length} bytes from {data_offset} are not within the "
            f"{view.nbytes} bytes of the data",
            caller(),
        )
    part = view.cast("B")[data_offset : data_offset + length]
    return bytes(part), np.frombuffer(part, np.uint8).__array_interface__["data"][0]


def _runs(slots: dict[int, bytes]) -> tuple[tuple[int, bytes], ...]:
    """The written immediates as contiguous ranges."""
    runs: list[tuple[int, bytes]] = []
    for offset in sorted(slots):
        if runs and runs[-1][0] + len(runs[-1][1]) == offset:
            runs[-1] = (runs[-1][0], runs[-1][1] + slots[offset])
        else:
            runs.append((offset, slots[offset]))
    return tuple(runs)
