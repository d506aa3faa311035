"""A peer with one chain as something that `cmdgraph.bench.method` can measure.

The samples are timed in the peer's process. Here a clock that only moves by what they say stands for the system's, so
that the method need not know.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from cmdgraph.bench.method import Series, Timers
from cmdgraph.bench.peers.base import Peer, Sample, UnavailableError
from cmdgraph.bench.peers.elementwise import Elementwise
from cmdgraph.bench.peers.process import PeerError, Process

__all__ = ["Clock", "PeerArm", "taken"]

RUNS, LONG_RUN_S = 4, 0.1
"""A sample is so many runs and one wait, the same for all arms; one run where a run takes longer."""
SLOW_RUN_S, FEWEST_SAMPLES = 1.0, 5
"""An arm whose run takes longer sits rounds out, but has at least so many samples."""
RUNS_CHECKED = 2
"""With each input, so that a replay which only works the first time is caught as well."""


@attrs.define
class Clock:
    """Time as the samples of all arms add up to it, in seconds."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    process_s: float = 0.0

    @property
    def timers(self) -> Timers:
        return Timers(wall=lambda: self.wall_s, cpu=lambda: self.cpu_s, process=lambda: self.process_s)

    def advance(self, sample: Sample) -> None:
        self.wall_s += sample.wall_s
        self.cpu_s += sample.cpu_s
        self.process_s += sample.process_s


@attrs.define
class PeerArm:
    """One row. `reason` says why there is none, once it is known; `failed` tells a fault from what is only absent."""

    peer: Peer
    chain: Elementwise
    process: Process
    clock: Clock
    rounds: int
    runs: int = RUNS
    facts: dict[str, Any] = attrs.field(factory=dict)
    worker_s: float = 0.0
    reason: str | None = None
    failed: bool = False
    _every: int = 1
    _turn: int = 0

    @property
    def name(self) -> str:
        return f"{self.peer.name}/{self.chain.dispatches}"

    def prepare(self) -> bool:
        """Makes the chain, checks its result, and finds out how long a run takes; whether all of it went well."""
        try:
            self.facts = self.process.ask("prepare", self.chain.dispatches, self.chain.seed)
        except UnavailableError as error:
            self.reason = str(error)
        except PeerError as error:
            self._fail(str(error))
        self.check()
        self._choose_runs()
        return self.reason is None

    def check(self) -> None:
        """Compares the results for two inputs with numpy's; a wrong one is a failure."""
        for number in (1, 2):
            if self.reason is not None:
                return
            values = self.chain.input(number)
            expected = self.chain.expected(values) if self.peer.dependent else self.chain.expected_apart(values)
            try:
                found = self.process.ask("result", self.chain.dispatches, values, RUNS_CHECKED)
            except PeerError as error:
                self._fail(str(error))
            else:
                self._compare(found, expected, number)

    def run(self) -> float | None:
        """Takes a sample and moves the clock by it; the CPU seconds until the last call returned. None when it sits
        this round out, or has failed.
        """
        self._turn += 1
        if self.reason is not None or (self._turn - 1) % self._every:
            return None
        try:
            sample: Sample = self.process.ask("sample", self.chain.dispatches, self.runs)
        except PeerError as error:
            self._fail(str(error))
            return None
        self.clock.advance(sample)
        self.worker_s += sample.worker_s
        return sample.call_s

    def worker_cpu(self) -> float:
        """CPU seconds that the peer's own threads have spent in all samples so far."""
        return self.worker_s

    def _choose_runs(self) -> None:
        if self.reason is not None:
            return
        try:
            once = self.process.ask("sample", self.chain.dispatches, 1).wall_s
        except PeerError as error:
            self._fail(str(error))
            return
        self.runs = 1 if once > LONG_RUN_S else RUNS
        self._every = max(1, min(math.ceil(once / SLOW_RUN_S), self.rounds // FEWEST_SAMPLES))

    def _compare(self, found: np.ndarray, expected: np.ndarray, number: int) -> None:
        if np.shape(found) != expected.shape:
            self._fail(f"its result for input {number} has the shape {np.shape(found)} instead of {expected.shape}")
            return
        wrong = np.argwhere(found != expected)
        if wrong.size:
            place = tuple(wrong[0])
            self._fail(
                f"{len(wrong)} of {expected.size} values for input {number} differ from numpy, first "
                f"{found[place]:g} instead of {expected[place]:g}"
            )

    def _fail(self, reason: str) -> None:
        self.reason, self.failed = reason, True


def taken(series: Series) -> Series:
    """The samples of the rounds that the arm did not sit out."""
    rounds = [n for n, returned in enumerate(series.returned) if returned is not None]
    return Series(**{name: [values[n] for n in rounds] for name, values in attrs.asdict(series).items() if values})
