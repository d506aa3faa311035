"""How every plot looks, and how a figure becomes an SVG file that follows light and dark.

Colours are drawn as those of the light theme and written as CSS variables with those as fallback: the page, or the
style sheet inside the file, says what they are. The series colours stay apart in all three kinds of colour blindness
and from the background in both themes, which a test computes.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

__all__ = ["COLOURS", "DARK", "LIGHT", "WIDTH", "colour_of", "draw", "log_axis", "panels", "title"]

LIGHT = {
    "surface": "#fdfdfc",
    "ink": "#1b1f26",
    "muted": "#626a75",
    "grid": "#e2e5e9",
    "naive": "#b62610",
    "pass": "#577ed3",
    "ahead": "#06715d",
    "native": "#6b2076",
    "extra": "#a97e15",
    "other": "#8d949c",
}
DARK = {
    "surface": "#14171c",
    "ink": "#e6e8eb",
    "muted": "#9aa3af",
    "grid": "#2a2f37",
    "naive": "#e27b5e",
    "pass": "#6da9fc",
    "ahead": "#93e5c9",
    "native": "#b2599d",
    "extra": "#ecb55b",
    "other": "#a0a7b0",
}
COLOURS = {name: LIGHT[name] for name in LIGHT}
WIDTH = 9.8
"""Of a plot that fills the page, in inches of 96 CSS pixels (72 points)."""

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"
_STYLE = {
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.labelcolor": LIGHT["muted"],
    "axes.edgecolor": LIGHT["grid"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlecolor": LIGHT["ink"],
    "grid.color": LIGHT["grid"],
    "grid.linewidth": 0.8,
    "text.color": LIGHT["ink"],
    "xtick.color": LIGHT["muted"],
    "ytick.color": LIGHT["ink"],
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 6,
}
_FAMILIES = (
    ("native", "native"),
    ("prerecorded", "ahead"),
    ("single-pass", "pass"),
    ("eager", "naive"),
    ("per-op", "naive"),
    ("single-op", "naive"),
)


def colour_of(row: str) -> str:
    """The colour of a way to the queue: the same in every plot."""
    name = row.rpartition("/")[2]
    return LIGHT[next((colour for mark, colour in _FAMILIES if name.startswith(mark)), "other")]


def draw(name: str, height: float, paint: Callable[[Canvas], object], width: float = WIDTH) -> str:
    """The SVG file of what `paint` puts on a canvas of that size in inches; the same bytes for the same data."""
    with _style(name):
        canvas = Canvas(figsize=(width, height), layout=ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.06))
        paint(canvas)
        file = io.StringIO()
        canvas.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return _themed(file.getvalue(), name)


def panels(canvas: Canvas, count: int, columns: int = 2, **options: Any) -> Iterator[Axes]:
    """`count` panels, up to `columns` side by side; those left over in the last row are not drawn."""
    wide = min(columns, count)
    axes = canvas.subplots(-(-count // wide), wide, squeeze=False, **options).flatten()
    for unused in axes[count:]:
        unused.set_visible(False)
    return iter(axes[:count])


def title(axes: Axes, text: str) -> None:
    """What a panel shows, at its left edge, tick labels included."""
    axes.set_title(text, pad=8)


def log_axis(axes: Axes, which: str, label: str) -> None:
    """A log axis with plain numbers on it: 0.1, 1, 10, 1,000."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    getattr(axes, f"set_{which}scale")("log")
    getattr(axes, f"set_{which}label")(label)
    axis.set_minor_locator(NullLocator())
    axis.set_major_locator(_Decades())
    axis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:,.0f}" if value >= 1 else f"{value:g}"))


class _Decades(LogLocator):
    """Ticks at 1, 10, 100; also at 2 and 5 where that leaves too few."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        decades = math.log10(vmax / vmin) if 0 < vmin < vmax else 0
        self.set_params(subs=(1.0,) if decades > 2 else (1.0, 2.0, 5.0), numticks=8)
        return super().tick_values(vmin, vmax)


@contextmanager
def _style(name: str) -> Iterator[None]:
    settings: dict[Any, Any] = {**mpl.rcParamsDefault, **_STYLE, "svg.hashsalt": name}
    with mpl.rc_context(settings):
        yield


def _themed(svg: str, name: str) -> str:
    """Colours as variables, fonts of the reader's system, names that stay apart from those of other plots in a page."""
    svg = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL).strip()
    for key, colour in LIGHT.items():
        svg = re.sub(rf"(fill|stroke): {colour}\b", rf"\1: var(--{key}, {colour})", svg)
    svg = re.sub(r"(font(?:-family)?:[^;\"]*?)'DejaVu Sans'(?:, [^;\"]*)?", rf"\1{_FONT}", svg)
    svg = re.sub(r'\n *<g id="[^"]*"/>', "", svg)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r"url\(#", f"url(#{name}-", svg)
    svg = re.sub(r'xlink:href="#', f'xlink:href="#{name}-', svg)
    return svg + "\n"
