"""Many random programs: counts by verdict, by rule and by known difference, and the smallest form of what is new."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any

from attrs import define, field

from tests.fuzz.compare import Finding, findings
from tests.fuzz.differences import explained
from tests.fuzz.judge import Answer, Verdict
from tests.fuzz.pool import PACKAGES, Pool
from tests.fuzz.programs import Program, draw_program
from tests.fuzz.shrink import minimal

__all__ = ["FATAL_EVERY", "Campaign", "new_findings"]

CHUNK = 400
FATAL_EVERY = 40
"""Of the programs that kill wgpu-native's process, only those with such a number are run in it: a new process and its
pipelines cost a second."""


def new_findings(program: Program, answers: Mapping[str, Answer]) -> list[Finding]:
    """What no known difference explains."""
    return [found for found in findings(program, answers) if explained(found, program, answers) is None]


@define
class Campaign:
    """Runs programs `start` to `start + count` of `seed`."""

    pool: Pool
    seed: int = 0
    most_findings: int = 20
    programs: int = 0
    seconds: float = 0
    compared: Counter[str] = field(factory=Counter)
    changed: Counter[str] = field(factory=Counter)
    without_encoding: Counter[str] = field(factory=Counter)
    verdicts: dict[str, Counter[str]] = field(factory=lambda: {p: Counter() for p in PACKAGES})
    rules: dict[str, Counter[str]] = field(factory=lambda: {p: Counter() for p in PACKAGES})
    differences: Counter[str] = field(factory=Counter)
    new: list[dict[str, Any]] = field(factory=list)

    def run(self, start: int, count: int, progress: Callable[[int], None] = lambda done: None) -> None:
        """Judges `count` programs. Stops early when there are `most_findings` new findings."""
        began = time.monotonic()
        chunks = [range(at, min(at + CHUNK, start + count)) for at in range(start, start + count, CHUNK)]
        asked = [(chunk, self._ask(chunk)) for chunk in chunks[:1]]
        for following in [*chunks[1:], None]:
            chunk, futures = asked.pop()
            if following is not None:
                asked.append((following, self._ask(following)))  # the workers go on while we compare
            answers = {package: future.result() for package, future in futures.items()}
            for at, number in enumerate(chunk):
                self.take(number, {package: found[at] for package, found in answers.items()})
            self.seconds = time.monotonic() - began
            progress(self.programs)
            if len(self.new) >= self.most_findings:
                return

    def take(self, number: int, answers: Mapping[str, Answer]) -> None:
        """Counts the answers to one program and keeps what is new."""
        self.programs += 1
        for package, answer in answers.items():
            for name in _verdicts(answer):
                self.verdicts[package][name] += 1
            for verdict in (answer.ours, answer.ours_after):
                if verdict.accepts is False:
                    self.rules[package].update(verdict.rules)
            self.compared[package] += answer.compared
            self.changed[package] += answer.changed
            self.without_encoding[package] += answer.without_encoding
        program = draw_program(random.Random(self._name(number)))
        found = list(findings(program, answers))
        for finding in found:
            known = explained(finding, program, answers)
            if known is not None:
                self.differences[known.name] += 1
            elif len(self.new) < self.most_findings:
                self.new.append(self._told(number, program, finding, answers))

    def report(self) -> dict[str, Any]:
        """All counts, ready for JSON."""
        return {
            "experiment": "fuzz",
            "programs": self.programs,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "fatal_every": FATAL_EVERY,
            "deaths": self.pool.deaths,
            "compared_bytes": dict(self.compared),
            "compared_changes": dict(self.changed),
            "strategy": self.pool.strategy,
            "replays_without_encoding": dict(self.without_encoding),
            "verdicts": {package: dict(sorted(counts.items())) for package, counts in self.verdicts.items()},
            "rules": {package: dict(sorted(counts.items())) for package, counts in self.rules.items()},
            "known_differences": dict(sorted(self.differences.items())),
            "new_findings": self.new,
        }

    def _name(self, number: int) -> str:
        return f"{self.seed} {number}"

    def _ask(self, chunk: range) -> dict[str, Future[list[Answer]]]:
        fatal = [number % FATAL_EVERY == 0 for number in chunk]
        return self.pool.ask([self._name(number) for number in chunk], fatal)

    def _told(self, number: int, program: Program, finding: Finding, answers: Mapping[str, Answer]) -> dict[str, Any]:
        def fails(smaller: Program) -> bool:
            found = self.pool.judge(smaller)
            same = found[finding.package].ours.rules == answers[finding.package].ours.rules
            return same and any(
                (f.kind, f.package) == (finding.kind, finding.package) for f in new_findings(smaller, found)
            )

        smallest = minimal(program, fails)
        return {
            "number": number,
            "kind": finding.kind,
            "package": finding.package,
            "text": finding.text,
            "program": str(smallest),
        }


def _verdicts(answer: Answer) -> Iterator[str]:
    """The names under which one answer is counted."""
    if answer.made:
        yield "objects refused at creation"
        return
    yield f"{_word(answer.ours)} by cmdgraph"
    yield f"{_word(answer.eager)} by the implementation"
    if answer.ours_after.accepts is not None and answer.eager_after.accepts is not None:
        yield f"after events: {_word(answer.ours_after)} by cmdgraph"
        yield f"after events: {_word(answer.eager_after)} by the implementation"


def _word(verdict: Verdict) -> str:
    return {True: "accepted", False: "refused", None: "not run"}[verdict.accepts]
