"""The text that `CommandGraph.summary` gives: what a graph holds, at a glance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from cmdgraph import hazards
from cmdgraph.program import Dispatch, Node, Program
from cmdgraph.view import names, text
from cmdgraph.view.document import totals, touched_bytes
from cmdgraph.view.text import Table

__all__ = ["KEYS", "KINDS", "headline", "summary", "table"]

#: What nodes can be counted by. "group" is the outermost debug group, "block" the innermost one.
KEYS: dict[str, Callable[[Node], str]] = {
    "shader": lambda node: names.shader_name(node) or node.operation,
    "group": lambda node: node.path[0] if node.path else "(no group)",
    "block": lambda node: node.path[-1] if node.path else "(no group)",
}
KINDS = ("node", *KEYS)


def summary(program: Program, title: str, by: str = "node") -> str:
    """`title`, the totals, and a table: a line for each node, or for each shader, group or block."""
    return "\n".join([title, *headline(program), "", str(table(program, by))])


def headline(program: Program) -> Iterator[str]:
    """The totals in sentences. What nodes touch is the sum of the ranges that they bind, copy or write."""
    waits = hazards.dependencies(program.nodes)
    found = totals(program, hazards.waves(waits), hazards.critical_path(waits))
    yield (
        f"{found['nodes']} nodes, {found['dispatches']} of them dispatches; {found['waves']} waves, at most "
        f"{found['widest_wave']} in one; {found['critical_path']} on the critical path"
    )
    yield (
        f"{found['resources']} buffers and textures of {text.size(found['resource_bytes'])}; the nodes touch "
        f"at most {text.size(found['touched_bytes'])}"
    )


def table(program: Program, by: str = "node") -> Table:
    """The table of `summary`.

    Raises:
        ValueError: `by` is none of `KINDS`.
    """
    if by not in KINDS:
        raise ValueError(f"summary(by={by!r}): by must be one of {', '.join(KINDS)}")
    return _of_nodes(program) if by == "node" else _of_parts(program, by)


def _of_nodes(program: Program) -> Table:
    grouped, named = (any(parts) for parts in ([n.path for n in program.nodes], [n.label for n in program.nodes]))
    columns: dict[str, Callable[[int, Node], str]] = {
        "#": lambda index, _: str(index),
        **({"group": lambda _, node: " / ".join(node.path)} if grouped else {}),
        **({"name": lambda _, node: node.label} if named else {}),
        "operation": lambda _, node: node.operation,
        "pipeline": lambda _, node: names.shader_name(node),
        "workgroups": lambda _, node: " x ".join(map(str, node.workgroups)) if isinstance(node, Dispatch) else "",
        "reads": lambda _, node: ", ".join(names.name_of(a.resource) for a in node.accesses() if a.reads),
        "writes": lambda _, node: ", ".join(names.name_of(a.resource) for a in node.accesses() if a.writes),
        "called at": lambda _, node: names.place_of(node),
    }
    rows = (tuple(cell(index, node) for cell in columns.values()) for index, node in enumerate(program.nodes))
    return Table("", tuple(columns), tuple(rows))


def _of_parts(program: Program, by: str) -> Table:
    waits = hazards.dependencies(program.nodes)
    critical = set(hazards.critical_path(waits))
    parts: defaultdict[str, list[int]] = defaultdict(list)
    for index, node in enumerate(program.nodes):
        parts[KEYS[by](node)].append(index)
    if by != "group":  # groups stay in the order of the program
        parts = defaultdict(list, sorted(parts.items(), key=lambda part: -len(part[1])))
    rows = (_part(program.nodes, name, indices, critical) for name, indices in parts.items())
    return Table("", (by, "nodes", "workgroups", "bytes touched", "on the critical path"), tuple(rows))


def _part(nodes: Sequence[Node], name: str, indices: Sequence[int], critical: set[int]) -> tuple[str, ...]:
    workgroups = 0
    for index in indices:
        node = nodes[index]
        if isinstance(node, Dispatch):
            x, y, z = node.workgroups
            workgroups += x * y * z
    return (
        name,
        str(len(indices)),
        str(workgroups) if workgroups else "-",
        text.size(sum(touched_bytes(nodes[index]) for index in indices)),
        str(sum(index in critical for index in indices)),
    )
