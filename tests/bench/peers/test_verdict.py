"""What the rows say: who is best, by how much, and whether the goal is met."""

from __future__ import annotations

from typing import Any

import pytest

from cmdgraph.bench.method import Series
from cmdgraph.bench.peers import verdict

ROUNDS = 6


def _row(cpu: float, worker: float = 0.0, *, ours: bool = False, runs: int = 1, resting: bool = False) -> Any:
    """A row of 100 dispatches whose run costs so many us; one that rests has a sample in every other round."""
    returned = [None if resting and n % 2 else cpu for n in range(ROUNDS)]
    times = [0.0 if each is None else runs * cpu * 1e-6 for each in returned]
    series = Series(wall_s=times, cpu_s=times, worker_s=[runs * worker * 1e-6] * ROUNDS, returned=returned)
    figures = {
        "host_cpu_us_per_dispatch": {"median": cpu / 100},
        "worker_cpu_us_per_dispatch": {"median": worker / 100},
    }
    return {"ours": ours, "dispatches": 100, "runs_per_sample": runs, **figures}, series


def test_both_goals_are_judged_for_one_strategy() -> None:
    rows = {
        "onnxruntime-capture/100": _row(100.0),
        "quick-with-a-busy-worker/100": _row(10.0, 150.0, ours=True),
        "balanced/100": _row(40.0, 40.0, ours=True, runs=4),
    }
    caller, both = verdict.findings(rows, [100])

    assert (caller["value"], both["value"]) == (pytest.approx(0.4), pytest.approx(0.8))
    assert caller["ci95_low"] <= caller["value"] <= caller["ci95_high"]
    assert caller["text"] == "balanced/100; the goal of at most 0.5 is met"
    assert both["text"] == "balanced/100; the goal of at most 1 is met"


def test_a_missed_goal_is_said() -> None:
    rows = {"onnxruntime-capture/100": _row(100.0), "slow/100": _row(60.0, 10.0, ours=True)}
    caller, both = verdict.findings(rows, [100])

    assert caller["text"] == "slow/100; the goal of at most 0.5 is MISSED"
    assert both["text"].endswith("is met")


def test_the_native_layer_is_judged_apart() -> None:
    rows = {
        "onnxruntime-capture/100": _row(100.0),
        "cmdgraph-single-pass/100": _row(60.0, ours=True),
        "cmdgraph-native/100": _row(5.0, ours=True),
    }
    caller, both, native = verdict.findings(rows, [100])

    assert (caller["value"], both["value"], native["value"]) == tuple(map(pytest.approx, (0.6, 0.6, 0.05)))
    assert "native" in native["name"]
    assert {each["under"] for each in verdict.ratios(rows)} == {"cmdgraph-single-pass/100"}


@pytest.mark.parametrize(
    ("rows", "absent"),
    [
        ({"mine/100": _row(1.0, ours=True)}, "onnxruntime-capture/100"),
        ({"onnxruntime-capture/100": _row(1.0)}, "a strategy of ours"),
    ],
)
def test_without_both_there_is_no_verdict(rows: dict[str, Any], absent: str) -> None:
    for found in verdict.findings(rows, [100]):
        assert found["value"] is None
        assert found["text"] == f"{absent} was not measured"


def test_ratios_are_over_our_best_in_the_rounds_of_both() -> None:
    rows = {
        "mine/100": _row(10.0, ours=True, runs=4),
        "mine-too/100": _row(20.0, ours=True),
        "theirs/100": _row(50.0, resting=True),
    }
    found = {(each["over"], each["quantity"]): each for each in verdict.ratios(rows)}

    assert {each["under"] for each in found.values()} == {"mine/100"}
    assert found["theirs/100", "host_cpu"]["ratio"] == pytest.approx(5.0)
    assert found["mine-too/100", "wall"]["ratio"] == pytest.approx(2.0)
    assert len(found) == 2 * 3
