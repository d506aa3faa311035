"""Reports as files: whole or not at all, older ones read, mixed commits told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cmdgraph.bench import results
from cmdgraph.bench.results import ResultError

COMMITTED = Path(__file__).resolve().parents[2] / "spec_proposal" / "results"


def _report(**environment: Any) -> dict[str, Any]:
    return results.make(
        "dispatch",
        environment={"commit": "a" * 40, "dirty": False, **environment},
        workload={},
        method={},
        rows=[{"name": "eager/1", "wall_us": {"samples": [1.0]}, "dispatches": 1}],
    )


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "dispatch.json"
    results.write(_report(), path)
    results.write(_report(commit="b"), path)

    assert results.read(path) == _report(commit="b")
    assert [each.name for each in tmp_path.iterdir()] == ["dispatch.json"]


def test_a_report_that_is_no_json_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "dispatch.json"
    results.write(_report(), path)
    with pytest.raises(TypeError):
        results.write({**_report(), "rows": object()}, path)

    assert results.read(path) == _report()
    assert [each.name for each in tmp_path.iterdir()] == ["dispatch.json"]


def test_a_place_that_cannot_be_written_is_told_beforehand(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "such.json", tmp_path, Path("/proc/x.json")):
        with pytest.raises(ResultError, match="cannot write") as caught:
            results.require_writable(path)
        assert "\n" not in str(caught.value)
    with pytest.raises(ResultError, match="cannot write"):
        results.write(_report(), tmp_path / "no" / "such.json")
    results.require_writable(tmp_path / "new.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "is no JSON"),
        ("[1]", "names no experiment"),
        ('{"programs": 3}', "names no experiment"),
        ('{"experiment": "x", "format": "cmdgraph-bench", "version": 2}', "reads cmdgraph-bench up to 1"),
        ('{"experiment": "x", "format": "other", "version": 1}', "is of format other"),
        ('{"experiment": "x", "version": "1"}', "is of format"),
    ],
)
def test_what_is_no_report_of_ours_is_refused_in_one_line(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)

    with pytest.raises(ResultError, match=reason) as caught:
        results.read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_told() -> None:
    with pytest.raises(ResultError, match="cannot read nowhere.json"):
        results.read(Path("nowhere.json"))


@pytest.mark.parametrize("path", sorted(COMMITTED.glob("*.json")), ids=lambda path: path.name)
def test_the_committed_results_are_read(path: Path) -> None:
    if path.name.startswith("fuzz-"):
        return
    report = results.read(path)

    assert (report["format"], report["version"]) == (results.FORMAT, results.VERSION)
    names = [row["name"] for row in report["rows"]]
    assert len(set(names)) == len(names)
    for row in report["rows"]:
        assert all(figure["unit"] for figure in results.figures(row).values())
    for key in ("workload", "method", "ratios", "fits", "findings", "left_out", "noise", "notes"):
        assert key in report


def test_rows_of_the_same_name_are_refused() -> None:
    with pytest.raises(ValueError, match="'a'"):
        results.make("x", environment={}, workload={}, method={}, rows=[{"name": "a"}, {"name": "a"}])


def test_mixed_commits_and_changed_files_are_told() -> None:
    clean, other, dirty = _report(), _report(commit="b" * 40), _report(dirty=True)

    assert results.mixture([clean, clean]) is None
    assert results.mixture([]) is None
    assert "aaaaaaaaaaaa (dispatch); bbbbbbbbbbbb (dispatch)" in str(results.mixture([clean, other]))
    assert "with changed files" in str(results.mixture([dirty]))
    assert "no commit" in str(results.mixture([_report(commit=None)]))


def test_a_report_is_json(tmp_path: Path) -> None:
    assert json.loads(json.dumps(_report())) == _report()
