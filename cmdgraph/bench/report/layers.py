"""What each layer between a program and the GPU costs, beside the baseline of one pass and one submit.

A layer's cost is the difference of two rows that differ by that layer alone, or a figure of its own; where neither was
measured the cell says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from cmdgraph.bench.report.captions import caption
from cmdgraph.bench.report.claims import NOT_MEASURED
from cmdgraph.bench.report.document import Block, Table, Text, plain
from cmdgraph.bench.report.evidence import Evidence, Machine
from cmdgraph.bench.report.figures import number
from cmdgraph.bench.report.sections import browser, strategies, validation
from cmdgraph.bench.report.sections.strategies import CPU, WALL

__all__ = ["LAYERS", "Layer", "blocks"]


SOURCES = (strategies.EXPERIMENT, validation.EXPERIMENT, browser.EXPERIMENT)


@attrs.frozen
class Layer:
    """`cost` gives us a dispatch, negative where the difference is below the noise, or None; `how` says from what."""

    name: str
    how: str
    cost: Callable[[Evidence, Machine], float | None]


def blocks(evidence: Evidence) -> list[Block]:
    """The table; nothing where no machine has any of it."""
    used = sorted((r for name in SOURCES for r in evidence.of(name)), key=lambda result: result.machine)
    machines = list(dict.fromkeys(result.machine for result in used))
    if not machines:
        return []
    rows = [
        [layer.name, *(_cell(layer.cost(evidence, machine)) for machine in machines), layer.how] for layer in LAYERS
    ]
    header = ["layer", *(plain(machine.short) for machine in machines), "how it is told"]
    return [
        Text(
            "The baseline is what any program can have today: all dispatches in one pass and one submit. What a "
            "layer adds is the difference of two ways that differ by it alone."
        ),
        Table.of(caption("us a dispatch.", used), header, rows),
    ]


def _cell(cost: float | None) -> str:
    if cost is None:
        return NOT_MEASURED
    return number(cost) if cost > 0 else "below the noise"


def _row(evidence: Evidence, machine: Machine, name: str, figure: str) -> float | None:
    """Of the first of the machine's chains that has the row: only some are run with the native layer."""
    for result in evidence.of(strategies.EXPERIMENT, machine):
        if row := result.row(name):
            return result.figure(row, figure).median
    return None


def _of(name: str, figure: str) -> Callable[[Evidence, Machine], float | None]:
    return lambda evidence, machine: _row(evidence, machine, name, figure)


def _difference(more: str, less: str, figure: str = CPU) -> Callable[[Evidence, Machine], float | None]:
    """What the one way costs more than the other, by the medians of a figure."""

    def cost(evidence: Evidence, machine: Machine) -> float | None:
        high, low = _row(evidence, machine, more, figure), _row(evidence, machine, less, figure)
        return None if high is None or low is None else high - low

    return cost


def _validation(evidence: Evidence, machine: Machine) -> float | None:
    """What the implementation's own validation costs, by switching it off."""
    result = next(iter(evidence.of(validation.EXPERIMENT, machine)), None)
    return validation.cost(result) if result else None


def _gpu_idle(evidence: Evidence, machine: Machine) -> float | None:
    """Wall time of the fastest replay that nobody waits for beyond its time on the GPU."""
    result = next(iter(evidence.of(strategies.EXPERIMENT, machine)), None)
    row = strategies.best_replay(result, WALL) if result else None
    busy = strategies.gpu(result) if result else None
    if result is None or row is None or busy is None:
        return None
    return result.figure(row, WALL).median - busy


def _behind(evidence: Evidence, machine: Machine) -> float | None:
    """What passes beyond the caller's CPU time when nothing but native calls is made."""
    wall, cpu = (_row(evidence, machine, "bare-c-loop", figure) for figure in (WALL, CPU))
    return None if wall is None or cpu is None else wall - cpu


