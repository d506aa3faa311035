"""What only an extension can give: native commands submitted again, beside the best that a program can have today.

The native layer works under an unmodified implementation and makes no WebGPU call, so it bounds what a browser could
give. Whatever portable replay reaches as well is not the extension's merit, and is told as such.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from cmdgraph.bench.report.captions import caption
from cmdgraph.bench.report.document import Block, List, Note, Table, Text, plain
from cmdgraph.bench.report.evidence import Evidence, Result
from cmdgraph.bench.report.figures import interval, number
from cmdgraph.bench.report.schema import Figure, Ratio, Row
from cmdgraph.bench.report.sections import decode, strategies
from cmdgraph.bench.report.sections.strategies import CPU, WALL, WORKER
from cmdgraph.bench.statistics import ratio

__all__ = ["blocks"]

AS_RECORDED = "native-barriers-as-recorded"
NATIVE = "native"
MODES = {"": "waited for each time", "-back-to-back": "back to back"}
"""Suffixes of rows that are compared with each other."""
LITTLE = 1.05
"""Below this a gain in speed is no reason for an extension."""


@attrs.frozen
class _Trio:
    """The same work by the portable way, by native commands with their barriers, and with those that are needed."""

    portable: Row
    recorded: Row
    native: Row


def blocks(evidence: Evidence) -> list[Block]:
    """Two tables and what follows from them; a note where no native replay was measured."""
    chains = [result for result in evidence.of(strategies.EXPERIMENT) if any(_trios(result))]
    models = [result for result in evidence.of(decode.EXPERIMENT) if any(_pairs(result))]
    if not chains and not models:
        return [Note("**Not measured:** no result has rows of the native layer; `make native`, then `--native`.")]
    made: list[Block] = [
        Text(
            "A Vulkan layer under an unmodified implementation submits the recorded native commands again: no WebGPU "
            "call, no validation, no tracking, no encoding. It shows what an implementation could give that keeps what "
            "it encoded, and it does nothing that a program can do by itself. Beside it stands the best portable way, "
            "which encodes ahead on another thread."
        )
    ]
    if chains:
        made.append(_chain_table(chains))
    if models:
        made.append(_model_table(models))
    told = [*(line for result in chains for line in _chain_points(result)), *map(_model_point, models)]
    return [*made, List(told)]


def _trios(result: Result) -> Iterator[tuple[str, _Trio]]:
    for suffix, mode in MODES.items():
        rows = [result.row(f"{name}{suffix}") for name in ("prerecorded", AS_RECORDED, NATIVE)]
        if None not in rows:
            yield mode, _Trio(*(row for row in rows if row is not None))


def _chain_table(results: Sequence[Result]) -> Table:
    header = [
        "machine",
        "replays",
        "us a replay",
        "encoded ahead",
        "native, barriers as recorded",
        "native, barriers needed",
    ]
    header.append("gain of the last (95 % CI)")
    rows = []
    for result in results:
        for mode, trio in _trios(result):
            count = result.fact(trio.native, "dispatches")
            for title, names in (("caller CPU", (CPU,)), ("caller and worker CPU", (CPU, WORKER)), ("wall", (WALL,))):
                cells = [number(count * _sum(row, names)) for row in attrs.astuple(trio, recurse=False)]
                gain = _ratio(trio.portable, trio.native, names)
                where = [plain(result.machine.short), f"{mode}, {count:,} dispatches", title]
                rows.append([*where, *cells, interval(gain)])
    return Table.of(caption("Medians, us for a whole replay.", results), header, rows, merged=2, grouped=True)


def _chain_points(result: Result) -> Iterator[str]:
    trios = dict(_trios(result))
    mode, trio = list(trios.items())[-1]
    count = result.fact(trio.native, "dispatches")
    machine = plain(result.machine.short)
    today, native = (count * _sum(row, (CPU, WORKER)) for row in (trio.portable, trio.native))
    yield (
        f"**{machine}, CPU time: only the extension.** A replay of {count:,} dispatches costs the host "
        f"{number(today)} us today, on two threads, and {number(native)} us natively. Encoding ahead moves that work "
        "to another thread; nothing but submitting the same commands again takes it away."
    )
    moved, needed = _ratio(trio.portable, trio.recorded, (WALL,)), _ratio(trio.recorded, trio.native, (WALL,))
    verdict = (
        "no difference that could be measured"
        if moved.finds_no_difference
        else f"{interval(moved)} {'faster' if moved.ratio > 1 else 'as fast, so slower'}"
    )
    yield (
        f"**{machine}, wall time, barriers as recorded ({mode}):** {verdict}. Where encoding ahead keeps up, portable "
        "replay already has this."
    )
    yield (
        f"**{machine}, wall time, barriers only where the graph needs them:** "
        + (
            "no further difference that could be measured."
            if needed.finds_no_difference
            else f"{interval(needed)} against barriers as recorded. It takes knowledge of the whole sequence, which an "
            "implementation has when a bundle is finished and not while a pass is encoded; a program can have part of "
            "it today by the order of its dispatches and by what it binds."
        )
    )


def _pairs(result: Result) -> Iterator[tuple[str, Row, Row]]:
    """For each plan the fastest portable and the fastest native row."""
    for plan in decode.plans(result):
        rows = [row for row in result.rows if row.facts.get("plan") == plan and decode.SPEED in row.figures]
        native = [row for row in rows if _is_native(row)]
        portable = [row for row in rows if not _is_native(row)]
        if native and portable:
            yield plan, _fastest(portable), _fastest(native)


def _is_native(row: Row) -> bool:
    return str(row.facts.get("strategy", "")).startswith(NATIVE)


def _fastest(rows: Sequence[Row]) -> Row:
    return max(rows, key=lambda row: row.figures[decode.SPEED].median)


def _model_table(results: Sequence[Result]) -> Table:
    header = ["machine and model", "plan", "dispatches", "best portable", "tokens/s", "best native", "tokens/s"]
    header.append("native over portable (95 % CI)")
    rows = [
        [
            plain(result.where),
            plan,
            f"{result.fact(native, 'dispatches'):,}",
            *(cell for row in (portable, native) for cell in (f"`{row.facts['strategy']}`", _speed(row))),
            interval(_faster(portable, native)),
        ]
        for result in results
        for plan, portable, native in _pairs(result)
    ]
    return Table.of(caption("Tokens a second, each token read back.", results), header, rows, merged=1, grouped=True)


def _model_point(result: Result) -> str:
    told, most = [], 1.0
    for plan, portable, native in _pairs(result):
        gain = _faster(portable, native)
        verdict = "no difference that could be measured" if gain.finds_no_difference else f"{interval(gain)} the speed"
        told.append(f"`{plan}` {verdict}")
        most = max(most, gain.ratio)
    why = (
        "The model binds and orders its dispatches so that an implementation puts few barriers, and encodes ahead: "
        "then the GPU is the limit, and an extension saves processor time and not milliseconds"
        if most < LITTLE
        else "Here encoding or barriers are on the critical path of the best portable strategy"
    )
    return (
        f"**{plain(result.machine.short)}, {plain(result.subject)}:** native over the best portable strategy: "
        f"{'; '.join(told)}. {why}."
    )


def _speed(row: Row) -> str:
    return number(row.figures[decode.SPEED].median)


def _faster(portable: Row, native: Row) -> Ratio:
    """How many times the speed of the one the other has."""
    figures = [row.figures[decode.SPEED] for row in (native, portable)]
    return _of(decode.SPEED, native.name, portable.name, figures[0].samples, figures[1].samples)


def _ratio(over: Row, under: Row, names: Sequence[str]) -> Ratio:
    return _of(names[-1], over.name, under.name, _samples(over, names), _samples(under, names))


def _of(quantity: str, over: str, under: str, above: Sequence[float], below: Sequence[float]) -> Ratio:
    """Rows of one run have their samples from the same rounds."""
    return Ratio(quantity=quantity, over=over, under=under, **ratio(above, below))


def _samples(row: Row, names: Sequence[str]) -> list[float]:
    figures: list[Figure] = [row.figures[name] for name in names if name in row.figures]
    return [sum(values) for values in zip(*(figure.samples for figure in figures), strict=True)]


def _sum(row: Row, names: Sequence[str]) -> float:
    return sum(row.figures[name].median for name in names if name in row.figures)
