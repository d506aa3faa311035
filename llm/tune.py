"""Measures kernels on the GPU by timestamps: what each takes in a step, and which shapes and designs are fastest."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import wgpu
from attrs import asdict, evolve, frozen

from llm.config import ModelConfig
from llm.errors import UsageError
from llm.model import Model
from llm.plans import PLANS
from llm.plans.barriers import barriers
from llm.plans.shapes import Shape, Shapes
from llm.runtime import Pipelines, Prepared
from llm.store import WeightStore

WARM_S = 0.1
BACK_TO_BACK = 8
# Dispatches in a timed pass at least: beginning and end of a pass cost as much as dozens.
PASS = 144
REPEATS = 15
# Where the cache stands while attention is measured.
POSITION = 150

METHOD = (
    "GPU timestamps around one compute pass, the least of `repeats` runs from the same position, after the GPU was "
    "kept busy for `warm_s`, so that its clocks are high; step_us: a whole step, sampling included; alone_us: the "
    "kernels concerned, a dispatch, in a pass of their own, where small weights are found in the GPU's cache"
)


@frozen
class Sweep:
    """Alternatives to one another, changes to Shapes, tried in the step of a plan; `kernels` are the ends of the names
    of the ops concerned.
    """

    name: str
    plan: str
    kernels: tuple[str, ...]
    candidates: tuple[dict[str, Any], ...]


def _shapes(field: str, *sizes: tuple[int, ...]) -> tuple[dict[str, Any], ...]:
    return tuple({field: Shape(*size)} for size in sizes)


def _values(field: str, *values: int) -> tuple[dict[str, Any], ...]:
    return tuple({field: value} for value in values)


SWEEPS = (
    Sweep(
        "split attention",
        "fused",
        ("sdpa", "attn.o"),
        (
            *({"splits": 1, "attention": Shape(*size)} for size in ((512, 2), (512, 4), (1024, 4), (1024, 8))),
            *({"splits": 2, "split": Shape(*size)} for size in ((512, 4), (256, 2), (256, 4))),
            *({"splits": 4, "split": Shape(*size)} for size in ((128, 2), (128, 4), (256, 4), (256, 8), (512, 8))),
            *({"splits": 8, "split": Shape(*size)} for size in ((128, 4), (128, 8), (256, 8))),
        ),
    ),
    Sweep(
        "merge and o",
        "fused",
        ("attn.o",),
        _shapes("merge", (64, 32), (128, 32), (256, 32), (512, 32), (256, 64), (512, 64), (256, 16), (512, 16)),
    ),
    Sweep(
        "norm, gate, up",
        "fused",
        ("mlp.gate_up",),
        _shapes("gate_up", (64, 16), (64, 32), (128, 8), (128, 16), (128, 32), (256, 16), (256, 32), (512, 16)),
    ),
    Sweep("read ahead", "fused", ("sdpa", "attn.o", "mlp.gate_up"), _values("ahead", 0, 2, 4, 8, 12, 17)),
    Sweep(
        "down",
        "fused",
        ("mlp.down",),
        (
            *_shapes("long", (128, 64), (128, 128), (256, 128), (512, 128), (256, 256), (512, 256), (512, 512)),
            *_shapes("long", (256, 64, 2), (128, 128, 2), (256, 128, 2), (256, 256, 2), (256, 128, 4), (256, 256, 4)),
        ),
    ),
    Sweep(
        "norm, qkv",
        "fused",
        ("attn.qkv",),
        _shapes("qkv", (64, 16), (64, 32), (64, 64), (128, 16), (128, 32), (128, 64), (128, 128), (256, 32)),
    ),
    Sweep("output matrix", "fused", ("logits",), _shapes("logits", (128, 16), (128, 32), (256, 16), (256, 32))),
    Sweep("its workgroups", "fused", ("logits",), _values("logits_workgroups", 528, 792, 1200, 2400)),
    Sweep("f16 as a type", "fused", ("attn.qkv", "attn.o", "mlp.gate_up", "mlp.down"), _values("half", False, True)),
    Sweep(
        "plain linears",
        "unfused",
        ("attn.q", "attn.k", "attn.v", "attn.o", "mlp.gate", "mlp.up"),
        (
            *_shapes("row", (64, 64), (64, 32), (128, 32), (128, 64), (256, 32), (128, 16), (256, 16)),
            *_shapes("row", (64, 32, 2), (128, 32, 2), (256, 32, 2), (128, 16, 2), (64, 32, 4), (128, 32, 4)),
            *_shapes("row", (256, 32, 4), (128, 16, 4)),
        ),
    ),
    Sweep(
        "attention",
        "unfused",
        ("sdpa",),
        _shapes("attention", (256, 2), (256, 4), (512, 1), (512, 2), (512, 4), (1024, 2), (1024, 4), (1024, 8)),
    ),
    Sweep("norm", "paper", ("_norm",), _shapes("norm", (128, 32), (256, 32), (512, 32))),
)


class Timer:
    """GPU time of a list of dispatches in one pass. Raises UsageError where the device has no timestamps."""

    def __init__(self, device: Any) -> None:
        if "timestamp-query" not in device.features:
            raise UsageError("this device has no timestamps (feature timestamp-query): nothing can be tuned")
        self.device = device
        self._queries = device.create_query_set(type="timestamp", count=2)
        usage = wgpu.BufferUsage.QUERY_RESOLVE | wgpu.BufferUsage.COPY_SRC
        self._times = device.create_buffer(size=256, usage=usage)

    def us(self, model: Model, dispatches: Sequence[Prepared]) -> float:
        """Microseconds, the least of several runs, each from the same position; a timestamp is taken for a nanosecond.

        A GPU that waits between runs lowers its clocks: they are raised first, and the least is that of raised clocks.
        """
        until = time.perf_counter() + WARM_S
        while time.perf_counter() < until:
            for _ in range(BACK_TO_BACK):
                self._submit(model, dispatches)
            self.device.queue.read_buffer(self._times, 0, 16)
        return min(self._run(model, dispatches) for _ in range(REPEATS))

    def alone(self, model: Model, dispatches: Sequence[Prepared]) -> float:
        """Microseconds a dispatch, in a pass long enough that its ends do not count."""
        repeats = math.ceil(PASS / len(dispatches))
        return self.us(model, [*dispatches] * repeats) / repeats / len(dispatches)

    def _run(self, model: Model, dispatches: Sequence[Prepared]) -> float:
        self._submit(model, dispatches)
        begin, end = np.frombuffer(self.device.queue.read_buffer(self._times, 0, 16), np.uint64).tolist()
        return (end - begin) / 1e3

    def _submit(self, model: Model, dispatches: Sequence[Prepared]) -> None:
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


@frozen
class Bed:
    """What candidates are tried on: a model's weights, and what all models on them have in common."""

    device: Any
    config: ModelConfig
    store: WeightStore
    timer: Timer
    pipelines: Pipelines
    options: dict[str, Any]

    def model(self, plan: str, shapes: Shapes) -> Model:
        """The model by a plan with those shapes."""
        return Model(
            self.device, self.config, self.store, plan, shapes=shapes, pipelines=self.pipelines, **self.options
        )


