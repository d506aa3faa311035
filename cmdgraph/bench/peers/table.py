"""The report of the peers as Markdown: one table for each number of dispatches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cmdgraph.bench import markdown
from cmdgraph.bench.results import Report

__all__ = ["to_markdown"]

HEADER = [
    "peer",
    "caller CPU us/dispatch",
    "p10-p90",
    "until the calls return",
    "worker CPU",
    "other threads",
    "wall us/dispatch",
    "caller CPU, of our best (95 % CI)",
    "wall, of our best (95 % CI)",
]


def to_markdown(report: Report) -> str:
    """Tables of medians, then whether our best replay meets its goal, and what was left out and why."""
    how, work = report["method"], report["workload"]
    stopped = f"Stopped after {how['rounds']} of {how['rounds_wanted']} rounds. " if report["interrupted"] else ""
    lines = [
        markdown.facts(report["environment"]),
        "",
        f"{stopped}{work['operations'].capitalize()} on {work['elements_per_buffer']} floats; medians of "
        f"{how['rounds']} interleaved rounds, each peer in a process of its own, results equal to numpy's before and "
        f"after. Waits: {how['sync']}. "
        "The CPU time of other threads is the driver's; on a software adapter the kernels are in it.",
        "",
    ]
    for count in work["dispatches"]:
        lines += [f"{count} dispatches:", "", markdown.table(HEADER, _rows(report, count)), ""]
    lines += [f"- {row['series']}: {row['about']}; {row['software']}" for row in _once(report)]
    lines += ["", *(f"**{each['name']}**: {_finding(each)}." for each in report["findings"])]
    lines += [f"{_outcome(each)}: {each['row']} ({each['reason']})." for each in report["left_out"]]
    lines += [f"Note: {each}." for each in report["notes"]]
    lines += [f"**Noise**: {each}." for each in report["noise"]]
    return "\n".join(lines)


def _rows(report: Report, count: int) -> Iterator[list[str]]:
    for row in report["rows"]:
        if row["dispatches"] == count:
            caller = row["host_cpu_us_per_dispatch"]
            others = ("call_cpu", "worker_cpu", "other_cpu", "wall")
            yield [
                row["series"],
                f"{caller['median']:.3f}",
                f"{caller['p10']:.3f}-{caller['p90']:.3f}",
                *(f"{row[f'{name}_us_per_dispatch']['median']:.3f}" for name in others),
                _interval(report, "host_cpu", row["name"]),
                _interval(report, "wall", row["name"]),
            ]


def _interval(report: Report, quantity: str, name: str) -> str:
    """How many times our best it costs; 1 for our best itself."""
    for ratio in report["ratios"]:
        if (ratio["quantity"], ratio["over"]) == (quantity, name):
            return f"{ratio['ratio']:.2f} ({ratio['ci95_low']:.2f}-{ratio['ci95_high']:.2f})"
    return "1" if any(ratio["under"] == name for ratio in report["ratios"]) else ""


def _once(report: Report) -> list[dict[str, Any]]:
    """The first row of each peer."""
    return list({row["series"]: row for row in reversed(report["rows"])}.values())[::-1]


def _finding(each: dict[str, Any]) -> str:
    if each["value"] is None:
        return each["text"]
    return f"{each['value']:.2f} (95 % CI {each['ci95_low']:.2f}-{each['ci95_high']:.2f}), {each['text']}"


def _outcome(each: dict[str, Any]) -> str:
    return "**Failed**" if each["failed"] else "Left out"
