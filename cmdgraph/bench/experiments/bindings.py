"""What a dispatch costs by what it binds: bindings, bind groups, pipelines, dynamic offsets, immediates.

One of them is varied at a time, the others stay as small as can be. Every dispatch adds to all buffers that it binds,
so that numpy can tell whether it ran, with what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
from attrs import frozen

import cmdgraph
from cmdgraph.bench import trial
from cmdgraph.bench.experiments import Experiment, Option, OptionError
from cmdgraph.bench.method import Arm, MeasurementError, Plan, Samples, ratio
from cmdgraph.bench.results import Report
from cmdgraph.bench.statistics import line
from cmdgraph.objects import BufferUsage

__all__ = ["EXPERIMENT", "FACTORS", "Shape", "measure"]

ELEMENTS = 64
SLOT = 256
"""Bytes of a buffer that a dispatch works on, and the step of a dynamic offset."""
SETS = 8
"""Sets of buffers and bind groups that the dispatches take in turn: each binds other ones than the one before."""
WAYS = ("single-pass-public", "single-pass")


@frozen
class Shape:
    """What the dispatches bind: `groups` groups of `bindings` storage buffers each, so many of which have a dynamic
    offset; `pipelines` pipelines in turn; `immediates` bytes of immediate data.
    """

    bindings: int = 1
    groups: int = 1
    pipelines: int = 1
    dynamic_offsets: int = 0
    immediates: int = 0


FACTORS: dict[str, tuple[Shape, ...]] = {
    "bindings": tuple(Shape(bindings=n) for n in (1, 2, 4, 8)),
    "groups": tuple(Shape(groups=n) for n in (1, 2, 3, 4)),
    "pipelines": tuple(Shape(pipelines=n) for n in (1, 2, 8, 32)),
    "dynamic_offsets": tuple(Shape(bindings=4, dynamic_offsets=n) for n in (0, 1, 2, 4)),
    "immediates": tuple(Shape(immediates=n) for n in (0, 4, 16, 64)),
}
"""What is varied, and by which shapes; the field of that name is what a line runs along."""

TIMED_REGION = (
    "a sample is one run of the dispatches, encoded and submitted once, and one wait for the GPU at its end: by the "
    "public API, which sets everything for each dispatch, or by graph.replay(). Every dispatch binds other groups than "
    "the one before. Making buffers, pipelines, bind groups and graphs is outside"
)
SYNC = "a read of 4 bytes for the public API, graph.wait() for replays; once a sample"
SWITCHES = "pipelines"


def measure(
    device: Any, plan: Plan, *, dispatches: int = 256, factors: dict[str, tuple[Shape, ...]] = FACTORS
) -> Report:
    """Measures `dispatches` dispatches of every shape, by the public API and by replays. Times are in us.

    Raises:
        OptionError: fewer dispatches than sets of buffers.
        MeasurementError: a row computes something else than numpy.
    """
    if dispatches < SETS:
        raise OptionError(f"dispatches: needs at least {SETS}, got {dispatches}")
    left_out = [
        {"row": f"immediates {shape.immediates}", "reason": reason}
        for shape in factors.get("immediates", ())
        if (reason := _why_not(device, shape))
    ]
    with ExitStack() as stack:
        works: dict[Shape, _Work] = {}
        cases: dict[str, tuple[str, Shape, str, Arm]] = {}
        for factor, shapes in factors.items():
            for shape in shapes:
                if _why_not(device, shape) is None:
                    work = works.setdefault(shape, _Work(device, shape, dispatches))
                    for way, arm in _arms(work, stack):
                        cases[f"{factor} {_level(factor, shape)}, {way}"] = (factor, shape, way, arm)
        samples = plan.run({name: arm for name, (*_, arm) in cases.items()})
    return trial.report(
        "bindings",
        device,
        plan,
        samples,
        workload={"dispatches": dispatches, "elements_per_buffer": ELEMENTS, "sets_of_bind_groups": SETS},
        timed_region=TIMED_REGION,
        sync=SYNC,
        rows=[
            {
                "name": name,
                "series": f"{factor}, {way}",
                factor: _level(factor, shape),
                "dispatches_per_sample": dispatches,
                "submits_per_sample": 1,
                "checked": trial.EXACT,
                **trial.figures(samples[name], "dispatch", dispatches),
            }
            for name, (factor, shape, way, _) in cases.items()
        ],
        left_out=left_out,
        fits=list(_fits(factors, samples, dispatches)),
        ratios=list(_switching(factors, samples)),
    )


class _Work:
    """The dispatches of one shape."""

    def __init__(self, device: Any, shape: Shape, dispatches: int) -> None:
        self.device, self.shape, self.dispatches = device, shape, dispatches
        slots = 2 if shape.dynamic_offsets else 1
        usage = BufferUsage.STORAGE | BufferUsage.COPY_DST | BufferUsage.COPY_SRC
        self._buffers = [
            [
                [device.create_buffer(size=SLOT * slots, usage=usage) for _ in range(shape.bindings)]
                for _ in range(shape.groups)
            ]
            for _ in range(SETS)
        ]
        layouts = [device.create_bind_group_layout(entries=self._layout_entries()) for _ in range(shape.groups)]
        more = {"immediate_size": shape.immediates} if shape.immediates else {}
        layout = device.create_pipeline_layout(bind_group_layouts=layouts, **more)
        self._pipelines = [self._pipeline(layout, number) for number in range(shape.pipelines)]
        self._groups = [
            [
                device.create_bind_group(layout=layouts[g], entries=self._entries(buffers))
                for g, buffers in enumerate(groups)
            ]
            for groups in self._buffers
        ]
        self._immediates = np.ones(shape.immediates // 4, np.uint32)

    def run(self) -> None:
        """All dispatches in one pass and one submit, by the public API."""
        encoder = self.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        for number in range(self.dispatches):
            compute.set_pipeline(self._pipelines[number % len(self._pipelines)])
            for index, group in enumerate(self._groups[number % SETS]):
                compute.set_bind_group(index, group, self._offsets(number))
            if self.shape.immediates:
                compute.set_immediates(0, self._immediates, 0, self.shape.immediates)
            compute.dispatch_workgroups(1)
        compute.end()
        self.device.queue.submit([encoder.finish()])

    def wait(self) -> None:
        self.device.queue.read_buffer(self._buffers[0][0][0], 0, 4)

    def require(self, run: Callable[[], None]) -> bool:
        """Whether two runs leave in every slot of every buffer the sum of what was to be added."""
        everything = [buffer for groups in self._buffers for buffers in groups for buffer in buffers]
        for buffer in everything:
            self.device.queue.write_buffer(buffer, 0, bytes(buffer.size))
        run()
        run()
        for place, groups in enumerate(self._buffers):
            for buffers in groups:
                for binding, buffer in enumerate(buffers):
                    found = np.frombuffer(self.device.queue.read_buffer(buffer), np.uint32).reshape(-1, ELEMENTS)
                    expected = 2 * self._expected(place, binding, len(found))
                    if not (found == expected[:, None]).all():
                        raise MeasurementError(f"binding {binding} of set {place} holds {found[:, 0]}, not {expected}")
        return True

    def _expected(self, place: int, binding: int, slots: int) -> np.ndarray:
        """What one run adds to each slot of a buffer."""
        sums = np.zeros(slots, np.uint32)
        for number in range(place, self.dispatches, SETS):
            slot = self._slot(number) if binding < self.shape.dynamic_offsets else 0
            sums[slot] += 1 + number % len(self._pipelines)
        return sums

    def _slot(self, number: int) -> int:
        return number // SETS % 2

    def _offsets(self, number: int) -> list[int]:
        return [SLOT * self._slot(number)] * self.shape.dynamic_offsets

    def _layout_entries(self) -> list[dict[str, Any]]:
        return [
            {
                "binding": n,
                "visibility": 4,
                "buffer": {"type": "storage", "has_dynamic_offset": n < self.shape.dynamic_offsets},
            }
            for n in range(self.shape.bindings)
        ]

    def _entries(self, buffers: list[Any]) -> list[dict[str, Any]]:
        return [{"binding": n, "resource": {"buffer": b, "offset": 0, "size": SLOT}} for n, b in enumerate(buffers)]

    def _pipeline(self, layout: Any, number: int) -> Any:
        module = self.device.create_shader_module(code=_code(self.shape, number))
        return self.device.create_compute_pipeline(layout=layout, compute={"module": module, "entry_point": "main"})


def _code(shape: Shape, pipeline: int) -> str:
    """Adds 1 and the number of the pipeline; the 1 comes from the immediates where there are some."""
    names = {(g, b): f"buffer_{g}_{b}" for g in range(shape.groups) for b in range(shape.bindings)}
    lines = [
        f"@group({g}) @binding({b}) var<storage, read_write> {name}: array<u32>;" for (g, b), name in names.items()
    ]
    amount = f"{1 + pipeline}u"
    if shape.immediates:
        words = shape.immediates // 4
        members = "word: u32," if words == 1 else " ".join(f"words_{n}: vec4<u32>," for n in range(words // 4))
        lines += [f"struct Data {{ {members} }}", "var<immediate> data: Data;"]
        amount = f"data.{'word' if words == 1 else 'words_0.x'} + {pipeline}u"
    adds = " ".join(f"{name}[id.x] += {amount};" for name in names.values())
    lines.append(
        f"@compute @workgroup_size({ELEMENTS}) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{ {adds} }}"
    )
    return "\n".join(lines)


def _why_not(device: Any, shape: Shape) -> str | None:
    most = device.limits.get("max-immediate-size", 0)
    if shape.immediates > most:
        return f"the device allows {most} bytes of immediates"
    return None


def _arms(work: _Work, stack: ExitStack) -> Iterator[tuple[str, Arm]]:
    with cmdgraph.capture(work.device, name="bindings") as graph:
        work.run()
    stack.callback(graph.release)
    graph.split = 1

    def public() -> None:
        work.run()
        work.wait()

    def replay() -> None:
        graph.replay(wait=True)

    for way, run in zip(WAYS, (public, replay), strict=True):
        yield way, Arm(run, lambda run=run: work.require(run))  # type: ignore[misc]


def _level(factor: str, shape: Shape) -> int:
    return getattr(shape, factor)


def _fits(factors: dict[str, tuple[Shape, ...]], samples: Samples, dispatches: int) -> Iterator[dict[str, Any]]:
    """What one more costs the host. Pipelines are no line: it matters whether there is more than one."""
    for factor, shapes in factors.items():
        for way in WAYS:
            names = {_level(factor, shape): f"{factor} {_level(factor, shape)}, {way}" for shape in shapes}
            there = {level: samples[name] for level, name in names.items() if name in samples}
            if factor == SWITCHES or len(there) < 2:
                continue
            values = [[1e6 * s / dispatches for s in series.cpu_s] for series in there.values()]
            yield {
                "quantity": "host_cpu_us_per_dispatch",
                "series": f"{factor}, {way}",
                "against": factor,
                **line(list(there), values, "us"),
            }


def _switching(factors: dict[str, tuple[Shape, ...]], samples: Samples) -> Iterator[dict[str, Any]]:
    """What it costs to change the pipeline before each dispatch, against never."""
    levels = [shape.pipelines for shape in factors.get(SWITCHES, ())]
    for way in WAYS:
        for level in levels[1:]:
            over, under = f"{SWITCHES} {level}, {way}", f"{SWITCHES} {levels[0]}, {way}"
            yield {
                "quantity": "host_cpu",
                "over": over,
                "under": under,
                **ratio(samples[over].cpu_s, samples[under].cpu_s),
            }


EXPERIMENT = Experiment(
    measure,
    help="What a dispatch costs by its bindings, groups, pipelines, dynamic offsets and immediates.",
    options={"dispatches": Option(256, "In a sample.", least=SETS)},
    quick={"rounds": 10, "dispatches": 128},
    features=("immediates",),
    limits=("max-immediate-size",),
)
