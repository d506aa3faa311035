"""Notes what each WebGPU object was made of, at the moment it is made.

The creation methods of the concrete classes are wrapped when an implementation is imported and stay wrapped; a wrapper
adds one record to the object that the original made. The record lives and dies with its object. Objects made before
`import cmdgraph` have none: `record_of` refuses them, because on wgpu-native a wrong guess about what a bind group
binds ends in an abort of the process.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from cmdgraph.errors import UnknownObjectError
from cmdgraph.objects import (
    Binding,
    GroupLayout,
    GroupRecord,
    LayoutEntry,
    ModuleRecord,
    PipelineLayoutRecord,
    PipelineRecord,
    describe,
)

__all__ = ["install", "record_of"]

_ATTRIBUTE = "_cmdgraph_record"
_KINDS = ("buffer", "sampler", "texture", "storage_texture")
_STAGES = {"VERTEX": 1, "FRAGMENT": 2, "COMPUTE": 4}


def record_of(obj: Any) -> Any:
    """The record of a pipeline, bind group, layout or shader module.

    Raises:
        UnknownObjectError: the object was made before the hooks were on.
    """
    try:
        return obj._cmdgraph_record
    except AttributeError:
        raise UnknownObjectError(
            f"{describe(obj)} was made before cmdgraph was imported, so what it binds is not known. "
            "Put `import cmdgraph` before the code that makes pipelines and bind groups"
        ) from None


def install(api: Any) -> None:
    """Wraps the creation methods of one implementation's classes (`api`: its module of concrete classes). For good."""
    device = api.GPUDevice
    device.create_shader_module = _noting(device.create_shader_module, _module)
    device.create_bind_group_layout = _noting(device.create_bind_group_layout, _group_layout, "entries")
    device.create_pipeline_layout = _noting(device.create_pipeline_layout, _pipeline_layout, "bind_group_layouts")
    device.create_bind_group = _noting(device.create_bind_group, _group, "entries")
    device.create_compute_pipeline = _noting(device.create_compute_pipeline, _pipeline)
    device.create_compute_pipeline_async = _noting_later(device.create_compute_pipeline_async, _pipeline)
    base = api.GPUPipelineBase
    base.get_bind_group_layout = _noting_layout(base.get_bind_group_layout)


def _noting(original: Callable[..., Any], note: Callable[..., Any], sequence: str | None = None) -> Callable[..., Any]:
    """`original`, with ``note(result, **arguments)`` as the record of what it makes."""

    @wraps(original)
    def create(self: Any, **arguments: Any) -> Any:
        if sequence is not None and sequence in arguments:
            arguments[sequence] = list(arguments[sequence])  # an iterator can be walked once only
        result = original(self, **arguments)
        setattr(result, _ATTRIBUTE, note(result, **arguments))
        return result

    return create


def _noting_later(original: Callable[..., Any], note: Callable[..., Any]) -> Callable[..., Any]:
    """Like `_noting` for a method that returns a promise: the promise's handler makes the object."""

    @wraps(original)
    def create(self: Any, **arguments: Any) -> Any:
        promise = original(self, **arguments)
        inner = promise._handler

        def handler(value: Any) -> Any:
            result = value if inner is None else inner(value)
            setattr(result, _ATTRIBUTE, note(result, **arguments))
            return result

        promise._handler = handler
        return promise

    return create


def _noting_layout(original: Callable[[Any, int], Any]) -> Callable[[Any, int], Any]:
    @wraps(original)
    def get_bind_group_layout(self: Any, index: int) -> Any:
        layout = original(self, index)
        record = getattr(self, _ATTRIBUTE, None)  # render pipelines have none
        if record is not None:
            setattr(layout, _ATTRIBUTE, record.group_layout(index))
        return layout

    return get_bind_group_layout


def _module(module: Any, *, code: Any, **_: Any) -> ModuleRecord:
    return ModuleRecord(module, code)


def _group_layout(layout: Any, *, entries: list[Any], **_: Any) -> GroupLayout:
    return GroupLayout({int(e["binding"]): _layout_entry(e) for e in entries}, None, layout)


def _layout_entry(entry: Any) -> LayoutEntry:
    binding, visibility = int(entry["binding"]), _stages(entry["visibility"])
    kind = next(k for k in _KINDS if entry.get(k) is not None)
    info = entry[kind]
    if kind == "buffer":
        return LayoutEntry(
            binding,
            str(info.get("type") or "uniform"),
            visibility,
            bool(info.get("has_dynamic_offset", False)),
            int(info.get("min_binding_size") or 0),
        )
    detail: tuple[Any, ...] = tuple(sorted((k, str(v)) for k, v in dict(info).items()))
    if kind == "storage_texture" and info.get("access") == "read-only":
        detail = (*detail, "read-only")
    return LayoutEntry(binding, kind.replace("_", "-"), visibility, detail=detail)


def _stages(visibility: int | str) -> int:
    """wgpu-py takes flags as bits or as text such as "VERTEX | COMPUTE"."""
    if isinstance(visibility, str):
        return sum(_STAGES[word.strip()] for word in visibility.split("|"))
    return int(visibility)


def _pipeline_layout(
    layout: Any, *, bind_group_layouts: list[Any], immediate_size: int = 0, **_: Any
) -> PipelineLayoutRecord:
    del layout
    return PipelineLayoutRecord(tuple(_layout_of(one) for one in bind_group_layouts), immediate_size)


def _layout_of(layout: Any) -> GroupLayout:
    """The record of a bind group layout; one of unknown entries if it was made before the hooks."""
    record = getattr(layout, _ATTRIBUTE, None)
    return GroupLayout(None, None, layout) if record is None else record


def _pipeline(pipeline: Any, *, layout: Any, compute: Any, **_: Any) -> PipelineRecord:
    module = compute["module"]
    return PipelineRecord(
        pipeline,
        getattr(module, _ATTRIBUTE, None) or ModuleRecord(module, b""),
        compute.get("entry_point"),
        None if isinstance(layout, str) else getattr(layout, _ATTRIBUTE, None) or PipelineLayoutRecord(None),
        {str(name): float(value) for name, value in (compute.get("constants") or {}).items()},
    )


def _group(group: Any, *, layout: Any, entries: list[Any], **_: Any) -> GroupRecord:
    return GroupRecord(group, _layout_of(layout), tuple(_binding(entry) for entry in entries))


def _binding(entry: Any) -> Binding:
    number, resource = int(entry["binding"]), entry["resource"]
    if hasattr(resource, "map_state"):
        return Binding(number, resource, 0, resource.size)
    if hasattr(resource, "uid"):
        return Binding(number, resource, is_buffer=False)
    buffer, offset, size = resource["buffer"], resource.get("offset") or 0, resource.get("size")
    return Binding(number, buffer, offset, buffer.size - offset if size is None else size)