def make_bed(device: Any, config: ModelConfig, store: WeightStore, **options: Any) -> Bed:
    """A bed on the device; `options` are those of Model. Raises UsageError where it has no timestamps."""
    return Bed(device, config, store, Timer(device), Pipelines(device), options)


def profile(bed: Bed, plan: str, shapes: Shapes) -> dict[str, Any]:
    """What a step takes and what each of its kernels takes alone, the most costly first, ready for JSON."""
    model = bed.model(plan, shapes)
    by_kernel: dict[str, list[Prepared]] = {}
    for dispatch in model.dispatches:
        by_kernel.setdefault(_kind(dispatch), []).append(dispatch)
    kernels = [
        {"kernel": kind, "count": len(each), "us": bed.timer.alone(model, each)} for kind, each in by_kernel.items()
    ]
    return {
        "plan": plan,
        "step_us": bed.timer.us(model, model.dispatches),
        "dispatches": len(model.dispatches),
        "barriers": barriers(model.plan.ops),
        "weights_bytes": sum(stored.nbytes for stored in model.plan.weights.values()),
        "kernels": sorted(kernels, key=lambda each: -each["us"] * each["count"]),
    }


def sweep(bed: Bed, best: Shapes, seconds: float, tell: Callable[[str], None]) -> tuple[Shapes, list[dict[str, Any]]]:
    """The fastest shapes, one kernel after another by the GPU time of whole steps, from `best` on, and what was
    measured, ready for JSON. Alone, a small kernel would find its weights in the GPU's cache. `tell` hears of each
    sweep. Behind `seconds` no more are begun.
    """
    until, found = time.perf_counter() + seconds, []
    for each in SWEEPS:
        if time.perf_counter() > until:
            tell(f"{each.name}: left out, {seconds:.0f} s are over")
            continue
        rows = sorted(_tried(bed, each, best), key=lambda row: row["step_us"])
        tell(f"{each.name}: " + ", ".join(f"{_short(row['change'])} {row['step_us']:.0f}" for row in rows[:6]))
        best = evolve(best, **rows[0]["change"])
        candidates = [{**row, "change": _plain(row["change"])} for row in rows]
        found.append({"sweep": each.name, "plan": each.plan, "kernels": each.kernels, "candidates": candidates})
    return best, found


