"""Numbers as text: as many digits as mean something, and the same everywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cmdgraph.bench.report.schema import Figure, Ratio

__all__ = ["among", "interval", "number", "percent", "spread", "times"]


def number(value: float) -> str:
    """Three significant digits, thousands separated, no exponent: 0.0126, 1.84, 39.3, 12,300."""
    if value == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    return f"{rounded:,.{max(0, 2 - math.floor(math.log10(abs(rounded))))}f}"


def spread(figure: Figure) -> str:
    """From the 10th to the 90th percentile."""
    return f"{number(figure.p10)}–{number(figure.p90)}"


def times(ratio: float) -> str:
    """A factor: 21.7x."""
    return f"{number(ratio)}x"


def interval(ratio: Ratio) -> str:
    """A factor with its interval: 21.7x (20.8–24.8)."""
    return f"{times(ratio.ratio)} ({number(ratio.ci95_low)}–{number(ratio.ci95_high)})"


def percent(share: float) -> str:
    """A share of 1: 53 %."""
    return f"{number(100 * share) if abs(share) < 0.1 else f'{100 * share:.0f}'} %"


def among(words: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
