"""What a dispatch costs by what it binds."""

from __future__ import annotations

from collections.abc import Sequence

from cmdgraph.bench.report.captions import caption
from cmdgraph.bench.report.document import Block, Drawing, Table, Text, plain
from cmdgraph.bench.report.evidence import Result
from cmdgraph.bench.report.figures import number
from cmdgraph.bench.report.plots import lines
from cmdgraph.bench.report.schema import Figure
from cmdgraph.bench.report.sections.others import remarks

__all__ = ["EXPERIMENT", "TITLE", "blocks", "points"]

EXPERIMENT = "bindings"
TITLE = "What bindings cost"

CPU = "host_cpu_us_per_dispatch"
FACTORS = {
    "bindings": ("bindings of a group", "a binding"),
    "groups": ("bind groups", "a bind group"),
    "pipelines": ("pipelines in turn", "a pipeline"),
    "dynamic_offsets": ("dynamic offsets", "a dynamic offset"),
    "immediates": ("bytes of immediates", "a byte of immediates"),
}
"""What is varied: as the axis of a plot, and as one more of it."""


def blocks(results: Sequence[Result]) -> list[Block]:
    made: list[Block] = [
        Text(
            "One thing that a dispatch sets is varied at a time, the others stay as small as can be; one pass, one "
            "submit."
        )
    ]
    for number_, result in enumerate(results, 1):
        name = f"{EXPERIMENT}-{number_}"
        panels = [
            lines.Panel(axis, series) for factor, (axis, _) in FACTORS.items() if (series := _series(result, factor))
        ]
        drawing = lines.draw(name, panels, "how many", "us of caller CPU", log_x=False, log_y=False, columns=3)
        alt = f"The caller's CPU time a dispatch against what it binds, on {result.machine.short}."
        made.append(
            Drawing(name, drawing, alt, caption("Median and p10–p90 of the caller's CPU time a dispatch.", [result]))
        )
    return [*made, _table(results), *remarks(results)]


def points(results: Sequence[Result]) -> list[str]:
    """What one more bind group costs by the public API and replayed."""
    told = []
    for result in results:
        slopes = {fit.series.rpartition(", ")[2]: fit.slope for fit in result.fits if fit.against == "groups"}
        if len(slopes) < 2:
            continue
        (first, public), (second, replayed) = list(slopes.items())[:2]
        told.append(
            f"**{plain(result.machine.short)}:** one more bind group costs a dispatch {number(public.value)} us by "
            f"`{first}` and {number(replayed.value)} us by `{second}`."
        )
    return told


def _series(result: Result, factor: str) -> dict[str, list[tuple[float, Figure]]]:
    found: dict[str, list[tuple[float, Figure]]] = {}
    for row in result.rows:
        if factor in row.facts:
            way = str(result.fact(row, "series")).rpartition(", ")[2]
            found.setdefault(way, []).append((row.facts[factor], result.figure(row, CPU)))
    return found


def _table(results: Sequence[Result]) -> Table:
    rows = [
        [
            plain(result.machine.short),
            FACTORS.get(fit.against, (fit.against, fit.against))[1],
            f"`{fit.series.rpartition(', ')[2]}`",
            number(fit.slope.value),
            f"{number(fit.slope.ci95_low)} to {number(fit.slope.ci95_high)}",
            number(fit.intercept.value),
        ]
        for result in results
        for fit in result.fits
    ]
    header = ["machine", "one more", "way", "costs", "95 % CI", "a dispatch with none of it"]
    text = "us of the caller's CPU time a dispatch, by straight lines through the medians."
    return Table.of(caption(text, results), header, rows, merged=2, grouped=True)