def measure(bed: Bed, shapes: Shapes, *, sweeping: bool, seconds: float, tell: Callable[[str], None]) -> dict[str, Any]:
    """The profile of every plan with `shapes`; where `sweeping`, also the sweeps and the profiles with their best."""
    report: dict[str, Any] = {
        "method": {"description": METHOD, "warm_s": WARM_S, "repeats": REPEATS, "position": POSITION},
        "shapes": asdict(shapes),
        "profiles": [profile(bed, plan, shapes) for plan in PLANS],
    }
    if sweeping:
        best, report["sweeps"] = sweep(bed, shapes, seconds, tell)
        report["best_shapes"] = asdict(best)
        report["best_profiles"] = [profile(bed, plan, best) for plan in PLANS]
    return report


def lines(report: dict[str, Any]) -> Iterator[str]:
    """The report as text: the best shapes, if they were looked for, and the profiles with them."""
    if "best_shapes" in report:
        yield f"best: {_short(report['best_shapes'])}"
    for plan in report.get("best_profiles", report["profiles"]):
        counts = f"{plan['dispatches']} dispatches, {plan['barriers']} barriers"
        yield f"{plan['plan']}: {plan['step_us']:.0f} us a step, {counts}"
        for each in plan["kernels"]:
            total = each["count"] * each["us"]
            yield f"  {each['kernel']:28} {each['count']:4} x {each['us']:7.2f} us = {total:8.1f} us"


def _tried(bed: Bed, each: Sweep, best: Shapes) -> Iterator[dict[str, Any]]:
    most = bed.device.limits["max-compute-invocations-per-workgroup"]
    for change in each.candidates:
        if any(isinstance(value, Shape) and value.workgroup > most for value in change.values()):
            continue
        model = bed.model(each.plan, evolve(best, **change))
        concerned = [dispatch for dispatch in model.dispatches if dispatch.op.name.endswith(each.kernels)]
        yield {
            "change": change,
            "step_us": bed.timer.us(model, model.dispatches),
            "alone_us": bed.timer.alone(model, concerned),
        }


def _kind(dispatch: Prepared) -> str:
    """Kernel, and columns where it reads a matrix."""
    return f"{dispatch.op.kernel} {dict(dispatch.op.constants).get('COLUMNS', '')}".strip()


def _plain(change: dict[str, Any]) -> dict[str, Any]:
    return {name: asdict(value) if isinstance(value, Shape) else value for name, value in change.items()}


def _short(change: dict[str, Any]) -> str:
    parts = []
    for name, value in _plain(change).items():
        size = "/".join(str(number) for number in value.values()) if isinstance(value, dict) else str(value)
        parts.append(f"{name}={size}")
    return " ".join(parts)
