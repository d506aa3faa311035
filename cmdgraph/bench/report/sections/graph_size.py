"""How capture, validation, encoding, replay and memory grow with the nodes of a graph."""

from __future__ import annotations

from collections.abc import Sequence

from cmdgraph.bench.report.captions import caption
from cmdgraph.bench.report.document import Block, Drawing, Table, Text, plain
from cmdgraph.bench.report.evidence import Result
from cmdgraph.bench.report.figures import among, number
from cmdgraph.bench.report.plots import lines
from cmdgraph.bench.report.schema import Figure
from cmdgraph.bench.report.sections.others import remarks

__all__ = ["EXPERIMENT", "TITLE", "blocks", "points"]

EXPERIMENT = "graph-size"
TITLE = "Small graphs and large ones"

WALL = "wall_us_per_node"
STEADY = 1.5
"""A stage grows in step with its nodes while its cost a node stays within this factor."""


def blocks(results: Sequence[Result]) -> list[Block]:
    panels = [lines.Panel(result.machine.short, _series(result)) for result in results]
    return [
        Text(
            "`capture` records, proves and packs; `rules` is proving alone; `encode` walks the packed commands; "
            "`replay` encodes, submits and waits. A level line means that a stage grows in step with the nodes."
        ),
        Drawing(
            EXPERIMENT,
            lines.draw(EXPERIMENT, panels, "nodes of the graph, log scale", "us of wall time a node, log scale"),
            "Wall time a node of each stage against the nodes of the graph.",
            caption("Median and p10–p90 of wall time a node.", results),
        ),
        _table(results),
        *remarks(results),
    ]


def points(results: Sequence[Result]) -> list[str]:
    """Which stages stay in step with the nodes from the middle of the range on, and what a node holds."""
    told = []
    for result in results:
        ends = {name: (points[len(points) // 2], points[-1]) for name, points in _series(result).items()}
        grown = [name for name, ((_, a), (_, b)) in ends.items() if b.median > STEADY * a.median]
        if not ends:
            continue
        largest = max(int(last[0]) for _, last in ends.values())
        verdict = (
            f"{among([f'`{name}`' for name in grown])} cost more a node" if grown else "no stage costs more a node"
        )
        memory = "".join(f"; {plain(found.text)}" for found in result.findings)
        told.append(f"**{plain(result.machine.short)}:** with up to {largest:,} nodes {verdict}{memory}.")
    return told


def _series(result: Result) -> dict[str, list[tuple[float, Figure]]]:
    found: dict[str, list[tuple[float, Figure]]] = {}
    for row in sorted(result.rows, key=lambda row: result.fact(row, "nodes")):
        found.setdefault(result.fact(row, "series"), []).append((result.fact(row, "nodes"), result.figure(row, WALL)))
    return found


def _table(results: Sequence[Result]) -> Table:
    stages = list(dict.fromkeys(name for result in results for name in _series(result)))
    rows = []
    for result in results:
        series = {name: dict(points) for name, points in _series(result).items()}
        memory = {each["nodes"]: each for each in result.data.get("memory", [])}
        for nodes in sorted({int(result.fact(row, "nodes")) for row in result.rows}):
            cells = [number(series[name][nodes].median) if nodes in series.get(name, {}) else "-" for name in stages]
            held = memory.get(nodes)
            bytes_ = [_mib(held[key]) for key in ("packed_bytes", "resident_growth_bytes")] if held else ["-", "-"]
            rows.append([plain(result.machine.short), f"{nodes:,}", *cells, *bytes_])
    header = ["machine", "nodes", *stages, "packed, MiB", "process grew, MiB"]
    text = "us of wall time a node, medians; memory after capture."
    return Table.of(caption(text, results), header, rows, merged=1, grouped=True)


def _mib(count: float) -> str:
    return number(count / 2**20)
