"""The JSON of any experiment as classes, see `cmdgraph.bench`; what does not fit is named with its place.

Only what the report uses is read. A series must not be empty, and a median must be that of its samples: a figure that
was edited by hand is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

import attrs
import msgspec
import numpy as np

from cmdgraph.bench import results

__all__ = ["Environment", "Estimate", "Figure", "Finding", "Fit", "Method", "Ratio", "Row", "ShapeError", "read"]

T = TypeVar("T")


class ShapeError(Exception):
    """JSON does not have the shape that is asked for; says where."""


@attrs.frozen
class Figure:
    """A measured quantity: median, 10th and 90th percentile and the raw samples, in `unit`."""

    median: float
    p10: float
    p90: float
    samples: list[float]
    unit: str = ""

    def __attrs_post_init__(self) -> None:
        if not self.samples:
            raise ValueError("no samples")
        middle = float(np.median(self.samples))
        if not math.isclose(middle, self.median, rel_tol=1e-9, abs_tol=1e-12):
            raise ValueError(f"the median {self.median:g} is not that of its samples, {middle:g}")


@attrs.frozen
class Ratio:
    """The ratio of the medians of two rows, and its 95 % confidence interval."""

    quantity: str
    over: str
    under: str
    ratio: float
    ci95_low: float
    ci95_high: float

    @property
    def finds_no_difference(self) -> bool:
        """Whether the interval holds 1."""
        return self.ci95_low <= 1 <= self.ci95_high


@attrs.frozen
class Finding:
    """An answer in one number, or the reason why there is none."""

    name: str
    value: float | None
    text: str
    unit: str = ""
    ci95_low: float | None = None
    ci95_high: float | None = None


@attrs.frozen
class Estimate:
    """A value with its 95 % confidence interval."""

    value: float
    ci95_low: float
    ci95_high: float
    unit: str = ""


@attrs.frozen
class Fit:
    """A straight line through the rows of a series."""

    quantity: str
    series: str
    against: str
    slope: Estimate
    intercept: Estimate


@attrs.frozen
class _Implementation:
    name: str
    version: str


@attrs.frozen
class Environment:
    """On what something was measured, see `cmdgraph.bench.environment`."""

    adapter: str
    driver: str
    backend: str
    software_adapter: bool
    implementation: _Implementation
    wgpu_py: str | None
    python: str
    os: str
    cpu: str
    cores: int | None
    commit: str | None
    dirty: bool | None
    date: str
    command: str
    vendor: str = ""
    cmdgraph: str | None = None


@attrs.frozen
class Method:
    """How it was measured."""

    description: str = ""
    timed_region: str = ""
    sync: str = ""
    rounds: int | None = None
    rounds_wanted: int | None = None
    warmup: int | None = None
    seed: int | None = None


@attrs.frozen
class Row:
    """One row of an experiment: figures that were measured, and facts, which are all else."""

    name: str
    figures: Mapping[str, Figure]
    facts: Mapping[str, Any]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Row:
        """Raises ShapeError."""
        found = {name: read(figure, Figure, name) for name, figure in results.figures(data).items()}
        return cls(str(data.get("name", "")), found, {name: data[name] for name in data if name not in found})


def read(data: Any, shape: type[T], what: str = "the file") -> T:
    """`data` as an object of `shape`; `what` names it in errors.

    Raises:
        ShapeError: something is missing or of another kind; says where.
    """
    try:
        return msgspec.convert(data, shape)
    except msgspec.ValidationError as error:
        raise ShapeError(f"{what}: {error}") from error
