"""What the parts of a graph are called, and the debug groups as a tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import define, field

from cmdgraph.objects import describe
from cmdgraph.program import Dispatch, DispatchIndirect, Node

__all__ = ["Group", "name_of", "node_name", "place_of", "shader_name", "tree"]


@define
class Group:
    """A debug group: consecutive nodes under one name. ``children`` are groups and the indices of nodes, in order."""

    name: str
    children: list[Group | int] = field(factory=list)

    def to_data(self) -> dict[str, Any]:
        children = [child if isinstance(child, int) else child.to_data() for child in self.children]
        return {"name": self.name, "children": children}


def tree(paths: Sequence[tuple[str, ...]]) -> Group:
    """The nodes of a graph, given by their group paths, as a tree below an unnamed root.

    What follows one another in groups of the same names is one group, also across encoders and passes: a program that
    uses an encoder for each operation has to open its groups anew in each.
    """
    root = Group("")
    branch = [root]
    for index, path in enumerate(paths):
        names = [group.name for group in branch[1:]]
        shared = 0
        while shared < min(len(names), len(path)) and names[shared] == path[shared]:
            shared += 1
        del branch[shared + 1 :]
        for name in path[shared:]:
            group = Group(name)
            branch[-1].children.append(group)
            branch.append(group)
        branch[-1].children.append(index)
    return root


def name_of(obj: Any) -> str:
    """The label of a GPU object, or its kind and number."""
    return getattr(obj, "label", "") or describe(obj)


def shader_name(node: Node) -> str:
    """The pipeline that a dispatch runs: its label, its module's, or its entry point; empty for other nodes."""
    if not isinstance(node, Dispatch | DispatchIndirect):
        return ""
    record = node.pipeline
    return record.pipeline.label or getattr(record.module.module, "label", "") or record.entry_point or "main"


def node_name(node: Node) -> str:
    """How a node is called: its debug marker, the label of its first bind group, its shader, or its operation."""
    bound = getattr(node, "groups", ())
    labels = [g.record.group.label for g in bound if g is not None]
    return node.label or next(filter(None, labels), "") or shader_name(node) or node.operation


def place_of(node: Node) -> str:
    """The file, without its folders, and the line of the call in the user's code."""
    name = node.place.file.replace("\\", "/").rpartition("/")[2]
    return f"{name}:{node.place.line}"
