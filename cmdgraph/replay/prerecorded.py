"""Strategy "prerecorded": command buffers for the next replays are encoded ahead, on a worker thread.

A replay then submits what is finished already. It is legal WebGPU: each command buffer is still used once. The ring of
finished ones is small and starts only after a few unchanged replays, because wgpu-native never frees a finished
command buffer that is
not submitted: what a change of the graph, or its release, makes useless is lost, and counted. Each loss doubles the
number of unchanged replays that the ring waits for. Nobody waits for the ring: when it is empty a replay is encoded on
the spot.

Whether an entry may be submitted is decided at the submit, under the device's lock: the graph passes the test that
every replay passes, and the entry was made from the commands as they are now.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from attrs import define, field, frozen

from cmdgraph.program import Program
from cmdgraph.replay.base import OneSubmit
from cmdgraph.replay.packed import Packed
from cmdgraph.replay.walker import Walker, make
from cmdgraph.replay.worker import worker_of

__all__ = ["PATIENCE", "Prerecorded"]

PATIENCE = 3
"""Unchanged replays before the ring starts, at first."""
_MOST_PATIENCE = 1 << 16


@frozen
class _Entry:
    """A finished command buffer, and the commands it was made from."""

    buffer: int
    packed: Packed
    generation: int

    def fits(self, packed: Packed) -> bool:
        return self.packed is packed and self.generation == packed.generation


@define(eq=False, slots=False)
class Prerecorded(OneSubmit):
    _ring: deque[_Entry] = field(factory=deque, init=False)
    _unchanged: int = field(default=0, init=False)
    _patience: int = field(default=PATIENCE, init=False)
    _closed: bool = field(default=False, init=False)
    _encoder: Walker | None = field(default=None, init=False)
    _has_worker: bool = field(default=False, init=False)

    name = "prerecorded"

    def prepare(self, program: Program, packed: Packed | None = None) -> None:
        super().prepare(program, packed)
        session = self.session
        self._encoder = make(session.walker.name, session.backend, session.device)
        self._has_worker = session.backend.encodes_on_threads(session.device)

    def take(self, times: int) -> list[int]:
        buffers: list[int] = []
        while self._ring and len(buffers) < times:
            entry = self._ring.popleft()
            if entry.fits(self.whole):
                buffers.append(entry.buffer)
            else:
                self._lose(entry)
        self.session.counters.ahead += len(buffers)
        return buffers

    def submitted(self, times: int) -> None:
        self._unchanged += times
        if self._wants_more():
            if self._has_worker:
                worker_of(self.session.state).request(self)
            else:
                self.fill()

    def wait(self, ticket: Any) -> None:
        session = self.session
        if self._has_worker and self._unchanged >= self._patience:
            worker_of(session.state).run(self._timed(lambda: session.backend.wait(session.device, ticket)))
        else:
            super().wait(ticket)

    def fill(self) -> None:
        """Encodes ahead until the ring is full. Runs on the worker's thread where the implementation allows it."""
        self._timed(self._fill)()

    def fill_now(self) -> None:
        """Blocks until the ring is full, also before it would have started by itself."""
        self._unchanged = max(self._unchanged, self._patience)
        if self._has_worker:
            worker_of(self.session.state).run(self.fill)
        else:
            self.fill()

    @property
    def ready(self) -> int:
        """Finished command buffers in the ring."""
        return len(self._ring)

    def _fill(self) -> None:
        while self._wants_more():
            entry = self._encode()
            if entry is None:
                return  # the next replay encodes on its own thread and meets the error there
            self._ring.append(entry)
        if self._closed:
            self._drain()
        self.session.backend.tend(self.session.device)

    def _timed(self, job: Callable[[], None]) -> Callable[[], None]:
        """`job`, with the CPU time of the thread that runs it on the worker's account."""
        counters = self.session.counters

        def timed() -> None:
            start = time.thread_time()
            job()
            counters.worker_cpu_s += time.thread_time() - start

        return timed

    def discard(self) -> None:
        """The commands have changed: what was encoded ahead is useless."""
        if self._drain():
            self._patience = min(2 * self._patience, _MOST_PATIENCE)
        self._unchanged = 0

    def close(self) -> None:
        self._closed = True
        self._drain()

    def _wants_more(self) -> bool:
        return (
            not self._closed
            and self._unchanged >= self._patience
            and len(self._ring) < self.session.settings.encode_ahead
            and self.session.watch.broken is None
        )

    def _encode(self) -> _Entry | None:
        session, packed = self.session, self.whole
        generation = packed.generation
        assert self._encoder is not None
        with session.backend.error_scope() as scope:
            buffer = self._encoder.encode(packed, scope)
        return _Entry(buffer, packed, generation) if buffer else None

    def _drain(self) -> int:
        """Gives up all entries; how many."""
        count = 0
        while self._ring:
            try:
                self._lose(self._ring.popleft())
            except IndexError:
                break  # the worker, or a replay, was quicker
            count += 1
        return count

    def _lose(self, entry: _Entry) -> None:
        session = self.session
        session.walker.drop(entry.buffer)
        session.counters.abandoned += 1
        session.counters.abandoned_bytes += session.backend.lost_bytes(len(entry.packed.dispatch_of))
