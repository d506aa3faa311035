"""The measuring method, on a virtual clock."""

from __future__ import annotations

import gc
from collections.abc import Callable

import attrs
import pytest

from cmdgraph.bench import method
from cmdgraph.bench.method import Arm, MeasurementError, Timers


@attrs.define
class VirtualClock:
    """Time that only passes when a test says so."""

    wall: float = 0.0
    cpu: float = 0.0

    @property
    def timers(self) -> Timers:
        return Timers(wall=lambda: self.wall, cpu=lambda: self.cpu)

    def work(self, wall: float, cpu: float) -> Callable[[], None]:
        def run() -> None:
            self.wall += wall
            self.cpu += cpu

        return run


def test_each_arm_gets_its_own_time() -> None:
    clock = VirtualClock()
    arms = {"slow": clock.work(4.0, 2.0), "fast": clock.work(1.0, 0.5)}

    series = method.interleave(arms, rounds=3, warmup=2, timers=clock.timers)

    assert series["slow"].wall_s == [4.0] * 3
    assert series["slow"].cpu_s == [2.0] * 3
    assert series["fast"].wall_s == [1.0] * 3
    assert series["fast"].cpu_s == [0.5] * 3


def test_warmup_runs_are_not_samples() -> None:
    clock = VirtualClock()
    speeds = iter([100.0, 100.0, 1.0, 1.0])

    def run() -> None:
        clock.wall += next(speeds)

    assert method.interleave({"a": run}, rounds=2, warmup=2, timers=clock.timers)["a"].wall_s == [1.0, 1.0]


def test_every_round_runs_every_arm_once_in_changing_order() -> None:
    seen: list[str] = []
    arms = {name: (lambda name=name: seen.append(name)) for name in "abc"}

    method.interleave(arms, rounds=20, warmup=1, seed=3)

    rounds = ["".join(seen[start : start + 3]) for start in range(3, len(seen), 3)]
    assert {"".join(sorted(order)) for order in rounds} == {"abc"}
    assert len(set(rounds)) > 3


def test_the_order_is_the_same_for_the_same_seed() -> None:
    def order(seed: int) -> list[str]:
        seen: list[str] = []
        method.interleave({n: (lambda n=n: seen.append(n)) for n in "abcd"}, rounds=9, warmup=1, seed=seed)
        return seen

    assert order(1) == order(1)
    assert order(1) != order(2)


@pytest.mark.parametrize("verdict", [False, None, 0, []])
def test_a_wrong_or_empty_result_is_not_timed(verdict: object) -> None:
    runs: list[int] = []
    arm = Arm(run=lambda: runs.append(1), check=lambda: verdict)

    with pytest.raises(MeasurementError, match="graph: the result is wrong or empty"):
        method.interleave({"graph": arm}, rounds=5, warmup=1)
    assert runs == [1]


def test_a_check_can_say_what_is_wrong() -> None:
    def check() -> bool:
        raise MeasurementError("buffer 3 differs")

    with pytest.raises(MeasurementError, match="graph: buffer 3 differs; not timed"):
        method.interleave({"graph": Arm(run=list, check=check)}, rounds=1, warmup=1)


@pytest.mark.parametrize(("rounds", "warmup", "names"), [(0, 1, "a"), (1, 0, "a"), (1, 1, "")])
def test_measuring_nothing_is_refused(rounds: int, warmup: int, names: str) -> None:
    with pytest.raises(ValueError, match="needs an arm, a round and a warm-up"):
        method.interleave(dict.fromkeys(names, list), rounds=rounds, warmup=warmup)


def test_the_garbage_collector_rests_while_timing_and_comes_back() -> None:
    states: list[bool] = []

    method.interleave({"a": lambda: states.append(gc.isenabled())}, rounds=1, warmup=1)
    assert states == [True, False]
    assert gc.isenabled()

    with pytest.raises(ZeroDivisionError):
        method.interleave({"a": _fails_second_time()}, rounds=1, warmup=1)
    assert gc.isenabled()


def _fails_second_time() -> Callable[[], float]:
    divisors = iter([1, 0])
    return lambda: 1 / next(divisors)


def test_summary_has_percentiles_and_the_raw_samples() -> None:
    values = [float(v) for v in range(11)]

    assert method.summary(values) == {"median": 5.0, "p10": 1.0, "p90": 9.0, "samples": values}
    with pytest.raises(ValueError, match="no samples"):
        method.summary([])


def test_ratio_of_medians_lies_in_its_interval() -> None:
    over = [40.0, 44.0, 38.0, 41.0, 60.0]
    under = [1.0, 1.1, 0.9, 1.0, 1.2]

    found = method.ratio(over, under)

    assert found["ratio"] == 41.0
    assert found["ci95_low"] <= found["ratio"] <= found["ci95_high"]
    assert method.ratio(over, under) == found


def test_drift_that_meets_both_arms_cancels_in_the_ratio() -> None:
    under = [1.0, 2.0, 3.0, 4.0, 5.0]

    found = method.ratio([10 * value for value in under], under)

    assert found == pytest.approx({"ratio": 10.0, "ci95_low": 10.0, "ci95_high": 10.0})


def test_ratio_needs_the_same_rounds() -> None:
    with pytest.raises(ValueError, match="got 2 and 1 samples"):
        method.ratio([1.0, 2.0], [1.0])


def test_resolution_is_the_smallest_step_seen() -> None:
    readings = iter([0.0, 0.0, 2.0, 2.0, 2.5, 4.0])

    assert method.resolution(lambda: next(readings), steps=3) == 0.5


def test_progress_is_told_each_round() -> None:
    told: list[tuple[int, int]] = []

    method.interleave({"a": list}, rounds=2, warmup=1, progress=lambda done, of: told.append((done, of)))

    assert told == [(1, 2), (2, 2)]
