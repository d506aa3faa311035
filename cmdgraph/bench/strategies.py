"""What a dispatch costs on the way from Python to the queue, one row for each way.

    report = strategies.measure(device, dispatches=876)

Rows are made by functions in `ROWS`; a new strategy is one more entry.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

import cmdgraph
from cmdgraph.bench import environment, method
from cmdgraph.bench.chain import BINDINGS, BUFFERS, ELEMENTS, PIPELINES, Chain
from cmdgraph.bench.method import Arm, MeasurementError
from cmdgraph.replay import walker

__all__ = ["CAPTURE_TARGET_US", "ROWS", "LeftOut", "Row", "measure"]

CAPTURE_TARGET_US = 30

# So many replays share one wait, as in a loop that generates text; a naive replay is long enough by itself.
REPLAYS_PER_SAMPLE = 8

TIMED_REGION = (
    "a sample is `replays_per_sample` runs of the chain and one wait for the GPU at their end. Every call "
    "that a user makes for a run is inside: for `eager` and `single-pass-public` encoding, finish and submit "
    "by the public API, for the others graph.replay(). Making buffers, pipelines, bind groups and graphs is "
    "outside. `host_cpu` is the calling thread's CPU time, the wait included; the driver's threads are not "
    "counted"
)


class LeftOut(Exception):  # noqa: N818 - an outcome, not an error
    """A row cannot be measured here; says why."""


@attrs.frozen
class Row:
    """One way to run the chain. `run(times)` submits it that often; `wait` waits for all of it."""

    run: Callable[[int], object]
    wait: Callable[[], object]
    submits: int
    passes: int
    replays_per_sample: int
    close: Callable[[], object] = lambda: None


def measure(
    device: Any,
    *,
    dispatches: int = 876,
    rounds: int = 30,
    warmup: int = 3,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Measures every row on a chain of `dispatches` and gives the report, ready for JSON. Times are in us.

    Raises:
        ValueError: `dispatches`, `rounds` or `warmup` is below 1.
        MeasurementError: a row computes something else than numpy; nothing is reported then.
        CommandGraphError: the chain could not be captured.
    """
    if dispatches < 1:
        raise ValueError(f"needs at least one dispatch, got {dispatches}")
    chain = Chain(device, dispatches, seed)
    rows, left_out = _make_rows(chain)
    try:
        arms = {name: Arm(_sampler(row), functools.partial(_check, chain, row)) for name, row in rows.items()}
        arms["capture"] = Arm(functools.partial(_capture_and_release, chain))
        series = method.interleave(arms, rounds, warmup, seed=seed, progress=progress)
        for row in rows.values():
            _check(chain, row)
        return _report(chain, rows, left_out, series, {"rounds": rounds, "warmup": warmup, "seed": seed})
    finally:
        for row in rows.values():
            row.close()


def _eager(chain: Chain) -> Row:
    """The naive path: an encoder, a pass and a submit for each operation."""

    def run(times: int) -> None:
        for _ in range(times):
            _call_eagerly(chain)

    count = len(chain.calls)
    return Row(run, chain.wait, submits=count, passes=count, replays_per_sample=1)


def _single_pass_public(chain: Chain) -> Row:
    """One pass and one submit, written by hand with the public API: what a careful user can do today."""
    device = chain.device

    def run(times: int) -> None:
        for _ in range(times):
            encoder = device.create_command_encoder()
            compute_pass = encoder.begin_compute_pass()
            for pipeline, group in chain.calls:
                compute_pass.set_pipeline(pipeline)
                compute_pass.set_bind_group(0, group)
                compute_pass.dispatch_workgroups(1)
            compute_pass.end()
            device.queue.submit([encoder.finish()])

    return Row(run, chain.wait, submits=1, passes=1, replays_per_sample=REPLAYS_PER_SAMPLE)


def _graph_row(strategy: str, walk: str | None, replays_per_sample: int, chain: Chain) -> Row:
    """A replayed graph with a strategy and, where the strategy walks an array, the walker that does it."""
    if walk == "c" and not walker.available():
        raise LeftOut(f"no C walker: {walker.why_absent()}")
    graph = _capture(chain)
    graph.strategy = strategy
    if walk is not None:
        graph.walker = walk

    def run(times: int) -> None:
        for _ in range(times):
            graph.replay()

    stats = graph.stats
    return Row(run, graph.wait, stats.submits, stats.passes, replays_per_sample, graph.release)


