"""Every sample as a point, so that a reader sees spread, steps and strays that a median hides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from cmdgraph.bench.report.plots import style
from cmdgraph.bench.report.schema import Figure

__all__ = ["draw"]

ROW = 0.27
MOST = 400
"""Points of a line at most: more cannot be told apart, and make the page heavy."""


def draw(name: str, panels: Sequence[tuple[str, Mapping[str, Figure]]], unit: str) -> str:
    """A panel for each title, a line of points for each figure, a bar at its median; all in `unit`."""
    rows = max(len(figures) for _, figures in panels)
    deep = -(-len(panels) // min(2, len(panels)))

    def paint(canvas: Canvas) -> None:
        axes_list = list(style.panels(canvas, len(panels), sharex=True))
        for place, (axes, (title, figures)) in enumerate(zip(axes_list, panels, strict=True)):
            _panel(axes, title, figures, labels=place % 2 == 0 or list(figures) != list(panels[place - 1][1]))
        for axes in axes_list[-2:]:
            axes.set_xlabel(unit)
            axes.tick_params(labelbottom=True)

    return style.draw(name, deep * (0.65 + ROW * rows), paint)


def _panel(axes: Axes, title: str, figures: Mapping[str, Figure], labels: bool) -> None:
    style.title(axes, title)
    style.log_axis(axes, "x", "")
    for place, (name, figure) in enumerate(figures.items()):
        samples = figure.samples[:: -(-len(figure.samples) // MOST)]
        spread = np.random.default_rng(place).uniform(-0.26, 0.26, len(samples))
        axes.plot(samples, place + spread, "o", color=style.colour_of(name), ms=3.2, mew=0, alpha=0.55)
        axes.plot([figure.median] * 2, [place - 0.36, place + 0.36], color=style.COLOURS["ink"], lw=1.6)
    axes.set_yticks(range(len(figures)), list(figures) if labels else [""] * len(figures))
    axes.set_ylim(len(figures) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
