"""What validating less could save at most."""

from __future__ import annotations

from collections.abc import Sequence

from cmdgraph.bench.report.document import Block, Text, plain
from cmdgraph.bench.report.evidence import Result
from cmdgraph.bench.report.figures import number
from cmdgraph.bench.report.schema import Finding
from cmdgraph.bench.report.sections import pairs
from cmdgraph.bench.report.sections.others import remarks

__all__ = ["BASELINE", "EXPERIMENT", "TITLE", "blocks", "cost", "points", "saved"]

EXPERIMENT = "validation"
TITLE = "What skipping validation alone would save"

BASELINE = "single-pass-public"
CHECKED, UNCHECKED = "validated", "skip_validation"
CPU = "host_cpu_us_per_dispatch"


def blocks(results: Sequence[Result]) -> list[Block]:
    told = [result for result in results if result.ratios]
    made: list[Block] = [
        Text(
            "Dawn can be told to check nothing (`skip_validation`). What that saves is all that an extension could "
            "save by proving commands once; anything beyond it must come from encoding, submitting and calling less."
        )
    ]
    if told:
        made += [
            pairs.drawing(EXPERIMENT, told, "validated over skip_validation"),
            pairs.table(told, "validated", "not validated"),
        ]
    return [*made, *remarks(results)]


def points(results: Sequence[Result]) -> list[str]:
    """What is saved of the baseline, or that nothing is."""
    told = []
    for result in results:
        found = saved(result)
        if found is None or found.value is None:
            continue
        low, high = found.ci95_low, found.ci95_high
        ranged = f" (95 % CI {number(low)} to {number(high)})" if low is not None and high is not None else ""
        nothing = found.value <= 0 or (low is not None and low <= 0)
        told.append(
            f"**{plain(result.machine.short)}:** validating nothing saves "
            + (f"nothing that shows, {number(found.value)} %" if nothing else f"{number(found.value)} %")
            + f"{ranged} of the caller's CPU time with one pass and one submit; proving commands once can save no "
            "more by itself."
        )
    return told


def saved(result: Result, way: str = BASELINE, quantity: str = "host_cpu") -> Finding | None:
    """Percent of a way's cost that is saved without validation."""
    return result.finding(f"saved by no validation, {way}, {quantity}")


def cost(result: Result, way: str = BASELINE) -> float | None:
    """us of the caller's CPU time a dispatch that validation takes by one way."""
    checked, unchecked = result.row(f"{way}, {CHECKED}"), result.row(f"{way}, {UNCHECKED}")
    if checked is None or unchecked is None:
        return None
    return result.figure(checked, CPU).median - result.figure(unchecked, CPU).median
