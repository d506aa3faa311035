"""What a reader must bear in mind, each only where it applies."""

from __future__ import annotations

from collections.abc import Iterator

from cmdgraph.bench import results
from cmdgraph.bench.report.document import plain
from cmdgraph.bench.report.evidence import Evidence, Result
from cmdgraph.bench.report.figures import among, number, times
from cmdgraph.bench.report.sections import strategies

__all__ = ["caveats"]


def caveats(evidence: Evidence) -> list[str]:
    """One or two sentences each; empty when nothing is doubtful."""
    return [told for kind in (_software, _commits, _state, _noise, _repeats, _rest) for told in kind(evidence)]


def _software(evidence: Evidence) -> Iterator[str]:
    found = sorted({plain(machine.adapter) for machine in evidence.machines if machine.software})
    if found:
        yield (
            f"**Software adapter:** {among(found)} runs kernels on the processor. There a dispatch costs wall time "
            "whatever one does, so the host's CPU time tells more than milliseconds."
        )
    if found and len(found) == len({machine.adapter for machine in evidence.machines}):
        yield "**No GPU:** nothing here was measured on one."


def _commits(evidence: Evidence) -> Iterator[str]:
    mixture = results.mixture(result.data for result in evidence.results)
    if mixture:
        yield f"**Not one clean commit:** {plain(mixture)}. Rows of different commits do not compare strictly."


def _state(evidence: Evidence) -> Iterator[str]:
    for what, found in (
        ("**Changed files:** the checkout was not clean for", [r for r in evidence.results if r.environment.dirty]),
        ("**Interrupted:** fewer samples than wanted in", [r for r in evidence.results if r.interrupted]),
    ):
        if found:
            yield f"{what} {among([f'`{plain(result.path)}`' for result in found])}."


def _noise(evidence: Evidence) -> Iterator[str]:
    for result in evidence.results:
        if result.noise:
            yield f"**Noise:** {plain(result.machine.short)}, {result.experiment}: {plain('; '.join(result.noise))}."


def _repeats(evidence: Evidence) -> Iterator[str]:
    for group in evidence.repeats():
        newest = group[-1]
        told = (
            f"**Measured {len(group)} times:** `{newest.experiment}` on {plain(newest.machine.short)}; tables show the "
            f"newest, `{plain(newest.path)}`"
        )
        costs = [cost for result in group if (cost := _eager(result)) is not None]
        if len(costs) > 1:
            told += (
                f". Between the runs eager calls cost {among([number(cost) for cost in costs])} us a dispatch, "
                f"{times(max(costs) / min(costs))} apart"
            )
        yield told + "."


def _eager(result: Result) -> float | None:
    row = result.row("eager")
    figure = row.figures.get(strategies.CPU) if row else None
    return figure.median if figure else None


def _rest(evidence: Evidence) -> Iterator[str]:
    random = sorted({r.subject for r in evidence.results if "random weights" in str(r.data.get("model", {}))})
    if random:
        models = among([plain(each) for each in random])
        yield f"**Random weights:** {models}. The work is that of the real model, its text means nothing."
    if evidence.skipped:
        files = among([f"`{plain(path)}`" for path in evidence.skipped])
        yield f"**Left aside:** {files} hold no measurement of a machine."
