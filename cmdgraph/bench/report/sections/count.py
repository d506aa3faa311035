"""Dispatches that do nothing added to a model's step: what one more costs in a token's time."""

from __future__ import annotations

from collections.abc import Sequence

from cmdgraph.bench.report.captions import caption
from cmdgraph.bench.report.document import Block, Drawing, Table, Text, plain
from cmdgraph.bench.report.evidence import Result
from cmdgraph.bench.report.figures import number
from cmdgraph.bench.report.plots import lines
from cmdgraph.bench.report.schema import Estimate, Figure, Fit
from cmdgraph.bench.report.sections.others import remarks

__all__ = ["EXPERIMENT", "TITLE", "blocks", "points"]

EXPERIMENT = "count"
TITLE = "The number of dispatches as the only variable"

WALL, CPU = "wall_us_per_token", "host_cpu_us_per_token"


def blocks(results: Sequence[Result]) -> list[Block]:
    panels = [lines.Panel(result.machine.short, _series(result)) for result in results]
    return [
        Text(
            "Dispatches that do nothing are added between those of a model's decode step. The kernels and their "
            "results stay the same, so the slope is what one more dispatch costs in a real program."
        ),
        Drawing(
            EXPERIMENT,
            lines.draw(EXPERIMENT, panels, "dispatches of a step", "ms of wall time a token", log_x=False, log_y=False),
            "Wall time of a token against the dispatches of its step, by strategy.",
            caption("Median and p10–p90 of wall time a token.", results),
        ),
        _table(results),
        *remarks(results),
    ]


def points(results: Sequence[Result]) -> list[str]:
    """What one more dispatch costs by each strategy, or that it does not show."""
    return [
        f"**{plain(result.machine.short)}:** in a token of {plain(result.subject)}, one more dispatch that does "
        f"nothing costs {'; '.join(told)}."
        for result in results
        if (told := [_told(fit) for fit in result.fits if fit.quantity == WALL])
    ]


def _told(fit: Fit) -> str:
    if fit.slope.ci95_low <= 0:
        return f"by `{fit.series}` too little to be told from noise"
    return f"{number(fit.slope.value)} us by `{fit.series}`"


def _series(result: Result) -> dict[str, list[tuple[float, Figure]]]:
    found: dict[str, list[tuple[float, Figure]]] = {}
    for row in sorted(result.rows, key=lambda row: result.fact(row, "dispatches")):
        place = (result.fact(row, "dispatches"), _in_ms(result.figure(row, WALL)))
        found.setdefault(result.fact(row, "series"), []).append(place)
    return found


def _in_ms(us: Figure) -> Figure:
    return Figure(us.median / 1e3, us.p10 / 1e3, us.p90 / 1e3, [each / 1e3 for each in us.samples], "ms")


def _table(results: Sequence[Result]) -> Table:
    rows = []
    for result in results:
        fits = {(fit.series, fit.quantity): fit for fit in result.fits}
        for series in _series(result):
            wall, cpu = (fits.get((series, quantity)) for quantity in (WALL, CPU))
            slopes = (_estimate(fit.slope) if fit else "-" for fit in (wall, cpu))
            once = number(wall.intercept.value) if wall else "-"
            rows.append([plain(result.machine.short), f"`{series}`", *slopes, once])
    header = ["machine", "strategy", "one more, wall", "one more, caller CPU", "without any, wall"]
    text = "us a token, by straight lines through the medians, with 95 % confidence intervals."
    return Table.of(caption(text, results), header, rows, merged=1, grouped=True)


def _estimate(value: Estimate) -> str:
    return f"{number(value.value)} ({number(value.ci95_low)}–{number(value.ci95_high)})"
