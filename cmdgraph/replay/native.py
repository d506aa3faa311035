"""Strategy "native": what the implementation recorded once is submitted again, below WebGPU.

The first replay is encoded as "single-pass" does it, while the native layer takes notes; later ones are one
vkQueueSubmit each. Notes that hold more than the program's own commands (the zeros that a first use of a buffer brings,
writes of another thread) are thrown away, and the next replay is noted again. What cannot be replayed at all goes on
being encoded, with a warning and the reason in the graph's statistics.
"""

from __future__ import annotations

import warnings
from typing import Any

from attrs import define, field

from cmdgraph import native
from cmdgraph.program import Program
from cmdgraph.replay.barriers import matched, needed
from cmdgraph.replay.base import OneSubmit, run
from cmdgraph.replay.packed import Op, Packed

__all__ = ["ATTEMPTS", "Native", "NativeFallbackWarning"]

ATTEMPTS = 8
"""Replays that are noted in vain before a graph is given up."""


class NativeFallbackWarning(UserWarning):
    """A graph with strategy "native" is encoded for each replay; the message says why."""


@define(eq=False, slots=False)
class Native(OneSubmit):
    _device: native.NativeDevice = field(init=False)
    _program: Program | None = field(default=None, init=False)
    _graph: native.NativeGraph | None = field(default=None, init=False)
    _attempts: int = field(default=0, init=False)
    _refused: str | None = field(default=None, init=False)

    name = "native"

    def __attrs_post_init__(self) -> None:
        self._device = native.device_of(self.session.device)

    def prepare(self, program: Program, packed: Packed | None = None) -> None:
        self._program = program
        super().prepare(program, packed)
        self._refused = None
        if not self.session.backend.repeats_indirect and self.whole.count(Op.INDIRECT):
            self._give_up(f"{self.session.backend.name} keeps the arguments of indirect dispatches in passing memory")

    def submit(self, times: int) -> Any:
        session = self.session
        ticket: Any = None
        with session.state.submission():
            self._admit()
            while times:
                if self._graph is not None and (submission := self._device.replay(self._graph, times)) is not None:
                    self._note(submission, times)
                    return submission
                self.discard()
                ticket = session.backend.ticket(session.device.queue, self._encode())
                times -= 1
        return ticket

    def discard(self) -> None:
        graph, self._graph = self._graph, None
        self._attempts = 0
        if graph is not None:
            graph.release()

    def close(self) -> None:
        self.discard()

    @property
    def ready(self) -> int:
        return 0 if self._graph is None else 1

    @property
    def barriers(self) -> int | None:
        return None if self._graph is None else self._graph.barriers

    @property
    def refused(self) -> str | None:
        return self._refused

    @property
    def graph(self) -> native.NativeGraph | None:
        """What is replayed; None before it is recorded."""
        return self._graph

    def _note(self, submission: native.Submission, times: int) -> None:
        self.session.counters.ahead += times
        for buffer in self.session.watch.mappable:
            native.note_use(buffer, submission)

    def _encode(self) -> int:
        """Encodes and submits one replay, and takes notes unless that is known to be in vain."""
        if self._refused is not None:
            return run(self.session, self.whole)
        self._device.flush()
        with self._device.record() as recording:
            submission = run(self.session, self.whole)
        try:
            self._graph = self._built(recording)
        except native.Refused as reason:
            self._attempts += 1
            if reason.for_good or self._attempts >= ATTEMPTS:
                self._give_up(str(reason))
        finally:
            recording.close()
        return submission

    def _built(self, recording: native.Recording) -> native.NativeGraph:
        recording.require()
        assert self._program is not None
        owners = matched(self.whole, recording.actions())
        if owners is None:
            raise native.Refused("the implementation recorded other commands than the graph's", for_good=False)
        return recording.build(needed(self._program, owners) if self.session.settings.elide_barriers else None)

    def _give_up(self, reason: str) -> None:
        self._refused = reason
        warnings.warn(f"a graph is encoded for each replay: {reason}", NativeFallbackWarning, stacklevel=5)
