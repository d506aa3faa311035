"""A document as one HTML page that needs nothing else, style sheet and plots in it, for light and dark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import resources

import attrs
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from cmdgraph.bench.report.document import Block, Document, Table
from cmdgraph.bench.report.plots.style import DARK, LIGHT

__all__ = ["render"]

BRIEF = 30
"""Characters of a cell that is not broken into lines."""

_INLINE = MarkdownIt("commonmark", {"html": False})
_VERDICTS = {"same": "same", "opposite": "opposite", "not measured": "missing", "measured": "same", "-": "missing"}
"""Cells that say how something ended, and what they look like."""


def render(document: Document) -> str:
    """The page. All text is escaped; only plots, which are our own, are put in as they are."""
    templates = Environment(
        loader=FunctionLoader(_file), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )

    helpers = {"kind": _kind, "inline": _inline, "safe": Markup, "lines": _lines, "hidden": _hidden}

    def blocks(found: Sequence[Block]) -> Markup:
        return Markup(templates.get_template("blocks.html.j2").render(blocks=found, **helpers))

    page = templates.get_template("page.html.j2")
    return page.render(document=document, blocks=blocks, light=LIGHT, dark=DARK, css=Markup(_file("page.css")))


@attrs.frozen
class _Cell:
    text: str
    span: int
    style: str


@attrs.frozen
class _Line:
    cells: Sequence[_Cell]
    starts: bool
    group: str


def _lines(table: Table) -> Iterator[_Line]:
    """The rows, in which a cell of the merged columns spans all rows that have the same; a single one heads a group."""
    hidden = _hidden(table)
    for place, row in enumerate(table.rows):
        first = not (place and _same(table, place, place - 1, 0))
        cells = []
        for column, text in list(enumerate(row))[hidden:]:
            if column >= table.merged:
                cells.append(_Cell(text, 1, _style(table, column, text)))
            elif not (place and _same(table, place, place - 1, column)):
                cells.append(_Cell(text, _span(table, place, column), "head"))
        yield _Line(cells, bool(not hidden and table.merged and place and first), row[0] if hidden and first else "")


def _hidden(table: Table) -> int:
    """How many columns stand in lines of their own."""
    return int(table.grouped)


def _style(table: Table, column: int, text: str) -> str:
    if column in table.numeric:
        return "number"
    return _VERDICTS.get(text, "brief" if len(text) <= BRIEF else "")


def _span(table: Table, place: int, column: int) -> int:
    span = 1
    while place + span < len(table.rows) and _same(table, place + span, place, column):
        span += 1
    return span


def _same(table: Table, one: int, other: int, column: int) -> bool:
    return list(table.rows[one][: column + 1]) == list(table.rows[other][: column + 1])


def _inline(text: str) -> Markup:
    return Markup(_INLINE.renderInline(text))


def _kind(block: Block) -> str:
    return type(block).__name__


def _file(name: str) -> str:
    return re.sub(r"\n+$", "\n", resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))
