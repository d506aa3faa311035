"""What we measured for each claim of the paper: a function for each, of the results of one machine.

Each gives None where the machine has no such results.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from cmdgraph.bench.report import paper
from cmdgraph.bench.report.document import plain
from cmdgraph.bench.report.evidence import Evidence, Machine, Result
from cmdgraph.bench.report.figures import interval, number, percent, times
from cmdgraph.bench.report.sections import batch, decode, dispatch, dtype, fusion, phases, strategies

__all__ = [
    "Ours",
    "api_cost",
    "counts",
    "first_token",
    "fusion_gain",
    "implementations",
    "large_batches",
    "never",
    "operation_cost",
    "per_dispatch_in_a_token",
    "share_of_cuda",
    "shares",
    "single_op",
    "types",
]

NEAR = 3.0
"""A cost in us goes the same way within this factor of theirs: machines differ, orders of magnitude do not."""


@attrs.frozen
class Ours:
    """What we measured for a claim, whether that goes the same way, and why when it does not, or why it differs."""

    text: str
    same: bool
    why: str = ""


def _near(value: float, low: float, high: float) -> bool:
    return low / NEAR <= value <= high * NEAR


def _first(evidence: Evidence, machine: Machine, experiment: str) -> Result | None:
    return next(iter(evidence.of(experiment, machine)), None)


def single_op(evidence: Evidence, machine: Machine) -> Ours | None:
    result = _first(evidence, machine, "dispatch")
    found = dispatch.overstated(result, "eager") if result else None
    if result is None or found is None or found.value is None:
        return None
    text, low = f"{times(found.value)} too high", found.ci95_low
    if low is not None and found.ci95_high is not None:
        text += f" ({number(low)}–{number(found.ci95_high)})"
    why = "the factor is what a wait costs beside a dispatch, so it differs from machine to machine"
    if (native := dispatch.overstated(result, "per-op")) and native.value is not None:
        why += f"; against the same calls from C {times(native.value)}"
    return Ours(text, (found.value if low is None else low) > 1, why)


def api_cost(backend: str) -> Callable[[Evidence, Machine], Ours | None]:
    low, high = paper.BACKENDS[backend]

    def ours(evidence: Evidence, machine: Machine) -> Ours | None:
        result = _first(evidence, machine, "strategies")
        row = result.row("per-op") if result else None
        if result is None or row is None or machine.backend != backend:
            return None
        cpu, wall = result.figure(row, strategies.CPU).median, result.figure(row, strategies.WALL).median
        same = _near(cpu, low, high)
        why = "the same calls from C: an encoder, a pass and a submit each"
        if not same:
            why += (
                f"; more than {NEAR:g} times {'above' if cpu > high else 'below'} theirs: another processor and driver"
            )
        return Ours(f"{number(cpu)} us of caller CPU, {number(wall)} us of wall time", same, why)

    return ours


def shares(evidence: Evidence, machine: Machine) -> Ours | None:
    result = _first(evidence, machine, phases.EXPERIMENT)
    path = phases.PATHS[1] if result and phases.phases_of(result, phases.PATHS[1]) else phases.PATHS[0]
    found = [
        phases.share(result, path, *names) if result else None for names in (("submit",), ("create encoder", "finish"))
    ]
    submit, encoder = found
    if result is None or submit is None or encoder is None:
        return None
    same = submit + encoder > 0.5
    why = f"{'from C' if path == 'C' else 'by the public API'}; "
    why += f"together {percent(submit + encoder)}, theirs {percent(paper.SUBMIT_SHARE + paper.ENCODER_SHARE)}"
    if not same:
        why += ": here the other calls cost more than these"
    return Ours(f"submit {percent(submit)}, encoder create and finish {percent(encoder)}", same, why)


def types(evidence: Evidence, machine: Machine) -> Ours | None:
    result = _first(evidence, machine, dtype.EXPERIMENT)
    found = result.ratio("host_cpu", "eager, f16", "eager, f32") if result else None
    if result is None or found is None:
        return None
    same = dtype.same_cost(result)
    why = "an interval over 1 shows no difference" if same else "the two differ by more than the noise here"
    return Ours(f"f16 / f32 {interval(found)}, eager", same, why)


def large_batches(evidence: Evidence, machine: Machine) -> Ours | None:
    result = _first(evidence, machine, batch.EXPERIMENT)
    found, gained = (batch.crossover(result), batch.gains(result)) if result else (None, [])
    if found is None or not gained:
        return None
    (least, first), (most, last) = gained[0], gained[-1]
    text = f"a replay gains {interval(first)} at {least:,} workgroups a dispatch, {interval(last)} at {most:,}"
    same = last.ratio < first.ratio
    crossed = f"no gain to speak of from {number(found.value)} workgroups on" if found.value is not None else ""
    return Ours(
        text, same, crossed or (plain(found.text) if not same else "it shrinks, but does not end in this range")
    )


def operation_cost(evidence: Evidence, machine: Machine) -> Ours | None:
    for result in evidence.of("decode", machine):
        row = result.row(f"{decode.plans(result)[0]}/eager") if result.rows else None
        if row is None or decode.MS not in row.figures:
            continue
        count = row.facts.get("dispatches_total", result.fact(row, "dispatches"))
        each = 1e3 * row.figures[decode.MS].median / count
        why = f"{plain(result.subject)}, {count:,} eager dispatches a token; theirs has PyTorch's own layers in it"
        return Ours(f"{number(each)} us an operation", _near(each, paper.OPERATION_US, paper.OPERATION_US), why)
    return None


def counts(evidence: Evidence, machine: Machine) -> Ours | None:
    for result in evidence.of("decode", machine):
        found = [_dispatches(result, plan) for plan in ("unfused", "paper")]
        if paper.MODEL.lower() in result.subject.lower() and None not in found:
            same = found == [paper.DISPATCHES, paper.FUSED_DISPATCHES]
            return Ours(f"{found[0]:,} and {found[1]:,}", same, "" if same else "our plans are cut differently")
    return None


def _dispatches(result: Result, plan: str) -> int | None:
    return next((result.fact(row, "dispatches") for row in result.rows if row.facts.get("plan") == plan), None)


def fusion_gain(evidence: Evidence, machine: Machine) -> Ours | None:
    for result in [*evidence.of(fusion.EXPERIMENT, machine), *evidence.of("decode", machine)]:
        found = {
            gain.strategy: gain for gain in fusion.gains(result) if (gain.over, gain.under) == ("unfused", "paper")
        }
        if "eager" not in found:
            continue
        eager, last = found["eager"], list(found.values())[-1]
        allowed = eager.allowed
        if eager.ratio.ci95_low > allowed:
            why = f"above the {allowed:.3f} that the count allows: not by the count alone"
        elif eager.ratio.ci95_high < allowed:
            why = f"below the {allowed:.3f} that the count allows: kernels take their share"
        else:
            why = f"as much as the count allows, {allowed:.3f}"
        if last is not eager:
            why += f"; by `{last.strategy}` {interval(last.ratio)}"
        return Ours(f"{interval(eager.ratio)} eagerly", eager.ratio.ci95_low > 1, why)
    return None


def first_token(evidence: Evidence, machine: Machine) -> Ours | None:
    for experiment in ("bench", "decode"):
        for result in evidence.of(experiment, machine):
            found = [
                row.figures["ttft_ms"].median
                for plan in ("unfused", "paper")
                if (row := result.row(f"{plan}/eager")) is not None and "ttft_ms" in row.figures
            ]
            if len(found) == 2:
                gain = found[0] / found[1]
                text = f"{number(found[0])} to {number(found[1])} ms, {times(gain)}"
                return Ours(text, gain > 1, f"{plain(result.subject)}; theirs is above what its count allows")
    return None


def per_dispatch_in_a_token(evidence: Evidence, machine: Machine) -> Ours | None:
    for result in evidence.of("count", machine):
        slopes = {fit.series: fit.slope for fit in result.fits if "wall" in fit.quantity or "ms" in fit.quantity}
        if not slopes:
            continue
        text = "; ".join(f"`{plain(name)}` {number(s.value)} {plain(s.unit)} a dispatch" for name, s in slopes.items())
        same = all(slope.ci95_low > 0 for slope in slopes.values())
        why = "dispatches that do nothing were added to the model's step" if same else "adding dispatches did not show"
        return Ours(text, same, why)
    return None


def share_of_cuda(evidence: Evidence, machine: Machine) -> Ours | None:
    for result in evidence.of("decode", machine):
        cuda = next((figure.median for name, figure in decode.peers(result).items() if "eager" in name), None)
        first = decode.plans(result)[0] if result.rows else ""
        eager, best = result.row(f"{first}/eager"), decode.fastest(result, first)
        if cuda is None or eager is None or best is None or decode.SPEED not in eager.figures:
            continue
        share = eager.figures[decode.SPEED].median / cuda
        text = f"{percent(share)} eagerly, {percent(best.figures[decode.SPEED].median / cuda)} replayed"
        return Ours(text, share < 1, f"tokens a second of `{first}` over those of PyTorch called eagerly on CUDA")
    return None


def implementations(evidence: Evidence, machine: Machine) -> Ours | None:
    mine, others = _first(evidence, machine, "strategies"), [m for m in evidence.machines if _other(m, machine)]
    theirs = _first(evidence, others[0], "strategies") if others else None
    rows = [each.row("per-op") if each else None for each in (mine, theirs)]
    if mine is None or theirs is None or rows[0] is None or rows[1] is None or machine.implementation == "wgpu-native":
        return None
    costs = [mine.figure(rows[0], strategies.CPU).median, theirs.figure(rows[1], strategies.CPU).median]
    factor = max(costs) / min(costs)
    text = f"{times(factor)} between {machine.implementation} and {others[0].implementation}, {machine.backend}"
    same = factor > 1.2
    return Ours(text, same, "" if same else "on this backend the two cost much the same an operation")


def _other(one: Machine, other: Machine) -> bool:
    """Whether it is the same adapter by another implementation."""
    return one != other and (one.adapter, one.backend) == (other.adapter, other.backend)


def never(_evidence: Evidence, _machine: Machine) -> None:
    """Nothing here measures it yet."""
    return
