"""What validating less could save at most: Dawn with and without its own checks (toggle `skip_validation`).

An extension that proves a graph once saves this much by that alone; what more it saves comes from encoding, submitting
and calling less. wgpu-native has no such switch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from attrs import frozen

from cmdgraph.backends import backend_of
from cmdgraph.bench import trial
from cmdgraph.bench.chain import BINDINGS, Chain
from cmdgraph.bench.experiments import Experiment, Option
from cmdgraph.bench.method import Arm, Plan, Samples, ratio
from cmdgraph.bench.results import Report
from cmdgraph.bench.statistics import estimate
from cmdgraph.bench.ways import WAYS, LeftOut, Way
from cmdgraph.errors import BackendError

__all__ = ["EXPERIMENT", "WAYS_COMPARED", "measure"]

WAYS_COMPARED = ("eager", "single-pass-public", "per-op", "bare-c-loop", "single-pass")
CHECKED, UNCHECKED = "validated", "skip_validation"

TIMED_REGION = (
    "a sample is one run of the chain and one wait for the GPU at its end, on a device that checks or on one that does "
    "not, both of one process. Making buffers, pipelines, bind groups and graphs is outside"
)
SYNC = "a read of 4 bytes for eager calls, graph.wait() for replays; once a sample"


@frozen
class _Case:
    way_name: str
    device: str
    way: Way
    chain: Chain

    def run(self) -> None:
        self.way.run(1)
        self.way.wait()

    def check(self) -> bool:
        return self.chain.require(self.run)


def measure(device: Any, plan: Plan, *, dispatches: int = 500) -> Report:
    """Measures the chain by each way with validation and, where the implementation can, without. Times are in us.

    Raises:
        MeasurementError: a row computes something else than numpy.
    """
    devices, left_out = {CHECKED: device}, []
    try:
        devices[UNCHECKED] = backend_of(device).without_validation(device)
    except BackendError as reason:
        left_out.append({"row": UNCHECKED, "reason": str(reason)})
    with ExitStack() as stack:
        cases = {
            f"{name}, {kind}": _Case(name, kind, way, chain)
            for kind, each in devices.items()
            for chain in [Chain(each, dispatches, plan.seed)]
            for name, way in _ways(chain, stack, left_out)
        }
        samples = plan.run({name: Arm(case.run, case.check, case.way.worker_cpu) for name, case in cases.items()})
    return trial.report(
        "validation",
        device,
        plan,
        samples,
        workload={"dispatches": dispatches, "bindings_per_dispatch": BINDINGS},
        timed_region=TIMED_REGION,
        sync=SYNC,
        rows=[
            {
                "name": name,
                "series": case.way_name,
                "device": case.device,
                "dispatches_per_sample": dispatches,
                "submits_per_sample": case.way.submits,
                "checked": trial.EXACT,
                **trial.figures(samples[name], "dispatch", dispatches),
            }
            for name, case in cases.items()
        ],
        left_out=left_out,
        ratios=list(_ratios(samples)),
        findings=list(_findings(samples)),
    )


def _ways(chain: Chain, stack: ExitStack, left_out: list[dict[str, str]]) -> Iterator[tuple[str, Way]]:
    for name in WAYS_COMPARED:
        try:
            way = WAYS[name](chain)
        except LeftOut as reason:
            left_out.append({"row": name, "reason": str(reason)})
            continue
        stack.callback(way.close)
        yield name, way


def _pairs(samples: Samples) -> Iterator[tuple[str, str, list[float], list[float]]]:
    """Of each way and quantity the seconds with and without validation."""
    for name in WAYS_COMPARED:
        checked, unchecked = samples.get(f"{name}, {CHECKED}"), samples.get(f"{name}, {UNCHECKED}")
        if checked is not None and unchecked is not None:
            yield name, "host_cpu", checked.cpu_s, unchecked.cpu_s
            yield name, "wall", checked.wall_s, unchecked.wall_s


def _ratios(samples: Samples) -> Iterator[dict[str, Any]]:
    for name, quantity, over, under in _pairs(samples):
        names = {"over": f"{name}, {CHECKED}", "under": f"{name}, {UNCHECKED}"}
        yield {"quantity": quantity, **names, **ratio(over, under)}


def _findings(samples: Samples) -> Iterator[dict[str, Any]]:
    for name, quantity, over, under in _pairs(samples):
        saved = estimate([over, under], lambda medians: 100 * (1 - medians[..., 1] / medians[..., 0]))
        seen = not saved["ci95_low"] <= 0 <= saved["ci95_high"]
        yield {
            "name": f"saved by no validation, {name}, {quantity}",
            "unit": "%",
            **saved,
            "text": "of what it costs with validation" if seen else "no saving seen: 0 is in the interval",
        }


EXPERIMENT = Experiment(
    measure,
    help="What validation costs: Dawn with and without its own checks. wgpu-native has no switch for them.",
    options={"dispatches": Option(500, "Length of the chain.")},
    quick={"rounds": 15, "dispatches": 200},
)
