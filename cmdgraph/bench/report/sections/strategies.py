"""The ways from Python to the queue, on a chain of tiny dispatches."""

from __future__ import annotations

from collections.abc import Sequence

from cmdgraph.bench.report.captions import caption
from cmdgraph.bench.report.document import Block, Drawing, List, Table, Text, plain
from cmdgraph.bench.report.evidence import Result
from cmdgraph.bench.report.figures import among, interval, number, spread
from cmdgraph.bench.report.plots import samples, ways
from cmdgraph.bench.report.schema import Ratio, Row

__all__ = ["CPU", "EXPERIMENT", "TITLE", "WALL", "WORKER", "best_native", "best_replay", "blocks", "gpu", "points"]

EXPERIMENT = "strategies"
TITLE = "The ways to the queue"

CPU, WORKER, WALL = "host_cpu_us_per_dispatch", "worker_cpu_us_per_dispatch", "wall_us_per_dispatch"
GPU = "gpu_us_per_dispatch"
BASELINES = ("eager", "single-pass-public", "single-pass-timed", "bare-c-loop")
"""Rows that are no replays of a graph."""
EXTENSION = "native"


def blocks(results: Sequence[Result]) -> list[Block]:
    counts = sorted({f"{result.fact(row, 'dispatches'):,}" for result in results for row in result.rows})
    panels = [(result.where, [_way(result, row) for row in result.rows]) for result in results]
    spreads = [(r.where, {row.name: r.figure(row, WALL) for row in r.rows}) for r in results]
    return [
        Text(
            f"The same chain of {among(counts)} tiny dispatches, whose result numpy can tell, goes to the queue in "
            "every way there is. `eager` is what programs do today: an encoder, a pass and a submit for each "
            "operation. `single-pass-public` is what a careful program can do today: one pass, one submit. "
            "`bare-c-loop` is the floor: the same native calls with nothing of a graph around them. The others "
            "replay a captured graph."
        ),
        Drawing(
            EXPERIMENT,
            ways.draw(EXPERIMENT, panels, "us a dispatch, log scale"),
            f"Caller CPU time and wall time a dispatch of {len(panels[0][1])} ways on {among([t for t, _ in panels])}.",
            caption("What a dispatch costs by each way.", results),
        ),
        Drawing(
            "strategies-samples",
            samples.draw("strategies-samples", spreads, "us of wall time a dispatch, log scale"),
            "Every sample of wall time as a point, with the median as a bar.",
            caption("Every sample as a point, the median as a bar.", results),
        ),
        _table(results),
        *_left_out(results),
    ]


def points(results: Sequence[Result]) -> list[str]:
    """What it adds to the answer, one sentence or two for each machine."""
    return [
        " ".join(filter(None, (_cpu(result), _wall(result), _native(result))))
        for result in results
        if result.row("eager")
    ]


def best_replay(result: Result, figure: str) -> Row | None:
    """The replay with the lowest median of a figure, of those that WebGPU has today."""
    replays = [row for row in result.rows if row.name not in BASELINES and not row.name.startswith(EXTENSION)]
    return min(replays, key=lambda row: result.figure(row, figure).median, default=None)


def best_native(result: Result, figure: str) -> Row | None:
    """The same of the native replays, which show what an extension would give."""
    replays = [row for row in result.rows if row.name.startswith(EXTENSION)]
    return min(replays, key=lambda row: result.figure(row, figure).median, default=None)


def gpu(result: Result) -> float | None:
    """us a dispatch that the chain takes on the GPU, where that was timed."""
    row = result.row("single-pass-timed")
    figure = row.figures.get(GPU) if row else None
    return figure.median if figure else None


def _cpu(result: Result) -> str:
    eager, best, careful = result.row("eager"), best_replay(result, CPU), result.row("single-pass-public")
    if eager is None or best is None:
        return ""
    gain = result.ratio("host_cpu", "eager", best.name)
    both = result.ratio("host_and_worker_cpu", "eager", best.name)
    text = (
        f"**{plain(result.where)}:** a dispatch costs the caller {number(result.figure(eager, CPU).median)} "
        f"us of CPU time when called eagerly and {number(result.figure(best, CPU).median)} us when replayed by "
        f"`{best.name}`{_compared(gain)}"
    )
    if both is not None and _has_worker(best):
        text += f"; with the thread that encodes ahead counted, {interval(both)}"
    if careful is not None:
        text += f". One pass and one submit by hand come to {number(result.figure(careful, CPU).median)} us"
    return text + "."


def _wall(result: Result) -> str:
    eager, best = result.row("eager"), best_replay(result, WALL)
    if eager is None or best is None:
        return ""
    before, after = result.figure(eager, WALL).median, result.figure(best, WALL).median
    gain = result.ratio("wall", "eager", best.name)
    told = f"In wall time it goes from {number(before)} to {number(after)} us by `{best.name}`{_compared(gain)}"
    return told + ("; most of that is the software driver's own work." if result.machine.software else ".")


def _native(result: Result) -> str:
    """What the prototype of an extension costs the caller, and takes."""
    told = []
    for quantity, figure, what in (("host_cpu", CPU, "of caller CPU"), ("wall", WALL, "of wall time")):
        best = best_native(result, figure)
        if best is not None:
            gain = result.ratio(quantity, "eager", best.name)
            told.append(f"{number(result.figure(best, figure).median)} us {what} by `{best.name}`{_compared(gain)}")
    return f"Natively, as an extension could, it takes {among(told)}." if told else ""


def _compared(ratio: Ratio | None) -> str:
    if ratio is None:
        return ""
    if ratio.finds_no_difference:
        return f": no difference that could be measured, {interval(ratio)}"
    return f", {interval(ratio)}{' less' if ratio.ratio > 1 else ', which is more'}"


def _way(result: Result, row: Row) -> ways.Way:
    return ways.Way(row.name, result.figure(row, CPU), result.figure(row, WALL), row.figures.get(WORKER))


def _table(results: Sequence[Result]) -> Table:
    header = [
        "machine", "way", "submits", "caller CPU", "p10–p90", "worker CPU", "wall", "p10–p90",
        "caller, gain (95 % CI)", "wall, gain (95 % CI)",
    ]  # fmt: skip
    rows = [
        [
            plain(result.where),
            f"`{row.name}`",
            f"{row.facts.get('submits', '-'):,}",
            number(result.figure(row, CPU).median),
            spread(result.figure(row, CPU)),
            number(row.figures[WORKER].median) if _has_worker(row) else "-",
            number(result.figure(row, WALL).median),
            spread(result.figure(row, WALL)),
            *(_gain(result, quantity, row) for quantity in ("host_cpu", "wall")),
        ]
        for result in results
        for row in result.rows
    ]
    rounds = sorted({str(result.method.rounds) for result in results})
    text = f"us a dispatch, medians of {among(rounds)} interleaved rounds; a gain is eager over this row."
    return Table.of(caption(text, results), header, rows, merged=1, grouped=True)


def _has_worker(row: Row) -> bool:
    return WORKER in row.figures and row.figures[WORKER].median > 0


def _gain(result: Result, quantity: str, row: Row) -> str:
    ratio = result.ratio(quantity, "eager", row.name)
    return interval(ratio) if ratio else "-"


def _left_out(results: Sequence[Result]) -> list[Block]:
    missing = [
        f"{plain(result.machine.short)}: `{each.get('row', each.get('strategy', '?'))}` was left out: "
        f"{plain(str(each.get('reason', 'no reason given')))}."
        for result in results
        for each in result.left_out
    ]
    return [List(missing)] if missing else []
