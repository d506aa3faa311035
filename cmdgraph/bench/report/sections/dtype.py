"""Whether a dispatch costs the same with f32 and with f16."""

from __future__ import annotations

from collections.abc import Sequence

from cmdgraph.bench.report.document import Block, Text, plain
from cmdgraph.bench.report.evidence import Result
from cmdgraph.bench.report.figures import among, interval
from cmdgraph.bench.report.sections import pairs
from cmdgraph.bench.report.sections.others import remarks

__all__ = ["EXPERIMENT", "TITLE", "blocks", "points", "same_cost"]

EXPERIMENT = "dtype"
TITLE = "Whether the element type matters"

CLOSE = 0.1
"""A difference of less than this part is none to speak of."""


def blocks(results: Sequence[Result]) -> list[Block]:
    told = [result for result in results if result.ratios]
    made: list[Block] = [Text("The same chain on f32 and on f16: the host does not look at what lies in a buffer.")]
    if told:
        made += [pairs.drawing(EXPERIMENT, told, "f16 over f32"), pairs.table(told, "f16", "f32")]
    return [*made, *remarks(results)]


def points(results: Sequence[Result]) -> list[str]:
    """Whether f16 costs the caller another amount than f32."""
    told = []
    for result in results:
        found = [each for each in result.ratios if each.quantity == "host_cpu"]
        if not found:
            continue
        listed = among([f"{interval(each)} by `{pairs.way_of(each)}`" for each in found])
        verdict = (
            "costs the caller what f32 costs" if same_cost(result) else "does **not** cost the caller what f32 costs"
        )
        told.append(f"**{plain(result.machine.short)}:** a dispatch on f16 {verdict}: {listed}.")
    return told


def same_cost(result: Result) -> bool:
    """Whether no way shows a difference: its interval holds 1, or the ratio is close to it."""
    found = [each for each in result.ratios if each.quantity == "host_cpu"]
    return all(each.finds_no_difference or abs(each.ratio - 1) < CLOSE for each in found)
