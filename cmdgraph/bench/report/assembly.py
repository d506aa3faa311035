"""From evidence to a document: question, answer, method, the paper's claims, each experiment, caveats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType

from cmdgraph.bench.report import answer, claims, coverage, extension, layers, paper
from cmdgraph.bench.report.caveats import caveats
from cmdgraph.bench.report.document import Block, Document, List, Note, Section, Text, plain, prose
from cmdgraph.bench.report.evidence import Evidence, Result
from cmdgraph.bench.report.figures import among
from cmdgraph.bench.report.schema import ShapeError
from cmdgraph.bench.report.sections import (
    batch,
    bindings,
    browser,
    checks,
    count,
    decode,
    decode_batch,
    dispatch,
    dtype,
    endurance,
    fusion,
    graph_size,
    layer,
    others,
    peers,
    phases,
    strategies,
    validation,
)
from cmdgraph.bench.results import ResultError

__all__ = ["document"]

TITLE = "What a dispatch costs in WebGPU, and what replaying it saves"

SECTIONS: Sequence[ModuleType] = (
    strategies,
    dispatch,
    phases,
    validation,
    browser,
    decode,
    fusion,
    count,
    batch,
    decode_batch,
    peers,
    bindings,
    dtype,
    graph_size,
    checks,
    layer,
    endurance,
)
"""In the order of the report. Each has EXPERIMENT, TITLE, blocks(results) and points(results)."""


def document(evidence: Evidence) -> Document:
    """The whole report.

    Raises:
        ResultError: a result lacks what its experiment always has.
    """
    doubts = caveats(evidence)
    return Document(
        TITLE,
        _lead(evidence),
        [
            Section("question", "The question", _question()),
            Section("answer", "The answer", _answer(evidence)),
            Section("method", "The method", _method(evidence)),
            Section("claims", "The paper's claims, one by one", [claims.table(evidence)]),
            *([Section("layers", "What each layer costs", made)] if (made := layers.blocks(evidence)) else []),
            Section("extension", "What only an extension can give", extension.blocks(evidence)),
            *_experiments(evidence),
            Section("platforms", "Where it was measured, and where not", _platforms(evidence)),
            Section(
                "caveats", "What to bear in mind", [List(doubts) if doubts else Text("Nothing doubtful was noted.")]
            ),
            Section("sources", "The files this is made from", [coverage.sources(evidence)]),
        ],
    )


def _lead(evidence: Evidence) -> list[Block]:
    machines = [plain(machine.short) for machine in evidence.machines]
    dates = sorted(result.environment.date[:10] for result in evidence.results)
    when = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    lead: list[Block] = [
        Text(
            f"{_counted(len(evidence.results), 'result')} of {_counted(len(machines), 'machine')}, "
            f"measured {when}: {'; '.join(machines)}. Every number below is computed from their files by `cmdgraph "
            "report`; none is typed."
        )
    ]
    if all(machine.software for machine in evidence.machines):
        lead.append(Note("**Software adapter only.** Nothing here was measured on a GPU; see the caveats."))
    return lead


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _question() -> list[Block]:
    return [
        Text(
            "A program that uses WebGPU pays for every dispatch: an encoder, validation, a submit. One decode step "
            "of a small language model is hundreds of dispatches, so at batch 1 one may wait for the API and not for "
            f"the kernels. The paper [{paper.TITLE}]({paper.LINK}) measured that cost and reduced the number of "
            "dispatches. We ask what is left of it when the commands are recorded once, proved valid once and "
            "replayed, as CUDA graphs do: what one can have today with one pass and one submit, what a command graph "
            "adds, and what only an extension of the specification could give."
        )
    ]


def _answer(evidence: Evidence) -> list[Block]:
    told: list[str] = []
    for section in SECTIONS:
        told += _call(section.points, _results(evidence, section))
    made = [*answer.in_short(evidence), *([List(told)] if told else [])]
    return made or [Text("No experiment that answers it is among the results.")]


def _method(evidence: Evidence) -> list[Block]:
    descriptions = dict.fromkeys(prose(r.method.description) for r in evidence.results if r.method.description)
    regions = {r.experiment: r for r in evidence.results if r.method.timed_region}
    made: list[Block] = [Text(f"{description[:1].upper()}{description[1:]}.") for description in descriptions]
    made.append(
        Text(
            "Figures are medians; p10-p90 is the range from the 10th to the 90th percentile; an interval in brackets "
            "is a 95 % confidence interval by bootstrap over rounds. CPU time is that of the thread that calls, of "
            "our worker threads where named; the driver's threads are apart. A result is checked before it is timed. "
            "What is inside a sample:"
        )
    )
    made.append(List([f"`{name}`: {_sentence(prose(regions[name].method.timed_region))}" for name in sorted(regions)]))
    return made


def _sentence(text: str) -> str:
    return text.rstrip(". ") + "."


def _others(section: ModuleType) -> Sequence[str]:
    """Further experiments that a section tells of."""
    return getattr(section, "ALSO", ())


def _results(evidence: Evidence, section: ModuleType) -> list[Result]:
    return [result for name in (section.EXPERIMENT, *_others(section)) for result in evidence.of(name)]


def _experiments(evidence: Evidence) -> Iterator[Section]:
    for module in SECTIONS:
        found = _results(evidence, module)
        made = _call(module.blocks, found) if found else []
        if made:
            yield Section(module.__name__.rpartition(".")[2].replace("_", "-"), module.TITLE, made)
    told = {name for module in SECTIONS for name in (module.EXPERIMENT, *_others(module))}
    for name in sorted(evidence.experiments - told):
        found = evidence.of(name)
        yield Section(f"other-{name}", f"Also measured: {plain(name)}", _call(others.blocks, found))


def _call(function: object, found: Sequence[Result]) -> list:
    """What a section makes of results; what is missing in them is told with their names."""
    try:
        return function(found)  # type: ignore[operator]
    except (ShapeError, KeyError, TypeError, AttributeError) as error:
        files = among([result.path for result in found])
        raise ResultError(f"{files}: damaged: {type(error).__name__}: {error}; measure again") from error


def _platforms(evidence: Evidence) -> list[Block]:
    return [
        Text(
            "A file that `cmdgraph bench ... -o json` or `python -m llm bench -o json` writes on another machine "
            "fills a row: put it into the folder and make the report again."
        ),
        coverage.platforms(evidence),
    ]
