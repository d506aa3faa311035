"""What a replay pays for validation: the test that is left when all rules were proved at capture."""

from __future__ import annotations

from collections.abc import Sequence

from cmdgraph.bench.report.captions import caption
from cmdgraph.bench.report.document import Block, Table, Text, plain
from cmdgraph.bench.report.evidence import Result
from cmdgraph.bench.report.figures import number, spread

__all__ = ["COST", "EXPERIMENT", "TITLE", "blocks", "points"]

EXPERIMENT = "checks"
TITLE = "What a replay pays for validation"

COST = "cpu_us_per_check"


def blocks(results: Sequence[Result]) -> list[Block]:
    rows = [
        [
            plain(result.machine.short),
            f"{result.fact(row, 'nodes'):,}",
            str(result.fact(row, "buffers")),
            str(result.fact(row, "mappable")),
            number(result.figure(row, COST).median),
            spread(result.figure(row, COST)),
        ]
        for result in results
        for row in result.rows
    ]
    header = ["machine", "nodes", "buffers", "of them mappable", "CPU us a replay", "p10–p90"]
    return [
        Text(
            "All rules are proved at capture. Before a submit a replay takes the device's lock, asks whether the "
            "device is lost, tests the graph's flag and its buffers that can be mapped, and lets the lock go."
        ),
        Table.of(caption("Medians.", results), header, rows, merged=1, grouped=True),
    ]


def points(results: Sequence[Result]) -> list[str]:
    """Whether the test costs the same for the smallest and the largest graph."""
    told = []
    for result in results:
        plain_rows = sorted(
            (r for r in result.rows if not result.fact(r, "mappable")), key=lambda r: result.fact(r, "nodes")
        )
        if len(plain_rows) < 2:
            continue
        first, last = plain_rows[0], plain_rows[-1]
        low, high = result.figure(first, COST).median, result.figure(last, COST).median
        same = "the same" if high <= 1.2 * low else "more"
        told.append(
            f"**{plain(result.machine.short)}:** the test before each replay costs {number(low)} us with "
            f"{result.fact(first, 'nodes'):,} nodes and {number(high)} us with {result.fact(last, 'nodes'):,}: {same}."
        )
    return told
