"""From what size on a replay no longer pays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cmdgraph.bench.statistics import crossing, estimate

__all__ = ["LEVEL", "crossover"]

LEVEL = 1.1
"""A replay pays while eager calls take so many times as long."""


def crossover(
    sizes: Sequence[int], eager: Sequence[Sequence[float]], replay: Sequence[Sequence[float]], unit: str, things: str
) -> dict[str, Any]:
    """The finding "crossover": where the gain of a replay falls below `LEVEL`. The samples are those of each of
    `sizes`, ascending numbers of `things`.
    """
    series = [*eager, *replay]

    def place(medians: np.ndarray) -> np.ndarray:
        return crossing(sizes, medians[..., : len(sizes)] / medians[..., len(sizes) :], LEVEL)

    common = {"name": "crossover", "unit": unit}
    if math.isnan(float(place(np.array([np.median(each) for each in series])))):
        gains = [np.median(over) / np.median(under) for over, under in zip(eager, replay, strict=True)]
        end, gain = ("the largest", gains[-1]) if gains[-1] >= LEVEL else ("the smallest", gains[0])
        text = f"no crossing: with {end} batch a replay is {gain:.2f} times as fast"
        return {**common, "value": None, "text": text}
    found = estimate(series, place)
    text = f"from {found['value']:,.0f} {things} on, eager calls take less than {LEVEL} times what a replay takes"
    return {**common, **found, "text": text}
