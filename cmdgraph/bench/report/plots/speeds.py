"""Speeds as bars from zero: a panel for each plan, a bar for each strategy, lines for what others reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from cmdgraph.bench.report.figures import number
from cmdgraph.bench.report.plots import style
from cmdgraph.bench.report.schema import Figure

__all__ = ["draw"]

ROW = 0.28


def draw(name: str, panels: Sequence[tuple[str, Mapping[str, Figure]]], unit: str, levels: Mapping[str, float]) -> str:
    """`levels`: by name, the speeds that are drawn as lines across."""
    rows = max(len(figures) for _, figures in panels)
    deep = -(-len(panels) // min(3, len(panels)))

    def paint(canvas: Canvas) -> None:
        axes_list = list(style.panels(canvas, len(panels), columns=3, sharex=True))
        top = max([f.p90 for _, figures in panels for f in figures.values()] + list(levels.values()))
        for place, (axes, (title, figures)) in enumerate(zip(axes_list, panels, strict=True)):
            _panel(axes, title, figures, levels, labels=place % 3 == 0 or list(figures) != list(panels[place - 1][1]))
            axes.set_xlim(0, 1.14 * top)
            axes.set_xlabel(unit)
            axes.tick_params(labelbottom=True)

    width = style.WIDTH * (1 if len(panels) > 1 else 0.6)
    return style.draw(name, deep * (1.0 + 0.17 * len(levels) + ROW * rows), paint, width)


def _panel(axes: Axes, title: str, figures: Mapping[str, Figure], levels: Mapping[str, float], labels: bool) -> None:
    style.title(axes, title)
    for place, (name, figure) in enumerate(figures.items()):
        axes.barh(place, figure.median, height=0.62, color=style.colour_of(name), alpha=0.85)
        axes.plot([figure.p10, figure.p90], [place, place], color=style.COLOURS["ink"], lw=1.2)
        axes.annotate(
            number(figure.median), (max(figure.p90, figure.median), place), xytext=(5, 0),
            textcoords="offset points", va="center", fontsize=8,
            bbox={"facecolor": style.COLOURS["surface"], "edgecolor": "none", "pad": 1.0},
        )  # fmt: skip
    for place, (name, value) in enumerate(levels.items()):
        low = len(figures) - 0.35 + 0.55 * place
        axes.plot([value, value], [-0.5, low + 0.2], color=style.COLOURS["other"], lw=1.4, ls=(0, (4, 2)), zorder=0.9)
        axes.annotate(
            f"{name} {number(value)}", (value, low), xytext=(4, 0), textcoords="offset points", va="center",
            fontsize=7.5, color=style.COLOURS["muted"],
        )  # fmt: skip
    axes.set_yticks(range(len(figures)), list(figures) if labels else [""] * len(figures))
    axes.set_ylim(len(figures) - 0.4 + 0.6 * len(levels), -0.6)
    axes.grid(visible=False, axis="y")
