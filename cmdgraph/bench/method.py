"""How everything here is measured.

Arms (the things compared) run interleaved: in each round every arm once, in an order shuffled anew, so that
drift of the machine meets all of them alike. Each run gives one sample of wall time and one of the calling
thread's CPU time. Raw samples are kept; medians and percentiles are derived. An arm whose result is wrong or
missing is not timed.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
import numpy as np

__all__ = [
    "DESCRIPTION",
    "SYSTEM_TIMERS",
    "Arm",
    "MeasurementError",
    "Series",
    "Timers",
    "interleave",
    "ratio",
    "resolution",
    "summary",
]

DESCRIPTION = (
    "arms interleaved, in an order shuffled anew each round; wall time by perf_counter, CPU time of the "
    "calling thread by thread_time; cyclic garbage collection before each round, off inside the timed "
    "region; results checked before timing"
)

RESAMPLES = 2000


class MeasurementError(Exception):
    """A result is wrong or missing, so its speed means nothing."""


@attrs.frozen
class Timers:
    """The two clocks, in seconds. Tests put a virtual one in their place."""

    wall: Callable[[], float] = time.perf_counter
    cpu: Callable[[], float] = time.thread_time


SYSTEM_TIMERS = Timers()


@attrs.frozen
class Arm:
    """One of the things compared.

    `run` is what is timed. `check` is called once after the warm-up, outside the timed region, and must
    return true; it may raise MeasurementError to say what is wrong. `worker_cpu` reads the CPU seconds that a
    worker thread has spent for the arm so far.
    """

    run: Callable[[], object]
    check: Callable[[], object] | None = None
    worker_cpu: Callable[[], float] = lambda: 0.0


@attrs.frozen
class Series:
    """The raw samples of one arm in the order in which they were taken, in seconds."""

    wall_s: list[float] = attrs.field(factory=list)
    cpu_s: list[float] = attrs.field(factory=list)
    worker_s: list[float] = attrs.field(factory=list)


def interleave(
    arms: Mapping[str, Arm | Callable[[], object]],
    rounds: int,
    warmup: int,
    *,
    seed: int = 0,
    timers: Timers = SYSTEM_TIMERS,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Series]:
    """Measures every arm `rounds` times after `warmup` untimed runs of each.

    A plain callable is an arm without a check. `progress` is called with the rounds done and their number.

    Raises:
        ValueError: no arm, fewer than 1 round, or no warm-up.
        MeasurementError: the check of an arm failed; nothing was timed.
    """
    if not arms or rounds < 1 or warmup < 1:
        raise ValueError(
            f"needs an arm, a round and a warm-up; got {len(arms)} arms, {rounds} rounds, {warmup} warm-ups"
        )
    named = {name: arm if isinstance(arm, Arm) else Arm(arm) for name, arm in arms.items()}
    for name, arm in named.items():
        for _ in range(warmup):
            arm.run()
        _check(name, arm)

    series = {name: Series() for name in named}
    order = list(named)
    shuffle = random.Random(seed).shuffle
    for done in range(rounds):
        shuffle(order)
        with _collector_off():
            for name in order:
                _sample(named[name], series[name], timers)
        if progress is not None:
            progress(done + 1, rounds)
    return series


def summary(values: Sequence[float]) -> dict[str, Any]:
    """Median, 10th and 90th percentile and the raw samples, in the unit of the values.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("no samples to summarise")
    p10, median, p90 = np.percentile(values, [10, 50, 90])
    return {
        "median": float(median),
        "p10": float(p10),
        "p90": float(p90),
        "samples": [float(v) for v in values],
    }


def ratio(over: Sequence[float], under: Sequence[float], *, seed: int = 0) -> dict[str, float]:
    """The ratio of two medians with its 95 % confidence interval, by bootstrap over rounds.

    Both series come from the same rounds: a resample takes the same rounds of both, so drift that met both
    cancels.

    Raises:
        ValueError: the series are empty or of different lengths.
    """
    if not over or len(over) != len(under):
        raise ValueError(f"needs two series of the same rounds; got {len(over)} and {len(under)} samples")
    pairs = np.array([over, under])
    picks = np.random.default_rng(seed).integers(0, len(over), (RESAMPLES, len(over)))
    medians = np.median(pairs[:, picks], axis=2)
    low, high = np.percentile(medians[0] / medians[1], [2.5, 97.5])
    value = np.median(pairs[0]) / np.median(pairs[1])
    return {"ratio": float(value), "ci95_low": float(low), "ci95_high": float(high)}


def resolution(timer: Callable[[], float], *, steps: int = 50) -> float:
    """The smallest step that the timer was seen to make, in seconds."""
    smallest = float("inf")
    before = timer()
    while steps:
        now = timer()
        if now > before:
            smallest = min(smallest, now - before)
            before = now
            steps -= 1
    return smallest


def _check(name: str, arm: Arm) -> None:
    if arm.check is None:
        return
    try:
        verdict = arm.check()
    except MeasurementError as error:
        raise MeasurementError(f"{name}: {error}; not timed") from error
    if not verdict:
        raise MeasurementError(f"{name}: the result is wrong or empty ({verdict!r}); not timed")


def _sample(arm: Arm, series: Series, timers: Timers) -> None:
    worker = arm.worker_cpu()
    wall, cpu = timers.wall(), timers.cpu()
    arm.run()
    cpu_end, wall_end = timers.cpu(), timers.wall()
    series.wall_s.append(wall_end - wall)
    series.cpu_s.append(cpu_end - cpu)
    series.worker_s.append(arm.worker_cpu() - worker)


@contextmanager
def _collector_off() -> Iterator[None]:
    """A collection in the middle of one arm would be charged to it, whoever made the garbage."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
