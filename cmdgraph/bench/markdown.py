"""Markdown made from the JSON of an experiment: never typed, never measured here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["facts", "strategies", "table"]


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


def strategies(report: dict[str, Any]) -> str:
    """The report of `cmdgraph.bench.strategies` as text."""
    cpu = {r["under"]: r for r in report["ratios"] if r["quantity"] == "host_cpu"}
    rows = [
        [
            row["strategy"],
            row["submits"],
            row["passes"],
            *_figures(row["host_cpu_us_per_dispatch"]),
            *_figures(row["wall_us_per_dispatch"])[:1],
            _interval(cpu[row["strategy"]]) if row["strategy"] in cpu else "1",
        ]
        for row in report["rows"]
    ]
    capture = report["capture"]
    capture_us = capture["wall_us_per_dispatch"]["median"]
    chain, how = report["chain"], report["method"]
    header = ["strategy", "submits", "passes", "host CPU us/dispatch", "p10-p90", "wall us/dispatch"]
    lines = [
        facts(report["environment"]),
        "",
        f"Chain of {chain['dispatches']} dispatches, {chain['bindings_per_dispatch']} bindings each, over "
        f"{chain['buffers']} buffers and {chain['pipelines']} pipelines; medians of {how['rounds']} "
        f"interleaved rounds after {how['warmup']} warm-ups.",
        "",
        table([*header, "host CPU, eager / this (95 % CI)"], rows),
        "",
        f"Capture: {capture_us:.1f} us a dispatch (target {capture['target_us']}).",
        *(f"Left out: {row['strategy']} ({row['reason']})." for row in report["left_out"]),
    ]
    return "\n".join(lines)


def _figures(summary: dict[str, Any]) -> tuple[str, str]:
    return f"{summary['median']:.2f}", f"{summary['p10']:.2f}-{summary['p90']:.2f}"


def _interval(ratio: dict[str, Any]) -> str:
    return f"{ratio['ratio']:.1f} ({ratio['ci95_low']:.1f}-{ratio['ci95_high']:.1f})"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
