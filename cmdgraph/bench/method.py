"""How everything here is measured.

Arms (the things compared) run interleaved: in each round every arm once, in an order shuffled anew, so that
drift of the machine meets all of them alike. Each run gives one sample of wall time and one of CPU time by thread.
Raw samples are kept; medians and percentiles are derived (`cmdgraph.bench.statistics`). An arm whose result is wrong
or missing is not timed. An interrupted run keeps the rounds that it has finished.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import attrs

from cmdgraph.bench.samples import Interrupted, Samples, Series
from cmdgraph.bench.statistics import ratio, summary
from cmdgraph.bench.timers import SYSTEM_TIMERS, Timers, resolution

__all__ = [
    "DESCRIPTION",
    "SYSTEM_TIMERS",
    "Arm",
    "Interrupted",
    "MeasurementError",
    "Plan",
    "Samples",
    "Series",
    "Timers",
    "collector_off",
    "interleave",
    "ratio",
    "resolution",
    "summary",
]

DESCRIPTION = (
    "arms interleaved, in an order shuffled anew each round; wall time by perf_counter, CPU time of the "
    "calling thread by thread_time, that of all threads by process_time; cyclic garbage collection before each round, "
    "off inside the timed region; results checked before timing"
)

FEWEST_ROUNDS = 5
"""A run that has reached its time limit still makes so many rounds."""
FASTER = 0.05
"""While runs get faster by more than this part, it is still warm-up."""


class MeasurementError(Exception):
    """A result is wrong or missing, so its speed means nothing."""


@attrs.frozen
class Arm:
    """One of the things compared.

    `run` is what is timed. `check` is called once after the warm-up, outside the timed region, and must
    return true; it may raise MeasurementError to say what is wrong. `worker_cpu` reads the CPU seconds that a
    worker thread has spent for the arm so far. `gpu` reads the seconds that the last run took on the GPU. `settle` is
    called after each run, untimed: it waits for what must not reach into the next sample.
    """

    run: Callable[[], object]
    check: Callable[[], object] | None = None
    worker_cpu: Callable[[], float] = lambda: 0.0
    gpu: Callable[[], float] | None = None
    settle: Callable[[], object] = lambda: None


@attrs.frozen
class Plan:
    """How often and how long.

    `warmup` is the fewest untimed runs of an arm: they go on until it gets no faster, `warmup_s` seconds at most.
    After `limit_s` seconds no further round begins, if 5 are done.
    """

    rounds: int = 30
    warmup: int = 3
    seed: int = 0
    progress: Callable[[int, int], None] | None = None
    timers: Timers = SYSTEM_TIMERS
    warmup_s: float = 0.5
    limit_s: float | None = None

    def run(self, arms: Mapping[str, Arm | Callable[[], object]]) -> Samples:
        """`interleave` by this plan; an interrupted one gives what it has."""
        try:
            return interleave(
                arms,
                self.rounds,
                self.warmup,
                seed=self.seed,
                timers=self.timers,
                progress=self.progress,
                warmup_s=self.warmup_s,
                limit_s=self.limit_s,
            )
        except Interrupted as stop:
            return stop.samples


def interleave(
    arms: Mapping[str, Arm | Callable[[], object]],
    rounds: int,
    warmup: int,
    *,
    seed: int = 0,
    timers: Timers = SYSTEM_TIMERS,
    progress: Callable[[int, int], None] | None = None,
    warmup_s: float = 0.0,
    limit_s: float | None = None,
) -> Samples:
    """Measures every arm `rounds` times after `warmup` untimed runs of each.

    A plain callable is an arm without a check. `progress` is called with the rounds done and their number. `warmup_s`
    and `limit_s` are those of a `Plan`; without `warmup_s` there are exactly `warmup` untimed runs.

    Raises:
        ValueError: no arm, fewer than 1 round, or no warm-up.
        MeasurementError: the check of an arm failed; nothing was timed.
        Interrupted: by Ctrl-C, with the samples of the rounds that were finished, if there are any.
    """
    if not arms or rounds < 1 or warmup < 1:
        raise ValueError(
            f"needs an arm, a round and a warm-up; got {len(arms)} arms, {rounds} rounds, {warmup} warm-ups"
        )
    named = {name: arm if isinstance(arm, Arm) else Arm(arm) for name, arm in arms.items()}
    samples = Samples(named)
    for name, arm in named.items():
        samples.warmup_runs[name], steady = _warm(arm, warmup, warmup_s, timers)
        if not steady:
            samples.unsteady.append(name)
        _check(name, arm)
    try:
        for _ in _rounds(samples, rounds, limit_s, timers, progress):
            _round(named, samples, timers, random.Random(f"{seed} {samples.rounds}"))
    except KeyboardInterrupt:
        if not samples.rounds:
            raise
        samples.interrupted = True
        for series in samples.values():
            series.cut(samples.rounds)
        raise Interrupted(samples) from None
    return samples


def _warm(arm: Arm, at_least: int, seconds: float, timers: Timers) -> tuple[int, bool]:
    """Runs an arm until two runs in a row are no faster than those before, or time is up.

    Gives how often it ran, and false where the last run was still faster than all before.
    """
    began = timers.wall()
    fastest, idle, runs = float("inf"), 0, 0
    while True:
        before = timers.wall()
        arm.run()
        now = timers.wall()
        arm.settle()
        runs += 1
        idle = 0 if now - before < (1 - FASTER) * fastest else idle + 1
        fastest = min(fastest, now - before)
        steady = idle >= 2
        if runs >= at_least and (steady or now - began >= seconds):
            return runs, idle > 0 or runs == 1 or not seconds


def _check(name: str, arm: Arm) -> None:
    if arm.check is None:
        return
    try:
        verdict = arm.check()
    except MeasurementError as error:
        raise MeasurementError(f"{name}: {error}; not timed") from error
    if not verdict:
        raise MeasurementError(f"{name}: the result is wrong or empty ({verdict!r}); not timed")


def _rounds(
    samples: Samples,
    rounds: int,
    limit_s: float | None,
    timers: Timers,
    progress: Callable[[int, int], None] | None,
) -> Iterator[int]:
    """The rounds to make; counts them when they are done."""
    began = timers.wall()
    while samples.rounds < rounds:
        yield samples.rounds
        samples.rounds += 1
        if progress is not None:
            progress(samples.rounds, rounds)
        if limit_s is not None and samples.rounds >= FEWEST_ROUNDS and timers.wall() - began >= limit_s:
            return


def _round(arms: Mapping[str, Arm], samples: Samples, timers: Timers, draw: random.Random) -> None:
    order = list(arms)
    draw.shuffle(order)
    with collector_off():
        for name in order:
            _sample(arms[name], samples[name], timers)


def _sample(arm: Arm, series: Series, timers: Timers) -> None:
    worker = arm.worker_cpu()
    process, wall, cpu = timers.process(), timers.wall(), timers.cpu()
    returned = arm.run()
    cpu_end, wall_end, process_end = timers.cpu(), timers.wall(), timers.process()
    series.wall_s.append(wall_end - wall)
    series.cpu_s.append(cpu_end - cpu)
    series.process_s.append(process_end - process)
    series.worker_s.append(arm.worker_cpu() - worker)
    series.returned.append(returned)
    arm.settle()
    if arm.gpu is not None:
        series.gpu_s.append(arm.gpu())


@contextmanager
def collector_off() -> Iterator[None]:
    """A collection in the middle of one arm would be charged to it, whoever made the garbage."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
