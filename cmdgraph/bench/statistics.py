"""From raw samples to figures: medians and their intervals, ratios, straight lines.

Series of one run come from the same rounds. Whatever is estimated from several of them resamples rounds, not single
samples, so that drift which met all of them cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["NOISY", "crossing", "estimate", "intercept", "line", "ratio", "slope", "summary"]

RESAMPLES = 2000
NOISY = 0.3
"""A figure is noisy when its 10th and 90th percentile are apart by more than this part of the median."""


def summary(values: Sequence[float], unit: str = "") -> dict[str, Any]:
    """A figure: median with percentiles and its 95 % confidence interval, extremes and the raw samples.

    The interval is by order statistics: no assumption about how the samples are distributed. Of fewer than 6 samples
    it is all of them.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("no samples to summarise")
    ordered = sorted(float(value) for value in values)
    p10, median, p90 = (float(v) for v in np.percentile(ordered, [10, 50, 90]))
    reach = 0.98 * math.sqrt(len(ordered))  # in ranks around the middle: half of 1.96 sqrt(n)
    low = max(0, math.floor((len(ordered) - 1) / 2 - reach))
    high = min(len(ordered) - 1, math.ceil((len(ordered) - 1) / 2 + reach))
    return {
        "unit": unit,
        "median": median,
        "p10": p10,
        "p90": p90,
        "min": ordered[0],
        "max": ordered[-1],
        "ci95_low": ordered[low],
        "ci95_high": ordered[high],
        "noisy": p90 - p10 > NOISY * abs(median),
        "samples": [float(v) for v in values],
    }


def estimate(
    series: Sequence[Sequence[float]], function: Callable[[np.ndarray], np.ndarray], *, seed: int = 0
) -> dict[str, float]:
    """What `function` makes of the series' medians, with its 95 % confidence interval by bootstrap over rounds.

    `function` takes an array whose last axis are the medians, in the order of the series, and drops that axis.

    Raises:
        ValueError: the series are empty or of different lengths.
    """
    lengths = [len(each) for each in series]
    if not lengths or not lengths[0] or len(set(lengths)) > 1:
        found = " and ".join(map(str, lengths))
        raise ValueError(f"needs series of the same rounds; got {found or 'no'} samples")
    values = np.array(series, dtype=float)
    picks = np.random.default_rng(seed).integers(0, lengths[0], (RESAMPLES, lengths[0]))
    medians = np.stack([np.median(each[picks], axis=1) for each in values], axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = np.nanpercentile(function(medians), [2.5, 97.5])
        value = function(np.median(values, axis=1))
    return {"value": float(value), "ci95_low": float(low), "ci95_high": float(high)}


def ratio(over: Sequence[float], under: Sequence[float], *, seed: int = 0) -> dict[str, float]:
    """The ratio of two medians with its 95 % confidence interval.

    Raises:
        ValueError: the series are empty or of different lengths.
    """
    found = estimate([over, under], lambda medians: medians[..., 0] / medians[..., 1], seed=seed)
    return {"ratio": found.pop("value"), **found}


def line(xs: Sequence[float], series: Sequence[Sequence[float]], unit: str, *, seed: int = 0) -> dict[str, Any]:
    """Slope and intercept, each with its 95 % confidence interval, of the straight line through the medians.

    `series` holds the samples for each of `xs`. Points weigh by their relative error: measured over decades, the large
    ones would otherwise drown the small.

    Raises:
        ValueError: fewer than two different xs, or series of different lengths.
    """
    if len(set(xs)) < 2 or len(xs) != len(series):
        raise ValueError(f"a line needs two points at least; got {len(set(xs))} for {len(series)} series")
    parts = (("slope", slope), ("intercept", intercept))
    return {
        name: {"unit": unit, **estimate(series, lambda medians, of=of: of(xs, medians), seed=seed)}  # type: ignore[misc]
        for name, of in parts
    }


def slope(xs: Sequence[float], medians: np.ndarray) -> np.ndarray:
    """The slope of the line through the medians, which are the last axis."""
    return _centred(xs, medians)[0]


def intercept(xs: Sequence[float], medians: np.ndarray) -> np.ndarray:
    """Where that line meets x = 0."""
    found, x_mean, y_mean = _centred(xs, medians)
    return y_mean - found * x_mean


def crossing(xs: Sequence[float], medians: np.ndarray, level: float) -> np.ndarray:
    """Where the falling curve through the medians, straight between points on a logarithmic x axis, first comes below
    `level`; not a number where it does not or begins below.
    """
    logs = np.log(np.asarray(xs, dtype=float))
    before, after = medians[..., :-1], medians[..., 1:]
    falls = (before >= level) & (after < level)
    first = np.argmax(falls, axis=-1)[..., None]
    y0, y1 = (np.take_along_axis(each, first, axis=-1)[..., 0] for each in (before, after))
    x0, x1 = logs[first[..., 0]], logs[first[..., 0] + 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        place = np.exp(x0 + (x1 - x0) * (y0 - level) / (y0 - y1))
    return np.where(falls.any(axis=-1), place, np.nan)


def _centred(xs: Sequence[float], medians: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slope, and the weighted means of x and y, which the line goes through."""
    x = np.asarray(xs, dtype=float)
    weights = 1 / np.square(np.where(medians == 0, 1.0, medians))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    x_mean, y_mean = (weights * x).sum(axis=-1), (weights * medians).sum(axis=-1)
    dx = x - x_mean[..., None]
    found = (weights * dx * (medians - y_mean[..., None])).sum(axis=-1) / (weights * dx * dx).sum(axis=-1)
    return found, x_mean, y_mean
