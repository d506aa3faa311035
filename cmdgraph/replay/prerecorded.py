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

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from attrs import define, field, frozen

from cmdgraph.program import Program
from cmdgraph.replay.base import OneSubmit
from cmdgraph.replay.packed import Packed
from cmdgraph.replay.walker import Walker, make
from cmdgraph.replay.worker import workers_of

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
    _encoding: int = field(default=0, init=False)
    _changed: threading.Condition = field(factory=threading.Condition, init=False)
    _unchanged: int = field(default=0, init=False)
    _patience: int = field(default=PATIENCE, init=False)
    _stopped: bool = field(default=False, init=False)
    _encoder: Walker | None = field(default=None, init=False)
    _threaded: bool = field(default=False, init=False)

    name = "prerecorded"

    def prepare(self, program: Program, packed: Packed | None = None) -> None:
        super().prepare(program, packed)
        session = self.session
        self._encoder = make(session.walker.name, session.backend, session.device)
        self._threaded = session.backend.encodes_on_threads(session.device)
        self._stopped = False

    @property
    def ready(self) -> int:
        return len(self._ring)

    def take(self, times: int) -> list[int]:
        buffers: list[int] = []
        while len(buffers) < times and (entry := self._next()) is not None:
            if entry.fits(self.whole):
                buffers.append(entry.buffer)
            else:
                self._lose(entry)
        self.session.counters.ahead += len(buffers)
        return buffers

    def submitted(self, times: int) -> None:
        self._unchanged += times
        self._refill()

    def wait(self, ticket: Any) -> None:
        session = self.session
        if self._threaded and self._unchanged >= self._patience:
            workers_of(session.state).run(lambda: self._account(session.wait, ticket))
        else:
            super().wait(ticket)

    def fill_now(self) -> None:
        self._unchanged = max(self._unchanged, self._patience)
        self._refill()
        with self._changed:
            self._changed.wait_for(lambda: self._encoding == 0 and not self._missing())

    def fill_one(self) -> None:
        """Encodes one replay ahead if the ring has room. Runs on a worker's thread where that is allowed."""
        with self._changed:
            if not self._missing():
                return
            self._encoding += 1
        entry = None
        try:
            entry = self._account(self._encode)
        finally:
            with self._changed:
                self._encoding -= 1
                if entry is None:
                    self._stopped = True  # the next replay encodes on its own thread and meets the error there
                else:
                    self._ring.append(entry)
                if self._stopped:
                    self._drain()
                self._changed.notify_all()

    def discard(self) -> None:
        """The commands have changed: what was encoded ahead is useless."""
        if self._drain():
            self._patience = min(2 * self._patience, _MOST_PATIENCE)
        self._unchanged = 0

    def close(self) -> None:
        with self._changed:
            self._stopped = True
            self._drain()
            self._changed.notify_all()

    def _missing(self) -> int:
        """How many entries should be encoded now."""
        if self._stopped or self._unchanged < self._patience or self.session.watch.broken is not None:
            return 0
        return max(0, self.session.settings.encode_ahead - len(self._ring) - self._encoding)

    def _refill(self) -> None:
        missing = self._missing()
        if missing and self._threaded:
            workers_of(self.session.state).request(self, missing)
        else:
            for _ in range(missing):
                self.fill_one()

    def _encode(self) -> _Entry | None:
        session, packed = self.session, self.whole
        generation = packed.generation
        assert self._encoder is not None
        with session.backend.error_scope() as scope:
            buffer = self._encoder.encode(packed, scope)
        session.backend.tend(session.device)
        return _Entry(buffer, packed, generation) if buffer else None

    def _account(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Does `work`, with the CPU time of this thread on the workers' account."""
        start = time.thread_time()
        try:
            return work(*arguments)
        finally:
            with self._changed:
                self.session.counters.worker_cpu_s += time.thread_time() - start

    def _next(self) -> _Entry | None:
        try:
            return self._ring.popleft()
        except IndexError:
            return None

    def _drain(self) -> int:
        """Gives up all entries; how many."""
        count = 0
        while (entry := self._next()) is not None:
            self._lose(entry)
            count += 1
        return count

    def _lose(self, entry: _Entry) -> None:
        session = self.session
        session.walker.drop(entry.buffer)
        session.counters.abandoned += 1
        session.counters.abandoned_bytes += session.backend.lost_bytes(len(entry.packed.dispatch_of))
