"""Any experiment, also one that this version has no section for: all its figures, ratios and findings in tables."""

from __future__ import annotations

from collections.abc import Sequence

from cmdgraph.bench.report.captions import caption
from cmdgraph.bench.report.document import Block, List, Table, plain
from cmdgraph.bench.report.evidence import Result
from cmdgraph.bench.report.figures import interval, number, spread

__all__ = ["blocks", "figures_table", "findings", "remarks"]


def blocks(results: Sequence[Result]) -> list[Block]:
    """Everything that the results hold."""
    return [*findings(results), figures_table(results), *_ratios(results), *remarks(results)]


def findings(results: Sequence[Result]) -> list[Block]:
    """The answers that the experiment itself gives."""
    found = [f"{plain(r.machine.short)}: {plain(each.text)}." for r in results for each in r.findings]
    return [List(found)] if found else []


def figures_table(results: Sequence[Result], names: Sequence[str] = ()) -> Table:
    """A line for each row; of all figures, or of those named, the median and p10-p90."""
    shown = list(names) or list(dict.fromkeys(name for r in results for row in r.rows for name in row.figures))
    header = ["machine", "row"]
    for name in shown:
        header += [_title(name), "p10–p90"]
    rows = []
    for result in results:
        for row in result.rows:
            line = [plain(result.machine.short), f"`{row.name.replace('`', '')}`"]
            for name in shown:
                figure = row.figures.get(name)
                line += [number(figure.median), spread(figure)] if figure else ["-", "-"]
            rows.append(line)
    return Table.of(caption("Medians.", results), header, rows, merged=1, grouped=True)


def remarks(results: Sequence[Result]) -> list[Block]:
    """What the experiment says of its rows, and which it could not measure."""
    told = [f"{plain(r.machine.short)}: {plain(note)}" for r in results for note in r.notes]
    told += [
        f"{plain(r.machine.short)}: `{each.get('row', '?')}` was left out: "
        f"{plain(str(each.get('reason', 'no reason given')))}."
        for r in results
        for each in r.left_out
    ]
    return [List(told)] if told else []


def _ratios(results: Sequence[Result]) -> list[Block]:
    rows = [
        [plain(r.machine.short), plain(each.quantity), f"`{each.over}`", f"`{each.under}`", interval(each)]
        for r in results
        for each in r.ratios
    ]
    header = ["machine", "quantity", "of", "to", "ratio (95 % CI)"]
    return [Table.of(caption("Ratios of medians.", results), header, rows, merged=2)] if rows else []


def _title(name: str) -> str:
    """`wall_us_per_dispatch` as a heading."""
    return name.replace("host_cpu", "caller CPU").replace("_cpu", " CPU").replace("_per_", " a ").replace("_", " ")
