"""A quantity against another one, a line for each series, with its p10-p90 as a band; each line is named at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from cmdgraph.bench.report.plots import style
from cmdgraph.bench.report.schema import Figure

__all__ = ["Mark", "Panel", "draw"]

HEIGHT = 3.1
GAP = 0.055
"""Between two names at the right edge, as a share of the height."""
_DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))


@attrs.frozen
class Mark:
    """A vertical line with a name: where something turns."""

    at: float
    text: str


@attrs.frozen
class Panel:
    """`series`: by name, the figures at each place, in ascending order. `level`: a horizontal line with its name."""

    title: str
    series: Mapping[str, Sequence[tuple[float, Figure]]]
    marks: Sequence[Mark] = ()
    level: tuple[float, str] | None = None


def draw(
    name: str, panels: Sequence[Panel], x: str, y: str, *, log_x: bool = True, log_y: bool = True, columns: int = 2
) -> str:
    """The panels on common axes; `x` and `y` name the quantities and their units."""
    deep = -(-len(panels) // min(columns, len(panels)))

    def paint(canvas: Canvas) -> None:
        axes_list = list(style.panels(canvas, len(panels), columns, sharey=True, sharex=log_x))
        for axes, panel in zip(axes_list, panels, strict=True):
            _axis(axes, "x", x, log_x)
            _axis(axes, "y", y, log_y)
            _panel(axes, panel)
        for axes in axes_list:
            axes.tick_params(labelbottom=True, labelleft=True)
        if not log_y:
            axes_list[0].set_ylim(bottom=0)
        _name_lines(axes_list, panels)

    return style.draw(name, deep * HEIGHT, paint, style.WIDTH if len(panels) > 1 else 0.68 * style.WIDTH)


def _axis(axes: Axes, which: str, label: str, log: bool) -> None:
    if log:
        style.log_axis(axes, which, label)
    else:
        getattr(axes, f"set_{which}label")(label)


def _panel(axes: Axes, panel: Panel) -> None:
    style.title(axes, panel.title)
    for place, (name, points) in enumerate(panel.series.items()):
        at = [x for x, _ in points]
        colour, dash = _look(panel.series, place)
        axes.fill_between(at, [f.p10 for _, f in points], [f.p90 for _, f in points], color=colour, alpha=0.11, lw=0)
        axes.plot(at, [f.median for _, f in points], color=colour, ls=dash, marker="o", ms=4, label=name)
    for mark in panel.marks:
        axes.axvline(mark.at, color=style.COLOURS["muted"], lw=1, ls=(0, (2, 2)))
        axes.annotate(
            mark.text, (mark.at, 1), xycoords=("data", "axes fraction"), xytext=(4, -2), textcoords="offset points",
            va="top", fontsize=8, color=style.COLOURS["muted"],
        )  # fmt: skip
    if panel.level is not None:
        axes.axhline(panel.level[0], color=style.COLOURS["muted"], lw=1)


def _look(series: Mapping[str, object], place: int) -> tuple[str, object]:
    """The colour of the kind of way, a second line of the same kind dashed; where none is a way, one colour each."""
    names = list(series)
    colours = [style.colour_of(name) for name in names]
    if set(colours) == {style.COLOURS["other"]}:
        cycle = [style.COLOURS[key] for key in ("pass", "naive", "ahead", "extra", "native", "other")]
        return cycle[place % len(cycle)], _DASHES[place // len(cycle) % len(_DASHES)]
    return colours[place], _DASHES[colours[:place].count(colours[place]) % len(_DASHES)]


def _name_lines(axes_list: Sequence[Axes], panels: Sequence[Panel]) -> None:
    """Names at the right ends of the lines, moved apart where they would overlap."""
    for axes, panel in zip(axes_list, panels, strict=True):
        names = [
            (name, points[-1][1].median, _look(panel.series, n)[0])
            for n, (name, points) in enumerate(panel.series.items())
        ]
        if panel.level is not None:
            names.append((panel.level[1], panel.level[0], style.COLOURS["muted"]))
        names.sort(key=lambda each: each[1])
        to_axes = axes.transData + axes.transAxes.inverted()
        at = [float(to_axes.transform((1.0, value))[1]) for _, value, _ in names]
        for (name, _, colour), place in zip(names, _apart(at), strict=True):
            axes.annotate(
                name, (1.0, place), xycoords="axes fraction", xytext=(6, 0), textcoords="offset points",
                va="center", fontsize=8, color=colour,
            )  # fmt: skip


def _apart(places: Sequence[float]) -> list[float]:
    """Ascending places, moved so that each is at least `GAP` above the one before, and together where they were."""
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + GAP) if moved else place)
    return list(np.array(moved) - max(0.0, moved[-1] - max(1.0, places[-1]))) if moved else []
