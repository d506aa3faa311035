"""What a folder of results may hold, and what is refused in one line that names the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cmdgraph.bench.report.reading import read_folder
from cmdgraph.bench.results import ResultError
from tests.bench.report import made

COMMITTED = Path(__file__).resolve().parents[3] / "spec_proposal" / "results"


def _refused(folder: Path, **options: Any) -> str:
    with pytest.raises(ResultError) as caught:
        read_folder(folder, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_committed_results_are_read() -> None:
    evidence = read_folder(COMMITTED, mix=True)

    assert {"strategies", "decode", "endurance", "checks"} <= evidence.experiments
    assert "fuzz-lavapipe.json" in evidence.skipped


def test_folders_of_several_machines_are_merged(tmp_path: Path) -> None:
    made.put(tmp_path / "here", strategies=made.strategies())
    made.put(tmp_path / "there", strategies=made.strategies(**made.METAL))
    evidence = read_folder(tmp_path)

    assert [machine.adapter for machine in evidence.machines] == ["Apple M9", "GeForce Test"]
    assert [result.path for result in evidence.of("strategies")] == ["there/strategies.json", "here/strategies.json"]


def test_the_same_result_twice_counts_once_and_the_newest_is_shown(tmp_path: Path) -> None:
    older = made.strategies(eager=90.0, date="2026-01-01T00:00:00+00:00")
    evidence = read_folder(made.put(tmp_path, a=made.strategies(), b=made.strategies(), z=older))

    assert len(evidence.results) == 2
    (shown,) = evidence.of("strategies")
    assert shown.path == "a.json"
    assert [[result.path for result in group] for group in evidence.repeats()] == [["z.json", "a.json"]]


def test_several_commits_need_to_be_asked_for(tmp_path: Path) -> None:
    made.put(tmp_path, one=made.strategies(), two=made.dtype(commit="d" * 40))
    told = _refused(tmp_path)

    assert "2 commits" in told
    assert "one.json" in told
    assert "dddddddddddd: two.json" in told
    assert len(read_folder(tmp_path, mix=True).results) == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON"),
        ('{"experiment": "strategies", "rows": [', "no JSON"),
        ("[1]", "no report"),
        ("{}", "names no experiment"),
        ('{"experiment": "strategies"}', "damaged report of strategies"),
        ('{"experiment": "x", "format": "cmdgraph-bench", "version": 99}', "of format cmdgraph-bench 99"),
        ('{"experiment": "x", "method": {"seed": NaN}}', "a number that is none at method.seed"),
        ('{"experiment": ' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_that_is_no_result_is_named(tmp_path: Path, text: str, reason: str) -> None:
    made.put(tmp_path, good=made.strategies())
    (tmp_path / "bad.json").write_text(text)
    told = _refused(tmp_path)

    assert "bad.json" in told
    assert reason in told


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_bytes(b"\xff\xfe\x00")

    assert "bad.json is no JSON" in _refused(tmp_path)


def _first_figure(report: dict[str, Any]) -> dict[str, Any]:
    return report["rows"][0]["host_cpu_us_per_dispatch"]


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda r: _first_figure(r).update(samples=[]), "no samples"),
        (lambda r: _first_figure(r).update(median=1.0), "the median 1 is not that of its samples, 40"),
        (lambda r: _first_figure(r).update(p10="fast"), "Expected `float`, got `str`"),
        (lambda r: r["ratios"][0].pop("ci95_low"), "ci95_low"),
        (lambda r: r["environment"].pop("adapter"), "adapter"),
        (lambda r: r.update(rows=None), "TypeError"),
    ],
)
def test_a_damaged_result_says_what_is_wrong(tmp_path: Path, spoil: Callable[[Any], object], reason: str) -> None:
    report = made.strategies()
    spoil(report)
    (tmp_path / "bad.json").write_text(json.dumps(report))
    told = _refused(tmp_path)

    assert "bad.json is a damaged report of strategies" in told
    assert reason in told


def test_folders_without_results_are_told(tmp_path: Path) -> None:
    assert "no such folder" in _refused(tmp_path / "absent")
    assert "no .json file" in _refused(tmp_path)
    (tmp_path / "fuzz.json").write_text('{"experiment": "fuzz"}')
    assert "no measurement in it, only fuzz.json" in _refused(tmp_path)
