"""What a bundle, per-op submits and hand-written passes cost in a browser: in JavaScript, and behind it."""

from __future__ import annotations

from collections.abc import Sequence

from cmdgraph.bench.report.captions import caption
from cmdgraph.bench.report.document import Block, Drawing, Table, Text, plain
from cmdgraph.bench.report.evidence import Result
from cmdgraph.bench.report.figures import interval, number, spread
from cmdgraph.bench.report.plots import ratios

__all__ = ["EXPERIMENT", "GPU_IO", "GPU_MAIN", "HAND_WRITTEN", "JS", "RENDERER", "TITLE", "WALL", "blocks", "points"]

EXPERIMENT = "bundles"
TITLE = "In a browser"

JS, RENDERER, WALL = "js_us_per_dispatch", "renderer_cpu_us_per_dispatch", "wall_us_per_dispatch"
GPU_MAIN, GPU_IO = "gpu_main_cpu_us_per_dispatch", "gpu_io_cpu_us_per_dispatch"
PER_OP, HAND_WRITTEN, BUNDLE = "per-op", "one-pass", "bundle"

PATTERNS = {"changing": "pipelines in turn", "blocks": "pipelines in blocks"}
"""How often the chain's pipeline changes: with each dispatch, or three times in all."""


def blocks(results: Sequence[Result]) -> list[Block]:
    """Ratios as a plot, all figures as a table."""
    return [
        Text(
            "The polyfill of the proposal beside pages without it. `per-op` encodes and submits each dispatch by "
            "itself; `one-pass` is a loop written by hand, which any page can have today; `bundle`, `bundle with a "
            "slot` and `graph` are the proposal's, replayed by the polyfill, which makes the calls of `one-pass` in "
            "the end. So it can take away what a page does around those calls, and nothing of what the browser does "
            "with them: that is the page's process beyond JavaScript, and the GPU process."
        ),
        _drawing(results),
        _table(results),
    ]


def points(results: Sequence[Result]) -> list[str]:
    """JavaScript by each way, and how much more is behind it."""
    return [told for result in results if (told := _point(result))]


def _point(result: Result) -> str:
    per_op, by_hand, bundle = (result.row(name) for name in (PER_OP, HAND_WRITTEN, BUNDLE))
    if per_op is None or by_hand is None or bundle is None:
        return ""
    fewer, against = result.ratio("js", PER_OP, BUNDLE), result.ratio("js", BUNDLE, HAND_WRITTEN)
    costs = [number(result.figure(row, JS).median) for row in (per_op, by_hand, bundle)]
    behind = result.figure(by_hand, GPU_MAIN).median / result.figure(by_hand, JS).median
    return (
        f"**{_where(result)}:** a dispatch costs {costs[0]} us of JavaScript when it is submitted by "
        f"itself, {costs[1]} us in one pass by hand and {costs[2]} us in a bundle"
        + (f" ({interval(fewer)} less than by itself" if fewer else "")
        + (f", {interval(against)} of the pass by hand)" if against else ")" if fewer else "")
        + f". Behind one pass the GPU process's main thread works {number(behind)} times as long as JavaScript does: "
        "what an extension could take away is there, and a polyfill cannot show it."
    )


def _pattern(result: Result) -> str:
    pattern = str(result.data["workload"].get("pattern", "changing"))
    return PATTERNS.get(pattern, pattern)


def _where(result: Result) -> str:
    return f"{plain(result.machine.short)}; {plain(_pattern(result))}"


def _drawing(results: Sequence[Result]) -> Drawing:
    alone = len({result.machine for result in results}) == 1
    panels = [
        (
            _pattern(result) if alone else result.machine.short,
            [
                ratios.Bar(each.over, each.ratio, each.ci95_low, each.ci95_high)
                for each in result.ratios
                if each.under == HAND_WRITTEN and each.over != PER_OP
            ],
            None,
        )
        for result in results
    ]
    what = "JavaScript time over that of one pass written by hand"
    text = f"{what}, with 95 % confidence intervals; an interval over 1 shows no difference."
    return Drawing(EXPERIMENT, ratios.draw(EXPERIMENT, panels, what), f"{what}, for each way.", caption(text, results))


def _table(results: Sequence[Result]) -> Table:
    behind = {
        RENDERER: "page's process",
        GPU_MAIN: "GPU process, main thread",
        GPU_IO: "its receiving thread",
        WALL: "wall",
    }
    header = ["machine and chain", "way", "JavaScript", "p10–p90", "per-op over this (95 % CI)", *behind.values()]
    rows = []
    for result in results:
        for row in result.rows:
            fewer = result.ratio("js", PER_OP, row.name)
            cells = [number(result.figure(row, JS).median), spread(result.figure(row, JS))]
            cells += [interval(fewer) if fewer else "-"]
            cells += [number(result.figure(row, name).median) for name in behind]
            rows.append([_where(result), f"`{row.name}`", *cells])
    text = (
        "us a dispatch, medians; CPU time of the processes and wall time are over several replays and one wait. "
        "JavaScript is part of the page's process."
    )
    return Table.of(caption(text, results), header, rows, merged=1, grouped=True)
