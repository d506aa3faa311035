"""From a folder of JSON files, of any number of machines, to evidence; whatever is wrong with a file is one line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cmdgraph.bench import results
from cmdgraph.bench.report.evidence import Evidence, Result
from cmdgraph.bench.report.schema import Environment, Finding, Fit, Method, Ratio, Row, ShapeError, read
from cmdgraph.bench.results import ResultError

__all__ = ["read_folder"]

ELSEWHERE = ("fuzz", "fuzz-format")
"""Experiments that measure no machine: their files may lie beside the others, and other pages show them."""


def read_folder(folder: Path, *, mix: bool = False) -> Evidence:
    """All results below `folder`; the same result in two files counts once.

    Files of experiments that other pages show are skipped.

    Raises:
        ResultError: there is no result; a file is none, is damaged, or is of another version; or the results are of
            several commits and `mix` is false.
    """
    if not folder.is_dir():
        raise ResultError(f"{folder}: {'not a folder' if folder.exists() else 'no such folder'}")
    paths = sorted(path for path in folder.rglob("*.json") if path.is_file())
    if not paths:
        raise ResultError(f"{folder}: no .json file in it; `cmdgraph bench ... -o json` makes such files")
    found: list[Result] = []
    skipped: list[str] = []
    seen: set[str] = set()
    for path in paths:
        name = str(path.relative_to(folder))
        report = _report(path)
        content = json.dumps(report, sort_keys=True)
        if report["experiment"] in ELSEWHERE:
            skipped.append(name)
        elif content not in seen:
            found.append(_result(path, name, report))
        seen.add(content)
    if not found:
        raise ResultError(f"{folder}: no measurement in it, only {', '.join(skipped[:5])}")
    if not mix:
        _refuse_several_commits(found)
    return Evidence(found, skipped)


def _report(path: Path) -> dict[str, Any]:
    try:
        report = results.read(path)
    except RecursionError as error:
        raise ResultError(f"{path} is no report: nested too deeply") from error
    if (place := next(_not_finite(report, ""), None)) is not None:
        raise ResultError(f"{path} holds a number that is none at {place}; measure again, or take the file away")
    return report


def _not_finite(value: Any, place: str) -> Iterator[str]:
    """Where NaN or infinity stands: JSON has no such numbers, but Python reads them."""
    match value:
        case dict():
            for name, part in value.items():
                yield from _not_finite(part, f"{place}.{name}".removeprefix("."))
        case list():
            for number, part in enumerate(value):
                yield from _not_finite(part, f"{place}[{number}]")
        case float() if not math.isfinite(value):
            yield place


def _result(path: Path, name: str, report: dict[str, Any]) -> Result:
    method = report["method"]
    try:
        return Result(
            path=name,
            experiment=report["experiment"],
            environment=read(report["environment"], Environment, "environment"),
            method=read(method, Method, "method"),
            rows=[Row.of(row) for row in report["rows"]],
            ratios=read([_with_plan(ratio) for ratio in report["ratios"]], list[Ratio], "ratios"),
            fits=read(report["fits"], list[Fit], "fits"),
            findings=read(report["findings"], list[Finding], "findings"),
            left_out=read(report["left_out"], list[dict[str, Any]], "left_out"),
            noise=read(report["noise"], list[str], "noise"),
            notes=read(report["notes"], list[str], "notes"),
            interrupted=report["interrupted"] is True,
            data=report,
        )
    except ShapeError as error:
        raise ResultError(f"{path} is a damaged report of {report['experiment']}: {error}; measure again") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise ResultError(f"{path} is a damaged report of {report['experiment']}: {error!r}; measure again") from error


def _with_plan(ratio: dict[str, Any]) -> dict[str, Any]:
    """Ratios of version 0 name their plan apart; rows have it in their names."""
    if "plan" not in ratio:
        return ratio
    return {**ratio, **{side: f"{ratio['plan']}/{ratio[side].rpartition('/')[2]}" for side in ("over", "under")}}


def _refuse_several_commits(found: Sequence[Result]) -> None:
    files: dict[str, list[str]] = {}
    for result in found:
        files.setdefault((result.environment.commit or "no commit")[:12], []).append(result.path)
    if len(files) > 1:
        listed = "; ".join(f"{commit}: {', '.join(paths)}" for commit, paths in files.items())
        raise ResultError(f"results of {len(files)} commits; --mix shows them together all the same ({listed})")