ROWS: dict[str, Callable[[Chain], Row]] = {
    "eager": _eager,
    "single-pass-public": _single_pass_public,
    "per-op": functools.partial(_graph_row, "per-op", None, 1),
    "single-pass": functools.partial(_graph_row, "single-pass", "c", REPLAYS_PER_SAMPLE),
    "single-pass-python": functools.partial(_graph_row, "single-pass", "python", REPLAYS_PER_SAMPLE),
}


def _make_rows(chain: Chain) -> tuple[dict[str, Row], list[dict[str, str]]]:
    rows: dict[str, Row] = {}
    left_out: list[dict[str, str]] = []
    try:
        for name, make in ROWS.items():
            try:
                rows[name] = make(chain)
            except LeftOut as reason:
                left_out.append({"strategy": name, "reason": str(reason)})
    except BaseException:
        for row in rows.values():
            row.close()
        raise
    return rows, left_out


def _call_eagerly(chain: Chain) -> None:
    device = chain.device
    for pipeline, group in chain.calls:
        encoder = device.create_command_encoder()
        compute_pass = encoder.begin_compute_pass()
        compute_pass.set_pipeline(pipeline)
        compute_pass.set_bind_group(0, group)
        compute_pass.dispatch_workgroups(1)
        compute_pass.end()
        device.queue.submit([encoder.finish()])


def _capture(chain: Chain) -> Any:
    with cmdgraph.capture(chain.device, name="chain") as graph:
        _call_eagerly(chain)
    return graph


def _capture_and_release(chain: Chain) -> None:
    _capture(chain).release()


def _sampler(row: Row) -> Callable[[], None]:
    def sample() -> None:
        row.run(row.replays_per_sample)
        row.wait()

    return sample


def _check(chain: Chain, row: Row) -> bool:
    """Two runs from the start state, so that a replay which only works the first time is caught as well."""
    times = 2
    chain.reset()
    row.run(times)
    row.wait()
    found, expected = chain.state(), chain.expected(times)
    wrong = np.flatnonzero((found != expected).any(axis=1))
    if wrong.size:
        raise MeasurementError(f"{wrong.size} of {BUFFERS} buffers differ from numpy, first {wrong[0]}")
    return True


def _report(
    chain: Chain,
    rows: dict[str, Row],
    left_out: list[dict[str, str]],
    series: dict[str, method.Series],
    settings: dict[str, int],
) -> dict[str, Any]:
    count = len(chain.calls)
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
                "submits": row.submits,
                "passes": row.passes,
                "replays_per_sample": row.replays_per_sample,
                **_per_dispatch(series[name], count * row.replays_per_sample),
                "result_equals_numpy": True,
            }
            for name, row in rows.items()
        ],
        "left_out": left_out,
        "capture": {**_per_dispatch(series["capture"], count), "target_us": CAPTURE_TARGET_US},
        "ratios": _ratios(rows, series),
    }


def _per_dispatch(series: method.Series, dispatches: int) -> dict[str, Any]:
    return {
        "host_cpu_us_per_dispatch": method.summary([1e6 * s / dispatches for s in series.cpu_s]),
        "wall_us_per_dispatch": method.summary([1e6 * s / dispatches for s in series.wall_s]),
    }


def _ratios(rows: dict[str, Row], series: dict[str, method.Series]) -> list[dict[str, Any]]:
    """How many times less than `eager` each row costs the host, and takes."""

    def per_run(name: str, values: list[float]) -> list[float]:
        return [value / rows[name].replays_per_sample for value in values]

    found: list[dict[str, Any]] = []
    for name in rows:
        if name == "eager":
            continue
        for quantity, field in (("host_cpu", "cpu_s"), ("wall", "wall_s")):
            over, under = (per_run(n, getattr(series[n], field)) for n in ("eager", name))
            found.append({"quantity": quantity, "over": "eager", "under": name, **method.ratio(over, under)})
    return found
