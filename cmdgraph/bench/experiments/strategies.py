"""What a dispatch costs on the way from Python to the queue, one row for each way.

    report = strategies.measure(device, dispatches=876)

The ways are in `cmdgraph.bench.ways`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from cmdgraph.bench import environment, method
from cmdgraph.bench.chain import BINDINGS, BUFFERS, ELEMENTS, PIPELINES, Chain
from cmdgraph.bench.method import Arm, MeasurementError
from cmdgraph.bench.ways import WAYS, LeftOut, Way, capture

__all__ = ["CAPTURE_TARGET_US", "measure"]

CAPTURE_TARGET_US = 30

TIMED_REGION = (
    "a sample is `replays_per_sample` runs of the chain and one wait for the GPU at their end, for `prerecorded` a "
    "wait after each. Every call that a user makes for a run is inside: for `eager` and `single-pass-public` "
    "encoding, finish and submit by the public API, for the others graph.replay(). Encoding ahead is inside: at "
    "the end of a sample the ring is as full as at its beginning, and at the very first it is empty. Making "
    "buffers, pipelines, bind groups and graphs is outside. `host_cpu` is the calling thread's CPU time, the wait "
    "included, `worker_cpu` that of the thread that encodes ahead; the driver's threads are not counted"
)
COMPARED = [
    ("eager", None),
    ("single-pass", "bare-c-loop"),
    ("prerecorded-back-to-back", "bare-c-loop"),
]
"""Ratios: of the first to the second, or to every other row."""


def measure(
    device: Any,
    *,
    dispatches: int = 876,
    rounds: int = 30,
    warmup: int = 3,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Measures every way on a chain of `dispatches` and gives the report, ready for JSON. Times are in us.

    Raises:
        ValueError: `dispatches`, `rounds` or `warmup` is below 1.
        MeasurementError: a way computes something else than numpy; nothing is reported then.
        CommandGraphError: the chain could not be captured.
    """
    if dispatches < 1:
        raise ValueError(f"needs at least one dispatch, got {dispatches}")
    chain = Chain(device, dispatches, seed)
    ways, left_out = _make_ways(chain)
    try:
        arms = {
            name: Arm(_sampler(way), functools.partial(_check, chain, way), way.worker_cpu)
            for name, way in ways.items()
        }
        arms["capture"] = Arm(lambda: capture(chain).release())
        series = method.interleave(arms, rounds, warmup, seed=seed, progress=progress)
        for way in ways.values():
            _check(chain, way)
        return _report(chain, ways, left_out, series, {"rounds": rounds, "warmup": warmup, "seed": seed})
    finally:
        for way in ways.values():
            way.close()


def _make_ways(chain: Chain) -> tuple[dict[str, Way], list[dict[str, str]]]:
    ways: dict[str, Way] = {}
    left_out: list[dict[str, str]] = []
    try:
        for name, make in WAYS.items():
            try:
                ways[name] = make(chain)
            except LeftOut as reason:
                left_out.append({"strategy": name, "reason": str(reason)})
    except BaseException:
        for way in ways.values():
            way.close()
        raise
    return ways, left_out


def _sampler(way: Way) -> Callable[[], None]:
    def sample() -> None:
        way.run(way.replays)
        way.wait()

    return sample


def _check(chain: Chain, way: Way) -> bool:
    """Two runs from the start state, so that a replay which only works the first time is caught as well."""
    times = 2
    chain.reset()
    way.run(times)
    way.wait()
    found, expected = chain.state(), chain.expected(times)
    wrong = np.flatnonzero((found != expected).any(axis=1))
    if wrong.size:
        raise MeasurementError(f"{wrong.size} of {BUFFERS} buffers differ from numpy, first {wrong[0]}")
    return True


def _report(
    chain: Chain,
    ways: dict[str, Way],
    left_out: list[dict[str, str]],
    series: dict[str, method.Series],
    settings: dict[str, int],
) -> dict[str, Any]:
    count = len(chain.calls)
    capture_us = _per_dispatch(series["capture"], count)
    return {
        "experiment": "strategies",
        "environment": environment.describe(chain.device),
        "chain": {
            "dispatches": count,
            "bindings_per_dispatch": BINDINGS,
            "buffers": BUFFERS,
            "pipelines": PIPELINES,
            "elements_per_buffer": ELEMENTS,
        },
        "method": {"description": method.DESCRIPTION, "timed_region": TIMED_REGION, **settings},
        "rows": [
            {
                "strategy": name,
                "dispatches": count,
                "submits": way.submits,
                "passes": way.passes,
                "replays_per_sample": way.replays,
                "encoded_ahead": way.ahead(),
                **_per_dispatch(series[name], count * way.replays),
                "result_equals_numpy": True,
            }
            for name, way in ways.items()
        ],
        "left_out": left_out,
        "capture": {**capture_us, "target_us": CAPTURE_TARGET_US},
        "ratios": _ratios(ways, series),
    }


def _per_dispatch(series: method.Series, dispatches: int) -> dict[str, Any]:
    return {
        "host_cpu_us_per_dispatch": method.summary([1e6 * s / dispatches for s in series.cpu_s]),
        "worker_cpu_us_per_dispatch": method.summary([1e6 * s / dispatches for s in series.worker_s]),
        "wall_us_per_dispatch": method.summary([1e6 * s / dispatches for s in series.wall_s]),
    }


def _ratios(ways: dict[str, Way], series: dict[str, method.Series]) -> list[dict[str, Any]]:
    """How many times less the one costs the host than the other, its worker included or not, and takes."""
    quantities: dict[str, Callable[[method.Series], list[float]]] = {
        "host_cpu": lambda s: s.cpu_s,
        "host_and_worker_cpu": lambda s: [a + b for a, b in zip(s.cpu_s, s.worker_s, strict=True)],
        "wall": lambda s: s.wall_s,
    }

    def per_run(name: str, values: list[float]) -> list[float]:
        return [value / ways[name].replays for value in values]

    pairs = [(over, under) for over, only in COMPARED for under in ways if under != over and only in (None, under)]
    return [
        {
            "quantity": quantity,
            "over": over,
            "under": under,
            **method.ratio(per_run(over, read(series[over])), per_run(under, read(series[under]))),
        }
        for over, under in pairs
        if over in ways
        for quantity, read in quantities.items()
    ]
