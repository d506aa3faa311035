"""Each claim of the paper has a row, and its verdict follows the results: same, opposite, not measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cmdgraph.bench.report import claims, paper
from cmdgraph.bench.report.claims import NOT_MEASURED, OPPOSITE, SAME
from cmdgraph.bench.report.reading import read_folder
from cmdgraph.bench.results import Report
from tests.bench.report import made


def _rows(folder: Path, **reports: Report) -> list[list[str]]:
    return [list(row) for row in claims.table(read_folder(made.put(folder, **reports))).rows]


def _row(rows: list[list[str]], start: str) -> list[str]:
    (found,) = [row for row in rows if row[0].startswith(start)]
    return found


def test_every_claim_has_a_row_whatever_was_measured(tmp_path: Path) -> None:
    rows = _rows(tmp_path, only=made.report("unknown", [], {}))

    assert [row[0] for row in rows] == [claim.text for claim in claims.CLAIMS]
    assert {row[4] for row in rows} == {NOT_MEASURED}
    assert all(row[5] for row in rows)


def test_their_time_to_the_first_token_is_held_against_their_count(tmp_path: Path) -> None:
    row = _row(_rows(tmp_path, one=made.strategies()), "fusing dispatches shortens")

    assert paper.ttft_ratio() > paper.allowed_by_count()
    assert "71.4 to 41.6 ms, 1.72x" in row[1]
    assert "above what the count alone allows, 876/564 = 1.553" in row[1]


@pytest.mark.parametrize(
    ("claim", "report", "verdict"),
    [
        ("timing single", made.dispatch(8.0), SAME),
        ("timing single", made.dispatch(0.8), OPPOSITE),
        ("timing single", made.dispatch(None), NOT_MEASURED),
        ("what a dispatch costs in the API alone, Vulkan", made.strategies(), SAME),
        ("what a dispatch costs in the API alone, Vulkan", made.strategies(per_op=0.5), OPPOSITE),
        ("what a dispatch costs in the API alone, Metal", made.strategies(), NOT_MEASURED),
        ("what a dispatch costs in the API alone, Metal", made.strategies(per_op=40.0, **made.METAL), SAME),
        ("what an operation costs", made.decode(), SAME),
        ("what an operation costs", made.decode(unfused=5.0), OPPOSITE),
        ("dispatches of a forward pass", made.decode(), SAME),
        ("dispatches of a forward pass", made.decode(dispatches=(900, 564)), OPPOSITE),
        ("fusing dispatches raises", made.decode(), SAME),
        ("fusing dispatches raises", made.decode(paper=70.0), OPPOSITE),
        ("speed of an LLM", made.decode(), SAME),
        ("speed of an LLM", made.decode(unfused=10.0), OPPOSITE),
        ("a dispatch on f16", made.dtype(), SAME),
        ("a dispatch on f16", made.dtype(1.5), OPPOSITE),
    ],
)
def test_a_verdict_follows_the_results(tmp_path: Path, claim: str, report: Report, verdict: str) -> None:
    row = _row(_rows(tmp_path, one=report), claim)

    assert row[4] == verdict
    assert verdict != OPPOSITE or len(row[5]) > 1  # says why


@pytest.mark.parametrize(
    ("paper_ms", "reason"),
    [(30.0, "above the 1.553"), (50.0, "below the 1.553"), (38.63, "as much as the count allows")],
)
def test_a_gain_is_held_against_what_the_count_allows(tmp_path: Path, paper_ms: float, reason: str) -> None:
    assert reason in _row(_rows(tmp_path, one=made.decode(paper=paper_ms)), "fusing dispatches raises")[5]


def test_two_implementations_on_one_adapter_are_compared(tmp_path: Path) -> None:
    dawn: dict[str, Any] = {"implementation": {"name": "Dawn", "version": "1"}}
    same = _row(
        _rows(tmp_path / "a", one=made.strategies(), two=made.strategies(per_op=40.0, **dawn)), "implementations"
    )
    other = _row(
        _rows(tmp_path / "b", one=made.strategies(), two=made.strategies(per_op=15.1, **dawn)), "implementations"
    )

    assert (same[3], same[4]) == ("2.67x between Dawn and wgpu-native, Vulkan", SAME)
    assert other[4] == OPPOSITE
