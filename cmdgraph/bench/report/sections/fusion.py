"""What fewer dispatches gain, eager and replayed: once a dispatch costs little, fusing gains less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from cmdgraph.bench.report.captions import caption
from cmdgraph.bench.report.document import Block, Drawing, Table, Text, plain
from cmdgraph.bench.report.evidence import Result
from cmdgraph.bench.report.figures import interval, number, times
from cmdgraph.bench.report.plots import ratios
from cmdgraph.bench.report.schema import Ratio, read

__all__ = ["ALSO", "EXPERIMENT", "TITLE", "Gain", "blocks", "gains", "points"]

EXPERIMENT = "fusion"
ALSO = ("decode",)
"""Compares plans too, where it ran several."""
TITLE = "Fewer dispatches"


@attrs.frozen
class Gain:
    """How many times longer a token takes by one plan than by another, and what their numbers of dispatches allow."""

    strategy: str
    over: str
    under: str
    ratio: Ratio
    allowed: float


def gains(result: Result) -> list[Gain]:
    """All comparisons of plans in a result, strategy by strategy."""
    return [
        Gain(
            str(each["strategy"]), str(each["over"]), str(each["under"]),
            read({"quantity": "wall", **each}, Ratio, "fusion"), float(each["ceiling"]),
        )
        for each in result.data.get("fusion") or []
        if isinstance(each, Mapping)
    ]  # fmt: skip


def blocks(results: Sequence[Result]) -> list[Block]:
    told = [result for result in results if gains(result)]
    if not told:
        return []
    made: list[Block] = [
        Text(
            "If nothing but the number of dispatches counted, a token would get faster by the ratio of those "
            "numbers. A gain above it means that the fused kernels also save work of their own, or that a dispatch "
            "costs more when there are many; a gain below it means that something else, the kernels, takes its share."
        )
    ]
    for number_, result in enumerate(told, 1):
        name = f"fusion-{number_}"
        panels = [
            (f"{over} to {under}: the count allows {found[0].allowed:.3f}", _bars(found), found[0].allowed)
            for (over, under), found in _by_plans(result).items()
        ]
        drawing = ratios.draw(name, panels, "times faster; dashed: what the count allows")
        text = f"What fusing gains by each strategy, with 95 % confidence intervals. {plain(result.subject)}."
        made.append(
            Drawing(name, drawing, f"Gain of fusing by strategy on {result.machine.short}.", caption(text, [result]))
        )
    return [*made, _table(told)]


def points(results: Sequence[Result]) -> list[str]:
    """For each machine what the first pair of plans gains eagerly and by the best replay."""
    told = []
    for result in results:
        for (over, under), found in list(_by_plans(result).items())[:1]:
            eager = next((gain for gain in found if gain.strategy == "eager"), None)
            last = found[-1]
            if eager is None or last is eager:
                continue
            verb = "less" if last.ratio.ratio < eager.ratio.ratio else "not less"
            told.append(
                f"**{plain(result.machine.short)}:** going from `{over}` to `{under}` gains {interval(eager.ratio)} "
                f"eagerly and {interval(last.ratio)} by `{last.strategy}`, where the count alone would allow "
                f"{times(eager.allowed)}: fusing pays {verb} once dispatches are cheap."
            )
    return told


def _by_plans(result: Result) -> dict[tuple[str, str], list[Gain]]:
    found: dict[tuple[str, str], list[Gain]] = {}
    for gain in gains(result):
        found.setdefault((gain.over, gain.under), []).append(gain)
    return found


def _bars(found: Sequence[Gain]) -> list[ratios.Bar]:
    return [ratios.Bar(g.strategy, g.ratio.ratio, g.ratio.ci95_low, g.ratio.ci95_high) for g in found]


def _table(results: Sequence[Result]) -> Table:
    rows = [
        [
            plain(result.where),
            f"{gain.over} / {gain.under}",
            times(gain.allowed),
            f"`{gain.strategy}`",
            interval(gain.ratio),
            f"{number(100 * (gain.ratio.ratio - 1) / (gain.allowed - 1))} %" if gain.allowed > 1 else "-",
        ]
        for result in results
        for gain in gains(result)
    ]
    header = [
        "machine and model",
        "plans",
        "the count allows",
        "strategy",
        "gain (95 % CI)",
        "of what the count allows",
    ]
    return Table.of(
        caption("Wall time of a token by the one plan over that by the other.", results),
        header,
        rows,
        merged=3,
        grouped=True,
    )
