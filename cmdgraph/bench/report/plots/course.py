"""Quantities over the course of a run, one small panel for each, from zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, MaxNLocator

from cmdgraph.bench.report.figures import number
from cmdgraph.bench.report.plots import style

__all__ = ["draw"]


def draw(name: str, steps: Sequence[int], quantities: Mapping[str, Sequence[float]], x: str) -> str:
    """`steps`: how far each value takes the run; `quantities`: by title, a value for each step."""
    at = list(accumulate(steps))

    def paint(canvas: Canvas) -> None:
        for axes, (title, values) in zip(
            style.panels(canvas, len(quantities), columns=3), quantities.items(), strict=True
        ):
            style.title(axes, title)
            axes.plot(at, values, color=style.COLOURS["ahead"], marker="o", ms=3)
            axes.set_ylim(0, 1.25 * max(values))
            axes.set_xlim(0, at[-1] * 1.12)
            axes.annotate(
                number(values[-1]), (at[-1], values[-1]), xytext=(0, 6), textcoords="offset points", ha="center"
            )
            axes.xaxis.set_major_locator(MaxNLocator(4))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:,.0f}"))
            axes.set_xlabel(x)

    return style.draw(name, 2.3, paint)
