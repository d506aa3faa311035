"""The measuring method, on a virtual clock."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from cmdgraph.bench import method
from cmdgraph.bench.method import Arm, Interrupted, MeasurementError, Plan
from tests.bench.fake import VirtualClock


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


def test_resolution_is_the_smallest_step_seen() -> None:
    readings = iter([0.0, 0.0, 2.0, 2.0, 2.5, 4.0])

    assert method.resolution(lambda: next(readings), steps=3) == 0.5


def test_progress_is_told_each_round() -> None:
    told: list[tuple[int, int]] = []

    method.interleave({"a": list}, rounds=2, warmup=1, progress=lambda done, of: told.append((done, of)))

    assert told == [(1, 2), (2, 2)]


def test_cpu_time_is_told_apart_by_thread() -> None:
    clock, worker = VirtualClock(), [0.0]

    def run() -> None:
        worker[0] += 0.25
        clock.pass_by(4.0, 1.0, process=3.25)

    arm = Arm(run, worker_cpu=lambda: worker[0])
    series = method.interleave({"a": arm}, rounds=2, warmup=1, timers=clock.timers)["a"]

    assert series.cpu_s == [1.0] * 2
    assert series.worker_s == [0.25] * 2
    assert series.other_s == [2.0] * 2


def test_gpu_time_and_what_a_run_returns_are_kept() -> None:
    answers = iter("abc")
    arm = Arm(lambda: next(answers), gpu=lambda: 0.5)

    series = method.interleave({"a": arm}, rounds=2, warmup=1)["a"]

    assert series.gpu_s == [0.5, 0.5]
    assert series.returned == ["b", "c"]


def test_settling_is_not_timed() -> None:
    clock = VirtualClock()
    arm = Arm(clock.work(1.0, 1.0), settle=clock.work(50.0, 50.0))

    assert method.interleave({"a": arm}, rounds=2, warmup=1, timers=clock.timers)["a"].wall_s == [1.0, 1.0]


def test_warm_up_goes_on_until_it_gets_no_faster() -> None:
    clock = VirtualClock()
    speeds = iter([16.0, 8.0, 4.0, 2.0, 1.0, 1.0, 1.0, *[1.0] * 5])
    plan = Plan(rounds=5, warmup=2, timers=clock.timers, warmup_s=1000)

    samples = plan.run({"a": lambda: clock.pass_by(next(speeds), 0)})

    assert samples.warmup_runs == {"a": 7}
    assert samples.unsteady == []
    assert samples["a"].wall_s == [1.0] * 5


def test_warm_up_that_never_settles_ends_and_is_told() -> None:
    clock = VirtualClock()
    speeds = (1000 * 0.9**n for n in range(10_000))
    plan = Plan(rounds=1, warmup=2, timers=clock.timers, warmup_s=5000)

    samples = plan.run({"a": lambda: clock.pass_by(next(speeds), 0)})

    assert samples.warmup_runs["a"] == 7
    assert samples.unsteady == ["a"]
    once = Plan(rounds=1, warmup=1, timers=clock.timers, warmup_s=5).run({"a": clock.work(60.0, 0)})
    assert (once.warmup_runs, once.unsteady) == ({"a": 1}, [])  # one run tells nothing


def test_no_round_begins_after_the_time_limit() -> None:
    clock = VirtualClock()
    plan = Plan(rounds=100, timers=clock.timers, limit_s=10.0)

    assert plan.run({"a": clock.work(1.5, 0)}).rounds == 7
    assert plan.run({"a": clock.work(60.0, 0)}).rounds == method.FEWEST_ROUNDS


def _interrupted_in(run: int) -> Callable[[], None]:
    runs = [0]

    def once() -> None:
        runs[0] += 1
        if runs[0] == run:
            raise KeyboardInterrupt

    return once


def test_an_interrupted_run_keeps_whole_rounds() -> None:
    arms = {"a": list, "b": _interrupted_in(1 + 4)}

    samples = Plan(rounds=9, warmup=1, warmup_s=0).run(arms)

    assert samples.interrupted
    assert samples.rounds == 3
    assert {name: len(series.wall_s) for name, series in samples.items()} == {"a": 3, "b": 3}
    with pytest.raises(Interrupted):
        method.interleave({"a": _interrupted_in(3)}, rounds=9, warmup=1)


@pytest.mark.parametrize("run", [1, 2])
def test_before_the_first_round_ends_there_is_nothing_to_keep(run: int) -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        Plan(rounds=9, warmup=1, warmup_s=0).run({"a": _interrupted_in(run)})
    assert not isinstance(caught.value, Interrupted)
