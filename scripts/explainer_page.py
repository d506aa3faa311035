"""Puts the tables of spec_proposal/explainer.md in place, from the results; `--check` only compares.

Between `<!-- NAME -->` and `<!-- end -->` stand: what the ways cost in a browser, what they cost natively, what a step
of a language model takes, and what validation alone costs. Where nothing was measured yet, the section says how to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cmdgraph.bench import markdown, results
from cmdgraph.bench.results import Report
from scripts import bundle_bench
from scripts.sections import filled, put

Finding = dict[str, Any]

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "spec_proposal" / "explainer.md"
RESULTS = ROOT / "spec_proposal" / "results"

WAYS = {
    "eager": "a submit for each dispatch, as programs are written",
    "single-pass-public": "**one pass, one submit, by the public API (the baseline)**",
    "bare-c-loop": "the same from a loop in C, nothing else",
    "prerecorded": "the same, encoded ahead on another thread",
    "native-barriers-as-recorded": "native commands submitted again, barriers as recorded",
    "native": "native commands submitted again, barriers where the graph needs them",
}
PLANS = {
    "unfused": "an operation a dispatch",
    "paper": "the paper's fusions",
    "fused": "as few dispatches as pays",
}
STEPS = {
    "eager": "a submit for each",
    "single-pass": "**one pass**",
    "prerecorded-ahead": "encoded ahead",
    "native-ahead": "native commands again",
}


def browser() -> str:
    """JavaScript in Chromium."""
    found = _measured("bundles")
    if not found:
        return _nothing("python -m scripts.bundle_bench -o json >spec_proposal/results/bundles-chromium.json")
    return "\n\n".join(bundle_bench.to_markdown(report) for report in found)


def ways() -> str:
    """A chain of tiny dispatches, on GPUs."""
    return "\n\n".join(
        _with_facts(report, ["", "CPU us/dispatch, caller", "worker", "wall us/dispatch"], _way_rows(report))
        for report in _on_gpus(_measured("strategies"))
    ) or _nothing("make bench ARGS=--full")


def decode() -> str:
    """A decode step, on GPUs, by plan and way."""
    header = ["plan", "dispatches", *(f"{name}, ms/token" for name in STEPS.values())]
    return "\n\n".join(
        _with_facts(report, header, _plan_rows(report)) for report in _on_gpus(_measured("decode"))
    ) or _nothing("make bench ARGS=--full")


def validation() -> str:
    """What Dawn saves of the caller's CPU time when it does not validate."""
    rows = [
        [report["environment"]["adapter"], _way(finding), f"{finding['value']:.1f} %", _interval(finding)]
        for report in _measured("validation")
        for finding in report["findings"]
        if finding["name"].endswith("host_cpu")
    ]
    if not rows:
        return _nothing("python -m cmdgraph bench validation --on wgpudawn")
    return markdown.table(["Dawn on", "way", "saved of the caller's CPU time", "95 % CI"], rows)


SECTIONS: dict[str, Callable[[], str]] = {"browser": browser, "ways": ways, "decode": decode, "validation": validation}


def rendered(text: str) -> str:
    """`text` with every table made anew."""
    return filled(text, lambda name: SECTIONS[name]())


def _measured(experiment: str) -> list[Report]:
    """The reports of an experiment, by the names of their files."""
    found = [results.read(path) for path in sorted(RESULTS.glob(f"{experiment}-*.json"))]
    return [report for report in found if report["experiment"] == experiment]  # decode-batch-... is another one


def _on_gpus(reports: Sequence[Report]) -> list[Report]:
    return [report for report in reports if not report["environment"]["software_adapter"]]


def _way_rows(report: Report) -> list[list[str]]:
    rows = {row["name"]: row for row in report["rows"]}
    quantities = ("host_cpu_us_per_dispatch", "worker_cpu_us_per_dispatch", "wall_us_per_dispatch")
    return [
        [words, *(_median(rows[name].get(quantity)) for quantity in quantities)]
        for name, words in WAYS.items()
        if name in rows
    ]


def _plan_rows(report: Report) -> list[list[str]]:
    # A table never shows the speed of a wrong result.
    right = {(row["plan"], row["strategy"]): row for row in report["rows"] if row["tokens_equal_reference"]}
    return [
        [
            words,
            str(next(row["dispatches_total"] for (of, _), row in right.items() if of == plan)),
            *(_median(right.get((plan, way), {}).get("ms_per_token")) for way in STEPS),
        ]
        for plan, words in PLANS.items()
        if any(of == plan for of, _ in right)
    ]


def _median(figure: Any) -> str:
    if figure is None:
        return "-"
    return f"{figure['median'] if isinstance(figure, dict) else figure:.2f}"


def _way(finding: Finding) -> str:
    way = finding["name"].split(", ")[1]
    return WAYS.get(way, f"`{way}`")


def _interval(finding: Finding) -> str:
    return f"{finding['ci95_low']:.1f} to {finding['ci95_high']:.1f}"


def _with_facts(report: Report, header: Sequence[str], rows: list[list[str]]) -> str:
    return f"{markdown.facts(report['environment'])}\n\n{markdown.table(header, rows)}"


def _nothing(command: str) -> str:
    return f"*Not measured yet: `{command}`.*"


if __name__ == "__main__":
    put(PAGE, rendered, "make explainer")
