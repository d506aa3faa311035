"""One file for each experiment that needs no LLM. Each measures one question and gives one report.

A file defines ``measure(device, plan, ...)`` and, at its end, an `Experiment` that says how it is called from the
command line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from attrs import frozen

from cmdgraph.bench import markdown
from cmdgraph.bench.results import Report

__all__ = ["NAMES", "Experiment", "Option", "OptionError", "load", "several"]

NAMES = (
    "strategies",
    "dispatch",
    "phases",
    "dtype",
    "validation",
    "bindings",
    "batch",
    "graph-size",
    "peers",
    "checks",
    "layer",
    "endurance",
)


class OptionError(ValueError):
    """An option has a value that makes no sense."""


@frozen
class Option:
    """One of an experiment's own options: a number, a list of numbers, a switch, text, or one of ``choices``, by its
    default.
    """

    default: Any
    help: str
    least: int = 1
    choices: tuple[str, ...] = ()


@frozen
class Experiment:
    """How an experiment is called.

    `measure` takes a device (one with an LLM: a choice of model), a `Plan` and the options. ``quick`` are values for
    the short set, of options and of ``rounds``. ``features`` and ``limits`` are asked of the device as far as the
    adapter has them. Without ``rounded`` there are no rounds to set. ``failure`` says what is wrong in a report: the
    command prints it all the same, and fails.
    """

    measure: Callable[..., Report]
    help: str
    options: Mapping[str, Option]
    quick: Mapping[str, Any]
    rounds: int = 30
    warmup: int = 3
    features: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    rounded: bool = True
    to_markdown: Callable[[Report], str] = markdown.report
    failure: Callable[[Report], str | None] | None = None


def load(name: str) -> Experiment:
    """The experiment of that name, one of `NAMES`."""
    return import_module(f"{__name__}.{name.replace('-', '_')}").EXPERIMENT


def several(counts: Sequence[int], of: str) -> list[int]:
    """The different `counts`, smallest first, for a line over them. ``of`` says what they count.

    Raises:
        OptionError: fewer than two, or one below 1.
    """
    found = sorted(set(counts))
    if len(found) < 2 or found[0] < 1:
        raise OptionError(f"counts: needs two different numbers of {of} of at least 1, got {found}")
    return found
