"""A document as one Markdown file, with its plots beside it."""

from __future__ import annotations

from cmdgraph.bench import markdown
from cmdgraph.bench.report.document import Block, Document, Drawing, List, Note, Table, Text
from cmdgraph.bench.report.plots.style import DARK, LIGHT

__all__ = ["plot", "render"]


def render(document: Document, plots: str = "plots") -> str:
    """The text; plots are in the folder `plots` beside it, as NAME.svg."""
    parts = [f"# {document.title}", *(_block(block, plots) for block in document.lead)]
    for section in document.sections:
        parts += [f"## {section.title}", *(_block(block, plots) for block in section.blocks)]
    return "\n\n".join(parts) + "\n"


def plot(drawing: Drawing) -> str:
    """The plot as a file of its own: the colours of both themes are in it, and a background."""
    light, dark = (" ".join(f"--{name}: {colour};" for name, colour in theme.items()) for theme in (LIGHT, DARK))
    sheet = (
        f"<style>svg {{ {light} background: var(--surface); }} "
        f"@media (prefers-color-scheme: dark) {{ svg {{ {dark} }} }}</style>"
    )
    head, mark, rest = drawing.svg.partition(">")
    return f"{head}{mark}\n {sheet}{rest}"


def _block(block: Block, plots: str) -> str:
    match block:
        case Text(text):
            return text
        case Note(text):
            return f"> {text}"
        case List(items):
            return "\n".join(f"- {item}" for item in items)
        case Drawing(name=name, alt=alt, caption=caption):
            return f"![{alt}]({plots}/{name}.svg)\n\n*{caption}*"
        case Table(caption=caption):
            return f"*{caption}*\n\n{markdown.table(block.header, _unrepeated(block))}"


def _unrepeated(table: Table) -> list[list[str]]:
    rows: list[list[str]] = []
    above: list[str] = []
    for row in table.rows:
        same = 0
        while same < table.merged and row[: same + 1] == above[: same + 1]:
            same += 1
        rows.append([*[""] * same, *row[same:]])
        above = list(row)
    return rows
