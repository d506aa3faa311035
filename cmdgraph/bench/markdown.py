"""Markdown made from reports: never typed, never measured here.

`report` makes a table of any report of the common shape; experiments of older standing have a table of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from cmdgraph.bench import results
from cmdgraph.bench.results import Report

__all__ = ["endurance", "facts", "report", "strategies", "table"]


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table with padded columns; numbers are aligned to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    numeric = [bool(cells) and all(_is_number(row[n]) for row in cells) for n in range(len(header))]
    widths = [max(len(row[n]) for row in [list(header), *cells]) for n in range(len(header))]

    def line(row: Sequence[str]) -> str:
        padded = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, numeric, strict=True))
        return f"| {' | '.join(padded)} |"

    rule = ("-" * (w - 1) + ":" if r else "-" * w for w, r in zip(widths, numeric, strict=True))
    return "\n".join([line(header), f"| {' | '.join(rule)} |", *map(line, cells)])


def facts(environment: dict[str, Any]) -> str:
    """One paragraph that says on what a table was measured."""
    implementation = environment["implementation"]
    adapter = f"{environment['adapter']}, {environment['driver']}, {environment['backend']}"
    commit = environment["commit"]
    state = f"commit {commit[:12]}{', files changed' if environment['dirty'] else ''}" if commit else "no commit"
    parts = [
        f"**software adapter** {adapter}" if environment["software_adapter"] else adapter,
        f"{implementation['name']} {implementation['version']}, wgpu-py {environment['wgpu_py']}",
        f"Python {environment['python']}, {environment['os']}",
        f"{environment['cpu']}, {environment['cores']} cores",
        f"{state}, {environment['date']}",
        f"`{environment['command']}`",
    ]
    return "; ".join(parts)


def report(found: Report) -> str:
    """Any report: on what, a table of its rows with medians and p10-p90, then ratios, lines and answers."""
    how = found["method"]
    stopped = f"Stopped after {how['rounds']} of {how['rounds_wanted']} rounds. " if found["interrupted"] else ""
    lines = [
        facts(found["environment"]),
        "",
        f"{stopped}Medians (p10-p90) of {how['rounds']} interleaved rounds after at least {how['warmup']} warm-ups. "
        f"Waits: {how['sync']}.",
        "",
        table(*_columns(found["rows"])),
        "",
        *(_fit(fit) for fit in found["fits"]),
        *(_ratio(ratio) for ratio in found["ratios"]),
        "",
        *(
            f"**{each['name']}**: {_value(each)}. {each['text'][:1].upper()}{each['text'][1:]}."
            for each in found["findings"]
        ),
        *(f"Left out: {each['row']} ({each['reason']})." for each in found["left_out"]),
        *(f"Note: {each}." for each in found["notes"]),
        *(f"**Noise**: {each}." for each in found["noise"]),
    ]
    return "\n".join(lines).strip()


def strategies(report: dict[str, Any]) -> str:
    """The report of `cmdgraph.bench.experiments.strategies` as text."""
    rows = [
        [
            row["strategy"],
            row["submits"],
            *_figures(row["host_cpu_us_per_dispatch"]),
            *_figures(row["worker_cpu_us_per_dispatch"])[:1],
            *_figures(row["wall_us_per_dispatch"])[:1],
            _interval(report, "host_cpu", row["strategy"]),
            _interval(report, "wall", row["strategy"]),
        ]
        for row in report["rows"]
    ]
    capture = report["capture"]
    capture_us = capture["wall_us_per_dispatch"]["median"]
    chain, how = report["workload"], report["method"]
    header = ["strategy", "submits", "caller CPU us/dispatch", "p10-p90", "worker CPU", "wall us/dispatch"]
    lines = [
        facts(report["environment"]),
        "",
        f"Chain of {chain['dispatches']} dispatches, {chain['bindings_per_dispatch']} bindings each, over "
        f"{chain['buffers']} buffers and {chain['pipelines']} pipelines; medians of {how['rounds']} "
        f"interleaved rounds after {how['warmup']} warm-ups.",
        "",
        table([*header, "eager / this, caller CPU (95 % CI)", "eager / this, wall (95 % CI)"], rows),
        "",
        f"Capture: {capture_us:.1f} us a dispatch (target {capture['target_us']}).",
        *(f"Left out: {row['row']} ({row['reason']})." for row in report["left_out"]),
    ]
    return "\n".join(lines)


def endurance(report: dict[str, Any]) -> str:
    """The report of `cmdgraph.bench.experiments.endurance` as text."""
    rows = [
        [number, block["replays"], f"{block['wall_us']:.1f}", f"{block['cpu_us']:.1f}", f"{block['rss_mb']:.1f}"]
        for number, block in enumerate(report["blocks"], 1)
    ]
    graph, verdict = report["workload"], report["verdict"]
    flat = {True: "flat", False: "NOT FLAT"}
    return "\n".join(
        [
            facts(report["environment"]),
            "",
            f"{graph['replays']:,} replays of {graph['nodes']} nodes, {graph['strategy']}, nothing waited for in "
            "between.",
            "",
            table(["block", "replays", "wall us", "caller CPU us", "RSS MB"], rows),
            "",
            f"Memory {flat[verdict['memory_flat']]} ({verdict['memory_growth_mb']:+.1f} MB), time "
            f"{flat[verdict['time_flat']]} ({verdict['time_drift']:.2f}x), objects {flat[verdict['objects_flat']]}, "
            f"{graph['abandoned']} command buffers abandoned.",
        ]
    )


_HIDDEN = {"name", "series", "checked", "dispatches_per_sample", "submits_per_sample"}
"""Keys of a row without a column: they stand in its name, or are for machines."""


def _columns(rows: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Header and cells: the name, then the parameters that all rows have and the figures that some have.

    Left to the JSON are whole runs, where there are figures per dispatch, and threads that did nothing.
    """
    keys = list(dict.fromkeys(key for row in rows for key in row if key not in _HIDDEN))
    keys = [key for key in keys if not key.endswith("_per_run") and _worth_showing(key, rows)]
    return ["row", *(key.replace("_", " ") for key in keys)], [
        [row["name"], *(_cell(row.get(k)) for k in keys)] for row in rows
    ]


