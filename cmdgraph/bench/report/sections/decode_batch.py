"""Several texts at once: from how many on a replay no longer pays."""

from __future__ import annotations

from collections.abc import Sequence

from cmdgraph.bench.report.captions import caption
from cmdgraph.bench.report.document import Block, Drawing, Table, Text, plain
from cmdgraph.bench.report.evidence import Result
from cmdgraph.bench.report.figures import interval, number
from cmdgraph.bench.report.plots import lines
from cmdgraph.bench.report.schema import Figure
from cmdgraph.bench.report.sections.batch import crossover, marks
from cmdgraph.bench.report.sections.others import remarks

__all__ = ["EXPERIMENT", "TITLE", "blocks", "points"]

EXPERIMENT = "decode-batch"
TITLE = "From how many texts at once on a replay no longer pays"

SPEED, EAGER = "tokens_per_s", "eager"


def blocks(results: Sequence[Result]) -> list[Block]:
    panels = [lines.Panel(result.machine.short, _series(result), marks(result)) for result in results]
    return [
        Text(
            "A step carries several texts on at once and reads the weights once for all of them. The more there are, "
            "the longer the kernels take, and the less it matters how the dispatches reach the queue."
        ),
        Drawing(
            EXPERIMENT,
            lines.draw(EXPERIMENT, panels, "texts at once, log scale", "tokens a second, log scale"),
            "Tokens a second against the texts made at once, eager and replayed.",
            caption(
                "Median and p10–p90, all texts together; dotted: where eager steps come within a tenth of a replay.",
                results,
            ),
        ),
        _table(results),
        *remarks(results),
    ]


def points(results: Sequence[Result]) -> list[str]:
    """Where the gain ends, or that it does not."""
    return [
        f"**{plain(result.machine.short)}:** decoding {plain(result.subject)}, {plain(found.text)}."
        for result in results
        if (found := crossover(result)) is not None
    ]


def _series(result: Result) -> dict[str, list[tuple[float, Figure]]]:
    found: dict[str, list[tuple[float, Figure]]] = {}
    for row in sorted(result.rows, key=lambda row: result.fact(row, "texts")):
        place = (result.fact(row, "texts"), result.figure(row, SPEED))
        found.setdefault(result.fact(row, "series"), []).append(place)
    return found


def _table(results: Sequence[Result]) -> Table:
    rows = []
    for result in results:
        for row in result.rows:
            eager = result.ratio("wall", f"{EAGER}/{result.fact(row, 'texts')}", row.name)
            rows.append(
                [
                    plain(result.machine.short),
                    f"{result.fact(row, 'texts'):,}",
                    f"`{result.fact(row, 'series')}`",
                    f"{result.fact(row, 'dispatches'):,}",
                    number(result.figure(row, SPEED).median),
                    interval(eager) if eager else "-",
                ]
            )
    header = ["machine", "texts at once", "strategy", "dispatches", "tokens/s", "eager / this, wall (95 % CI)"]
    return Table.of(caption("Medians.", results), header, rows, merged=2, grouped=True)
