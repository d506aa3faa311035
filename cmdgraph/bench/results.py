"""Reports as files: made in one shape, written whole or not at all, read with older shapes brought up to date.

The shape is described in the docstring of `cmdgraph.bench`.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = [
    "FORMAT",
    "VERSION",
    "ResultError",
    "figures",
    "make",
    "mixture",
    "read",
    "require_writable",
    "to_json",
    "write",
]

FORMAT = "cmdgraph-bench"
VERSION = 1

_LISTS = ("rows", "left_out", "ratios", "fits", "findings", "noise", "notes")
_ROW_NAMES = ("strategy", "graph")
"""What rows of version 0 were called by."""

_NUMBERS = re.compile(r"\[\s+((?:-?[\d.eE+-]+,?\s+)+)\]")

Report = dict[str, Any]


class ResultError(Exception):
    """A file that cannot be written, or that is no report we can read."""


def make(
    experiment: str,
    *,
    environment: Mapping[str, Any],
    workload: Mapping[str, Any],
    method: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    interrupted: bool = False,
    **others: Any,
) -> Report:
    """A report of the present version. `others`: ``left_out``, ``ratios``, ``fits``, ``findings``, ``noise``, ``notes``
    and keys of the experiment's own.

    Raises:
        ValueError: two rows have the same name.
    """
    names = [row["name"] for row in rows]
    if len(set(names)) < len(names):
        raise ValueError(f"rows of the same name: {sorted(name for name in set(names) if names.count(name) > 1)}")
    return {
        "format": FORMAT,
        "version": VERSION,
        "experiment": experiment,
        "environment": dict(environment),
        "workload": dict(workload),
        "method": dict(method),
        "interrupted": interrupted,
        "rows": [dict(row) for row in rows],
        **{name: [] for name in _LISTS[1:]},
        **others,
    }


def figures(row: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The figures of a row by name; all else in it is a parameter or a count."""
    return {name: value for name, value in row.items() if isinstance(value, dict) and "samples" in value}


def write(report: Mapping[str, Any], path: Path) -> None:
    """Writes a report as JSON; a file that was there is replaced at the end, at once.

    Raises:
        ResultError: the file cannot be written. What was there is still there.
    """
    text = to_json(report) + "\n"
    temporary = None
    try:
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = file.name
            file.write(text)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise ResultError(f"cannot write {path}: {error.strerror}") from error


def to_json(report: Mapping[str, Any]) -> str:
    """A report as JSON, indented, with samples side by side.

    Raises:
        ValueError: a number in it is none, or infinite.
    """
    text = json.dumps(report, indent=2, allow_nan=False)
    return _NUMBERS.sub(lambda match: f"[{' '.join(match[1].split())}]", text)


def require_writable(path: Path) -> None:
    """Finds out before a measurement whether `write` will work after it.

    Raises:
        ResultError: it will not.
    """
    if path.is_dir():
        raise ResultError(f"cannot write {path}: it is a folder; name a file in it")
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}."):
            pass
    except OSError as error:
        raise ResultError(f"cannot write {path}: {error.strerror}") from error


def read(path: Path) -> Report:
    """The report in a file, brought to the present version.

    Raises:
        ResultError: no such file, no JSON, no report, or one of a later version.
    """
    try:
        found = json.loads(path.read_text())
    except OSError as error:
        raise ResultError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise ResultError(f"{path} is no JSON: {error}") from error
    if not isinstance(found, dict) or not isinstance(found.get("experiment"), str):
        raise ResultError(f"{path} is no report of `cmdgraph bench` or `python -m llm`: it names no experiment")
    version = found.get("version", 0)
    if found.get("format", FORMAT) != FORMAT or not isinstance(version, int) or version > VERSION:
        raise ResultError(
            f"{path} is of format {found.get('format')} {version}, this program reads {FORMAT} up to {VERSION}; "
            "measure again, or read it with the program that wrote it"
        )
    return found if version == VERSION else _upgraded(found)


def mixture(reports: Iterable[Mapping[str, Any]]) -> str | None:
    """In one sentence of which commits the reports are, where they are of several, or of one with changed files; None
    where one clean commit made all of them.
    """
    states: dict[tuple[str | None, bool], set[str]] = {}
    for report in reports:
        environment = report["environment"]
        state = (environment.get("commit"), bool(environment.get("dirty")))
        states.setdefault(state, set()).add(report["experiment"])
    if len(states) == 1 and next(iter(states))[0] and not next(iter(states))[1]:
        return None
    parts = [
        f"{commit[:12] if commit else 'no commit'}{' with changed files' if dirty else ''} ({', '.join(sorted(names))})"
        for (commit, dirty), names in sorted(states.items(), key=lambda each: str(each[0]))
    ]
    return f"measured by {'; '.join(parts)}" if parts else None


def _upgraded(old: Report) -> Report:
    """A report of version 0: no version, rows named by what they compare, figures without units."""
    new = {
        "format": FORMAT,
        "workload": old.get("chain") or old.get("graph") or old.get("model") or {},
        "method": {},
        "interrupted": False,
        **{name: [] for name in _LISTS},
        **old,
        "version": VERSION,
    }
    new["rows"] = [_with_units({"name": _row_name(row, n), **row}) for n, row in enumerate(new["rows"])]
    new["left_out"] = [{"row": row.get("strategy"), **row} for row in new["left_out"]]
    if "ratio" in old:
        new["ratios"] = [{"quantity": "host_cpu", **old["ratio"]}]
    new["ratios"] = [_with_row_names(ratio) for ratio in new["ratios"]]
    return new


def _row_name(row: Mapping[str, Any], number: int) -> str:
    name = next((row[key] for key in _ROW_NAMES if key in row), str(number))
    return f"{row['plan']}/{name}" if "plan" in row else name


def _with_row_names(ratio: Report) -> Report:
    """Ratios of the decode step named their plan apart."""
    if "plan" not in ratio:
        return ratio
    return {**ratio, **{side: f"{ratio['plan']}/{ratio[side]}" for side in ("over", "under")}}


def _with_units(row: Report) -> Report:
    units = {"_us": "us", "ms_": "ms", "tokens_per_s": "tokens/s"}
    found = {name: next((unit for mark, unit in units.items() if mark in name), "") for name in figures(row)}
    return {**row, **{name: {"unit": unit, **row[name]} for name, unit in found.items()}}


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
