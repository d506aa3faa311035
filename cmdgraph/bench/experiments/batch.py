"""From how much work on a replay no longer pays: the batch of a kernel is swept until kernels take all the time.

Each dispatch reads what the one before has written. With small batches the host decides how long that takes, with large
ones the GPU, and then it does not matter how the dispatches reach the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

import cmdgraph
from cmdgraph.bench import timestamps, trial
from cmdgraph.bench.crossover import crossover
from cmdgraph.bench.experiments import Experiment, Option, OptionError
from cmdgraph.bench.method import Arm, MeasurementError, Plan, Samples, ratio
from cmdgraph.bench.results import Report
from cmdgraph.bench.timestamps import PassTimer
from cmdgraph.objects import BufferUsage

__all__ = ["EXPERIMENT", "WORKGROUPS", "measure"]

WORKGROUPS = (1, 16, 256, 2048, 8192, 32768, 65535)
INVOCATIONS = 64

SHADER = """
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> result: array<u32>;

@compute @workgroup_size({invocations})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    var x = source[id.x];
    for (var n = 0u; n < {work}u; n++) {{
        x ^= x << 13u;
        x ^= x >> 17u;
        x ^= x << 5u;
    }}
    result[id.x] = x;
}}
"""

TIMED_REGION = (
    "a sample is one run of the dispatches and one wait for the GPU at its end: `eager` with an encoder, a pass and a "
    "submit for each, `single-pass` by graph.replay(), `timed pass` in one pass by the public API with a timestamp at "
    "both ends. Making buffers, pipelines, bind groups and graphs is outside"
)
SYNC = "a read of 4 bytes for eager calls, graph.wait() for replays; once a sample"
EAGER, REPLAY, GPU = "eager", "single-pass", "timed pass"


def measure(
    device: Any,
    plan: Plan,
    *,
    workgroups: Sequence[int] = WORKGROUPS,
    dispatches: int = 32,
    work: int = 64,
) -> Report:
    """Measures `dispatches` dispatches of each size, eagerly and replayed. Times are in us.

    An invocation steps a generator of random numbers `work` times.

    Raises:
        OptionError: fewer than two sizes, or an odd number of dispatches.
        MeasurementError: a row computes something else than numpy.
    """
    sizes = sorted(set(workgroups))
    if len(sizes) < 2 or sizes[-1] > 65535:
        raise OptionError(f"workgroups: needs two different numbers of at most 65535, got {sizes}")
    if dispatches % 2:
        raise OptionError(
            f"dispatches: needs an even number, got {dispatches}: the last one writes where the first reads"
        )
    timer = None if timestamps.why_absent(device) else PassTimer(device)
    with ExitStack() as stack:
        loads = {size: _Load(device, size, dispatches, work, plan.seed) for size in sizes}
        arms = {f"{way}/{n}": arm for n, load in loads.items() for way, arm in _arms(load, timer, stack)}
        samples = plan.run(arms)
    return trial.report(
        "batch",
        device,
        plan,
        samples,
        workload={"dispatches": dispatches, "invocations_per_workgroup": INVOCATIONS, "steps_per_invocation": work},
        timed_region=TIMED_REGION,
        sync=SYNC,
        how=timestamps.how(device),
        rows=[_row(name, samples, dispatches) for name in arms],
        left_out=[] if timer else [{"row": GPU, "reason": timestamps.why_absent(device)}],
        ratios=[
            {
                "quantity": "wall",
                "over": f"{EAGER}/{n}",
                "under": f"{REPLAY}/{n}",
                **ratio(samples[f"{EAGER}/{n}"].wall_s, samples[f"{REPLAY}/{n}"].wall_s),
            }
            for n in sizes
        ],
        findings=[
            crossover(
                sizes,
                [samples[f"{EAGER}/{n}"].wall_s for n in sizes],
                [samples[f"{REPLAY}/{n}"].wall_s for n in sizes],
                "workgroups of a dispatch",
                f"workgroups of {INVOCATIONS} invocations",
            )
        ],
    )


class _Load:
    """Dispatches of one size, from one buffer to the other and back."""

    def __init__(self, device: Any, workgroups: int, dispatches: int, work: int, seed: int) -> None:
        self.device, self.workgroups, self.dispatches, self.work = device, workgroups, dispatches, work
        self._start = np.random.default_rng(seed).integers(1, 2**32, INVOCATIONS, dtype=np.uint32)
        usage = BufferUsage.STORAGE | BufferUsage.COPY_DST | BufferUsage.COPY_SRC
        self._buffers = [device.create_buffer(size=4 * INVOCATIONS * workgroups, usage=usage) for _ in range(2)]
        module = device.create_shader_module(code=SHADER.format(invocations=INVOCATIONS, work=work))
        self._pipeline = device.create_compute_pipeline(
            layout="auto", compute={"module": module, "entry_point": "main"}
        )
        self._groups = [self._bind(*pair) for pair in (self._buffers, self._buffers[::-1])]

    def call_eagerly(self) -> None:
        for number in range(self.dispatches):
            encoder = self.device.create_command_encoder()
            self._pass(encoder, [number])
            self.device.queue.submit([encoder.finish()])

    def in_one_pass(self, **descriptor: Any) -> Any:
        """One pass, not submitted: the encoder."""
        encoder = self.device.create_command_encoder()
        self._pass(encoder, range(self.dispatches), **descriptor)
        return encoder

    def wait(self) -> None:
        self.device.queue.read_buffer(self._buffers[0], 0, 4)

    def require(self, run: Callable[[], None]) -> bool:
        """Whether a run does to every element what numpy does to it."""
        write, read = self.device.queue.write_buffer, self.device.queue.read_buffer
        write(self._buffers[0], 0, np.tile(self._start, self.workgroups))
        run()
        found = np.frombuffer(read(self._buffers[0]), np.uint32).reshape(self.workgroups, INVOCATIONS)
        if not (found == self._expected()).all():
            raise MeasurementError(f"{self.workgroups} workgroups: the result differs from numpy")
        return True

    def _expected(self) -> np.ndarray:
        x = self._start.copy()
        for _ in range(self.dispatches * self.work):
            x ^= x << np.uint32(13)
            x ^= x >> np.uint32(17)
            x ^= x << np.uint32(5)
        return x

    def _pass(self, encoder: Any, numbers: Sequence[int], **descriptor: Any) -> None:
        compute = encoder.begin_compute_pass(**descriptor)
        for number in numbers:
            compute.set_pipeline(self._pipeline)
            compute.set_bind_group(0, self._groups[number % 2])
            compute.dispatch_workgroups(self.workgroups)
        compute.end()

    def _bind(self, source: Any, result: Any) -> Any:
        entries = [{"binding": n, "resource": {"buffer": buffer}} for n, buffer in enumerate((source, result))]
        return self.device.create_bind_group(layout=self._pipeline.get_bind_group_layout(0), entries=entries)


def _arms(load: _Load, timer: PassTimer | None, stack: ExitStack) -> Iterator[tuple[str, Arm]]:
    with cmdgraph.capture(load.device, name="batch") as graph:
        load.call_eagerly()
    stack.callback(graph.release)
    graph.split = 1

    def eager() -> None:
        load.call_eagerly()
        load.wait()

    def replay() -> None:
        graph.replay(wait=True)

    yield EAGER, Arm(eager, lambda: load.require(eager))
    yield REPLAY, Arm(replay, lambda: load.require(replay))
    if timer is not None:
        run = timer.run(load.in_one_pass)
        yield GPU, Arm(run, lambda: load.require(run), gpu=timer.seconds)


def _row(name: str, samples: Samples, dispatches: int) -> dict[str, Any]:
    way, workgroups = name.split("/")
    return {
        "name": name,
        "series": way,
        "workgroups": int(workgroups),
        "invocations": INVOCATIONS * int(workgroups),
        "dispatches_per_sample": dispatches,
        "submits_per_sample": dispatches if way == EAGER else 1,
        "checked": trial.EXACT,
        **trial.figures(samples[name], "dispatch", dispatches),
    }


EXPERIMENT = Experiment(
    measure,
    help="Sweep the work of a kernel until a replay no longer pays, and find where that is.",
    options={
        "workgroups": Option(WORKGROUPS, "Sizes of a dispatch."),
        "dispatches": Option(32, "In a sample; an even number."),
        "work": Option(64, "Steps of each invocation."),
    },
    quick={"rounds": 8, "workgroups": (1, 16, 256, 1024), "work": 16},
    features=(timestamps.FEATURE,),
)