def _in_browser(figure: str) -> Callable[[Evidence, Machine], float | None]:
    """us a dispatch of one pass by hand, in a browser."""

    def cost(evidence: Evidence, machine: Machine) -> float | None:
        result = next(iter(evidence.of(browser.EXPERIMENT, machine)), None)
        row = result.row(browser.HAND_WRITTEN) if result else None
        return result.figure(row, figure).median if result and row else None

    return cost


def _beyond_js(evidence: Evidence, machine: Machine) -> float | None:
    renderer, js = (_in_browser(figure)(evidence, machine) for figure in (browser.RENDERER, browser.JS))
    return None if renderer is None or js is None else renderer - js


def _wire(evidence: Evidence, machine: Machine) -> float | None:
    """What the GPU process does beyond what Dawn does without a browser, by the same driver."""
    parts = [_in_browser(figure)(evidence, machine) for figure in (browser.GPU_MAIN, browser.GPU_IO)]
    plain_dawn = [
        cost
        for other in evidence.machines
        if other.implementation == "Dawn" and machine.adapter.lower() in other.adapter.lower()
        if (cost := _row(evidence, other, "bare-c-loop", CPU)) is not None
    ]
    if None in parts or not plain_dawn:
        return None
    return sum(part for part in parts if part is not None) - plain_dawn[0]


def _either(
    first: Callable[[Evidence, Machine], float | None], second: Callable[[Evidence, Machine], float | None]
) -> Callable[[Evidence, Machine], float | None]:
    """The one, or where it was not measured the other."""

    def cost(evidence: Evidence, machine: Machine) -> float | None:
        found = first(evidence, machine)
        return second(evidence, machine) if found is None else found

    return cost


LAYERS: Sequence[Layer] = (
    Layer(
        "**baseline:** one pass, one submit, public API, caller CPU",
        "`single-pass-public`; in a browser JavaScript of `one-pass`",
        _either(_of("single-pass-public", CPU), _in_browser(browser.JS)),
    ),
    Layer(
        "**baseline:** the same, wall",
        "`single-pass-public`; in a browser `one-pass`",
        _either(_of("single-pass-public", WALL), _in_browser(browser.WALL)),
    ),
    Layer(
        "an encoder, pass and submit each, from Python",
        "`eager` less `single-pass-public`",
        _difference("eager", "single-pass-public"),
    ),
    Layer(
        "an encoder, pass and submit each, from C", "`per-op` less `single-pass`", _difference("per-op", "single-pass")
    ),
    Layer("Python", "`single-pass-public` less `bare-c-loop`", _difference("single-pass-public", "bare-c-loop")),
    Layer("JavaScript", "`one-pass`, the clock of the page", _in_browser(browser.JS)),
    Layer("the page's process beyond JavaScript", "its CPU time less JavaScript", _beyond_js),
    Layer(
        "wire: to the GPU process and read there",
        "its main and receiving threads less `bare-c-loop` of Dawn by the same driver",
        _wire,
    ),
    Layer(
        "wire, validation, tracking, encode and submit together",
        "main thread of the GPU process",
        _in_browser(browser.GPU_MAIN),
    ),
    Layer("validation by the implementation", "validation on less off, Dawn", _validation),
    Layer(
        "tracking: lock, flags and scopes of a graph",
        "`single-pass` less `bare-c-loop`",
        _difference("single-pass", "bare-c-loop"),
    ),
    Layer("native encode and submit", "`bare-c-loop`", _of("bare-c-loop", CPU)),
    Layer("left on the caller when encoded ahead", "`prerecorded-burst-8`", _of("prerecorded-burst-8", CPU)),
    Layer("left on the caller when nothing is encoded", "`native-back-to-back`", _of("native-back-to-back", CPU)),
    Layer("driver and GPU behind the calls", "wall less caller CPU of `bare-c-loop`", _behind),
    Layer("GPU idle", "wall less GPU time of the fastest replay", _gpu_idle),
)
