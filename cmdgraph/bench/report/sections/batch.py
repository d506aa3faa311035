"""From how much work of a kernel on a replay no longer pays."""

from __future__ import annotations

from collections.abc import Sequence

from cmdgraph.bench.report.captions import caption
from cmdgraph.bench.report.document import Block, Drawing, Table, Text, plain
from cmdgraph.bench.report.evidence import Result
from cmdgraph.bench.report.figures import interval, number
from cmdgraph.bench.report.plots import lines
from cmdgraph.bench.report.schema import Figure, Finding, Ratio
from cmdgraph.bench.report.sections.others import remarks

__all__ = ["EXPERIMENT", "TITLE", "blocks", "crossover", "gains", "marks", "points"]

EXPERIMENT = "batch"
TITLE = "From how much work on a replay no longer pays"

WALL, GPU = "wall_us_per_dispatch", "gpu_us_per_dispatch"
EAGER, REPLAY, TIMED = "eager", "single-pass", "timed pass"


def blocks(results: Sequence[Result]) -> list[Block]:
    panels = [lines.Panel(result.machine.short, _series(result), marks(result)) for result in results]
    return [
        Text(
            "The same dispatches with more and more workgroups each. With small ones the host decides how long that "
            "takes, with large ones the GPU, and then it does not matter how they reach the queue."
        ),
        Drawing(
            EXPERIMENT,
            lines.draw(EXPERIMENT, panels, "workgroups of a dispatch, log scale", "us a dispatch, log scale"),
            "Wall time a dispatch against its workgroups, eager and replayed, and the time on the GPU.",
            caption(
                "Median and p10–p90 of wall time, and of the time between two timestamps where there are any; "
                "dotted: where eager calls come within a tenth of a replay.",
                results,
            ),
        ),
        _table(results),
        *remarks(results),
    ]


def points(results: Sequence[Result]) -> list[str]:
    """Where the gain ends, or that it does not."""
    return [
        f"**{plain(result.machine.short)}:** {plain(found.text)}."
        for result in results
        if (found := crossover(result)) is not None
    ]


def crossover(result: Result) -> Finding | None:
    """The number of workgroups from which a replay no longer pays; without a value where there is none."""
    return result.finding("crossover")


def gains(result: Result) -> list[tuple[int, Ratio]]:
    """By number of workgroups, eager over replayed wall time, smallest first."""
    sizes = sorted({int(result.fact(row, "workgroups")) for row in result.rows})
    found = ((size, result.ratio("wall", f"{EAGER}/{size}", f"{REPLAY}/{size}")) for size in sizes)
    return [(size, ratio) for size, ratio in found if ratio is not None]


def marks(result: Result) -> list[lines.Mark]:
    """A line in the plot where the gain ends, if it does."""
    found = crossover(result)
    return [lines.Mark(found.value, number(found.value))] if found and found.value is not None else []


def _series(result: Result) -> dict[str, list[tuple[float, Figure]]]:
    found: dict[str, list[tuple[float, Figure]]] = {}
    for row in sorted(result.rows, key=lambda row: result.fact(row, "workgroups")):
        name = result.fact(row, "series")
        if name == TIMED:
            if GPU in row.figures:
                found.setdefault("on the GPU", []).append((result.fact(row, "workgroups"), row.figures[GPU]))
        else:
            found.setdefault(name, []).append((result.fact(row, "workgroups"), result.figure(row, WALL)))
    return found


def _table(results: Sequence[Result]) -> Table:
    rows = []
    for result in results:
        for size, ratio in gains(result):
            walls = [result.row(f"{way}/{size}") for way in (EAGER, REPLAY)]
            timed = result.row(f"{TIMED}/{size}")
            rows.append(
                [
                    plain(result.machine.short),
                    f"{size:,}",
                    *(number(result.figure(row, WALL).median) if row else "-" for row in walls),
                    number(timed.figures[GPU].median) if timed and GPU in timed.figures else "-",
                    interval(ratio),
                ]
            )
    header = ["machine", "workgroups", "eager, wall", "replayed, wall", "on the GPU", "gain (95 % CI)"]
    return Table.of(caption("us a dispatch, medians.", results), header, rows, merged=1, grouped=True)
