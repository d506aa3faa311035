"""What experiments have in common that run each way twice, with one thing changed."""

from __future__ import annotations

from collections.abc import Sequence

from cmdgraph.bench.report.captions import caption
from cmdgraph.bench.report.document import Drawing, Table, plain
from cmdgraph.bench.report.evidence import Result
from cmdgraph.bench.report.figures import interval, number
from cmdgraph.bench.report.plots import ratios
from cmdgraph.bench.report.schema import Ratio

__all__ = ["COST", "drawing", "table", "way_of"]

COST = {"host_cpu": "caller CPU", "wall": "wall", "gpu": "GPU"}
_FIGURE = "{}_us_per_dispatch"


def way_of(ratio: Ratio) -> str:
    """`eager` of `eager, f16`."""
    return ratio.over.rpartition(", ")[0]


def drawing(name: str, results: Sequence[Result], what: str) -> Drawing:
    """All ratios with their intervals; `what` says of what to what."""
    panels = [
        (
            result.machine.short,
            [
                ratios.Bar(
                    f"{way_of(each)}, {COST.get(each.quantity, each.quantity)}",
                    each.ratio,
                    each.ci95_low,
                    each.ci95_high,
                )
                for each in result.ratios
            ],
            None,
        )
        for result in results
        if result.ratios
    ]
    text = f"{what}, with 95 % confidence intervals; an interval over 1 shows no difference."
    return Drawing(name, ratios.draw(name, panels, what), f"{what} for each way.", caption(text, results))


def table(results: Sequence[Result], over: str, under: str) -> Table:
    """Both medians, in us, and their ratio."""
    rows = []
    for result in results:
        for each in result.ratios:
            figure = _FIGURE.format(each.quantity)
            both = [row.figures[figure].median for name in (each.over, each.under) if (row := result.row(name))]
            quantity = COST.get(each.quantity, plain(each.quantity))
            cells = [number(value) for value in both]
            rows.append([plain(result.machine.short), f"`{way_of(each)}`", quantity, *cells, interval(each)])
    header = ["machine", "way", "time", over, under, f"{over} / {under} (95 % CI)"]
    return Table.of(caption("us a dispatch, medians.", results), header, rows, merged=1, grouped=True)
