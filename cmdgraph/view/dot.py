"""A graph in the language of Graphviz (https://graphviz.org/doc/info/lang.html): debug groups as clusters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["dot"]

_HEAD = (
    "  graph [rankdir=TB, nodesep=0.25, ranksep=0.35, fontname=Helvetica, fontsize=11, labeljust=l];",
    '  node [shape=box, style="rounded,filled", fillcolor="#f4f4f2", color="#8a8a86"];',
    "  node [fontname=Helvetica, fontsize=10];",
    '  edge [color="#8a8a86", arrowsize=0.6];',
)
_CRITICAL = 'color="#c2410c", penwidth=2'


def dot(data: dict[str, Any]) -> str:
    """The text for `cmdgraph.view.document`'s data. The critical path is drawn bold and in colour."""
    critical = set(data["critical_path"])
    lines = [f"digraph {_quoted(data['name'] or 'graph')} {{", *_HEAD]
    lines += _group(data["groups"], data["nodes"], critical, "  ", [0])
    for node in data["nodes"]:
        for earlier in node["waits"]:
            style = f" [{_CRITICAL}]" if {earlier, node["index"]} <= critical else ""
            lines.append(f"  n{earlier} -> n{node['index']}{style};")
    return "\n".join([*lines, "}"]) + "\n"


def _group(
    group: dict[str, Any], nodes: list[dict[str, Any]], critical: set[int], indent: str, count: list[int]
) -> Iterator[str]:
    for child in group["children"]:
        if isinstance(child, int):
            yield indent + _node(nodes[child], child in critical)
            continue
        count[0] += 1
        yield f"{indent}subgraph cluster_{count[0]} {{"
        yield f'{indent}  label={_quoted(child["name"])}; color="#c9c9c4"; style=rounded;'
        yield from _group(child, nodes, critical, indent + "  ", count)
        yield indent + "}"


def _node(node: dict[str, Any], critical: bool) -> str:
    size = " x ".join(map(str, node["workgroups"])) if node["workgroups"] else ""
    what = node["shader"] if node["shader"] != node["name"] else ""
    label = "\n".join(filter(None, (f"{node['index']}  {node['name']}", what or _plain(node), size)))
    bindings = "\n".join(f"{b['name']} {b['access']}" for b in node["bindings"])
    style = f", {_CRITICAL}" if critical else ""
    return f"n{node['index']} [label={_quoted(label)}, tooltip={_quoted(bindings or node['operation'])}{style}];"


def _plain(node: dict[str, Any]) -> str:
    return "" if node["pipeline"] is not None or node["operation"] == node["name"] else node["operation"]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "")
    return f'"{escaped}"'
