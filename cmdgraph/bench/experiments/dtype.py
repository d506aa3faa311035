"""Whether a dispatch costs the same with f32 and with f16: the host does not look at what lies in a buffer."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from attrs import frozen

from cmdgraph.bench import timestamps, trial
from cmdgraph.bench.chain import ELEMENTS, F16, F32, Arithmetic, Chain
from cmdgraph.bench.experiments import Experiment, Option
from cmdgraph.bench.method import Arm, Plan, Samples, ratio
from cmdgraph.bench.results import Report
from cmdgraph.bench.timestamps import PassTimer
from cmdgraph.bench.ways import WAYS, LeftOut, call_in_one_pass

__all__ = ["EXPERIMENT", "WAYS_COMPARED", "measure"]

WAYS_COMPARED = ("eager", "single-pass-public", "single-pass")
GPU = "timed pass"

TIMED_REGION = (
    "a sample is one run of the chain and one wait for the GPU at its end. Making buffers, pipelines, bind groups and "
    f"graphs is outside. `{GPU}` is single-pass-public with a timestamp at both ends of the pass"
)
SYNC = "a read of 4 bytes for eager calls, graph.wait() for replays; once a sample"


@frozen
class _Case:
    type: str
    way: str
    submits: int
    arm: Arm


def measure(device: Any, plan: Plan, *, dispatches: int = 256, ways: tuple[str, ...] = WAYS_COMPARED) -> Report:
    """Measures the chain on f32 and on f16 by each way. Times are in us.

    Raises:
        MeasurementError: a row computes something else than numpy.
    """
    left_out: list[dict[str, str]] = []
    timer = None if timestamps.why_absent(device) else PassTimer(device)
    if timer is None:
        left_out.append({"row": GPU, "reason": timestamps.why_absent(device) or ""})
    with ExitStack() as stack:
        cases: dict[str, _Case] = {}
        for kind in (F32, F16):
            if kind.needs is not None and kind.needs not in device.features:
                left_out.append({"row": kind.type, "reason": f"the device has no {kind.needs}"})
                continue
            chain = Chain(device, dispatches, plan.seed, kind)
            cases |= {f"{way}, {kind.type}": case for way, case in _cases(chain, kind, ways, timer, stack, left_out)}
        samples = plan.run({name: case.arm for name, case in cases.items()})
    ratios = list(_ratios(samples, [*ways, GPU]))
    return trial.report(
        "dtype",
        device,
        plan,
        samples,
        workload={"dispatches": dispatches, "elements_per_buffer": ELEMENTS},
        timed_region=TIMED_REGION,
        sync=SYNC,
        how=timestamps.how(device),
        rows=[
            {
                "name": name,
                "series": case.way,
                "type": case.type,
                "dispatches_per_sample": dispatches,
                "submits_per_sample": case.submits,
                "checked": trial.EXACT,
                **trial.figures(samples[name], "dispatch", dispatches),
            }
            for name, case in cases.items()
        ],
        left_out=left_out,
        ratios=ratios,
        findings=[_finding(each) for each in ratios],
    )


def _cases(
    chain: Chain,
    kind: Arithmetic,
    ways: tuple[str, ...],
    timer: PassTimer | None,
    stack: ExitStack,
    left_out: list[dict[str, str]],
) -> Iterator[tuple[str, _Case]]:
    for name in ways:
        try:
            way = WAYS[name](chain)
        except LeftOut as reason:
            left_out.append({"row": f"{name}, {kind.type}", "reason": str(reason)})
            continue
        stack.callback(way.close)

        def run(way: Any = way) -> None:
            way.run(1)
            way.wait()

        yield name, _Case(kind.type, name, way.submits, Arm(run, _check(chain, run), way.worker_cpu))
    if timer is not None:
        run_timed = timer.run(functools.partial(call_in_one_pass, chain))
        yield GPU, _Case(kind.type, GPU, 1, Arm(run_timed, _check(chain, run_timed), gpu=timer.seconds))


def _check(chain: Chain, run: Callable[[], None]) -> Callable[[], bool]:
    return lambda: chain.require(run)


def _ratios(samples: Samples, ways: list[str]) -> Iterator[dict[str, Any]]:
    for way in ways:
        over, under = f"{way}, f16", f"{way}, f32"
        if over not in samples or under not in samples:
            continue
        quantities = ("gpu",) if way == GPU else ("host_cpu", "wall")
        for quantity in quantities:
            f16, f32 = (_seconds(samples, name, quantity) for name in (over, under))
            if min(f32) > 0:
                yield {"quantity": quantity, "over": over, "under": under, **ratio(f16, f32)}


def _seconds(samples: Samples, name: str, quantity: str) -> list[float]:
    series = samples[name]
    return {"gpu": series.gpu_s, "host_cpu": series.cpu_s, "wall": series.wall_s}[quantity]


def _finding(found: dict[str, Any]) -> dict[str, Any]:
    low, high = found["ci95_low"], found["ci95_high"]
    verdict = "no difference seen, 1 is in the interval" if low <= 1 <= high else "1 is not in the interval"
    return {
        "name": f"f16 / f32, {found['over'].removesuffix(', f16')}, {found['quantity']}",
        "value": found["ratio"],
        "unit": "",
        "ci95_low": low,
        "ci95_high": high,
        "text": f"the cost of a dispatch on f16 over that on f32: {verdict}",
    }


EXPERIMENT = Experiment(
    measure,
    help="Whether a dispatch costs the same with f32 and with f16.",
    options={"dispatches": Option(256, "Length of the chain.")},
    quick={"rounds": 15},
    features=("shader-f16", timestamps.FEATURE),
)
