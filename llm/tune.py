"""Measures kernels on the GPU by timestamps: what each takes in a step, and which workgroup shapes are fastest."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import wgpu
from attrs import evolve, frozen

from llm.config import ModelConfig
from llm.errors import UsageError
from llm.model import Model
from llm.plans.shapes import Shape, Shapes
from llm.runtime import Prepared
from llm.store import WeightStore

WARM_S = 0.2
BACK_TO_BACK = 16
# Dispatches in a timed pass at least: beginning and end of a pass cost as much as dozens.
PASS = 144
REPEATS = 15
# Where the cache stands while attention is measured.
POSITION = 150

CANDIDATES: dict[str, list[Any]] = {
    "attention": [Shape(256, 1), Shape(256, 2), Shape(512, 1), Shape(512, 2), Shape(512, 4), Shape(1024, 4)],
    "long": [Shape(128, 32), Shape(128, 64), Shape(128, 128), Shape(256, 128), Shape(256, 256), Shape(512, 128)],
    "row": [Shape(64, 32), Shape(64, 64), Shape(128, 32), Shape(128, 64), Shape(128, 128), Shape(256, 64)],
    "qkv": [Shape(64, 32), Shape(64, 64), Shape(128, 32), Shape(128, 64), Shape(128, 128)],
    "gate_up": [Shape(64, 16), Shape(64, 32), Shape(128, 16), Shape(128, 32), Shape(256, 32), Shape(128, 64)],
    "logits": [Shape(128, 16), Shape(128, 32), Shape(256, 16), Shape(256, 32)],
    "logits_workgroups": [792, 1200, 2400],
}


@frozen
class KernelTime:
    """What one kernel takes: `us` a dispatch, alone in a pass, `count` dispatches of it in a step."""

    kernel: str
    count: int
    us: float


class Timer:
    """GPU time of a list of dispatches in one pass. Raises UsageError where the device has no timestamps."""

    def __init__(self, device: Any) -> None:
        if "timestamp-query" not in device.features:
            raise UsageError("this device has no timestamps (feature timestamp-query): nothing can be tuned")
        self.device = device
        self._queries = device.create_query_set(type="timestamp", count=2)
        usage = wgpu.BufferUsage.QUERY_RESOLVE | wgpu.BufferUsage.COPY_SRC
        self._times = device.create_buffer(size=256, usage=usage)

    def us(self, model: Model, dispatches: list[Prepared]) -> float:
        """Microseconds, the least of several runs, each from the same position; a timestamp is taken for a nanosecond.

        A GPU that waits between runs lowers its clocks: they are raised first, and the least is that of raised clocks.
        """
        until = time.perf_counter() + WARM_S
        while time.perf_counter() < until:
            for _ in range(BACK_TO_BACK):
                self._submit(model, dispatches)
            self.device.queue.read_buffer(self._times, 0, 16)
        return min(self._run(model, dispatches) for _ in range(REPEATS))

    def _run(self, model: Model, dispatches: list[Prepared]) -> float:
        self._submit(model, dispatches)
        begin, end = np.frombuffer(self.device.queue.read_buffer(self._times, 0, 16), np.uint64).tolist()
        return (end - begin) / 1e3

    def _submit(self, model: Model, dispatches: list[Prepared]) -> None:
        model.seek(min(POSITION, model.max_context - 1), 1)
        encoder = self.device.create_command_encoder()
        writes = {
            "query_set": self._queries,
            "beginning_of_pass_write_index": 0,
            "end_of_pass_write_index": 1,
        }
        compute_pass = encoder.begin_compute_pass(timestamp_writes=writes)
        for dispatch in dispatches:
            compute_pass.set_pipeline(dispatch.pipeline)
            compute_pass.set_bind_group(0, dispatch.bind_group)
            compute_pass.dispatch_workgroups(*dispatch.op.workgroups)
        compute_pass.end()
        encoder.resolve_query_set(self._queries, 0, 2, self._times, 0)
        self.device.queue.submit([encoder.finish()])


def profile(model: Model) -> tuple[float, list[KernelTime]]:
    """Microseconds of a whole step in one pass, and of each kernel, the most costly first."""
    timer = Timer(model.device)
    by_kernel: dict[str, list[Prepared]] = {}
    for dispatch in model.dispatches:
        by_kernel.setdefault(f"{dispatch.op.kernel} {_columns(dispatch) or ''}".strip(), []).append(dispatch)
    times = []
    for kernel, dispatches in by_kernel.items():
        repeats = -(-PASS // len(dispatches))
        times.append(
            KernelTime(kernel, len(dispatches), timer.us(model, dispatches * repeats) / repeats / len(dispatches))
        )
    return timer.us(model, model.dispatches), sorted(times, key=lambda each: -each.us * each.count)


def sweep(device: Any, config: ModelConfig, store: WeightStore, tell: Callable[[str], None], **options: Any) -> Shapes:
    """The fastest shapes for the fused plan, one kernel after another, by the GPU time of whole steps: alone, a small
    kernel would find its weights in the GPU's cache. `tell` hears of the best candidates.
    """
    timer, best = Timer(device), Shapes()
    for name, candidates in CANDIDATES.items():
        times = {}
        for candidate in candidates:
            if (
                isinstance(candidate, Shape)
                and candidate.workgroup > device.limits["max-compute-invocations-per-workgroup"]
            ):
                continue
            shapes = evolve(best, **{name: candidate})
            model = Model(device, config, store, "fused", shapes=shapes, **options)
            times[candidate] = timer.us(model, model.dispatches)
        ranked = sorted(times, key=lambda each: times[each])
        tell(f"{name}: " + ", ".join(f"{_short(each)} {times[each]:.0f} us" for each in ranked[:6]))
        best = evolve(best, **{name: ranked[0]})
    return best


def _columns(dispatch: Prepared) -> int:
    return int(dict(dispatch.op.constants).get("COLUMNS", 0))


def _short(candidate: Any) -> str:
    return f"{candidate.workgroup}/{candidate.lanes}" if isinstance(candidate, Shape) else str(candidate)
