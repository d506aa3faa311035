"""The answer: in one sentence, in one table, and point by point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cmdgraph.bench.report.captions import caption
from cmdgraph.bench.report.document import Block, Table, Text, plain
from cmdgraph.bench.report.evidence import Evidence, Result
from cmdgraph.bench.report.figures import number, times
from cmdgraph.bench.report.sections import strategies
from cmdgraph.bench.report.sections.strategies import CPU, WALL

__all__ = ["in_short"]

BY_HAND = "single-pass-public"


def in_short(evidence: Evidence) -> Iterator[Block]:
    """A sentence on the first machine, GPUs first, and a table of all; nothing where no machine compared the ways."""
    found = [result for result in evidence.of(strategies.EXPERIMENT) if _costs(result, CPU) and _costs(result, WALL)]
    if not found:
        return
    yield Text(_sentence(found[0]))
    yield _table(found)


def _costs(result: Result, figure: str) -> tuple[float, float, float] | None:
    """us a dispatch of eager calls, of one pass by hand, and of the cheapest replay."""
    rows = (result.row("eager"), result.row(BY_HAND), strategies.best_replay(result, figure))
    if None in rows:
        return None
    eager, by_hand, replay = (result.figure(row, figure).median for row in rows if row is not None)
    return eager, by_hand, replay


def _sentence(result: Result) -> str:
    cpu, wall = _costs(result, CPU), _costs(result, WALL)
    assert cpu is not None
    assert wall is not None
    verb = "takes a dispatch" if cpu[2] < cpu[0] else "does not help: it takes a dispatch"
    return (
        f"On {plain(result.machine.short)}, replaying {verb} from {number(cpu[0])} to {number(cpu[2])} us of the "
        f"caller's CPU time and from {number(wall[0])} to {number(wall[2])} us of wall time. One pass and one submit "
        f"by hand, which any program can have today, gives {_gain(cpu[0] / cpu[1])} and {_gain(wall[0] / wall[1])} of "
        f"that; what a graph adds is {_gain(cpu[1] / cpu[2])} and {_gain(wall[1] / wall[2])}."
    )


def _gain(factor: float) -> str:
    return times(factor) if factor > 1 else "nothing"


def _table(results: Sequence[Result]) -> Table:
    rows = []
    for result in results:
        for title, figure in (("caller CPU", CPU), ("wall", WALL)):
            costs, best = _costs(result, figure), strategies.best_replay(result, figure)
            if costs is None or best is None:
                continue
            eager, by_hand, replay = costs
            cells = [number(eager), number(by_hand), number(replay), f"`{best.name}`"]
            gains = [times(eager / by_hand), times(by_hand / replay), times(eager / replay)]
            native = strategies.best_native(result, figure)
            gains.append(number(result.figure(native, figure).median) if native else "not measured")
            rows.append([plain(result.where), title, *cells, *gains])
    header = ["machine", "us a dispatch", "eager", "one pass by hand", "best replay", "which"]
    header += ["by hand", "the graph", "both", "native"]
    text = (
        "Medians; then what one pass by hand gains over eager calls, a replay over that, and both; last, us a "
        "dispatch by the native layer, which shows what an extension could give."
    )
    return Table.of(caption(text, results), header, rows, merged=1)
