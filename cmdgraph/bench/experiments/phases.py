"""Where the time of one naive dispatch goes: every call from bind group to release, by the public API and from C."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from cmdgraph.bench import trial
from cmdgraph.bench.chain import BINDINGS, Chain
from cmdgraph.bench.experiments import Experiment, Option, OptionError
from cmdgraph.bench.method import Arm, Plan, Samples, Timers
from cmdgraph.bench.native_phases import CLOCKS, NativePhases, why_absent
from cmdgraph.bench.results import Report
from cmdgraph.bench.statistics import estimate, summary

__all__ = ["EXPERIMENT", "PHASES", "measure"]

PHASES = (
    "create bind group",
    "create encoder",
    "begin pass",
    "set pipeline",
    "set bind group",
    "dispatch",
    "end",
    "finish",
    "submit",
    "release",
)
PATHS = ("public", "C")
ENCODER = ("create encoder", "finish")
WITHOUT = "without clocks"

TIMED_REGION = (
    "a sample is N operations, each with a bind group, encoder, pass and submit of its own, without a wait; a clock is "
    "read between any two calls: of one arm the wall clock, of another the calling thread's CPU clock. `all` is timed "
    f"around the loop by the same arms; `all, {WITHOUT}` are the same calls with no clock in between. `release` lets "
    "go of pass, encoder, command buffer and bind group"
)
SYNC = "a read of 4 bytes after each sample, outside the timed region"
NOTE = "each phase holds one reading of the clock; the shares in the findings are without"
PAPER = {"submit": 40, "create encoder and finish": 39}
"""Percent of the CPU cost of a dispatch, as the paper has it."""


_Path = Callable[[str], np.ndarray]
"""Makes the calls of a sample; gives the seconds of each phase and of the whole by a clock of `CLOCKS`."""


def measure(device: Any, plan: Plan, *, dispatches: int = 200, paths: Sequence[str] = PATHS) -> Report:
    """Measures each phase over `dispatches` operations a sample, and the whole with and without clocks, in us.

    Raises:
        OptionError: `dispatches` is below 1.
        MeasurementError: the operations compute something else than numpy.
    """
    if dispatches < 1:
        raise OptionError(f"dispatches: needs at least one, got {dispatches}")
    chain = Chain(device, dispatches, plan.seed)
    left_out: list[dict[str, str]] = []
    makers: dict[str, Callable[[], _Path]] = {
        "public": lambda: _public(chain, plan.timers),
        "C": lambda: _native(chain),
    }
    if "C" in paths and (reason := why_absent()):
        left_out.append({"row": "C", "reason": reason})
        paths = [name for name in paths if name != "C"]
    samples = plan.run(dict(_arms(chain, {name: makers[name]() for name in paths})))
    return trial.report(
        "phases",
        device,
        plan,
        samples,
        workload={"dispatches": dispatches, "bindings_per_dispatch": BINDINGS, "phases": list(PHASES)},
        timed_region=TIMED_REGION,
        sync=SYNC,
        rows=[row for name in paths for row in _rows(name, dispatches, samples)],
        left_out=left_out,
        notes=[NOTE],
        findings=[each for name in paths for each in _findings(name, samples)],
    )


def _public(chain: Chain, timers: Timers) -> _Path:
    device, bindings = chain.device, [chain.entries(step) for step in chain.steps]
    hooked = type(device).create_bind_group  # cmdgraph's hook notes what a group holds; a plain program has none
    create_bind_group = functools.partial(getattr(hooked, "__wrapped__", hooked), device)

    def timed(clock: Callable[[], float]) -> np.ndarray:
        marks = []
        begin = clock()
        for (pipeline, _), entries in zip(chain.calls, bindings, strict=True):
            t0 = clock()
            group = create_bind_group(layout=chain.layout, entries=entries)
            t1 = clock()
            encoder = device.create_command_encoder()
            t2 = clock()
            compute = encoder.begin_compute_pass()
            t3 = clock()
            compute.set_pipeline(pipeline)
            t4 = clock()
            compute.set_bind_group(0, group)
            t5 = clock()
            compute.dispatch_workgroups(1)
            t6 = clock()
            compute.end()
            t7 = clock()
            buffer = encoder.finish()
            t8 = clock()
            device.queue.submit([buffer])
            t9 = clock()
            del buffer, compute, encoder, group
            t10 = clock()
            marks.append((t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10))
        whole = clock() - begin
        return np.append(np.diff(np.array(marks)).sum(axis=0), whole)

    def plain() -> np.ndarray:
        for (pipeline, _), entries in zip(chain.calls, bindings, strict=True):
            group = create_bind_group(layout=chain.layout, entries=entries)
            encoder = device.create_command_encoder()
            compute = encoder.begin_compute_pass()
            compute.set_pipeline(pipeline)
            compute.set_bind_group(0, group)
            compute.dispatch_workgroups(1)
            compute.end()
            buffer = encoder.finish()
            device.queue.submit([buffer])
            del buffer, compute, encoder, group
        return np.zeros(len(PHASES) + 1)

    clocks = {"wall": timers.wall, "cpu": timers.cpu}
    return lambda clock: timed(clocks[clock]) if clock in clocks else plain()


def _native(chain: Chain) -> _Path:
    operations = [
        (pipeline, chain.layout, chain.buffers_of(step))
        for (pipeline, _), step in zip(chain.calls, chain.steps, strict=True)
    ]
    native = NativePhases(chain.device, operations)
    return lambda clock: native.run(clock) / 1e9


def _arms(chain: Chain, paths: dict[str, _Path]) -> Iterator[tuple[str, Arm]]:
    """An arm for each path and clock. The GPU is done before the next begins."""
    for name, path in paths.items():
        for clock in CLOCKS:
            run = functools.partial(path, clock)
            yield _arm(name, clock), Arm(run, functools.partial(chain.require, run), settle=chain.wait)


def _arm(name: str, clock: str) -> str:
    return f"{name}, {clock}"


def _rows(name: str, dispatches: int, samples: Samples) -> Iterator[dict[str, Any]]:
    common = {
        "series": name,
        "dispatches_per_sample": dispatches,
        "submits_per_sample": dispatches,
        "checked": trial.EXACT,
    }
    by_clock = {clock: np.array(samples[_arm(name, clock)].returned) for clock in ("wall", "cpu")}
    for number, phase in enumerate((*PHASES, "all")):
        us = {clock: (1e6 * seconds[:, number] / dispatches).tolist() for clock, seconds in by_clock.items()}
        figures = {
            "host_cpu_us_per_dispatch": summary(us["cpu"], "us"),
            "wall_us_per_dispatch": summary(us["wall"], "us"),
        }
        yield {"name": f"{name}: {phase}", "phase": phase, **common, **figures}
    plain = trial.figures(samples[_arm(name, "none")], "dispatch", dispatches)
    yield {"name": f"{name}: all, {WITHOUT}", "phase": f"all, {WITHOUT}", **common, **plain}


def _findings(name: str, samples: Samples) -> Iterator[dict[str, Any]]:
    """What part of a dispatch's CPU time the phases are that the paper names, and whether all make up the whole."""
    plain = samples[_arm(name, "none")]
    cpu, wall = (np.array(samples[_arm(name, clock)].returned).T for clock in ("cpu", "wall"))
    parts = {
        "submit": cpu[PHASES.index("submit")],
        "create encoder and finish": sum(cpu[PHASES.index(each)] for each in ENCODER),
    }
    for part, seconds in parts.items():
        share = _share(seconds, len(ENCODER) if part != "submit" else 1, cpu, plain.cpu_s)
        text = f"{part} is {share['value']:.0f} % of the CPU time of a dispatch; the paper has {PAPER[part]} %"
        yield {"name": f"{name}: {part}", "unit": "%", **share, "text": text}
    added = _percent(wall[:-1].sum(axis=0), wall[-1])
    text = f"the phases add up to {added['value']:.1f} % of the wall time around them"
    yield {"name": f"{name}: sum of the phases", "unit": "%", **added, "text": text}
    for clock, with_clock, without in (("wall", wall[-1], plain.wall_s), ("CPU", cpu[-1], plain.cpu_s)):
        cost = _percent(with_clock, without)
        text = (
            f"with the {clock} clock read between the calls it takes {cost['value']:.0f} % of the {clock} time without"
        )
        yield {"name": f"{name}: {clock} clock", "unit": "%", **cost, "text": text}


def _share(part: np.ndarray, readings: int, cpu: np.ndarray, plain: list[float]) -> dict[str, float]:
    """Percent of the CPU time, without what reading the clock costs: that is what the whole takes more with clocks."""

    def percent(medians: np.ndarray) -> np.ndarray:
        phases, whole, without = medians[..., 1], medians[..., 2], medians[..., 3]
        reading = np.maximum(0, whole - without) / (len(PHASES) + 1)
        return 100 * (medians[..., 0] - readings * reading) / (phases - len(PHASES) * reading)

    return estimate([list(part), list(cpu[:-1].sum(axis=0)), list(cpu[-1]), plain], percent)


def _percent(part: Any, whole: Any) -> dict[str, float]:
    return estimate([list(part), list(whole)], lambda medians: 100 * medians[..., 0] / medians[..., 1])


EXPERIMENT = Experiment(
    measure,
    help="Where the time of one naive dispatch goes, call by call, by the public API and from C.",
    options={"dispatches": Option(200, "Operations in a sample.")},
    quick={"rounds": 15, "dispatches": 100},
)
