"""What a dispatch costs by what it binds: bindings, bind groups, pipelines, dynamic offsets, immediates.

One of them is varied at a time, the others stay as small as can be. Every dispatch adds to all buffers that it binds,
so that numpy can tell whether it ran, with what.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import cmdgraph
from cmdgraph.bench import trial
from cmdgraph.bench.experiments import Experiment, Option, OptionError
from cmdgraph.bench.method import Arm, Plan, Samples, ratio
from cmdgraph.bench.results import Report
from cmdgraph.bench.shapes import ELEMENTS, SETS, Shape, Work
from cmdgraph.bench.statistics import line

__all__ = ["EXPERIMENT", "FACTORS", "measure"]

WAYS = ("single-pass-public", "single-pass")


FACTORS: dict[str, tuple[Shape, ...]] = {
    "bindings": tuple(Shape(bindings=n) for n in (1, 2, 4, 8)),
    "groups": tuple(Shape(groups=n) for n in (1, 2, 3, 4)),
    "pipelines": tuple(Shape(pipelines=n) for n in (1, 2, 8, 32)),
    "dynamic_offsets": tuple(Shape(bindings=4, dynamic_offsets=n) for n in (0, 1, 2, 4)),
    "immediates": tuple(Shape(immediates=n) for n in (0, 4, 16, 64)),
}
"""What is varied, and by which shapes; the field of that name is what a line runs along."""

TIMED_REGION = (
    "a sample is one run of the dispatches, encoded and submitted once, and one wait for the GPU at its end: by the "
    "public API, which sets everything for each dispatch, or by graph.replay(). Every dispatch binds other groups than "
    "the one before. Making buffers, pipelines, bind groups and graphs is outside"
)
SYNC = "a read of 4 bytes for the public API, graph.wait() for replays; once a sample"
SWITCHES = "pipelines"


def measure(
    device: Any, plan: Plan, *, dispatches: int = 256, factors: dict[str, tuple[Shape, ...]] = FACTORS
) -> Report:
    """Measures `dispatches` dispatches of every shape, by the public API and by replays. Times are in us.

    Raises:
        OptionError: fewer dispatches than sets of buffers.
        MeasurementError: a row computes something else than numpy.
    """
    if dispatches < SETS:
        raise OptionError(f"dispatches: needs at least {SETS}, got {dispatches}")
    left_out = [
        {"row": f"immediates {shape.immediates}", "reason": reason}
        for shape in factors.get("immediates", ())
        if (reason := _why_not(device, shape))
    ]
    with ExitStack() as stack:
        works: dict[Shape, Work] = {}
        cases: dict[str, tuple[str, Shape, str, Arm]] = {}
        for factor, shapes in factors.items():
            for shape in shapes:
                if _why_not(device, shape) is None:
                    work = works.setdefault(shape, Work(device, shape, dispatches))
                    for way, arm in _arms(work, stack):
                        cases[f"{factor} {_level(factor, shape)}, {way}"] = (factor, shape, way, arm)
        samples = plan.run({name: arm for name, (*_, arm) in cases.items()})
    return trial.report(
        "bindings",
        device,
        plan,
        samples,
        workload={"dispatches": dispatches, "elements_per_buffer": ELEMENTS, "sets_of_bind_groups": SETS},
        timed_region=TIMED_REGION,
        sync=SYNC,
        rows=[
            {
                "name": name,
                "series": f"{factor}, {way}",
                factor: _level(factor, shape),
                "dispatches_per_sample": dispatches,
                "submits_per_sample": 1,
                "checked": trial.EXACT,
                **trial.figures(samples[name], "dispatch", dispatches),
            }
            for name, (factor, shape, way, _) in cases.items()
        ],
        left_out=left_out,
        fits=list(_fits(factors, samples, dispatches)),
        ratios=list(_switching(factors, samples)),
    )


def _why_not(device: Any, shape: Shape) -> str | None:
    most = device.limits.get("max-immediate-size", 0)
    if shape.immediates > most:
        return f"the device allows {most} bytes of immediates"
    return None


def _arms(work: Work, stack: ExitStack) -> Iterator[tuple[str, Arm]]:
    with cmdgraph.capture(work.device, name="bindings") as graph:
        work.run()
    stack.callback(graph.release)
    graph.split = 1

    def public() -> None:
        work.run()
        work.wait()

    def replay() -> None:
        graph.replay(wait=True)

    for way, run in zip(WAYS, (public, replay), strict=True):
        yield way, Arm(run, lambda run=run: work.require(run))  # type: ignore[misc]


def _level(factor: str, shape: Shape) -> int:
    return getattr(shape, factor)


def _fits(factors: dict[str, tuple[Shape, ...]], samples: Samples, dispatches: int) -> Iterator[dict[str, Any]]:
    """What one more costs the host. Pipelines are no line: it matters whether there is more than one."""
    for factor, shapes in factors.items():
        for way in WAYS:
            names = {_level(factor, shape): f"{factor} {_level(factor, shape)}, {way}" for shape in shapes}
            there = {level: samples[name] for level, name in names.items() if name in samples}
            if factor == SWITCHES or len(there) < 2:
                continue
            values = [[1e6 * s / dispatches for s in series.cpu_s] for series in there.values()]
            yield {
                "quantity": "host_cpu_us_per_dispatch",
                "series": f"{factor}, {way}",
                "against": factor,
                **line(list(there), values, "us"),
            }


def _switching(factors: dict[str, tuple[Shape, ...]], samples: Samples) -> Iterator[dict[str, Any]]:
    """What it costs to change the pipeline before each dispatch, against never."""
    levels = [shape.pipelines for shape in factors.get(SWITCHES, ())]
    for way in WAYS:
        for level in levels[1:]:
            over, under = f"{SWITCHES} {level}, {way}", f"{SWITCHES} {levels[0]}, {way}"
            yield {
                "quantity": "host_cpu",
                "over": over,
                "under": under,
                **ratio(samples[over].cpu_s, samples[under].cpu_s),
            }


EXPERIMENT = Experiment(
    measure,
    help="What a dispatch costs by its bindings, groups, pipelines, dynamic offsets and immediates.",
    options={"dispatches": Option(256, "In a sample.", least=SETS)},
    quick={"rounds": 10, "dispatches": 128},
    features=("immediates",),
    limits=("max-immediate-size",),
)