def _worth_showing(key: str, rows: Sequence[dict[str, Any]]) -> bool:
    found = [figure for row in rows if (figure := results.figures(row).get(key))]
    return any(figure["max"] > 0 for figure in found) if found else all(key in row for row in rows)


def _cell(value: Any) -> str:
    if isinstance(value, dict) and "samples" in value:
        return f"{_short(value['median'])} ({_short(value['p10'])}-{_short(value['p90'])})"
    return "" if value is None else str(value)


def _fit(fit: dict[str, Any]) -> str:
    slope, intercept = (f"{_value(fit[part])}" for part in ("slope", "intercept"))
    return f"- {fit['series']}, {fit['quantity']}: {slope} for each of {fit['against']}, {intercept} once"


def _ratio(ratio: dict[str, Any]) -> str:
    value = {**ratio, "value": ratio["ratio"], "unit": ""}
    return f"- {ratio['quantity']}: {ratio['over']} / {ratio['under']} = {_value(value)}"


def _value(each: dict[str, Any]) -> str:
    """A number with its unit and interval."""
    if each["value"] is None:
        return "none"
    text = f"{_short(each['value'])} {each['unit']}".strip()
    if "ci95_low" in each:
        text += f" (95 % CI {_short(each['ci95_low'])}-{_short(each['ci95_high'])})"
    return text


def _short(number: float) -> str:
    """Three digits that count, without exponents."""
    if not math.isfinite(number):
        return "?"
    digits = 0 if number == 0 else max(0, 2 - math.floor(math.log10(abs(number))))
    return f"{number:,.{min(digits, 4)}f}"


def _figures(summary: dict[str, Any]) -> tuple[str, str]:
    return f"{summary['median']:.2f}", f"{summary['p10']:.2f}-{summary['p90']:.2f}"


def _interval(report: dict[str, Any], quantity: str, strategy: str) -> str:
    """The ratio of eager to a strategy; 1 for eager itself."""
    for ratio in report["ratios"]:
        if (ratio["quantity"], ratio["over"], ratio["under"]) == (quantity, "eager", strategy):
            return f"{ratio['ratio']:.1f} ({ratio['ci95_low']:.1f}-{ratio['ci95_high']:.1f})"
    return "1"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
