"""How others replay the same work, in the same run."""

from __future__ import annotations

from collections.abc import Sequence

from cmdgraph.bench.report.captions import caption
from cmdgraph.bench.report.document import Block, Drawing, List, Table, Text, plain
from cmdgraph.bench.report.evidence import Result
from cmdgraph.bench.report.figures import interval, number, spread
from cmdgraph.bench.report.plots import ways
from cmdgraph.bench.report.schema import Row
from cmdgraph.bench.report.sections.others import remarks

__all__ = ["EXPERIMENT", "TITLE", "blocks", "points"]

EXPERIMENT = "peers"
TITLE = "How others replay the same work"

CPU, WORKER, WALL = "host_cpu_us_per_dispatch", "worker_cpu_us_per_dispatch", "wall_us_per_dispatch"


def blocks(results: Sequence[Result]) -> list[Block]:
    panels = [
        (f"{result.machine.short}, {count:,} dispatches", [_way(result, row) for row in _slow_first(result, count)])
        for result in results
        for count in _counts(result)
    ]
    return [
        Text(
            "The same chain of element-wise operations on each library's own way to run it again and again, each in "
            "a process of its own, the rounds interleaved, results equal to numpy's before and after."
        ),
        Drawing(
            EXPERIMENT,
            ways.draw(EXPERIMENT, panels, "us a dispatch, log scale"),
            "Caller CPU time and wall time a dispatch of each peer.",
            caption("What a dispatch costs by each peer; ours are coloured.", results),
        ),
        _table(results),
        List([f"`{row.name.partition('/')[0]}`: {_about(row)}" for row in _once(results)]),
        *remarks(results),
    ]


def points(results: Sequence[Result]) -> list[str]:
    """Whether our best replay meets its goal against ONNX Runtime's graph capture."""
    return [
        f"**{plain(result.machine.short)}:** {plain(each.name)}: "
        + (f"{number(each.value)}, {plain(each.text)}." if each.value is not None else f"{plain(each.text)}.")
        for result in results
        for each in result.findings
    ]


def _counts(result: Result) -> list[int]:
    return sorted({result.fact(row, "dispatches") for row in result.rows})


def _slow_first(result: Result, count: int) -> list[Row]:
    rows = [row for row in result.rows if result.fact(row, "dispatches") == count]
    return sorted(rows, key=lambda row: -result.figure(row, CPU).median)


def _way(result: Result, row: Row) -> ways.Way:
    name = str(result.fact(row, "series"))
    # "cmdgraph-prerecorded" has the colour of "prerecorded", and names of others have none.
    kind = name.removeprefix("cmdgraph-") if row.facts.get("ours") else "other"
    return ways.Way(name, result.figure(row, CPU), result.figure(row, WALL), row.figures.get(WORKER), kind)


def _once(results: Sequence[Result]) -> list[Row]:
    return list({str(row.facts.get("series")): row for result in results for row in result.rows}.values())


def _about(row: Row) -> str:
    return plain("; ".join(str(row.facts[key]) for key in ("about", "software") if row.facts.get(key)))


def _table(results: Sequence[Result]) -> Table:
    rows = [
        [
            f"{plain(result.machine.short)}, {count:,} dispatches",
            f"`{result.fact(row, 'series')}`",
            number(result.figure(row, CPU).median),
            spread(result.figure(row, CPU)),
            number(row.figures[WORKER].median) if WORKER in row.figures and row.figures[WORKER].median else "-",
            number(result.figure(row, WALL).median),
            spread(result.figure(row, WALL)),
            *(_of_best(result, row, quantity) for quantity in ("host_cpu", "wall")),
        ]
        for result in results
        for count in _counts(result)
        for row in _slow_first(result, count)
    ]
    header = [
        "machine", "peer", "caller CPU", "p10–p90", "worker CPU", "wall", "p10–p90",
        "caller, of our best (95 % CI)", "wall, of our best (95 % CI)",
    ]  # fmt: skip
    return Table.of(caption("us a dispatch, medians.", results), header, rows, merged=1, grouped=True)


def _of_best(result: Result, row: Row, quantity: str) -> str:
    ratio = next((each for each in result.ratios if (each.quantity, each.over) == (quantity, row.name)), None)
    return interval(ratio) if ratio else "-"
