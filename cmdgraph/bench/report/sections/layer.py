"""What the native layer costs those who do not use it."""

from __future__ import annotations

from collections.abc import Sequence

from cmdgraph.bench.report.document import Block, Text, plain
from cmdgraph.bench.report.evidence import Result
from cmdgraph.bench.report.figures import number
from cmdgraph.bench.report.sections.others import figures_table, remarks

__all__ = ["EXPERIMENT", "TITLE", "blocks", "points"]

EXPERIMENT = "layer"
TITLE = "What the native layer costs where it is not used"


def blocks(results: Sequence[Result]) -> list[Block]:
    return [
        Text(
            "The native layer stands between the implementation and the driver. Here it is loaded and not used: "
            "encoding with and without it, in two processes that take turns."
        ),
        figures_table(results),
        *remarks(results),
    ]


def points(results: Sequence[Result]) -> list[str]:
    """How much encoding it costs, or that nothing shows."""
    told = []
    for result in results:
        for ratio in result.ratios:
            percent = 100 * (ratio.ratio - 1)
            low, high = 100 * (ratio.ci95_low - 1), 100 * (ratio.ci95_high - 1)
            cost = "nothing that shows" if ratio.finds_no_difference else f"{number(percent)} %"
            told.append(
                f"**{plain(result.machine.short)}:** a native layer that is loaded and not used costs encoding {cost} "
                f"(95 % CI {number(low)} to {number(high)} %)."
            )
    return told
