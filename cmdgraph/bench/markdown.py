"""Markdown made from the JSON of an experiment: never typed, never measured here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["endurance", "facts", "strategies", "table"]


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
    chain, how = report["chain"], report["method"]
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
        *(f"Left out: {row['strategy']} ({row['reason']})." for row in report["left_out"]),
    ]
    return "\n".join(lines)


def endurance(report: dict[str, Any]) -> str:
    """The report of `cmdgraph.bench.endurance` as text."""
    rows = [
        [number, block["replays"], f"{block['wall_us']:.1f}", f"{block['cpu_us']:.1f}", f"{block['rss_mb']:.1f}"]
        for number, block in enumerate(report["blocks"], 1)
    ]
    graph, verdict = report["graph"], report["verdict"]
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
