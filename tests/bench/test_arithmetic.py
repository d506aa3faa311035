"""The experiments on a device whose calls take exactly so long: the figures must be what was put in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve

from cmdgraph.bench import environment
from cmdgraph.bench.chain import Chain
from cmdgraph.bench.experiments import OptionError, dispatch, phases
from cmdgraph.bench.method import MeasurementError, Plan
from tests.bench.fake import COSTS_US, FakeDevice, VirtualClock

PUBLIC = ("eager", "single-pass-public")


def _measure(costs: dict[str, float] = COSTS_US, wrong: str = "", rounds: int = 4) -> dict[str, Any]:
    clock = VirtualClock()
    plan = Plan(rounds=rounds, timers=clock.timers)
    return dispatch.measure(FakeDevice(clock, costs, wrong), plan, counts=(1, 16, 64), series=PUBLIC)


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    return _measure()


def _fit(report: dict[str, Any], series: str, quantity: str = "wall_us_per_run") -> dict[str, Any]:
    return next(each for each in report["fits"] if (each["series"], each["quantity"]) == (series, quantity))


def test_a_single_operation_reads_dispatch_submit_and_wait(report: dict[str, Any]) -> None:
    row = next(row for row in report["rows"] if row["name"] == "single-op")

    for figure in ("median", "p10", "p90", "min", "max"):
        assert row["wall_us_per_dispatch"][figure] == pytest.approx(5110)
    assert row["host_cpu_us_per_dispatch"]["median"] == pytest.approx(5110)


def test_the_sequential_slope_is_dispatch_and_submit(report: dict[str, Any]) -> None:
    for quantity in ("wall_us_per_run", "host_cpu_us_per_run"):
        fit = _fit(report, "eager", quantity)
        assert fit["slope"]["value"] == pytest.approx(110)
        assert fit["intercept"]["value"] == pytest.approx(5000)
        assert (fit["slope"]["ci95_low"], fit["slope"]["ci95_high"]) == pytest.approx((110, 110))


def test_one_pass_costs_the_dispatch_alone_and_the_submit_once(report: dict[str, Any]) -> None:
    fit = _fit(report, "single-pass-public")

    assert fit["slope"]["value"] == pytest.approx(10)
    assert fit["intercept"]["value"] == pytest.approx(5100)


def test_by_what_factor_a_single_operation_misleads(report: dict[str, Any]) -> None:
    factors = {finding["name"]: finding["value"] for finding in report["findings"]}

    assert factors["single-op overstates eager"] == pytest.approx(5110 / 110)
    assert factors["single-op overstates single-pass-public"] == pytest.approx(511)


def test_dispatches_and_submits_are_those_that_were_made(report: dict[str, Any]) -> None:
    counted = {row["name"]: (row["dispatches_per_sample"], row["submits_per_sample"]) for row in report["rows"]}

    assert counted["eager/64"] == (64, 64)
    assert counted["single-pass-public/64"] == (64, 1)
    assert counted["single-op"] == (dispatch.SINGLES, dispatch.SINGLES)


@pytest.mark.parametrize("wrong", ["arithmetic", "nothing runs"])
def test_a_wrong_or_empty_result_is_refused(wrong: str) -> None:
    with pytest.raises(MeasurementError, match="differ from numpy"):
        _measure(wrong=wrong)


def test_phases_are_what_each_call_takes_and_add_up() -> None:
    costs = {
        "create_bind_group": 20.0,
        "create_command_encoder": 8.0,
        "begin_compute_pass": 7.0,
        "set_pipeline": 1.5,
        "set_bind_group": 3.0,
        "dispatch_workgroups": 10.0,
        "end": 2.0,
        "finish": 13.0,
        "submit": 100.0,
        "read_buffer": 5000.0,
    }
    clock = VirtualClock()
    found = phases.measure(
        FakeDevice(clock, costs), Plan(rounds=3, timers=clock.timers), dispatches=10, paths=["public"]
    )
    rows = {row["phase"]: row for row in found["rows"] if row["series"] == "public"}

    by_call = dict(zip(phases.PHASES, [*costs.values()][:-1], strict=False))
    for phase, us in by_call.items():
        for figure in ("wall_us_per_dispatch", "host_cpu_us_per_dispatch"):
            assert rows[phase][figure]["median"] == pytest.approx(us), phase
    assert rows["release"]["wall_us_per_dispatch"]["median"] == 0
    whole = rows["all"]["wall_us_per_dispatch"]["median"]
    assert sum(rows[phase]["wall_us_per_dispatch"]["median"] for phase in phases.PHASES) == pytest.approx(
        whole, rel=0.01
    )
    findings = {each["name"]: each["value"] for each in found["findings"]}
    assert findings["public: sum of the phases"] == pytest.approx(100)
    assert findings["public: submit"] == pytest.approx(100 * 100 / 164.5)
    assert findings["public: create encoder and finish"] == pytest.approx(100 * 21 / 164.5)


def test_what_reading_the_clock_costs_is_taken_off_the_shares() -> None:
    """Each reading of the CPU clock takes 1 us here; the calls take 10 us, of which the submit is 5."""
    clock = VirtualClock()

    def cpu() -> float:
        clock.pass_by(1e-6, 1e-6)
        return clock.cpu

    plan = Plan(rounds=3, timers=evolve(clock.timers, cpu=cpu))
    device = FakeDevice(clock, {"submit": 5.0, "finish": 3.0, "dispatch_workgroups": 2.0})
    found = phases.measure(device, plan, dispatches=50, paths=["public"])

    findings = {each["name"]: each["value"] for each in found["findings"]}
    assert findings["public: submit"] == pytest.approx(50, abs=1)
    assert findings["public: create encoder and finish"] == pytest.approx(30, abs=1)


def test_the_report_is_json_and_says_on_what(report: dict[str, Any]) -> None:
    assert json.loads(json.dumps(report)) == report
    assert report["environment"]["adapter"] == "Fake"
    assert report["environment"]["software_adapter"]
    assert report["workload"]["counts"] == [1, 16, 64]
    assert environment.implementation(FakeDevice(VirtualClock()))["version"] == "unknown"


@pytest.mark.parametrize("counts", [(4,), (4, 4), (0, 3)])
def test_counts_that_give_no_line_are_refused(counts: tuple[int, ...]) -> None:
    with pytest.raises(OptionError, match="two different numbers"):
        dispatch.measure(FakeDevice(VirtualClock()), Plan(), counts=counts)


def test_a_chain_of_the_first_steps_is_that_chain() -> None:
    device = FakeDevice(VirtualClock())
    long, short = Chain(device, 9, 2), Chain(device, 9, 2).first(4)

    assert len(short.calls) == len(short.steps) == 4
    assert short.steps == long.steps[:4]
    assert (short.expected(1) != long.expected(1)).any()
    assert (long.expected(2, more=4) == _after(long, 22)).all()


def _after(chain: Chain, steps: int) -> Any:
    longer = chain.first(9)
    longer.steps = (chain.steps * 3)[:steps]
    return longer.expected(1)
