"""The table of a graph's nodes that `CommandGraph.summary` gives."""

from __future__ import annotations

from collections.abc import Sequence

from cmdgraph.objects import describe
from cmdgraph.program import Dispatch, DispatchIndirect, Node, Program

__all__ = ["summary"]

_HEADERS = ("#", "operation", "pipeline", "workgroups", "reads", "writes", "called at")


def summary(program: Program, title: str) -> str:
    """`title`, then a line for each node: operation, pipeline, size, what it reads and writes, place in the code."""
    rows = [_HEADERS, *(_row(i, node) for i, node in enumerate(program.nodes))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADERS))]
    rule = tuple("-" * width for width in widths)
    return "\n".join([title, *(_line(row, widths) for row in (rows[0], rule, *rows[1:]))])


def _row(index: int, node: Node) -> tuple[str, ...]:
    accesses = node.accesses()
    return (
        str(index),
        node.operation,
        _name(node.pipeline.pipeline) if isinstance(node, Dispatch | DispatchIndirect) else "",
        " x ".join(map(str, node.workgroups)) if isinstance(node, Dispatch) else "",
        ", ".join(_name(a.resource) for a in accesses if a.reads),
        ", ".join(_name(a.resource) for a in accesses if a.writes),
        f"{node.place.file.rpartition('/')[2]}:{node.place.line}",
    )


def _name(obj: object) -> str:
    return getattr(obj, "label", "") or describe(obj)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
