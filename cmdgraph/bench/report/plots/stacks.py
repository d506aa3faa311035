"""What a whole is made of: horizontal bars of parts, named in the bar or in the legend, with shares."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch

from cmdgraph.bench.report.figures import number
from cmdgraph.bench.report.plots import style

__all__ = ["draw"]

ROW = 0.62
INCHES, LETTER = 6.6, 0.062
"""Room for the longest bar, and what a letter takes of it."""


def draw(name: str, bars: Mapping[str, Mapping[str, float]], groups: Mapping[str, tuple[str, str]], unit: str) -> str:
    """A bar for each name, its parts in order. `groups` gives each part its group's title and colour by name."""

    def paint(canvas: Canvas) -> None:
        axes = canvas.subplots()
        whole = max(sum(parts.values()) for parts in bars.values())
        for place, parts in enumerate(bars.values()):
            _bar(axes, place, parts, groups, whole)
        axes.set_yticks(range(len(bars)), list(bars))
        axes.set_ylim(len(bars) - 0.5, -0.55)
        axes.set_xlim(0, whole * 1.06)
        axes.set_xlabel(unit)
        axes.grid(visible=False, axis="y")
        canvas.legend(handles=_legend(bars, groups), loc="outside upper left", ncols=6, handlelength=1, handleheight=1)

    return style.draw(name, 1.1 + ROW * len(bars), paint)


def _bar(
    axes: Axes, place: int, parts: Mapping[str, float], groups: Mapping[str, tuple[str, str]], whole: float
) -> None:
    left, total = 0.0, sum(parts.values())
    for part, value in parts.items():
        colour = style.COLOURS[groups[part][1]]
        axes.barh(place, value, left=left, height=0.6, color=colour, edgecolor=style.COLOURS["surface"], linewidth=1.2)
        if INCHES * value / whole > 0.1 + LETTER * len(part):
            text = f"{part}\n{100 * value / total:.0f} %"
            axes.text(
                left + value / 2, place, text, ha="center", va="center", fontsize=7.5, color=style.COLOURS["surface"]
            )
        left += value
    axes.text(total + 0.008 * whole, place, number(total), va="center", fontsize=8.5, fontweight="bold")


def _legend(bars: Mapping[str, Mapping[str, float]], groups: Mapping[str, tuple[str, str]]) -> list[Patch]:
    seen = {groups[part]: None for parts in bars.values() for part in parts}
    return [Patch(color=style.COLOURS[colour], label=title) for title, colour in seen]
