"""Many mutated files: counts by outcome, and the smallest recipe of whatever should not be."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from attrs import define, evolve, field

from tests.fuzz_format.corpus import Saved
from tests.fuzz_format.mutations import Recipe, draw, made
from tests.fuzz_format.pool import SECONDS, Worker
from tests.fuzz_format.worker import BOUND

__all__ = ["Campaign", "numbered", "smallest"]

CHUNK = 200


def numbered(seed: int, number: int, corpus: Sequence[Saved]) -> Recipe:
    """One recipe of a long run."""
    return draw(random.Random(f"{seed} {number}"), corpus)


def smallest(recipe: Recipe, fails: Callable[[Recipe], bool]) -> Recipe:
    """The recipe with as few steps as still fail."""
    for at in range(len(recipe.steps)):
        shorter = evolve(recipe, steps=recipe.steps[:at] + recipe.steps[at + 1 :])
        if len(recipe.steps) > 1 and fails(shorter):
            return smallest(shorter, fails)
    return recipe


@define
class Campaign:
    """Loads files made of recipes of `seed`, by every worker at once; keeps findings as files in `kept`."""

    workers: Sequence[Worker]
    corpus: Sequence[Saved]
    kept: Path
    seed: int = 0
    most_findings: int = 20
    files: int = 0
    seconds: float = 0
    outcomes: Counter[str] = field(factory=Counter)
    steps: Counter[str] = field(factory=Counter)
    by: Counter[str] = field(factory=Counter)
    findings: list[dict[str, Any]] = field(factory=list)

    def run(self, start: int, count: int, progress: Callable[[int], None] = lambda done: None) -> None:
        """Tries `count` files. Stops early when there are `most_findings`."""
        began = time.monotonic()
        chunks = iter([range(at, min(at + CHUNK, start + count)) for at in range(start, start + count, CHUNK)])

        def work(worker: Worker) -> None:
            for chunk in chunks:  # whoever is ready takes the next
                recipes = [numbered(self.seed, number, self.corpus) for number in chunk]
                for number, recipe, outcome in zip(chunk, recipes, worker.outcomes(recipes), strict=True):
                    self._take(worker, number, recipe, outcome)
                self.seconds = time.monotonic() - began
                progress(self.files)
                if len(self.findings) >= self.most_findings:
                    return

        with ThreadPoolExecutor(len(self.workers)) as threads:
            for future in [threads.submit(work, worker) for worker in self.workers]:
                future.result()

    def report(self) -> dict[str, Any]:
        """All counts, ready for JSON."""
        return {
            "experiment": "fuzz-format",
            "files": self.files,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "bound_bytes": BOUND,
            "bound_seconds": SECONDS,
            "files_by": dict(sorted(self.by.items())),
            "steps": dict(sorted(self.steps.items())),
            "outcomes": dict(self.outcomes.most_common(50)),
            "deaths": sum(worker.deaths for worker in self.workers),
            "findings": self.findings,
        }

    def _take(self, worker: Worker, number: int, recipe: Recipe, outcome: str) -> None:
        self.files += 1
        self.by[worker.package] += 1
        self.steps.update(name for name, _ in recipe.steps)
        self.outcomes["finding" if outcome.startswith("finding") else _kind(outcome)] += 1
        if outcome.startswith("finding") and len(self.findings) < self.most_findings:
            self._keep(worker, number, recipe, outcome)

    def _keep(self, worker: Worker, number: int, recipe: Recipe, outcome: str) -> None:
        def fails(other: Recipe) -> bool:
            return _cause(worker.outcomes([other])[0]) == _cause(outcome)

        small = smallest(recipe, fails)
        self.kept.mkdir(parents=True, exist_ok=True)
        path = self.kept / f"{self.seed}-{number}.zip"
        path.write_bytes(made(small, self.corpus))
        self.findings.append(
            {
                "number": number,
                "package": worker.package,
                "outcome": outcome,
                "saved": self.corpus[small.saved].name,
                "steps": [name for name, _ in small.steps],
                "file": path.name,
            }
        )


def _kind(outcome: str) -> str:
    """An outcome without the numbers in its place."""
    return re.sub(r"\d+", "N", outcome.partition("tensor '")[0][:60]).strip() if outcome != "loaded" else outcome


def _cause(outcome: str) -> str:
    return re.sub(r"\d+", "N", outcome[:60])
