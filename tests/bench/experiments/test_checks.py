"""The cost of validation at a replay: the report says what it is, and a check that checks nothing is not timed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cmdgraph.bench.experiments import checks
from cmdgraph.bench.method import MeasurementError, Plan
from cmdgraph.liveness import Watch


@pytest.fixture(scope="module")
def report(device: Any) -> dict[str, Any]:
    return checks.measure(device, Plan(rounds=3, warmup=1), nodes=(3, 70))


def test_each_number_of_nodes_has_a_row(report: dict[str, Any]) -> None:
    rows = {row["graph"]: row for row in report["rows"]}

    assert [row["nodes"] for row in rows.values()] == [3, 70, 3, 3]
    assert [row["mappable"] for row in rows.values()] == [0, 0, *checks.MAPPABLE]
    assert rows["70"]["buffers"] > rows["3"]["buffers"]
    for row in rows.values():
        assert row["refuses_a_destroyed_buffer"]
        assert len(row["cpu_us_per_check"]["samples"]) == 3
    assert (report["ratios"][0]["over"], report["ratios"][0]["under"]) == ("70", "3")
    assert json.loads(json.dumps(report)) == report


def test_the_table_is_made_from_the_report(report: dict[str, Any]) -> None:
    text = checks.to_markdown(report)

    assert "| nodes | buffers | of them mappable |" in text
    assert "70 nodes cost" in text
    assert "at most 2 us" in text


def test_a_check_that_checks_nothing_is_not_reported(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Watch, "check", lambda self: None)

    with pytest.raises(MeasurementError, match="passes a graph with a destroyed buffer"):
        checks.measure(device, Plan(rounds=1, warmup=1), nodes=(3,))


@pytest.mark.parametrize("nodes", [(), (0,), (5, -1)])
def test_wrong_numbers_of_nodes_are_refused(device: Any, nodes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        checks.measure(device, Plan(), nodes=nodes)


def test_what_a_check_does_not_depend_on_the_nodes(device: Any) -> None:
    """Nothing timed: the same number of objects is looked at, whatever the graph holds."""
    small, large = (checks._watched(device, count, 1, 0) for count in (2, 200))

    assert small.mappable == large.mappable == 1
    assert large.buffers > small.buffers
