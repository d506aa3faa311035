"""Tables and figures for people: padded text anywhere, a table of `rich` on a terminal where it is installed."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

from attrs import frozen

__all__ = ["Table", "size", "time"]

_NUMBER = re.compile(r"(-?[\d., ]+( ?(%|B|KiB|MiB|GiB|ns|us|ms|s))?|-|)")


@frozen
class Table:
    """Rows of text under headers. Columns of numbers are aligned to the right."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        lines = [self.headers, *self.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.headers))]
        rule = tuple("-" * width for width in widths)
        padded = [self._line(line, widths) for line in (self.headers, rule, *self.rows)]
        return "\n".join([*([self.title] if self.title else []), *padded])

    def show(self) -> None:
        """Prints it: in colour on a terminal with `rich`, else as text."""
        console = _console()
        if console is None:
            print(f"{self}\n")
            return
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(title=self.title, title_justify="left", title_style="bold", box=None, pad_edge=False)
        for column, header in enumerate(self.headers):
            table.add_column(header, header_style="dim", justify="right" if self._numeric(column) else "left")
        for row in self.rows:
            table.add_row(*map(Text, row))
        console.print(table)
        console.print()

    def _numeric(self, column: int) -> bool:
        return bool(self.rows) and all(_NUMBER.fullmatch(row[column]) for row in self.rows)

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        padded = (
            cell.rjust(width) if self._numeric(column) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "  ".join(padded).rstrip()


def size(count: float) -> str:
    """Bytes as people read them: "95.4 MiB"."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"


def time(ns: float) -> str:
    """Nanoseconds as microseconds, or as milliseconds from 1 ms on."""
    return f"{ns / 1e6:.2f} ms" if ns >= 1e6 else f"{ns / 1e3:.2f} us"


def _console() -> Any:
    if not sys.stdout.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console()
