"""Very many replays: the report, its verdicts, and that a wrong count is noticed."""

from __future__ import annotations

from typing import Any

import pytest

import cmdgraph
from cmdgraph.bench import markdown
from cmdgraph.bench.experiments import endurance
from cmdgraph.bench.method import MeasurementError, Plan
from tests.kit import STRATEGIES


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_short_run_is_right_and_flat(any_device: Any, strategy: str) -> None:
    report = endurance.measure(any_device, Plan(), replays=60, strategy=strategy)

    assert sum(block["replays"] for block in report["blocks"]) == 60
    assert report["verdict"]["memory_flat"]
    assert report["workload"]["abandoned"] == 0
    assert f"60 replays of 50 nodes, {strategy}" in markdown.endurance(report)


def test_a_replay_too_few_is_noticed(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = cmdgraph.CommandGraph.replay
    calls: list[int] = []

    def forgetful(self: cmdgraph.CommandGraph) -> None:
        calls.append(1)
        if len(calls) != 7:
            real(self)
        else:
            self._replays += 1

    monkeypatch.setattr(cmdgraph.CommandGraph, "replay", forgetful)
    with pytest.raises(MeasurementError, match="buffer 0 counts"):
        endurance.measure(device, Plan(), replays=20)


def test_growth_drift_and_more_objects_are_not_flat() -> None:
    blocks = [{"rss_mb": 100.0 + 5 * n, "wall_us": 10.0 + n} for n in range(endurance.BLOCKS)]
    verdict = endurance._verdict(blocks, {"Buffer": 3}, {"Buffer": 4})

    assert (verdict["memory_flat"], verdict["time_flat"], verdict["objects_flat"]) == (False, False, False)
    level = [{"rss_mb": 100.0, "wall_us": 10.0}] * endurance.BLOCKS
    assert all(endurance._verdict(level, {"Buffer": 3}, {"Buffer": 3})[name] for name in ("memory_flat", "time_flat"))


def test_too_few_replays_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 20"):
        endurance.measure(None, Plan(), replays=19)
