"""The comparison with peers, on fakes: right before fast, and whatever one of them does costs the others nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from cmdgraph.bench.command import bench
from cmdgraph.bench.experiments import OptionError, peers
from cmdgraph.bench.method import MeasurementError, Plan
from cmdgraph.bench.peers import registry, table
from tests.bench.peers.fake_peers import use_fakes

PLAN = Plan(rounds=6, warmup=1, warmup_s=0.0)


@pytest.fixture(scope="module", autouse=True)
def _fakes() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        use_fakes(patch)
        yield


@pytest.fixture(scope="module")
def report(device: Any) -> dict[str, Any]:
    """All fakes but the one that hangs."""
    names = [name for name in registry.peers() if name != "hanging"]
    return peers.measure(device, PLAN, dispatches=(8, 5), peers=",".join(names))


def test_those_that_work_have_rows_for_each_length(report: dict[str, Any]) -> None:
    rows = {row["name"]: row for row in report["rows"]}

    assert list(rows) == [f"{n}/{c}" for n in ("good", "onnxruntime-capture", "ours", "apart") for c in (5, 8)]
    for row in rows.values():
        assert row["dispatches_per_sample"] == row["dispatches"] * row["runs_per_sample"]
        assert row["checked"] == "equal to numpy, to the bit"
        for quantity in ("wall", "host_cpu", "call_cpu", "worker_cpu", "other_cpu"):
            assert len(row[f"{quantity}_us_per_dispatch"]["samples"]) == PLAN.rounds
    good = rows["good/8"]
    assert good["adapter"] == "numpy"
    assert good["settings"] == "mode set"
    assert good["software"].startswith("numpy ")
    assert json.loads(json.dumps(report)) == report


@pytest.mark.parametrize(
    ("name", "reason", "failed"),
    [
        ("absent", "absent not installed: pip install absent", False),
        ("unavailable/5", "there is no adapter", False),
        ("raising/5", "prepare failed: LookupError: no kernel for 5 dispatches", True),
        ("frozen/5", "values for input 2 differ from numpy, first ", True),
        ("short/8", "values for input 1 differ from numpy, first ", True),
        ("misshapen/8", "its result for input 1 has the shape (3,) instead of (64,)", True),
        ("crashing/5", "its process was killed (SIGABRT): the driver says goodbye", True),
        ("exiting/8", "its process ended with status 3", True),
        ("spoiled/8", "64 of 64 values for input 1 differ from numpy, first ", True),
    ],
)
def test_those_that_do_not_are_named_with_the_reason(
    report: dict[str, Any], name: str, reason: str, failed: bool
) -> None:
    left_out = {each["row"]: each for each in report["left_out"]}

    assert reason in left_out[name]["reason"]
    assert left_out[name]["failed"] is failed


# Long enough for the one that works to start on a busy machine.
PATIENCE = 8


def test_one_that_hangs_is_given_up(device: Any) -> None:
    report = peers.measure(device, PLAN, dispatches=(5,), peers="hanging,good", patience=PATIENCE)

    assert [row["name"] for row in report["rows"]] == ["good/5"]
    assert len(report["rows"][0]["wall_us_per_dispatch"]["samples"]) == PLAN.rounds
    assert report["left_out"][0]["reason"].startswith("hangs: no answer to ")


def test_the_goal_is_judged(report: dict[str, Any]) -> None:
    for finding in report["findings"]:
        assert finding["ci95_low"] <= finding["value"] <= finding["ci95_high"]
        assert "ours/" in finding["text"]
    assert {ratio["under"] for ratio in report["ratios"]} == {"ours/5", "ours/8"}


def test_another_adapter_is_noted(report: dict[str, Any]) -> None:
    assert any(note.startswith("good ran on numpy, not on ") for note in report["notes"])


def test_the_tables_are_made_from_the_report(report: dict[str, Any]) -> None:
    text = table.to_markdown(report)

    assert text.index("5 dispatches:") < text.index("8 dispatches:")
    assert "| good " in text
    assert "- good: works; numpy " in text
    assert "Left out: absent (absent not installed: pip install absent)." in text
    assert "**Failed**: crashing/5 (its process was killed (SIGABRT)" in text
    assert text.count("the goal of at most") == 4


def test_an_interrupted_run_keeps_its_rounds_and_checks_them(device: Any) -> None:
    def stop(done: int, _total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    plan = Plan(rounds=50, warmup=1, warmup_s=0.0, progress=stop)
    report = peers.measure(device, plan, dispatches=(5,), peers="good,spoiled")

    assert report["interrupted"]
    assert len(report["rows"][0]["wall_us_per_dispatch"]["samples"]) == 4
    assert [each["row"] for each in report["left_out"]] == ["spoiled/5"]
    assert "Stopped after 4 of 50 rounds." in table.to_markdown(report)


def test_nobody_left_is_an_error(device: Any) -> None:
    with pytest.raises(
        MeasurementError, match="no peer can run here: absent: absent not installed: pip install absent$"
    ):
        peers.measure(device, PLAN, peers="absent")


def test_wrong_lengths_are_refused() -> None:
    with pytest.raises(OptionError, match="at least 1"):
        peers.measure(None, PLAN, dispatches=(5, 0))


def test_an_unknown_peer_is_wrong_usage(device: Any) -> None:
    result = CliRunner().invoke(bench, ["peers", "--peers", "nonsense"])

    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "no peer 'nonsense'; there are good, onnxruntime-capture, ours" in result.stderr
