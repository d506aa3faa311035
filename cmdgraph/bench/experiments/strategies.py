"""What a dispatch costs on the way from Python to the queue, one row for each way.

    report = strategies.measure(device, dispatches=876)

The ways are in `cmdgraph.bench.ways`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from cmdgraph.bench import markdown, method, timestamps, trial
from cmdgraph.bench.chain import BINDINGS, BUFFERS, ELEMENTS, LINKS, PIPELINES, Chain
from cmdgraph.bench.experiments import Experiment, Option, OptionError
from cmdgraph.bench.method import Arm, Plan, Samples
from cmdgraph.bench.results import Report
from cmdgraph.bench.ways import WAYS, LeftOut, Way, capture

__all__ = ["CAPTURE_TARGET_US", "EXPERIMENT", "measure"]

CAPTURE_TARGET_US = 30

TIMED_REGION = (
    "a sample is `replays_per_sample` runs of the chain and one wait for the GPU at their end, for `prerecorded`, "
    "`native` and `native-barriers-as-recorded` a wait after each. Every call that a user makes for a run is "
    "inside: for `eager` and `single-pass-public` encoding, finish and submit by the public API, for the others "
    "graph.replay(). Encoding ahead is inside: at the end of a sample the ring is as full as at its beginning, and at "
    "the very first it is empty. What `native` replays was recorded before the first sample. Making buffers, "
    "pipelines, bind groups and graphs is outside. `host_cpu` is the calling thread's CPU time, the wait included, "
    "`worker_cpu` that of the thread that encodes ahead, `other_cpu` that of the driver's threads. `single-pass-timed` "
    "is there for its `gpu` time, between timestamps at both ends of the pass; its wall time has a wait after each run"
)
SYNC = "a read of 4 bytes for eager calls, graph.wait() for replays; once a sample, for `prerecorded` after each replay"
COMPARED = [
    ("eager", None),
    ("single-pass", "bare-c-loop"),
    ("prerecorded-back-to-back", "bare-c-loop"),
    ("prerecorded", "native"),
    ("prerecorded", "native-barriers-as-recorded"),
    ("prerecorded-back-to-back", "native-back-to-back"),
    ("prerecorded-back-to-back", "native-barriers-as-recorded-back-to-back"),
]
"""Ratios: of the first to the second, or to every other row."""


def measure(device: Any, plan: Plan, *, dispatches: int = 876, links: str = "chain") -> Report:
    """Measures every way on a chain of `dispatches`. Times are in us.

    ``links`` is one of `cmdgraph.bench.chain.LINKS`.

    Raises:
        OptionError: `dispatches` is below 1.
        MeasurementError: a way computes something else than numpy; nothing is reported then.
        CommandGraphError: the chain could not be captured.
    """
    if dispatches < 1:
        raise OptionError(f"needs at least one dispatch, got {dispatches}")
    chain = Chain(device, dispatches, plan.seed, links=links)
    ways, left_out = _make_ways(chain)
    try:
        arms = {
            name: Arm(_sampler(way), functools.partial(_check, chain, way), way.worker_cpu, way.gpu)
            for name, way in ways.items()
        }
        arms["capture"] = Arm(lambda: capture(chain).release())
        samples = plan.run(arms)
        for way in ways.values():
            _check(chain, way)
        return _report(chain, plan, ways, left_out, samples)
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
                left_out.append({"row": name, "reason": str(reason)})
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
    """Two replays without a wait in between."""
    chain.reset()
    way.run(2)
    way.wait()
    return chain.equals_numpy(2)


def _report(chain: Chain, plan: Plan, ways: dict[str, Way], left_out: list[dict[str, str]], samples: Samples) -> Report:
    count = len(chain.calls)
    return trial.report(
        "strategies",
        chain.device,
        plan,
        samples,
        workload={
            "dispatches": count,
            "links": chain.links,
            "bindings_per_dispatch": BINDINGS,
            "buffers": BUFFERS,
            "pipelines": PIPELINES,
            "elements_per_buffer": ELEMENTS,
        },
        timed_region=TIMED_REGION,
        sync=SYNC,
        how=timestamps.how(chain.device),
        rows=[
            {
                "name": name,
                "strategy": name,
                "dispatches": count,
                "submits": way.submits,
                "passes": way.passes,
                "replays_per_sample": way.replays,
                "dispatches_per_sample": count * way.replays,
                "submits_per_sample": way.submits * way.replays,
                "encoded_ahead": way.ahead(),
                "barriers": way.barriers(),
                "checked": trial.EXACT,
                **trial.figures(samples[name], "dispatch", count * way.replays),
            }
            for name, way in ways.items()
        ],
        left_out=left_out,
        capture={**trial.figures(samples["capture"], "dispatch", count), "target_us": CAPTURE_TARGET_US},
        ratios=_ratios(ways, samples),
    )


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


EXPERIMENT = Experiment(
    measure,
    help="Compare eager calls with the strategies of a graph, on a chain checked against numpy.",
    options={
        "dispatches": Option(876, "Length of the chain."),
        "links": Option("chain", "What a dispatch reads: what the last one wrote, or any buffer.", choices=LINKS),
    },
    quick={"rounds": 5, "dispatches": 300},
    to_markdown=markdown.strategies,
    features=(timestamps.FEATURE,),
)
