"""What a replay pays for validation, by the number of nodes of its graph, and of buffers that can be mapped.

    report = checks.measure(device)

All rules were proved at capture. What is left at a replay is a test of flags under the device's lock
(`cmdgraph.liveness`), and it should cost the same for 10 and for 100,000 nodes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

import cmdgraph
from cmdgraph.backends import backend_of
from cmdgraph.bench import markdown, method, trial
from cmdgraph.bench.chain import Chain
from cmdgraph.bench.experiments import Experiment, Option, OptionError
from cmdgraph.bench.method import Arm, MeasurementError, Plan
from cmdgraph.bench.results import Report
from cmdgraph.errors import DestroyedError
from cmdgraph.liveness import Watch, state_of
from cmdgraph.objects import BufferUsage
from cmdgraph.program import Program

__all__ = ["EXPERIMENT", "MAPPABLE", "NODES", "TARGET_US", "measure", "to_markdown"]

NODES = (10, 1_000, 100_000)
MAPPABLE = (1, 8)
"""Buffers that can be mapped, in a graph of the fewest nodes: those are looked at each time."""
TARGET_US = 2
CHECKS_PER_SAMPLE = 1_000
STEPS = 1_000
"""Steps of the chain that are recorded over and over: drivers do not stand 100,000 bind groups."""

TIMED_REGION = (
    "a sample is `checks_per_sample` times what every replay does before its submit: take the device's lock, ask "
    "whether the device is lost, test the graph's flag and its buffers that can be mapped, and let the lock go. The "
    "loop that does so is inside. Encoding and submitting are outside"
)


@attrs.frozen
class _Graph:
    """What a replay looks at, of one graph. ``destroy`` makes it invalid."""

    nodes: int
    buffers: int
    mappable: int
    check: Callable[[], None]
    destroy: Callable[[], None]


def measure(device: Any, plan: Plan, *, nodes: Sequence[int] = NODES) -> Report:
    """Measures a check for graphs of each number of nodes. Times are in us.

    Raises:
        OptionError: `nodes` is empty or holds a number below 1.
        MeasurementError: a check passes a graph with a destroyed buffer, or refuses one without.
    """
    if not nodes or min(nodes) < 1:
        raise OptionError(f"needs numbers of nodes of at least 1, got {list(nodes)}")
    graphs = {str(count): _watched(device, count, 0, plan.seed) for count in nodes}
    graphs |= {f"{nodes[0]}, {m} mappable": _watched(device, nodes[0], m, plan.seed) for m in MAPPABLE}
    samples = plan.run({name: Arm(_sampler(graph)) for name, graph in graphs.items()})
    for name, graph in graphs.items():
        _refuse_useless(name, graph)
    first, last = str(nodes[0]), str(nodes[-1])
    return trial.report(
        "checks",
        device,
        plan,
        samples,
        workload={"checks_per_sample": CHECKS_PER_SAMPLE},
        timed_region=TIMED_REGION,
        sync="none: nothing is submitted",
        rows=[
            {
                "name": name,
                "graph": name,
                "nodes": graph.nodes,
                "buffers": graph.buffers,
                "mappable": graph.mappable,
                "cpu_us_per_check": _per_check(samples[name].cpu_s),
                "wall_us_per_check": _per_check(samples[name].wall_s),
                "refuses_a_destroyed_buffer": True,
                "checked": "refuses a graph with a destroyed buffer",
                "dispatches_per_sample": 0,
                "submits_per_sample": 0,
            }
            for name, graph in graphs.items()
        ],
        target_us=TARGET_US,
        ratios=[
            {
                "quantity": "host_cpu",
                "over": last,
                "under": first,
                **method.ratio(samples[last].cpu_s, samples[first].cpu_s),
            }
        ],
    )


def to_markdown(report: dict[str, Any]) -> str:
    """The report as text."""
    rows = [
        [
            f"{row['nodes']:,}",
            row["buffers"],
            row["mappable"],
            f"{row['cpu_us_per_check']['median']:.2f}",
            f"{row['cpu_us_per_check']['p10']:.2f}-{row['cpu_us_per_check']['p90']:.2f}",
        ]
        for row in report["rows"]
    ]
    ratio = report["ratios"][0]
    return "\n".join(
        [
            markdown.facts(report["environment"]),
            "",
            markdown.table(["nodes", "buffers", "of them mappable", "CPU us/check", "p10-p90"], rows),
            "",
            f"{ratio['over']} nodes cost {ratio['ratio']:.2f} times what {ratio['under']} cost (95 % CI "
            f"{ratio['ci95_low']:.2f}-{ratio['ci95_high']:.2f}); target: at most {report['target_us']} us, whatever "
            "the number of nodes.",
        ]
    )


def _watched(device: Any, count: int, mappable: int, seed: int) -> _Graph:
    """The watch of a captured chain of `count` dispatches; of its buffers, `mappable` can be mapped."""
    chain = Chain(device, min(count, STEPS), seed)
    with cmdgraph.capture(device) as graph:
        _record(chain, count)
    program = Program(device, graph.nodes)
    graph.release()
    resources = list(program.resources().values())
    extra = [
        device.create_buffer(size=16, usage=BufferUsage.MAP_READ | BufferUsage.COPY_DST, label=f"mappable {n}")
        for n in range(mappable)
    ]
    state, backend, watch = state_of(device), backend_of(device), Watch(lambda _resource: "the chain uses it")
    with state.lock:
        watch.begin(device, [*resources, *extra])

    def check() -> None:
        with state.submission():
            if (reason := backend.lost(device)) is not None:
                state.lose(reason)
            watch.check()

    return _Graph(count, len(resources) + mappable, len(watch.mappable), check, resources[-1].destroy)


def _record(chain: Chain, count: int) -> None:
    encoder = chain.device.create_command_encoder()
    compute = encoder.begin_compute_pass()
    for pipeline, group in itertools.islice(itertools.cycle(chain.calls), count):
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups(1)
    compute.end()
    chain.device.queue.submit([encoder.finish()])


def _sampler(graph: _Graph) -> Callable[[], None]:
    check = graph.check

    def sample() -> None:
        for _ in range(CHECKS_PER_SAMPLE):
            check()

    return sample


def _refuse_useless(name: str, graph: _Graph) -> None:
    """A check that lets a destroyed buffer pass would be fast for nothing."""
    graph.check()
    graph.destroy()
    try:
        graph.check()
    except DestroyedError:
        return
    raise MeasurementError(f"{name}: the check passes a graph with a destroyed buffer; its speed means nothing")


def _per_check(seconds: Iterable[float]) -> dict[str, Any]:
    return method.summary([1e6 * s / CHECKS_PER_SAMPLE for s in seconds], "us")


EXPERIMENT = Experiment(
    measure,
    help="What a replay pays for validation, with 10 and with 100,000 nodes.",
    options={"nodes": Option(NODES, "Numbers of nodes.")},
    quick={"rounds": 10},
    to_markdown=to_markdown,
)
