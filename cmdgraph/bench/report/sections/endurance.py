"""Very many replays: whether time and memory stay where they were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cmdgraph.bench.report.captions import caption
from cmdgraph.bench.report.document import Block, Drawing, List, plain
from cmdgraph.bench.report.evidence import Result
from cmdgraph.bench.report.figures import number
from cmdgraph.bench.report.plots import course

__all__ = ["EXPERIMENT", "TITLE", "blocks", "points"]

EXPERIMENT = "endurance"
TITLE = "Very many replays"


def blocks(results: Sequence[Result]) -> list[Block]:
    made: list[Block] = [List([_verdict(result) for result in results])]
    for number_, result in enumerate(results, 1):
        name = f"{EXPERIMENT}-{number_}"
        drawing = course.draw(
            name,
            [block["replays"] for block in result.data["blocks"]],
            {
                "wall time of a replay, us": [block["wall_us"] for block in result.data["blocks"]],
                "caller CPU of a replay, us": [block["cpu_us"] for block in result.data["blocks"]],
                "memory of the process, MB": [block["rss_mb"] for block in result.data["blocks"]],
            },
            "replays so far",
        )
        alt = f"Time of a replay and memory of the process over all replays on {result.machine.short}."
        made.append(Drawing(name, drawing, alt, caption("Means of each block of replays.", [result])))
    return made


def points(results: Sequence[Result]) -> list[str]:
    """What happened to memory and time."""
    return [_verdict(result) for result in results]


def _verdict(result: Result) -> str:
    graph, verdict = result.data["workload"], result.data["verdict"]
    flat = {True: "stayed flat", False: "did **not** stay flat"}
    return (
        f"**{plain(result.machine.short)}:** over {graph['replays']:,} replays of {graph['nodes']} nodes by "
        f"`{graph['strategy']}` memory {flat[verdict['memory_flat']]} ({_signed(verdict['memory_growth_mb'])} MB), "
        f"the time of a replay {flat[verdict['time_flat']]} (x{number(verdict['time_drift'])}), and the number of "
        f"objects {flat[verdict['objects_flat']]}."
    )


def _signed(value: Any) -> str:
    return f"{value:+.1f}"
