"""Puts other buffers in the place of a program's: new bind groups, and the nodes that use them."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from cmdgraph.errors import ValidationError
from cmdgraph.objects import Binding, GroupRecord, describe
from cmdgraph.program import Node, Program
from cmdgraph.tracking import record_of

__all__ = ["rebound"]


def rebound(program: Program, buffers: dict[int, Any]) -> list[tuple[int, Node]]:
    """The nodes that change, with their indices, when ``buffers`` (by ``id`` of the old one) replace old ones.

    Bind groups are made anew, each once.

    Raises:
        ValidationError: the implementation refuses a bind group with a new buffer.
    """
    groups = {
        key: _regroup(program.device, record, buffers)
        for key, record in program.groups().items()
        if any(id(b.resource) in buffers for b in record.bindings)
    }
    replaced = [(i, node, node.replaced(groups, buffers)) for i, node in enumerate(program.nodes)]
    return [(i, new) for i, old, new in replaced if new is not old]


def _regroup(device: Any, record: GroupRecord, buffers: dict[int, Any]) -> GroupRecord:
    bindings = tuple(_rebind(b, buffers) for b in record.bindings)
    entries = [
        {
            "binding": b.binding,
            "resource": {"buffer": b.resource, "offset": b.offset, "size": b.size} if b.is_buffer else b.resource,
        }
        for b in bindings
    ]
    try:
        group = device.create_bind_group(label=record.group.label, layout=record.layout.native(), entries=entries)
    except Exception as error:
        raise ValidationError(
            f"rebind: {describe(record.group)} cannot be made with the new buffers: {str(error).strip()}",
            rule="bind_group_creation",
            anchor="#bind-group-creation",
        ) from error
    return record_of(group)


def _rebind(binding: Binding, buffers: dict[int, Any]) -> Binding:
    new = buffers.get(id(binding.resource))
    if new is None:
        return binding
    whole = binding.offset == 0 and binding.size == binding.resource.size
    return evolve(binding, resource=new, size=new.size if whole else binding.size)
