"""All there is to know of a graph, as plain data for JSON: what every picture of it is made from.

Top level: ``format`` and ``version`` of this form, the graph's ``name``, the ``device`` it is on, ``totals``; the
things that nodes refer to by their place in the list: ``modules`` (each WGSL text once), ``pipelines``,
``resources``; ``nodes``; the debug ``groups`` as a tree; ``waves`` and the ``critical_path``. Sizes and offsets are in
bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cmdgraph import hazards
from cmdgraph.backends import backend_of
from cmdgraph.objects import BufferUsage, PipelineRecord
from cmdgraph.program import WHOLE, Access, Dispatch, DispatchIndirect, Node, Program
from cmdgraph.view import names

__all__ = ["FORMAT", "VERSION", "document", "totals", "touched_bytes"]

FORMAT, VERSION = "cmdgraph view", 1


def document(program: Program, name: str | None) -> dict[str, Any]:
    """The data of `program`, under the name of its graph."""
    waits = hazards.dependencies(program.nodes)
    waves = hazards.waves(waits)
    modules, pipelines, resources = _Table(), _Table(), _Table()
    nodes = []
    for index, (node, nearest) in enumerate(zip(program.nodes, hazards.reduced(waits), strict=True)):
        nodes.append(_node(index, node, pipelines, resources) | {"waits": list(nearest)})
    for record in pipelines:
        modules.place(record.module)
    for number, wave in enumerate(waves):
        for index in wave:
            nodes[index]["wave"] = number
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": name or "",
        "device": _device(program.device),
        "totals": totals(program, waves, hazards.critical_path(waits)),
        "modules": [_module(record) for record in modules],
        "pipelines": [_pipeline(record, modules) for record in pipelines],
        "resources": _resources(program, resources),
        "nodes": nodes,
        "groups": names.tree([node.path for node in program.nodes]).to_data(),
        "waves": [list(wave) for wave in waves],
        "critical_path": list(hazards.critical_path(waits)),
    }


def totals(program: Program, waves: list[tuple[int, ...]], critical: tuple[int, ...]) -> dict[str, int]:
    """The counts that a reader wants first."""
    resources = program.resources().values()
    return {
        "nodes": len(program),
        "dispatches": sum(isinstance(node, Dispatch | DispatchIndirect) for node in program.nodes),
        "waves": len(waves),
        "widest_wave": max(map(len, waves), default=0),
        "critical_path": len(critical),
        "resources": len(resources),
        "resource_bytes": sum(getattr(one, "size", 0) for one in resources if hasattr(one, "map_state")),
        "touched_bytes": sum(map(touched_bytes, program.nodes)),
    }


def touched_bytes(node: Node) -> int:
    """The bytes of all ranges that a node may read or write: what it touches at most, each range counted once."""
    return sum(access.end - access.start for access in node.accesses() if access.end < WHOLE)


class _Table:
    """Objects in the order in which they were first seen."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._objects: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        return iter(self._objects)

    def place(self, obj: Any) -> int:
        if id(obj) not in self._places:
            self._places[id(obj)] = len(self._objects)
            self._objects.append(obj)
        return self._places[id(obj)]


def _node(index: int, node: Node, pipelines: _Table, resources: _Table) -> dict[str, Any]:
    shader = names.shader_name(node)
    record: PipelineRecord | None = getattr(node, "pipeline", None)
    return {
        "index": index,
        "name": names.node_name(node),
        "operation": node.operation,
        "path": list(node.path),
        "label": node.label,
        "shader": shader,
        "pipeline": None if record is None else pipelines.place(record),
        "workgroups": list(node.workgroups) if isinstance(node, Dispatch) else None,
        "immediates": [[offset, data.hex()] for offset, data in getattr(node, "immediates", ())],
        "bindings": [_binding(access, record, resources) for access in node.accesses()],
        "bytes": touched_bytes(node),
        "place": names.place_of(node),
    }


def _binding(access: Access, record: PipelineRecord | None, resources: _Table) -> dict[str, Any]:
    reads, writes = access.reads, access.writes
    return {
        "name": access.name,
        "variable": _variables(record).get(access.name, ""),
        "resource": resources.place(access.resource),
        "offset": access.start,
        "size": access.end - access.start if access.end < WHOLE else None,
        "access": "read-write" if reads and writes else "write" if writes else "read",
    }


def _variables(record: PipelineRecord | None) -> dict[str, str]:
    """What the shader calls its bindings: "x: array<f32>", by the names that accesses have."""
    used = () if record is None else record.used or ()
    return {f"@group({d.group}) @binding({d.binding})": f"{d.name}: {d.type}" for d in used}


def _module(record: Any) -> dict[str, Any]:
    code = record.code if isinstance(record.code, str) else f"// SPIR-V, {len(record.code)} bytes"
    return {"label": getattr(record.module, "label", ""), "code": code}


def _pipeline(record: PipelineRecord, modules: _Table) -> dict[str, Any]:
    return {"label": record.pipeline.label, "module": modules.place(record.module), "entry_point": record.entry_point}


def _resources(program: Program, resources: _Table) -> list[dict[str, Any]]:
    read_before, changed = (
        {id(buffer) for buffer in found} for found in (hazards.inputs(program), hazards.outputs(program))
    )
    return [
        {
            "label": names.name_of(resource),
            "kind": "buffer" if hasattr(resource, "map_state") else "texture",
            "size": getattr(resource, "size", 0) if hasattr(resource, "map_state") else None,
            "usage": _usage(resource),
            "input": id(resource) in read_before,
            "output": id(resource) in changed,
        }
        for resource in resources
    ]


def _usage(resource: Any) -> list[str]:
    if not hasattr(resource, "map_state"):
        return []
    flags = {name: bit for name, bit in vars(BufferUsage).items() if name.isupper()}
    return [name for name, bit in flags.items() if int(resource.usage) & bit]


def _device(device: Any) -> dict[str, str]:
    if device is None:
        return {}
    info = device.adapter.info
    return {
        "adapter": str(info["device"]),
        "type": str(info["adapter_type"]),
        "backend": str(info["backend_type"]),
        "implementation": backend_of(device).name,
    }
