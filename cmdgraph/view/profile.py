"""What `CommandGraph.profile` gives: the GPU time of each node, and the tables and files made from it.

Everything that leaves here says that it was profiled: the profiler changes what it measures.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from attrs import field, frozen

from cmdgraph import hazards
from cmdgraph.backends import backend_of
from cmdgraph.errors import ProfileError, ViewError
from cmdgraph.program import Node, Program
from cmdgraph.replay import Session
from cmdgraph.view import names, text
from cmdgraph.view.dump import write
from cmdgraph.view.summary import KEYS
from cmdgraph.view.text import Table
from cmdgraph.view.timing import Timer
from cmdgraph.view.trace import trace

__all__ = ["NOTE", "NodeTime", "Profile", "profile"]

NOTE = (
    "In a profiled replay each node has a pass of its own, with a timestamp before and after it, so times hold what "
    "merging and overlap hide in a replay. Compare nodes with each other; the cost of a replay is the undisturbed time."
)
_COARSE = 4
"""Below so many steps of the clock a median says less than a mean."""


@frozen
class NodeTime:
    """The time of one node. ``ns`` is the median of the profiled replays; the mean where it is only a few steps of the
    clock long; None where the clock ran backwards each time. ``flag`` is "" or "zero", "coarse", "invalid".
    """

    index: int
    node: Node = field(repr=False)
    samples_ns: tuple[float, ...] = field(repr=False)
    ns: float | None
    flag: str


@frozen(eq=False, slots=False)
class Profile:
    """GPU times of a graph's nodes, **profiled**: see `NOTE`. Times are in the units that their names end with.

    Attributes:
        times: a `NodeTime` for each node, in queue order.
        period_ns: of one tick of the device's clock.
        step_ns: the smallest step that its timestamps were seen to make; the times are not finer.
        undisturbed_ms: wall time of each replay without timestamps, by the strategy of the graph, waited for.
        profiled_ms: wall time of each replay with them.
        span_ns: from the first to the last timestamp of each profiled replay.
        ticks: beginnings and ends of the nodes in the median profiled replay, int64 of shape (nodes, 2), in ticks.
    """

    name: str
    device: str
    strategy: str
    times: tuple[NodeTime, ...] = field(repr=False)
    period_ns: float
    step_ns: float
    undisturbed_ms: tuple[float, ...]
    profiled_ms: tuple[float, ...]
    span_ns: tuple[float, ...]
    ticks: np.ndarray = field(repr=False)

    @cached_property
    def sum_ns(self) -> float:
        """The times of all nodes together."""
        return sum(one.ns or 0 for one in self.times)

    @cached_property
    def critical_path(self) -> tuple[int, ...]:
        """The chain of dependent nodes that takes longest: no order of the nodes could be quicker."""
        waits = hazards.dependencies([one.node for one in self.times])
        return hazards.critical_path(waits, [one.ns or 0 for one in self.times])

    @cached_property
    def critical_ns(self) -> float:
        """The time of the critical path."""
        return _sum([self.times[index] for index in self.critical_path])

    def by(self, kind: str) -> dict[str, list[NodeTime]]:
        """The nodes by "shader", "group" (the outermost debug group) or "block" (the innermost), the longest first.

        Raises:
            ValueError: `kind` is none of these.
        """
        if kind not in KEYS:
            raise ValueError(f"by({kind!r}): must be one of {', '.join(KEYS)}")
        parts: defaultdict[str, list[NodeTime]] = defaultdict(list)
        for one in self.times:
            parts[KEYS[kind](one.node)].append(one)
        return dict(sorted(parts.items(), key=lambda part: -_sum(part[1])))

    def top(self, count: int = 15) -> Table:
        """The nodes that take longest."""
        longest = sorted(self.times, key=lambda one: -(one.ns or 0))[:count]
        rows = (
            (
                str(one.index),
                names.node_name(one.node),
                " / ".join(one.node.path),
                names.shader_name(one.node) or one.node.operation,
                self._time(one),
                self._share(one.ns or 0),
            )
            for one in longest
        )
        return Table("Nodes, profiled", ("#", "name", "group", "shader", "time", "share"), tuple(rows))

    def table(self, kind: str, count: int | None = None) -> Table:
        """The time by "shader", "group" or "block"; see `by`. With a `count`, those that take longest, and the rest."""
        parts = list(self.by(kind).items())
        rest = [one for _, ones in parts[count:] for one in ones] if count is not None else []
        if rest:
            parts = [*parts[:count], (f"({len(parts[count:])} others)", rest)]
        rows = (
            (name, str(len(ones)), text.time(_sum(ones) / len(ones)), text.time(_sum(ones)), self._share(_sum(ones)))
            for name, ones in parts
        )
        return Table(f"By {kind}, profiled", (kind, "nodes", "mean", "time", "share"), tuple(rows))

    def tables(self, top: int = 15) -> Iterator[Table]:
        """The tables worth reading: shaders, groups where there are any, the longest nodes."""
        yield self.table("shader", top)
        if any(one.node.path for one in self.times):
            yield self.table("group", top)
            if any(len(one.node.path) > 1 for one in self.times):
                yield self.table("block", top)
        yield self.top(top)

    def headline(self) -> str:
        """What was measured, how, and how far it can be trusted."""
        flagged = {flag: sum(one.flag == flag for one in self.times) for flag in ("zero", "coarse", "invalid")}
        lines = [
            f'PROFILED graph "{self.name}", {len(self.times)} nodes, on {self.device}; medians of '
            f"{len(self.profiled_ms)} profiled and {len(self.undisturbed_ms)} undisturbed replays, in turn",
            f"undisturbed replay  {statistics.median(self.undisturbed_ms):.3f} ms wall, {self.strategy}, waited for",
            f"profiled replay     {statistics.median(self.profiled_ms):.3f} ms wall, "
            f"{text.time(statistics.median(self.span_ns))} from first to last timestamp, "
            f"{text.time(self.sum_ns)} in nodes, {text.time(self.critical_ns)} on the critical path",
            f"timestamps          1 tick = {self.period_ns:g} ns, smallest step seen {self.step_ns:g} ns; of "
            f"{len(self.times)} nodes {flagged['zero']} read zero, {flagged['coarse']} are shorter than {_COARSE} "
            f"steps, {flagged['invalid']} have no valid time",
        ]
        if flagged["zero"] + flagged["coarse"] > len(self.times) / 2:
            lines.append(
                "The clock is too coarse for most nodes: take more repeats (Dawn rounds timestamps unless the toggle "
                "timestamp_quantization is disabled before the first adapter request)"
            )
        return "\n".join([*lines, NOTE])

    def __str__(self) -> str:
        return "\n\n".join([self.headline(), *map(str, self.tables())])

    def show(self, top: int = 15) -> None:
        """Prints it: in colour on a terminal where `rich` is installed, else as text."""
        print(f"{self.headline()}\n")
        for table in self.tables(top):
            table.show()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes a trace that chrome://tracing and https://ui.perfetto.dev open; the suffix must be .json.

        Raises:
            ViewError: another suffix, or the file cannot be written.
        """
        target = Path(path)
        if target.suffix.lower() != ".json":
            raise ViewError(f"{target}: a profile is saved as .json (Chrome trace); debug_dump() makes other pictures")
        return write(target, self.to_trace())

    def to_trace(self) -> str:
        """The text that `save` writes."""
        begin_ns = (self.ticks - self.ticks.min()) * self.period_ns
        return json.dumps(trace(self.name, self.device, [one.node for one in self.times], begin_ns, self.to_data()))

    def to_data(self) -> dict[str, Any]:
        """What the document of a graph says of its profile."""
        return {
            "profiled": True,
            "note": NOTE,
            "unit": "ns",
            "ns": [one.ns if one.ns is None else round(one.ns, 1) for one in self.times],
            "flags": {str(one.index): one.flag for one in self.times if one.flag},
            "sum_ns": round(self.sum_ns, 1),
            "critical_path": list(self.critical_path),
            "critical_ns": round(self.critical_ns, 1),
            "zeros": sum(one.flag == "zero" for one in self.times),
            "period_ns": self.period_ns,
            "step_ns": self.step_ns,
            "span_ns": statistics.median(self.span_ns),
            "undisturbed_ms": statistics.median(self.undisturbed_ms),
            "profiled_ms": statistics.median(self.profiled_ms),
            "replays": len(self.profiled_ms),
            "strategy": self.strategy,
            "device": self.device,
        }

    def check_belongs(self, program: Program) -> None:
        """Raises ProfileError unless it was measured on these nodes."""
        mine = [(one.node.operation, names.node_name(one.node)) for one in self.times]
        if mine != [(node.operation, names.node_name(node)) for node in program.nodes]:
            raise ProfileError(
                f'this profile is of graph "{self.name}" with {len(mine)} nodes, and the graph here has '
                f"{len(program)} nodes or others; profile it again"
            )

    def _time(self, one: NodeTime) -> str:
        return "no valid time" if one.ns is None else f"{text.time(one.ns)}{' (zero)' if one.flag == 'zero' else ''}"

    def _share(self, ns: float) -> str:
        return f"{100 * ns / self.sum_ns:.1f} %" if self.sum_ns else "-"


