"""Profiles and sweeps on a tiny model: what they find is what was measured."""

import json
from typing import Any

import pytest
from attrs import evolve

from llm import tune
from llm.device import open_device
from llm.errors import UsageError
from llm.plans import PLANS
from llm.plans.shapes import DEFAULT, Shape
from llm.store import WeightStore
from tests.llm import tiny

SWEEPS = (
    tune.Sweep("splits", "fused", ("sdpa", "attn.o"), ({"splits": 1}, {"splits": 2, "split": Shape(64, 2)})),
    tune.Sweep("too large", "fused", ("mlp.down",), ({"long": Shape(64, 64)}, {"long": Shape(1 << 20, 64)})),
)


@pytest.fixture(scope="module")
def bed() -> tune.Bed:
    device = open_device()
    store = WeightStore(device, tiny.random_weights(tiny.QWEN2))
    return tune.make_bed(device, tiny.QWEN2, store, max_context=64, kernels="gpu")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """As short as measuring can be."""
    monkeypatch.setattr(tune, "WARM_S", 0.0)
    monkeypatch.setattr(tune, "REPEATS", 2)
    monkeypatch.setattr(tune, "PASS", 4)
    monkeypatch.setattr(tune, "SWEEPS", SWEEPS)


def test_the_fastest_candidates_win(bed: tune.Bed) -> None:
    told: list[str] = []
    report = tune.measure(bed, evolve(DEFAULT, splits=4), sweeping=True, seconds=60, tell=told.append)
    splits, too_large = report["sweeps"]
    assert [each["plan"] for each in report["best_profiles"]] == list(PLANS)
    assert sorted(row["change"]["splits"] for row in splits["candidates"]) == [1, 2]
    assert splits["candidates"] == sorted(splits["candidates"], key=lambda row: row["step_us"])
    assert report["best_shapes"]["splits"] == splits["candidates"][0]["change"]["splits"]
    assert [row["change"]["long"]["workgroup"] for row in too_large["candidates"]] == [64]
    assert [line.split(":")[0] for line in told] == ["splits", "too large"]
    assert all(row["alone_us"] > 0 for sweep in report["sweeps"] for row in sweep["candidates"])
    json.dumps(report)
    assert "fused:" in "\n".join(tune.lines(report))


def test_a_profile_counts_every_dispatch(bed: tune.Bed) -> None:
    found = tune.profile(bed, "paper", DEFAULT)
    assert sum(each["count"] for each in found["kernels"]) == found["dispatches"] == 2 * 23 + 12 + 2
    assert found["step_us"] > 0


def test_no_time_no_sweeps(bed: tune.Bed) -> None:
    told: list[str] = []
    best, found = tune.sweep(bed, DEFAULT, -1.0, told.append)
    assert (best, found) == (DEFAULT, [])
    assert "splits: left out" in told[0]


def test_timestamps_are_needed(device: Any) -> None:
    """The tests' plain device has none."""
    store = WeightStore(device, tiny.random_weights(tiny.QWEN2))
    with pytest.raises(UsageError, match="no timestamps"):
        tune.make_bed(device, tiny.QWEN2, store)
