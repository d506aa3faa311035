"""Runs a graph with a timestamp before and after each node.

A dispatch gets a compute pass of its own, with the timestamps of its beginning and end
(https://www.w3.org/TR/webgpu/#dictdef-gpucomputepasstimestampwrites); copies, clears and writes stand between the end
of an empty pass and the beginning of another. The commands are those of a replay in recorded order, so results are
right, but passes that a replay would merge are apart: what is measured is not quite what runs undisturbed.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from cmdgraph.errors import ProfileError
from cmdgraph.objects import BufferUsage
from cmdgraph.program import ClearBuffer, CopyBuffer, Dispatch, DispatchIndirect, Node, Program, WriteBuffer
from cmdgraph.recording import hooks
from cmdgraph.replay import Session

__all__ = ["FEATURE", "Timer"]

FEATURE = "timestamp-query"
_NODES_PER_SET = 2048
"""A query set has at most 4096 queries (https://www.w3.org/TR/webgpu/#dom-gpudevice-createqueryset)."""


class Timer:
    """What is needed to run `program` with timestamps; `close` gives it back.

    Raises:
        ProfileError: the device was made without the feature timestamp-query.
    """

    def __init__(self, program: Program, session: Session) -> None:
        _require_timestamps(program.device)
        self._program, self._session = program, session
        self._starts = range(0, len(program), _NODES_PER_SET)
        counts = [min(_NODES_PER_SET, len(program) - start) for start in self._starts]
        with hooks.stepping_aside():
            device = program.device
            self._sets = [device.create_query_set(type="timestamp", count=2 * count) for count in counts]
            usage = BufferUsage.QUERY_RESOLVE | BufferUsage.COPY_SRC
            self._results = [device.create_buffer(size=16 * count, usage=usage) for count in counts]

    def run(self) -> tuple[np.ndarray, float]:
        """One replay: an array (nodes, 2) of beginnings and ends in ticks, int64, and its wall time in seconds.

        Raises:
            InvalidatedError: as a replay does; nothing was submitted.
        """
        session, device = self._session, self._program.device
        with hooks.stepping_aside():
            with session.state.submission():
                session.state.refuse_lost(device)
                session.watch.check()
                begun = time.perf_counter()
                device.queue.submit([self._encode(number) for number in range(len(self._sets))])
            with session.state.lock:
                session.state.refuse_lost(device)
                ticks = [np.frombuffer(device.queue.read_buffer(buffer), np.int64) for buffer in self._results]
            wall = time.perf_counter() - begun
        return np.concatenate(ticks).reshape(-1, 2).copy(), wall

    def close(self) -> None:
        for one in (*self._sets, *self._results):
            one.destroy()

    def _encode(self, number: int) -> Any:
        encoder = self._program.device.create_command_encoder(label="cmdgraph profile")
        start, queries = self._starts[number], self._sets[number]
        nodes = self._program.nodes[start : start + _NODES_PER_SET]
        for position, node in enumerate(nodes):
            if isinstance(node, Dispatch | DispatchIndirect):
                _dispatch(encoder, node, _both(queries, position))
            else:
                encoder.begin_compute_pass(timestamp_writes=_before(queries, position)).end()
                self._transfer(encoder, start + position, node)
                encoder.begin_compute_pass(timestamp_writes=_after(queries, position)).end()
        encoder.resolve_query_set(queries, 0, 2 * len(nodes), self._results[number], 0)
        return encoder.finish()

    def _transfer(self, encoder: Any, index: int, node: Node) -> None:
        match node:
            case CopyBuffer(size=size) if size:
                encoder.copy_buffer_to_buffer(
                    node.source, node.source_offset, node.destination, node.destination_offset, size
                )
            case ClearBuffer(size=size) if size:
                encoder.clear_buffer(node.buffer, node.offset, size)
            case WriteBuffer(size=size) if size:
                source, offset = self._session.constants.place(index)
                encoder.copy_buffer_to_buffer(source, offset, node.buffer, node.offset, size)


def _dispatch(encoder: Any, node: Dispatch | DispatchIndirect, timestamps: dict[str, Any]) -> None:
    compute = encoder.begin_compute_pass(timestamp_writes=timestamps)
    compute.set_pipeline(node.pipeline.pipeline)
    for index, bound in enumerate(node.needed_groups()):
        if bound is not None:
            compute.set_bind_group(index, bound.record.group, bound.offsets)
    for offset, data in node.needed_immediates():
        compute.set_immediates(offset, data, 0, len(data))
    if isinstance(node, Dispatch):
        compute.dispatch_workgroups(*node.workgroups)
    else:
        compute.dispatch_workgroups_indirect(node.buffer, node.offset)
    compute.end()


def _both(queries: Any, position: int) -> dict[str, Any]:
    return {
        "query_set": queries,
        "beginning_of_pass_write_index": 2 * position,
        "end_of_pass_write_index": 2 * position + 1,
    }


def _before(queries: Any, position: int) -> dict[str, Any]:
    return {"query_set": queries, "end_of_pass_write_index": 2 * position}


def _after(queries: Any, position: int) -> dict[str, Any]:
    return {"query_set": queries, "beginning_of_pass_write_index": 2 * position + 1}


def _require_timestamps(device: Any) -> None:
    if FEATURE in device.features:
        return
    name = device.adapter.info["device"]
    if FEATURE in device.adapter.features:
        raise ProfileError(
            f"profile() needs the feature {FEATURE}, which this device was made without: "
            f'adapter.request_device_sync(required_features=["{FEATURE}"]) gives one with it'
        )
    raise ProfileError(f"profile() needs the feature {FEATURE}, which the adapter {name} does not have")
