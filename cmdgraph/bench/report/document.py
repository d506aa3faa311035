"""What a report is made of, whatever it is written as: sections of text, tables and plots.

Text is Markdown of one line: `code`, *emphasis*, **strong**, [links](#anchor). Nothing else is interpreted, and what
comes from a results file goes through `plain` first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import attrs

__all__ = ["Block", "Document", "Drawing", "List", "Note", "Section", "Table", "Text", "plain", "prose"]


@attrs.frozen
class Text:
    """A paragraph."""

    text: str


@attrs.frozen
class List:
    """Points."""

    items: Sequence[str]


@attrs.frozen
class Note:
    """A paragraph that must not be overlooked."""

    text: str


@attrs.frozen
class Table:
    """A table; every cell is one line of text. In the first `merged` columns a cell like the one above is not repeated.

    `caption` says on what it was measured, and begins with a mark where that is a software adapter.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    merged: int = 0
    grouped: bool = False
    """The first column names groups of rows and may stand in lines of its own."""
    numeric: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls,
        caption: str,
        header: Sequence[str],
        rows: Sequence[Sequence[object]],
        merged: int = 0,
        *,
        grouped: bool = False,
    ) -> Table:
        """Finds out which columns hold numbers: those stand to the right."""
        cells = [[str(cell) for cell in row] for row in rows]
        numeric = [n for n in range(len(header)) if cells and all(_NUMBER.match(row[n]) for row in cells)]
        return cls(caption, header, cells, merged, grouped, frozenset(numeric))


@attrs.frozen
class Drawing:
    """A plot: `svg` is a whole SVG file whose colours are variables, `alt` says in words what it shows."""

    name: str
    svg: str
    alt: str
    caption: str


Block = Text | List | Note | Table | Drawing


@attrs.frozen
class Section:
    """Blocks under a heading; `name` is its anchor."""

    name: str
    title: str
    blocks: Sequence[Block]


@attrs.frozen
class Document:
    title: str
    lead: Sequence[Block]
    sections: Sequence[Section]

    def drawings(self) -> Iterator[Drawing]:
        """All plots, in order."""
        for section in self.sections:
            for block in section.blocks:
                if isinstance(block, Drawing):
                    yield block


def plain(text: str) -> str:
    """`text` from a file as one line, in which nothing is Markdown."""
    return _escaped(" ".join(text.split()))


def prose(text: str) -> str:
    """`text` from a file as one line, in which only `code` is Markdown."""
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(part if number % 2 else _escaped(part) for number, part in enumerate(parts))


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|#~&])", r"\\\1", text)


_NUMBER = re.compile(r"^(-|[<>+~]?[\d.,]+ ?(%|x)?)$")
