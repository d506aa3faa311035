"""Results with where they come from, and questions to them: which machines, which result is the newest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from cmdgraph.bench.report.schema import Environment, Figure, Finding, Fit, Method, Ratio, Row
from cmdgraph.bench.results import ResultError

__all__ = ["Evidence", "Machine", "Result"]

USUAL = {"links": "chain", "pattern": "changing"}
"""Kinds of work of experiments without a model."""


@attrs.frozen
class Machine:
    """What results are compared across: an adapter by one implementation, beside one kind of processor."""

    software: bool
    adapter: str
    implementation: str
    backend: str
    cpu: str

    @classmethod
    def of(cls, environment: Environment) -> Machine:
        return cls(
            software=environment.software_adapter,
            adapter=environment.adapter,
            implementation=environment.implementation.name,
            backend=environment.backend,
            cpu=environment.cpu,
        )

    def __lt__(self, other: Machine) -> bool:
        """GPUs come first; of one adapter, wgpu-native does."""
        return self._order < other._order

    @property
    def _order(self) -> tuple[object, ...]:
        return (self.software, self.adapter, self.implementation != "wgpu-native", *attrs.astuple(self))

    @property
    def short(self) -> str:
        """A name for a table or a plot; a software adapter is always marked."""
        adapter = self.adapter.partition(" (")[0]
        mark = " (software adapter)" if self.software else ""
        return f"{adapter}{mark}, {self.implementation}"


@attrs.frozen(eq=False)
class Result:
    """One file: what was measured, on what, and how. `path` is below the folder that was read."""

    path: str
    experiment: str
    environment: Environment
    method: Method
    rows: Sequence[Row]
    ratios: Sequence[Ratio]
    fits: Sequence[Fit]
    findings: Sequence[Finding]
    left_out: Sequence[Mapping[str, Any]]
    noise: Sequence[str]
    notes: Sequence[str]
    interrupted: bool
    data: Mapping[str, Any]

    @property
    def machine(self) -> Machine:
        return Machine.of(self.environment)

    @property
    def subject(self) -> str:
        """What was measured on, where an experiment runs on several things: the model and its weights, or the kind of
        work where it is not the usual one.
        """
        model, work = self.data.get("model"), self.data.get("workload")
        if isinstance(model, dict) and {"name", "dtype"} <= set(model):
            return f"{model['name']}, {model['dtype']}"
        kinds = [work.get(key, usual) for key, usual in USUAL.items()] if isinstance(work, dict) else []
        return ", ".join(str(kind) for kind in kinds if kind not in USUAL.values())

    @property
    def where(self) -> str:
        """The machine, and the subject where there is one to tell."""
        return "; ".join(part for part in (self.machine.short, self.subject) if part)

    def row(self, name: str) -> Row | None:
        """The row of a name, if there is one."""
        return next((row for row in self.rows if row.name == name), None)

    def figure(self, row: Row, name: str) -> Figure:
        """A figure that every row of this experiment has.

        Raises:
            ResultError: this one has not.
        """
        if name not in row.figures:
            raise ResultError(f"{self.path}: {self.experiment}: row {row.name!r} has no figure {name!r}; measure again")
        return row.figures[name]

    def fact(self, row: Row, name: str) -> Any:
        """A parameter or count that every row of this experiment has.

        Raises:
            ResultError: this one has not.
        """
        if name not in row.facts:
            raise ResultError(f"{self.path}: {self.experiment}: row {row.name!r} does not say {name!r}; measure again")
        return row.facts[name]

    def ratio(self, quantity: str, over: str, under: str) -> Ratio | None:
        """A ratio of two rows, if it was made."""
        wanted = (quantity, over, under)
        return next((each for each in self.ratios if (each.quantity, each.over, each.under) == wanted), None)

    def finding(self, name: str) -> Finding | None:
        """An answer by its name, if it was given."""
        return next((each for each in self.findings if each.name == name), None)


@attrs.frozen
class Evidence:
    """All results of a report."""

    results: Sequence[Result]
    skipped: Sequence[str] = ()
    """Files that hold something else than a measurement of this format."""

    @property
    def machines(self) -> list[Machine]:
        return sorted({result.machine for result in self.results})

    @property
    def experiments(self) -> set[str]:
        return {result.experiment for result in self.results}

    def of(self, experiment: str, machine: Machine | None = None) -> list[Result]:
        """The newest result of an experiment for each machine (or for one) and subject, GPUs first."""
        newest: dict[tuple[Machine, str], Result] = {}
        for result in _by_date(self.results):
            if result.experiment == experiment and machine in (None, result.machine):
                newest[result.machine, result.subject] = result
        return [newest[key] for key in sorted(newest)]

    def repeats(self) -> list[list[Result]]:
        """Results of the same experiment on the same machine and subject, oldest first, where there are several."""
        groups: dict[tuple[str, Machine, str], list[Result]] = {}
        for result in _by_date(self.results):
            groups.setdefault((result.experiment, result.machine, result.subject), []).append(result)
        return [groups[key] for key in sorted(groups) if len(groups[key]) > 1]


def _by_date(results: Iterable[Result]) -> list[Result]:
    return sorted(results, key=lambda result: (result.environment.date, result.path))
