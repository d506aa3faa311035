"""A profiled replay as a Chrome trace, which chrome://tracing and https://ui.perfetto.dev open.

The form is that of the Trace Event Format: complete events ("X"), times in microseconds. Nodes and their debug groups
lie on one track, groups around their nodes, at the times that the GPU's clock gave.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cmdgraph.program import Dispatch, Node
from cmdgraph.view import names

__all__ = ["trace"]

_PROCESS, _TRACK = 1, 1


def trace(name: str, device: str, nodes: Sequence[Node], times_ns: np.ndarray, facts: dict[str, Any]) -> dict[str, Any]:
    """The trace as data for JSON. ``times_ns`` are the beginnings and ends of the nodes, of shape (nodes, 2)."""
    events = [
        {"ph": "M", "pid": _PROCESS, "name": "process_name", "args": {"name": f"PROFILED {name}"}},
        {"ph": "M", "pid": _PROCESS, "tid": _TRACK, "name": "thread_name", "args": {"name": device}},
    ]
    _add_groups(events, names.tree([node.path for node in nodes]), times_ns)
    for index, node in enumerate(nodes):
        begin, end = times_ns[index]
        events.append(_event(names.node_name(node), node.operation, begin, end) | {"args": _arguments(index, node)})
    kept = {key: value for key, value in facts.items() if key not in ("ns", "flags", "critical_path")}
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {**kept, "graph": name}}


def _add_groups(events: list[dict[str, Any]], group: names.Group, times_ns: np.ndarray) -> tuple[float, float]:
    """Adds the groups within `group`, outer ones first, and gives its own beginning and end."""
    place, begin, end = len(events), float("inf"), 0.0
    for child in group.children:
        inner = times_ns[child] if isinstance(child, int) else _add_groups(events, child, times_ns)
        begin, end = min(begin, float(inner[0])), max(end, float(inner[1]))
    if group.name:
        events.insert(place, _event(group.name, "group", begin, end))
    return begin, end


def _event(name: str, category: str, begin: float, end: float) -> dict[str, Any]:
    return {
        "ph": "X",
        "pid": _PROCESS,
        "tid": _TRACK,
        "name": name,
        "cat": f"profiled,{category}",
        "ts": round(float(begin) / 1e3, 4),
        "dur": round(max(0.0, float(end - begin)) / 1e3, 4),
    }


def _arguments(index: int, node: Node) -> dict[str, Any]:
    found: dict[str, Any] = {"node": index, "group": " / ".join(node.path), "shader": names.shader_name(node)}
    if isinstance(node, Dispatch):
        found["workgroups"] = list(node.workgroups)
    return found
