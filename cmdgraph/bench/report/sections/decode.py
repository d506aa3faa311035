"""A model's decode step by each plan and strategy, and what fusing dispatches gains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cmdgraph.bench.report.captions import caption
from cmdgraph.bench.report.document import Block, Drawing, Table, Text, plain
from cmdgraph.bench.report.evidence import Result
from cmdgraph.bench.report.figures import interval, number
from cmdgraph.bench.report.plots import speeds
from cmdgraph.bench.report.schema import Figure, Row, read

__all__ = ["EXPERIMENT", "MS", "SPEED", "TITLE", "blocks", "fastest", "peers", "plans", "points"]

EXPERIMENT = "decode"
TITLE = "A token of a language model"

SPEED, MS, CPU = "tokens_per_s", "ms_per_token", "host_cpu_us_per_dispatch"


def blocks(results: Sequence[Result]) -> list[Block]:
    made: list[Block] = [
        Text(
            "One decode step of a real model at batch 1: every operation a dispatch (`unfused`), the paper's fusions "
            "(`paper`), or as few dispatches as pays (`fused`). The tokens of every row equal the reference; a row "
            "whose tokens do not is not timed."
        )
    ]
    for number_, result in enumerate(results, 1):
        name = f"{EXPERIMENT}-{number_}"
        where = caption(f"Tokens a second, median and p10-p90. {plain(result.subject)}.", [result])
        drawing = speeds.draw(name, _panels(result), "tokens a second", {n: f.median for n, f in peers(result).items()})
        alt = f"Tokens a second by plan and strategy on {result.machine.short}."
        made.append(Drawing(name, drawing, alt, where))
    return [*made, _table(results)]


def points(results: Sequence[Result]) -> list[str]:
    """For each machine and model: eager against the fastest replay of the same plan, and of all plans."""
    return [told for result in results if (told := _point(result))]


def fastest(result: Result, plan: str | None = None) -> Row | None:
    """The row with the most tokens a second, of one plan or of all."""
    rows = [row for row in result.rows if SPEED in row.figures and plan in (None, row.facts.get("plan"))]
    return max(rows, key=lambda row: row.figures[SPEED].median, default=None)


def plans(result: Result) -> list[str]:
    """The plans in the order of their rows."""
    return list(dict.fromkeys(str(result.fact(row, "plan")) for row in result.rows))


def peers(result: Result) -> dict[str, Figure]:
    """What others reach on the same model in the same run, tokens a second by name."""
    found = result.data.get("torch") or []
    return {_short(row["name"]): read(row[SPEED], Figure, "torch") for row in found if isinstance(row, Mapping)}


def _short(name: str) -> str:
    """PyTorch 2.11.0+cu130 eager: without what stands behind the plus."""
    return " ".join(word.partition("+")[0] for word in name.split())


def _point(result: Result) -> str:
    first = plans(result)[0] if result.rows else ""
    eager, same, best = result.row(f"{first}/eager"), fastest(result, first), fastest(result)
    if eager is None or same is None or best is None or MS not in eager.figures:
        return ""
    text = (
        f"**{plain(result.machine.short)}:** a token of {plain(result.subject)} takes "
        f"{number(eager.figures[MS].median)} ms by {result.fact(eager, 'dispatches'):,} eager dispatches"
    )
    if same is eager:
        return text + ", and no replay is faster."
    gain = result.ratio("wall", eager.name, same.name)
    text += f" and {number(same.figures[MS].median)} ms when they are replayed (`{_strategy(same)}`"
    text += f", {interval(gain)} less)" if gain else ")"
    if best is not same:
        text += (
            f"; fused to {result.fact(best, 'dispatches'):,} dispatches it takes {number(best.figures[MS].median)} ms, "
            f"{number(best.figures[SPEED].median)} tokens a second"
        )
    others = [f"{plain(name)} does {number(figure.median)}" for name, figure in peers(result).items()]
    return f"{text}{' (' + ', '.join(others) + ')' if others else ''}."


def _panels(result: Result) -> list[tuple[str, Mapping[str, Figure]]]:
    panels: list[tuple[str, Mapping[str, Figure]]] = []
    for plan in plans(result):
        rows = [row for row in result.rows if row.facts["plan"] == plan and SPEED in row.figures]
        if rows:
            panels.append(
                (
                    f"{plan}: {result.fact(rows[0], 'dispatches'):,} dispatches",
                    {_strategy(r): r.figures[SPEED] for r in rows},
                )
            )
    return panels


def _strategy(row: Row) -> str:
    return str(row.facts.get("strategy", row.name.rpartition("/")[2]))


def _table(results: Sequence[Result]) -> Table:
    header = [
        "machine and model", "plan", "strategy", "dispatches", "submits", "caller CPU, us a dispatch", "ms a token",
        "tokens/s", "wall, gain (95 % CI)",
    ]  # fmt: skip
    rows = [line for result in results for line in _lines(result)]
    return Table.of(
        caption("Medians; a gain is eager by the same plan over this row.", results),
        header,
        rows,
        merged=2,
        grouped=True,
    )


def _lines(result: Result) -> list[list[str]]:
    """The rows of one result, and of others that ran the same model."""
    where = plain(result.where)
    lines = [
        [
            where,
            str(result.fact(row, "plan")),
            f"`{_strategy(row)}`",
            f"{result.fact(row, 'dispatches'):,}",
            f"{row.facts.get('submits', '-'):,}",
            *(number(row.figures[name].median) if name in row.figures else "wrong tokens" for name in (CPU, MS, SPEED)),
            _gain(result, row),
        ]
        for row in result.rows
    ]
    return lines + [
        [where, "-", plain(name), "-", "-", "-", "-", number(figure.median), "-"]
        for name, figure in peers(result).items()
    ]


def _gain(result: Result, row: Row) -> str:
    ratio = result.ratio("wall", f"{row.facts['plan']}/eager", row.name)
    return interval(ratio) if ratio else "-"
