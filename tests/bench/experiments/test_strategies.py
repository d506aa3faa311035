"""The comparison of strategies: right before fast, and a report that says what it is."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest

from cmdgraph import adapters
from cmdgraph.bench import markdown, ways
from cmdgraph.bench.chain import BINDINGS, BUFFERS, PIPELINES, Chain, make_steps
from cmdgraph.bench.experiments import strategies
from cmdgraph.bench.method import MeasurementError, Plan

PLAN = Plan(rounds=3, warmup=1)


@pytest.fixture(scope="module")
def device() -> Any:
    try:
        return adapters.open_device("wgpu")
    except adapters.AdapterError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def report(device: Any) -> dict[str, Any]:
    return strategies.measure(device, PLAN, dispatches=40)


def test_steps_use_all_buffers_and_pipelines_and_depend_on_the_seed() -> None:
    steps = make_steps(876, 0)

    assert {step.pipeline for step in steps} == set(range(PIPELINES))
    assert {n for step in steps for n in (step.a, step.b, step.out)} == set(range(BUFFERS))
    assert all(len({step.a, step.b, step.out}) == BINDINGS for step in steps)
    assert all(before.out == after.a for before, after in itertools.pairwise(steps))
    assert steps == make_steps(876, 0) != make_steps(876, 1)


def test_every_row_is_there_with_its_figures(report: dict[str, Any]) -> None:
    named = {row["strategy"]: row for row in report["rows"]}
    left_out = {row["row"] for row in report["left_out"]}

    assert named.keys() | left_out == ways.WAYS.keys()
    for row in named.values():
        for quantity in ("host_cpu_us_per_dispatch", "wall_us_per_dispatch"):
            figures = row[quantity]
            assert len(figures["samples"]) == PLAN.rounds
            assert 0 < figures["p10"] <= figures["median"] <= figures["p90"]
    if "prerecorded" in named:
        assert named["prerecorded"]["worker_cpu_us_per_dispatch"]["median"] > 0
        assert named["single-pass"]["worker_cpu_us_per_dispatch"]["median"] == 0
    assert (named["eager"]["submits"], named["eager"]["passes"]) == (40, 40)
    assert (named["per-op"]["submits"], named["per-op"]["passes"]) == (40, 40)
    assert (named["single-pass-python"]["submits"], named["single-pass-python"]["passes"]) == (1, 1)


def test_ratios_are_against_eager_and_the_bare_loop(report: dict[str, Any]) -> None:
    pairs = {(row["over"], row["under"], row["quantity"]) for row in report["ratios"]}
    rows = {row["strategy"] for row in report["rows"]}
    compared = {("eager", name) for name in rows - {"eager"}}
    compared |= {(name, "bare-c-loop") for name in rows & {"single-pass", "prerecorded-back-to-back"}}

    if "bare-c-loop" in rows:
        quantities = ("host_cpu", "host_and_worker_cpu", "wall")
        assert pairs == {(*pair, quantity) for pair in compared for quantity in quantities}
    for row in report["ratios"]:
        assert row["ci95_low"] <= row["ratio"] <= row["ci95_high"]


def test_the_report_says_on_what_and_how(report: dict[str, Any]) -> None:
    assert json.loads(json.dumps(report)) == report
    where, how = report["environment"], report["method"]
    assert {
        "adapter",
        "driver",
        "software_adapter",
        "implementation",
        "cpu",
        "commit",
        "command",
    } <= where.keys()
    assert 0 < where["timer_resolution_s"]["wall"] < 1e-3
    assert "one wait" in how["timed_region"]
    assert report["capture"]["target_us"] == 30


def test_the_table_marks_a_software_adapter(report: dict[str, Any]) -> None:
    text = markdown.strategies(report)

    assert ("**software adapter**" in text) is report["environment"]["software_adapter"]
    assert "| strategy" in text
    assert "Capture: " in text
    for row in report["rows"]:
        assert f"| {row['strategy']}" in text


def _spoiled(make: Callable[[Chain], ways.Way], chain: Chain) -> ways.Way:
    """A row that does nothing, as fast as it gets."""
    return attrs.evolve(make(chain), run=lambda _times: None)


def test_a_row_that_computes_nothing_is_refused(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    make = ways.WAYS["single-pass-public"]
    monkeypatch.setitem(ways.WAYS, "single-pass-public", functools.partial(_spoiled, make))

    with pytest.raises(MeasurementError, match=r"single-pass-public: \d+ of 64 buffers differ from numpy"):
        strategies.measure(device, PLAN, dispatches=40)


def test_a_row_that_cannot_be_measured_is_named(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_chain: Chain) -> ways.Way:
        raise ways.LeftOut("no C walker: not compiled")

    monkeypatch.setitem(ways.WAYS, "single-pass", absent)
    report = strategies.measure(device, PLAN, dispatches=40)

    assert {"row": "single-pass", "reason": "no C walker: not compiled"} in report["left_out"]
    assert "Left out: single-pass (no C walker: not compiled)." in markdown.strategies(report)


def test_the_numpy_twin_follows_the_shader(device: Any) -> None:
    chain = Chain(device, 30, seed=5)
    row = ways.WAYS["eager"](chain)
    chain.reset()
    row.run(3)

    assert np.array_equal(chain.state(), chain.expected(3))


@pytest.mark.parametrize("dispatches", [0, -1])
def test_an_empty_chain_is_refused(dispatches: int) -> None:
    with pytest.raises(ValueError, match="at least one dispatch"):
        strategies.measure(None, PLAN, dispatches=dispatches)


def test_dawn_runs_the_same_chain() -> None:
    try:
        device = adapters.open_device("wgpudawn")
    except adapters.AdapterError as error:
        pytest.skip(str(error))

    report = strategies.measure(device, PLAN, dispatches=40)

    assert report["environment"]["implementation"]["name"] == "Dawn"
    assert len(report["rows"]) >= 4
