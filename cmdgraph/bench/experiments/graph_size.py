"""How capture, validation, encoding, replay and memory grow with the nodes of a graph."""

from __future__ import annotations

import itertools
import resource
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from attrs import define, field

import cmdgraph
from cmdgraph import validation
from cmdgraph.bench import trial
from cmdgraph.bench.chain import BINDINGS, BUFFERS, PIPELINES, Chain
from cmdgraph.bench.experiments import Experiment, Option, several
from cmdgraph.bench.method import Arm, Plan, Samples
from cmdgraph.bench.results import Report
from cmdgraph.bench.statistics import line

__all__ = ["COUNTS", "EXPERIMENT", "STAGES", "measure"]

COUNTS = (10, 100, 1_000, 10_000, 100_000)
STEPS = 1_000
"""Steps of the chain that are recorded over and over: drivers do not stand 100,000 bind groups."""
STAGES = ("capture", "rules", "encode", "replay")

TIMED_REGION = (
    "`capture` is the with block and its end: recording, proving each command, packing, and the implementation's own "
    "check of the same commands with zero workgroups. `rules` is proving alone: every rule on every node of the "
    "finished graph, as capture does it. `encode` is walking the packed commands to a finished command buffer, which "
    "is then submitted and waited for outside. `replay` is graph.replay(wait=True): encoding, one submit and the wait "
    "for the GPU"
)
SYNC = "graph.wait() once for each replay; none elsewhere"


def measure(device: Any, plan: Plan, *, counts: Sequence[int] = COUNTS) -> Report:
    """Measures every stage for graphs of each number of nodes. Times are in us, memory in bytes.

    Raises:
        OptionError: fewer than two different counts, or one below 1.
        MeasurementError: a replay computes something else than numpy.
    """
    counts = several(counts, "nodes")
    chain = Chain(device, min(counts[-1], STEPS), plan.seed)
    with ExitStack() as stack:
        graphs = {count: _Graph(chain, count) for count in counts}
        for graph in graphs.values():
            stack.callback(graph.release)
        arms = {f"{stage}/{count}": arm for count, graph in graphs.items() for stage, arm in _arms(graph)}
        samples = plan.run(arms)
        rows = [_row(stage, graph, samples) for stage in STAGES for graph in graphs.values()]
        memory = [_memory(graph) for graph in graphs.values()]
    return trial.report(
        "graph-size",
        device,
        plan,
        samples,
        workload={"counts": counts, "bindings_per_dispatch": BINDINGS, "buffers": BUFFERS, "pipelines": PIPELINES},
        timed_region=TIMED_REGION,
        sync=SYNC,
        rows=rows,
        fits=list(_fits(counts, samples)),
        memory=memory,
        findings=[_per_node(memory[-1])],
        notes=[f"graphs of more than {STEPS:,} nodes repeat the same {STEPS:,} dispatches and bind groups"],
    )


@define(eq=False)
class _Graph:
    """A captured chain of `count` dispatches, and what it made the process grow by."""

    chain: Chain
    count: int
    graph: Any = field(init=False)
    grown: int = field(init=False)
    _encoded: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        before = _resident()
        self.graph = self.capture()
        self.grown = max(0, _resident() - before)
        self.graph.split = 1

    def capture(self) -> Any:
        with cmdgraph.capture(self.chain.device, name="graph-size") as graph:
            encoder = self.chain.device.create_command_encoder()
            compute = encoder.begin_compute_pass()
            for pipeline, group in itertools.islice(itertools.cycle(self.chain.calls), self.count):
                compute.set_pipeline(pipeline)
                compute.set_bind_group(0, group)
                compute.dispatch_workgroups(1)
            compute.end()
            self.chain.device.queue.submit([encoder.finish()])
        return graph

    def capture_and_release(self) -> None:
        self.capture().release()

    def prove(self) -> None:
        """Every rule on every node."""
        device = self.chain.device
        for index, node in enumerate(self.graph.nodes):
            validation.require(node, device, index)

    def encode(self) -> None:
        """Encodes a replay; `submit` must follow."""
        session = self.graph._session
        with session.backend.error_scope() as scope:
            self._encoded = session.walker.encode(self.graph._strategy.whole, scope)

    def submit(self) -> None:
        """Submits what was encoded, for a finished command buffer that is not submitted leaks, and waits."""
        session = self.graph._session
        submission = session.walker.submit([self._encoded])
        session.backend.wait(session.device, session.backend.ticket(session.device.queue, submission))

    def encode_and_submit(self) -> None:
        self.encode()
        self.submit()

    def replay(self) -> None:
        self.graph.replay(wait=True)

    def require(self, run: Callable[[], object]) -> bool:
        """Whether a run does what numpy does."""
        whole, rest = divmod(self.count, len(self.chain.steps))
        self.chain.reset()
        run()
        return self.chain.equals_numpy(whole, rest)

    def release(self) -> None:
        self.graph.release()


def _arms(graph: _Graph) -> Iterator[tuple[str, Arm]]:
    yield "capture", Arm(graph.capture_and_release)
    yield "rules", Arm(graph.prove)
    yield "encode", Arm(graph.encode, lambda: graph.require(graph.encode_and_submit), settle=graph.submit)
    yield "replay", Arm(graph.replay, lambda: graph.require(graph.replay))


def _row(stage: str, graph: _Graph, samples: Samples) -> dict[str, Any]:
    submitted = stage in ("encode", "replay")
    figures = trial.figures(samples[f"{stage}/{graph.count}"], "node", graph.count)
    return {
        "name": f"{stage}/{graph.count}",
        "series": stage,
        "nodes": graph.count,
        "dispatches_per_sample": graph.count if submitted else 0,
        "submits_per_sample": int(submitted),
        "checked": trial.EXACT if submitted else None,
        **figures,
    }


def _memory(graph: _Graph) -> dict[str, Any]:
    """What a graph holds, in bytes: the packed commands exactly, the process's growth by the kernel's account."""
    return {
        "nodes": graph.count,
        "packed_bytes": graph.graph._strategy.whole.commands.nbytes,
        "resident_growth_bytes": graph.grown,
    }


def _per_node(memory: dict[str, Any]) -> dict[str, Any]:
    value = memory["resident_growth_bytes"] / memory["nodes"]
    text = (
        f"capturing {memory['nodes']:,} nodes made the process grow by "
        f"{memory['resident_growth_bytes'] / 2**20:.1f} MiB, of which the packed commands are "
        f"{memory['packed_bytes'] / 2**20:.1f} MiB"
    )
    return {"name": "memory of a node", "value": value, "unit": "bytes", "text": text}


def _fits(counts: Sequence[int], samples: Samples) -> Iterator[dict[str, Any]]:
    for stage in STAGES:
        values = [[1e6 * s for s in samples[f"{stage}/{count}"].wall_s] for count in counts]
        yield {"quantity": "wall_us", "series": stage, "against": "nodes", **line(counts, values, "us")}


def _resident() -> int:
    """Bytes of memory that the process has; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


EXPERIMENT = Experiment(
    measure,
    help="How capture, validation, encoding, replay and memory grow with the nodes of a graph.",
    options={"counts": Option(COUNTS, "Numbers of nodes.")},
    quick={"rounds": 5, "counts": (10, 100, 1_000, 10_000)},
    rounds=7,
    warmup=1,
)
