"""Very many replays of one graph: whether memory, object counts and the time of a replay stay where they were.

    report = endurance.measure(device, replays=100_000)

Nothing is waited for in between; a graph's own `max_in_flight` is all that holds it back.
"""

from __future__ import annotations

import gc
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

import cmdgraph
from cmdgraph.bench import environment, markdown, results
from cmdgraph.bench.experiments import Experiment, Option, OptionError
from cmdgraph.bench.method import MeasurementError, Plan
from cmdgraph.bench.results import Report
from cmdgraph.replay import STRATEGIES

__all__ = ["EXPERIMENT", "measure"]

NODES = 50
BUFFERS = 8
ELEMENTS = 64
BLOCKS = 20
MEMORY_LIMIT_MB = 20
DRIFT_LIMIT = 1.2
TIMED_REGION = "the replays of a block; nothing is waited for but the graph's own limit of submissions under way"

SHADER = """
@group(0) @binding(0) var<storage, read_write> counts: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) { counts[id.x] += 1u; }
"""


def measure(device: Any, plan: Plan, *, replays: int = 100_000, strategy: str = "prerecorded") -> Report:
    """Replays a graph of 50 nodes `replays` times, in 20 blocks, and reports each block and the verdicts.

    Of the plan it takes the progress.

    Raises:
        OptionError: fewer replays than blocks.
        MeasurementError: the counters on the GPU are wrong at the end.
    """
    if replays < BLOCKS:
        raise OptionError(f"needs at least {BLOCKS} replays, got {replays}")
    buffers, graph = _counting_graph(device)
    graph.strategy = strategy
    for _ in range(50):
        graph.replay()
    graph.wait()
    gc.collect()
    before = _counts(device)
    blocks = []
    for block in range(BLOCKS):
        count = replays * (block + 1) // BLOCKS - replays * block // BLOCKS
        start, cpu = time.perf_counter(), time.thread_time()
        for _ in range(count):
            graph.replay()
        wall, cpu = time.perf_counter() - start, time.thread_time() - cpu
        blocks.append(
            {"replays": count, "wall_us": 1e6 * wall / count, "cpu_us": 1e6 * cpu / count, "rss_mb": _rss_mb()}
        )
        if plan.progress is not None:
            plan.progress(block + 1, BLOCKS)
    graph.wait()
    stats = graph.stats
    _check(device, buffers, stats.replays)
    graph.release()
    gc.collect()
    return results.make(
        "endurance",
        environment=environment.describe(device),
        workload={"nodes": NODES, "strategy": strategy, "replays": replays, "abandoned": stats.abandoned},
        method={"description": "one long run in blocks", "timed_region": TIMED_REGION, "sync": "once, at the end"},
        rows=[],
        blocks=blocks,
        objects={"before": before, "after": _counts(device)},
        verdict=_verdict(blocks, before, _counts(device)),
    )


def _counting_graph(device: Any) -> tuple[list[Any], Any]:
    """50 dispatches that add 1 to one of 8 buffers each."""
    module = device.create_shader_module(code=SHADER)
    pipeline = device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})
    layout = pipeline.get_bind_group_layout(0)
    # Usage bits by number (STORAGE, COPY_DST, COPY_SRC): the same for every implementation's flags.
    buffers = [device.create_buffer(size=4 * ELEMENTS, usage=0x80 | 0x8 | 0x4) for _ in range(BUFFERS)]
    groups = [
        device.create_bind_group(layout=layout, entries=[{"binding": 0, "resource": {"buffer": buffer}}])
        for buffer in buffers
    ]
    with cmdgraph.capture(device, name="endurance") as graph:
        encoder = device.create_command_encoder()
        compute_pass = encoder.begin_compute_pass()
        compute_pass.set_pipeline(pipeline)
        for node in range(NODES):
            compute_pass.set_bind_group(0, groups[node % BUFFERS])
            compute_pass.dispatch_workgroups(1)
        compute_pass.end()
        device.queue.submit([encoder.finish()])
    return buffers, graph


def _check(device: Any, buffers: list[Any], replays: int) -> None:
    for number, buffer in enumerate(buffers):
        nodes = len(range(number, NODES, BUFFERS))
        found = np.frombuffer(device.queue.read_buffer(buffer), np.uint32)
        if not (found == np.uint32(nodes * replays % 2**32)).all():
            raise MeasurementError(f"buffer {number} counts {found[0]} after {replays} replays of {nodes} nodes")


def _verdict(blocks: list[dict[str, Any]], before: dict[str, int], after: dict[str, int]) -> dict[str, Any]:
    """Growth and drift between the second and the last quarter: the first warms up."""
    quarter = BLOCKS // 4
    early, late = blocks[quarter : 2 * quarter], blocks[-quarter:]
    growth = float(np.median([b["rss_mb"] for b in late]) - np.median([b["rss_mb"] for b in early]))
    drift = float(np.median([b["wall_us"] for b in late]) / np.median([b["wall_us"] for b in early]))
    return {
        "memory_growth_mb": growth,
        "memory_flat": growth < MEMORY_LIMIT_MB,
        "time_drift": drift,
        "time_flat": drift <= DRIFT_LIMIT,
        "objects_flat": all(after[name] <= before[name] for name in before),
    }


def _counts(device: Any) -> dict[str, int]:
    """Live objects as the implementation's package counts them, those of wgpu-native itself where it tells."""
    package = __import__(type(device).__module__.partition(".")[0])
    found = {name: entry["count"] for name, entry in package.diagnostics.object_counts.get_dict().items()}
    native = getattr(package.diagnostics, "wgpu_native_counts", None)
    if native is not None:
        found |= {f"native {name}": entry["count"] for name, entry in native.get_dict().items()}
    return found


def _rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


EXPERIMENT = Experiment(
    measure,
    help="Replay a graph of 50 nodes very often: memory, object counts and time must stay flat.",
    options={
        "replays": Option(100_000, "In all.", least=BLOCKS),
        "strategy": Option("prerecorded", "Of the graph.", choices=tuple(STRATEGIES)),
    },
    quick={"replays": 5_000},
    rounded=False,
    to_markdown=markdown.endurance,
)
