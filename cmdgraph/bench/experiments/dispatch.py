"""What one more dispatch costs, and by what factor it misleads to time a single one.

`single-op` times an operation as one is tempted to: submit it, wait for it, read the clock. The other rows run N
operations and wait once; their slope over N is what one more dispatch costs, their intercept what is paid once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from attrs import frozen

from cmdgraph.bench import trial
from cmdgraph.bench.chain import BUFFERS, PIPELINES, Chain
from cmdgraph.bench.experiments import Experiment, Option, several
from cmdgraph.bench.method import Arm, Plan, Samples
from cmdgraph.bench.results import Report
from cmdgraph.bench.statistics import estimate, line, slope
from cmdgraph.bench.ways import WAYS, LeftOut, Way, call_eagerly

__all__ = ["COUNTS", "EXPERIMENT", "SERIES", "SINGLE", "measure"]

COUNTS = (1, 4, 16, 64, 256, 1024, 4096)
SERIES = ("eager", "single-pass-public", "per-op", "single-pass", "prerecorded")
"""Ways of `cmdgraph.bench.ways`; the last three are replays of a graph."""
SINGLE = "single-op"
SINGLES = 16
"""Operations in a sample of `single-op`, each with a wait of its own."""

TIMED_REGION = (
    "a sample is the calls that run N dispatches and one wait for the GPU at their end; for `single-op` "
    f"{SINGLES} operations with a wait after each. Encoding is inside, also that which `prerecorded` does ahead. "
    "Making buffers, pipelines, bind groups and graphs is outside"
)
SYNC = (
    "a read of 4 bytes for eager calls, graph.wait() for replays; once a sample, for `single-op` after each operation"
)


_Lines = dict[str, list[int]]
"""The numbers of dispatches of each series that was measured."""


@frozen
class _Case:
    """One row: a series at one number of dispatches. A sample is `once`, which waits at its end, `runs` times."""

    series: str
    dispatches: int
    submits: int
    once: Callable[[], None]
    check: Callable[[], object]
    worker_cpu: Callable[[], float] = lambda: 0.0
    runs: int = 1

    def sample(self) -> None:
        for _ in range(self.runs):
            self.once()


def measure(device: Any, plan: Plan, *, counts: Sequence[int] = COUNTS, series: Sequence[str] = SERIES) -> Report:
    """Measures each of `series` at each number of dispatches, and single operations. Times are in us.

    Raises:
        OptionError: fewer than two different counts, or one below 1.
        MeasurementError: a row computes something else than numpy.
    """
    counts = several(counts, "dispatches")
    chain = Chain(device, counts[-1], plan.seed)
    with ExitStack() as stack:
        cases, left_out = _cases(chain, counts, series, stack)
        samples = plan.run({name: Arm(c.sample, c.check, c.worker_cpu) for name, c in cases.items()})
        rows = [_row(name, case, samples) for name, case in cases.items()]
    lines = {name: found for name in series if (found := [c.dispatches for c in cases.values() if c.series == name])}
    return trial.report(
        "dispatch",
        device,
        plan,
        samples,
        workload={"buffers": BUFFERS, "pipelines": PIPELINES, "counts": counts, "single_ops_per_sample": SINGLES},
        timed_region=TIMED_REGION,
        sync=SYNC,
        rows=rows,
        left_out=left_out,
        fits=_fits(lines, samples),
        findings=_findings(lines, samples),
    )


def _cases(
    chain: Chain, counts: Sequence[int], series: Sequence[str], stack: ExitStack
) -> tuple[dict[str, _Case], list[dict[str, str]]]:
    cases = {SINGLE: _single(chain.first(1))}
    left_out = []
    for name in series:
        try:
            for count in counts:
                part = chain.first(count)
                way = WAYS[name](part)
                stack.callback(way.close)
                cases[f"{name}/{count}"] = _case(name, part, way)
        except LeftOut as reason:
            left_out.append({"row": name, "reason": str(reason)})
    return cases, left_out


def _single(chain: Chain) -> _Case:
    def once() -> None:
        call_eagerly(chain)
        chain.wait()

    return _Case(SINGLE, 1, 1, once, lambda: chain.require(once), runs=SINGLES)


def _case(series: str, chain: Chain, way: Way) -> _Case:
    def once() -> None:
        way.run(1)
        way.wait()

    return _Case(series, len(chain.calls), way.submits, once, lambda: chain.require(once), way.worker_cpu)


def _row(name: str, case: _Case, samples: Samples) -> dict[str, Any]:
    return {
        "name": name,
        "series": case.series,
        "dispatches": case.dispatches,
        "dispatches_per_sample": case.dispatches * case.runs,
        "submits_per_sample": case.submits * case.runs,
        "checked": trial.EXACT,
        **trial.figures(samples[name], "run", case.runs),
        **trial.figures(samples[name], "dispatch", case.dispatches * case.runs),
    }


def _fits(lines: _Lines, samples: Samples) -> list[dict[str, Any]]:
    """How the time of a run grows with its dispatches, for each series."""
    return [
        {"quantity": quantity, "series": series, "against": "dispatches", **line(counts, values, "us")}
        for series, counts in lines.items()
        for quantity in ("wall_us_per_run", "host_cpu_us_per_run")
        if (values := [_run_us(samples, f"{series}/{count}", quantity) for count in counts])
    ]


def _findings(lines: _Lines, samples: Samples) -> list[dict[str, Any]]:
    """By what factor a single operation overstates a dispatch of each series."""
    single = [seconds / SINGLES for seconds in _run_us(samples, SINGLE, "wall_us_per_run")]
    found = []
    for series, counts in lines.items():
        values = [_run_us(samples, f"{series}/{count}", "wall_us_per_run") for count in counts]
        factor = estimate([single, *values], lambda m, xs=counts: m[..., 0] / slope(xs, m[..., 1:]))  # type: ignore[misc]
        found.append(
            {
                "name": f"single-op overstates {series}",
                "unit": "",
                **factor,
                "text": f"a single operation with its wait reads {factor['value']:.1f} times what one more dispatch "
                f"costs by {series}",
            }
        )
    return found


def _run_us(samples: Samples, name: str, quantity: str) -> list[float]:
    series = samples[name]
    return [1e6 * s for s in (series.wall_s if quantity.startswith("wall") else series.cpu_s)]


EXPERIMENT = Experiment(
    measure,
    help="One dispatch against many: what one more costs, and by what factor a single one misleads.",
    options={"counts": Option(COUNTS, "Numbers of dispatches.")},
    quick={"rounds": 10, "counts": (1, 8, 64, 512)},
)