def profile(
    program: Program, session: Session, name: str, strategy: str, repeats: int, replay: Callable[[], None]
) -> Profile:
    """Runs `program` `repeats` times, by turns undisturbed (`replay`, which must wait) and with timestamps.

    Raises:
        ProfileError: the device has no timestamps.
    """
    undisturbed, walls, runs = [], [], []
    timer = Timer(program, session)
    try:
        for turn in range(repeats):
            if turn % 2 == 0:
                begun = time.perf_counter()
                replay()
                undisturbed.append(time.perf_counter() - begun)
            else:
                ticks, wall = timer.run()
                runs.append(ticks)
                walls.append(wall)
    finally:
        timer.close()
    period = session.backend.timestamp_period_ns(program.device)
    ticks = np.array(runs)
    step = float(np.gcd.reduce((ticks - ticks.min()).reshape(-1))) * period
    spans = [(run.max() - run.min()) * period for run in runs]
    return Profile(
        name=name,
        device=_device(program.device),
        strategy=strategy,
        times=tuple(
            _node_time(index, node, (ticks[:, index, 1] - ticks[:, index, 0]) * period, step)
            for index, node in enumerate(program.nodes)
        ),
        period_ns=period,
        step_ns=step,
        undisturbed_ms=tuple(1e3 * each for each in undisturbed),
        profiled_ms=tuple(1e3 * each for each in walls),
        span_ns=tuple(map(float, spans)),
        ticks=runs[int(np.argsort(spans)[len(spans) // 2])],
    )


def _node_time(index: int, node: Node, samples: np.ndarray, step: float) -> NodeTime:
    valid = samples[samples >= 0]
    flag, ns = "", None
    if not len(valid):
        flag = "invalid"
    else:
        ns = float(np.median(valid))
        if ns < _COARSE * step:
            ns = float(np.mean(valid))
            flag = "coarse" if ns else "zero"
    return NodeTime(index, node, tuple(map(float, samples)), ns, flag)


def _sum(times: list[NodeTime]) -> float:
    return sum(one.ns or 0 for one in times)


def _device(device: Any) -> str:
    info, backend = device.adapter.info, backend_of(device)
    kind = "software adapter " if info["adapter_type"] == "CPU" else ""
    return f"{kind}{info['device']} ({info['backend_type']}, {backend.name} {backend.version()})"
