"""Where the time of one naive dispatch goes, call by call."""

from __future__ import annotations

from collections.abc import Sequence

from cmdgraph.bench.report.captions import caption
from cmdgraph.bench.report.document import Block, Drawing, Table, Text, plain
from cmdgraph.bench.report.evidence import Result
from cmdgraph.bench.report.figures import number, percent
from cmdgraph.bench.report.plots import stacks
from cmdgraph.bench.report.sections.others import remarks

__all__ = ["CPU", "EXPERIMENT", "TITLE", "blocks", "phases_of", "points", "share"]

EXPERIMENT = "phases"
TITLE = "Where a naive dispatch spends its time"

CPU, WALL = "host_cpu_us_per_dispatch", "wall_us_per_dispatch"
PATHS = ("public", "C")
GROUPS = {
    "create bind group": ("bind group", "other"),
    "create encoder": ("encoder", "pass"),
    "begin pass": ("pass", "ahead"),
    "set pipeline": ("state", "extra"),
    "set bind group": ("state", "extra"),
    "dispatch": ("state", "extra"),
    "end": ("pass", "ahead"),
    "finish": ("encoder", "pass"),
    "submit": ("submit", "naive"),
    "release": ("release", "native"),
}
"""The phases in their order, each with the title and colour of its group."""


def blocks(results: Sequence[Result]) -> list[Block]:
    bars = {
        f"{result.machine.short}\n{_path(path)}": found
        for result in results
        for path in PATHS
        if (found := phases_of(result, path))
    }
    return [
        Text(
            "Each operation has a bind group, an encoder, a pass and a submit of its own, and a clock is read "
            "between any two calls. The public API is wgpu-py; from C are the same calls without Python."
        ),
        Drawing(
            EXPERIMENT,
            stacks.draw(EXPERIMENT, bars, GROUPS, "us of the caller's CPU time a dispatch"),
            "The phases of one dispatch as stacked bars, for each machine by the public API and from C.",
            caption("Medians of the caller's CPU time, one bar for each path.", results),
        ),
        _table(results),
        *remarks(results),
    ]


def points(results: Sequence[Result]) -> list[str]:
    """Which phase costs most."""
    told = []
    for result in results:
        parts = phases_of(result, PATHS[0])
        if not parts:
            continue
        total, largest = sum(parts.values()), max(parts, key=lambda name: parts[name])
        told.append(
            f"**{plain(result.machine.short)}:** of the {number(total)} us of CPU time of a naive dispatch by the "
            f"public API the largest part, {percent(parts[largest] / total)}, is `{largest}`."
        )
    return told


def phases_of(result: Result, path: str) -> dict[str, float]:
    """us of CPU time of each phase by one path, in their order; empty where that path was not measured."""
    rows = {row.facts.get("phase"): row for row in result.rows if row.facts.get("series") == path}
    return {phase: result.figure(rows[phase], CPU).median for phase in GROUPS if phase in rows}


def share(result: Result, path: str, *names: str) -> float | None:
    """What part of a dispatch's CPU time the named phases are, without what reading the clock costs, if it is known."""
    title = " and ".join(names)
    found = result.finding(f"{path}: {title}")
    return found.value / 100 if found and found.value is not None else None


def _path(path: str) -> str:
    return "public API" if path == "public" else "from C"


def _table(results: Sequence[Result]) -> Table:
    rows = []
    for result in results:
        for path in PATHS:
            parts = phases_of(result, path)
            if parts:
                total = sum(parts.values())
                cells = [number(parts[phase]) if phase in parts else "-" for phase in GROUPS]
                rows.append([plain(result.machine.short), _path(path), *cells, number(total)])
    text = "us of the caller's CPU time a dispatch, medians; each phase holds one reading of the clock."
    return Table.of(caption(text, results), ["machine", "path", *GROUPS, "sum"], rows, merged=1, grouped=True)
