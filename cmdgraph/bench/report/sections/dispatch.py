"""One dispatch against many: what one more costs, and by what factor timing a single one misleads."""

from __future__ import annotations

from collections.abc import Sequence

from cmdgraph.bench.report.captions import caption
from cmdgraph.bench.report.document import Block, Drawing, Table, Text, plain
from cmdgraph.bench.report.evidence import Result
from cmdgraph.bench.report.figures import number, times
from cmdgraph.bench.report.plots import lines
from cmdgraph.bench.report.schema import Estimate, Figure, Finding, Fit
from cmdgraph.bench.report.sections.others import remarks

__all__ = ["EXPERIMENT", "SINGLE", "TITLE", "blocks", "overstated", "points", "slope"]

EXPERIMENT = "dispatch"
TITLE = "One dispatch against many"

SINGLE = "single-op"
WALL, RUN, RUN_CPU = "wall_us_per_dispatch", "wall_us_per_run", "host_cpu_us_per_run"


def blocks(results: Sequence[Result]) -> list[Block]:
    panels = [lines.Panel(result.machine.short, _series(result), level=_level(result)) for result in results]
    return [
        Text(
            "`single-op` submits one operation, waits for it and reads the clock. The other lines run N operations "
            "and wait once: what is paid once is shared by more and more of them, and the slope over N is what one "
            "more costs."
        ),
        Drawing(
            EXPERIMENT,
            lines.draw(
                EXPERIMENT, panels, "dispatches between two waits, log scale", "us of wall time a dispatch, log scale"
            ),
            "Wall time a dispatch against the number of dispatches, single operations as a level line.",
            caption(
                "Median and p10–p90 of wall time a dispatch; the grey line is a single operation with its wait.",
                results,
            ),
        ),
        _table(results),
        *remarks(results),
    ]


def points(results: Sequence[Result]) -> list[str]:
    """By what factor a single operation misleads, or that it does not."""
    told = []
    for result in results:
        found, single, fit = overstated(result, "eager"), result.row(SINGLE), slope(result, "eager")
        if found is None or found.value is None or single is None or fit is None:
            continue
        read = number(result.figure(single, WALL).median)
        misleads = found.value > 1 and (found.ci95_low is None or found.ci95_low > 1)
        told.append(
            f"**{plain(result.machine.short)}:** a single operation with its wait reads {read} us, one more of many "
            f"costs {number(fit.slope.value)} us: "
            + (
                f"single timing is {times(found.value)} too high."
                if misleads
                else "single timing does not mislead here."
            )
        )
    return told


def overstated(result: Result, series: str) -> Finding | None:
    """By what factor a single operation reads more than one more dispatch of a series costs."""
    return result.finding(f"{SINGLE} overstates {series}")


def slope(result: Result, series: str, quantity: str = RUN) -> Fit | None:
    """The line of a run's time over its dispatches."""
    return next((fit for fit in result.fits if (fit.series, fit.quantity) == (series, quantity)), None)


def _series(result: Result) -> dict[str, list[tuple[float, Figure]]]:
    found: dict[str, list[tuple[float, Figure]]] = {}
    for row in sorted(result.rows, key=lambda row: result.fact(row, "dispatches")):
        name = result.fact(row, "series")
        if name != SINGLE:
            found.setdefault(name, []).append((result.fact(row, "dispatches"), result.figure(row, WALL)))
    return found


def _level(result: Result) -> tuple[float, str] | None:
    row = result.row(SINGLE)
    return (result.figure(row, WALL).median, SINGLE) if row else None


def _table(results: Sequence[Result]) -> Table:
    rows = []
    for result in results:
        for series in _series(result):
            wall, cpu, found = slope(result, series), slope(result, series, RUN_CPU), overstated(result, series)
            rows.append(
                [
                    plain(result.machine.short),
                    f"`{series}`",
                    *(_estimate(fit.slope) if fit else "-" for fit in (wall, cpu)),
                    number(wall.intercept.value) if wall else "-",
                    times(found.value) if found and found.value is not None else "-",
                ]
            )
    header = ["machine", "way", "one more, wall", "one more, caller CPU", "once, wall", "single-op reads"]
    text = "us, by straight lines through the medians, with 95 % confidence intervals."
    return Table.of(caption(text, results), header, rows, merged=1, grouped=True)


def _estimate(value: Estimate) -> str:
    return f"{number(value.value)} ({number(value.ci95_low)}–{number(value.ci95_high)})"
