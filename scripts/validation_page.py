"""Puts the tables of spec_proposal/validation.md in place, from the code and the results; `--check` only compares.

Between `<!-- NAME -->` and `<!-- end -->` stand: the rules, the known differences, the summary of random programs, and
the cost of validation at a replay.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cmdgraph import validation
from cmdgraph.bench import markdown, results
from cmdgraph.bench.experiments import checks
from scripts.sections import filled, put
from tests.fuzz.differences import DIFFERENCES

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "spec_proposal" / "validation.md"
RESULTS = ROOT / "spec_proposal" / "results"
NAMES = {"wgpu": "wgpu-native", "wgpudawn": "Dawn"}


def rules() -> str:
    """Every rule: what it says, when and by what it is proved, what is watched afterwards."""
    rows = [
        [
            _linked(rule.name, rule.anchor),
            rule.summary,
            "when it is recorded",
            f"`validation.{rule.check.__name__}`",
            _watched(rule.watched),
        ]
        for rule in validation.RULES
    ]
    rows += [
        [
            _linked(rule.name, rule.anchor),
            rule.summary,
            rule.proved,
            f"`{rule.by.removeprefix('cmdgraph.')}`",
            _watched(rule.watched),
        ]
        for rule in validation.ELSEWHERE
    ]
    return markdown.table(["rule", "what it says", "proved", "by", "watched afterwards"], rows)


def differences() -> str:
    """What is known to differ from the specification's text, and who."""
    rows = [[_linked(d.name, d.anchor), d.who, d.reason] for d in sorted(DIFFERENCES, key=lambda d: (d.who, d.name))]
    return markdown.table(["difference", "who", "what and why"], rows)


def fuzz() -> str:
    """The summary of the random programs that were run."""
    return "\n\n".join(_fuzz(json.loads(path.read_text())) for path in sorted(RESULTS.glob("fuzz-*.json")))


def costs() -> str:
    """What a replay pays."""
    return "\n\n".join(checks.to_markdown(results.read(path)) for path in sorted(RESULTS.glob("checks-*.json")))


def _fuzz(report: dict[str, Any]) -> str:
    packages = list(report["verdicts"])
    header = [NAMES[package] for package in packages]
    words = [
        f"{NAMES[p]} {facts['version']} on {facts['adapter']}, {facts['driver']}"
        for p, facts in report["implementations"].items()
    ]

    def counts(key: str) -> str:
        names = sorted({name for package in packages for name in report[key][package]})
        rows = [[name, *(report[key][package].get(name, 0) for package in packages)] for name in names]
        return markdown.table([key[:-1], *header], rows)

    known = report["known_differences"]
    rows = [[f"`{name}`", count] for name, count in known.items()]
    per_second = report["programs"] / report["seconds"]
    return "\n".join(
        [
            f"{report['programs']:,} programs (seed {report['seed']}), each on both: {'; '.join(words)}. "
            f"{per_second:.0f} programs a second. Bytes after two replays and two eager runs were compared for "
            f"{_each(report['compared_bytes'])}; a graph after `rebind` or `set_workgroups` with a capture of the "
            f"changed program for {_each(report['compared_changes'])}. Of the programs that kill wgpu-native's "
            f"process one in {report['fatal_every']} was run there ({report['deaths']['wgpu']} processes). "
            f"**Findings that no known difference explains: {len(report['new_findings'])}.**",
            "",
            counts("verdicts"),
            "",
            "Refusals by rule, on a device of each (a command may break several):",
            "",
            counts("rules"),
            "",
            markdown.table(["known difference", "findings that it explains"], rows),
        ]
    )


def _each(counts: dict[str, int]) -> str:
    return " and ".join(f"{count:,} ({NAMES[package]})" for package, count in counts.items())


def _linked(name: str, anchor: str) -> str:
    return f"[`{name}`]({validation.SPEC}{anchor})"


def _watched(calls: str) -> str:
    return ", ".join(f"`{word.strip()}`" for word in calls.split(",")) if calls else "nothing"


SECTIONS: dict[str, Callable[[], str]] = {"rules": rules, "differences": differences, "fuzz": fuzz, "costs": costs}


def rendered(text: str) -> str:
    """`text` with every table made anew."""
    return filled(text, lambda name: SECTIONS[name]())


if __name__ == "__main__":
    put(PAGE, rendered, "python -m scripts.validation_page")
