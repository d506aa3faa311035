"""Ratios with their 95 % confidence intervals, one line each, beside the line at 1 and what is to compare with."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from cmdgraph.bench.report.figures import number
from cmdgraph.bench.report.plots import style

__all__ = ["Bar", "draw"]

ROW = 0.25


@attrs.frozen
class Bar:
    """A ratio; without an interval where somebody else measured it. Its colour follows `name` or is given."""

    name: str
    ratio: float
    low: float | None = None
    high: float | None = None
    colour: str | None = None


def draw(name: str, panels: Sequence[tuple[str, Sequence[Bar], float | None]], x: str) -> str:
    """A panel for each title, its bars, and where a dashed line stands that the title explains."""
    rows = max(len(bars) for _, bars, _ in panels)
    deep = -(-len(panels) // min(2, len(panels)))

    def paint(canvas: Canvas) -> None:
        axes_list = list(style.panels(canvas, len(panels)))
        for axes, (title, bars, at) in zip(axes_list, panels, strict=True):
            _panel(axes, title, bars)
            axes.set_xlabel(x)
            if at is not None:
                axes.axvline(at, color=style.COLOURS["ink"], lw=1.2, ls=(0, (4, 2)), zorder=1)

    width = style.WIDTH if len(panels) > 1 else 0.72 * style.WIDTH
    return style.draw(name, deep * (1.0 + ROW * rows), paint, width)


def _panel(axes: Axes, title: str, bars: Sequence[Bar]) -> None:
    style.title(axes, title)
    axes.axvline(1, color=style.COLOURS["muted"], lw=1)
    for place, bar in enumerate(bars):
        colour = bar.colour or style.colour_of(bar.name)
        if bar.low is not None and bar.high is not None:
            axes.plot([bar.low, bar.high], [place, place], color=colour, lw=2.2, solid_capstyle="round")
            axes.plot(bar.ratio, place, "o", color=colour, ms=7)
        else:
            axes.plot(bar.ratio, place, "D", mfc=style.COLOURS["surface"], mec=colour, mew=1.6, ms=6.5)
        axes.text(1.02, place, number(bar.ratio), transform=axes.get_yaxis_transform(), va="center", fontsize=8)
    axes.set_yticks(range(len(bars)), [bar.name for bar in bars])
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
