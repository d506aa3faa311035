"""A report as text: Markdown to read, CSV to calculate with, JSON to keep, JSON lines to search."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

from cmdgraph.bench import results
from cmdgraph.bench.results import Report

__all__ = ["FORMATS", "text"]

FORMATS = ("md", "csv", "json", "jsonl")

_CSV = ("experiment", "adapter", "software_adapter", "implementation", "commit", "dirty", "row")
_FIGURE = ("figure", "unit", "n", "median", "p10", "p90", "ci95_low", "ci95_high", "min", "max", "noisy")


def text(report: Report, kind: str, to_markdown: Callable[[Report], str]) -> str:
    """The report in one of `FORMATS`, without a newline at its end."""
    if kind == "md":
        return to_markdown(report)
    if kind == "csv":
        return _csv(report)
    if kind == "jsonl":
        return "\n".join(json.dumps(line) for line in _lines(report))
    return results.to_json(report)


def _csv(report: Report) -> str:
    """A line for each figure of each row."""
    where = report["environment"]
    common = [report["experiment"], where["adapter"], where["software_adapter"], where["implementation"]["name"]]
    common += [where["commit"], where["dirty"]]
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    write([*_CSV, *_FIGURE])
    for row in report["rows"]:
        for name, figure in results.figures(row).items():
            numbers = {"figure": name, "n": len(figure["samples"]), **figure}
            write([*common, row["name"], *(numbers.get(key, "") for key in _FIGURE)])
    return out.getvalue().rstrip("\n")


def _lines(report: Report) -> list[dict[str, Any]]:
    """A line for each row, each with all that is said of the whole."""
    common = {key: report[key] for key in ("format", "version", "experiment", "environment", "workload", "method")}
    return [{**common, "interrupted": report["interrupted"], "row": row} for row in report["rows"]]
