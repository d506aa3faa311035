"""Ways to do the same work, one line each: the caller's CPU time, that with our workers', and wall time."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from cmdgraph.bench.report.figures import number
from cmdgraph.bench.report.plots import style
from cmdgraph.bench.report.schema import Figure

__all__ = ["Way", "draw"]

ROW = 0.215
"""Height of a line, in inches."""


@attrs.frozen
class Way:
    """One line. `worker`: CPU time of other threads of ours, where there are any."""

    name: str
    cpu: Figure
    wall: Figure
    worker: Figure | None = None
    kind: str = ""
    """Whose colour it has, where that is not its own name's."""

    @property
    def total(self) -> float:
        """CPU time of caller and workers."""
        return self.cpu.median + (self.worker.median if self.worker else 0.0)


def draw(name: str, panels: Sequence[tuple[str, Sequence[Way]]], unit: str) -> str:
    """A panel for each title and its lines; all on the same axis, in `unit`."""
    rows = max(len(ways) for _, ways in panels)
    deep = -(-len(panels) // min(2, len(panels)))

    def paint(canvas: Canvas) -> None:
        axes_list = list(style.panels(canvas, len(panels), sharex=True))
        for number_, (axes, (title, ways)) in enumerate(zip(axes_list, panels, strict=True)):
            _panel(axes, title, ways, labels=number_ % 2 == 0 or _names(ways) != _names(panels[number_ - 1][1]))
        for axes in axes_list[-2:]:
            axes.set_xlabel(unit)
            axes.tick_params(labelbottom=True)
        canvas.legend(handles=_legend(panels), loc="outside upper left", ncols=4, handletextpad=0.4, columnspacing=1.8)

    return style.draw(name, deep * (0.75 + ROW * rows) + 0.35, paint)


def _names(ways: Sequence[Way]) -> list[str]:
    return [way.name for way in ways]


def _panel(axes: Axes, title: str, ways: Sequence[Way], labels: bool) -> None:
    style.title(axes, title)
    style.log_axis(axes, "x", "")
    places = range(len(ways))
    for place, way in zip(places, ways, strict=True):
        colour = style.colour_of(way.kind or way.name)
        axes.plot([way.cpu.median, way.wall.median], [place, place], color=style.COLOURS["grid"], lw=3, zorder=1)
        axes.plot([way.cpu.p10, way.cpu.p90], [place, place], color=colour, lw=1.6, zorder=2)
        if way.worker is not None and way.worker.median > 0:
            axes.plot(way.total, place, "o", mfc=style.COLOURS["surface"], mec=colour, mew=1.4, ms=6, zorder=3)
        axes.plot(way.cpu.median, place, "o", color=colour, ms=6.5, zorder=4)
        axes.plot(way.wall.median, place, "|", color=style.COLOURS["ink"], ms=11, mew=1.8, zorder=5)
        for column, value in ((1.02, way.cpu.median), (1.15, way.wall.median)):
            axes.text(column, place, number(value), transform=axes.get_yaxis_transform(), va="center", fontsize=8)
    for column, head in ((1.02, "caller"), (1.15, "wall")):
        axes.text(
            column, -1.05, head, transform=axes.get_yaxis_transform(), va="center", fontsize=7.5,
            color=style.COLOURS["muted"],
        )  # fmt: skip
    axes.set_yticks(list(places), _names(ways) if labels else [""] * len(ways))
    axes.set_ylim(len(ways) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def _legend(panels: Sequence[tuple[str, Sequence[Way]]]) -> list[Line2D]:
    ink, surface = style.COLOURS["ink"], style.COLOURS["surface"]
    handles = [Line2D([], [], marker="o", color=ink, lw=1.6, ms=6.5, label="caller's CPU time, median and p10-p90")]
    if any(way.worker and way.worker.median > 0 for _, ways in panels for way in ways):
        handles.append(
            Line2D([], [], marker="o", mfc=surface, mec=ink, mew=1.4, ls="", ms=6, label="with our worker threads")
        )
    return [*handles, Line2D([], [], marker="|", color=ink, ls="", ms=11, mew=1.8, label="wall time, median")]
