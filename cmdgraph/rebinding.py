"""Puts other buffers in the place of a program's: new bind groups, and the nodes that use them."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from cmdgraph.errors import ValidationError
from cmdgraph.liveness import destroyed_error, is_destroyed
from cmdgraph.objects import Binding, GroupRecord, describe
from cmdgraph.program import Node, Program
from cmdgraph.tracking import record_of

__all__ = ["rebound"]


def rebound(program: Program, buffers: dict[int, Any]) -> list[tuple[int, Node]]:
    """The nodes that change, with their indices, when ``buffers`` (by ``id`` of the old one) replace old ones.

    Bind groups are made anew, each once.

    Raises:
        ValidationError: the implementation refuses a bind group with a new buffer.
        DestroyedError: a bind group to be made again holds a destroyed buffer.
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
    for binding in bindings:
        if is_destroyed(binding.resource):  # another one than those that are replaced
            raise destroyed_error(binding.resource, "rebind() would bind it again")
        if binding.is_buffer and binding.size == 0:  # wgpu-native kills the process that asks for one
            raise _refused(
                record, f"binding {binding.binding} would be empty: {describe(binding.resource)} has no bytes"
            )
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
        raise _refused(record, str(error).strip()) from error
    return record_of(group)


def _refused(record: GroupRecord, why: str) -> ValidationError:
    return ValidationError(
        f"rebind: {describe(record.group)} cannot be made with the new buffers: {why}",
        rule="bind_group_creation",
        anchor="#bind-group-creation",
    )


def _rebind(binding: Binding, buffers: dict[int, Any]) -> Binding:
    new = buffers.get(id(binding.resource))
    if new is None:
        return binding
    whole = binding.offset == 0 and binding.size == binding.resource.size
    return evolve(binding, resource=new, size=new.size if whole else binding.size)
