"""What a device must have to run a program: features, and limits where WebGPU's default is not enough.

Source: https://www.w3.org/TR/webgpu/#limits. What a shader needs of workgroups is asked for where it follows from its
text (`cmdgraph.workgroups`); otherwise the implementation refuses the pipeline where it is too much.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from cmdgraph import wgsl
from cmdgraph.backends import backend_of
from cmdgraph.errors import GraphFormatError
from cmdgraph.objects import BufferUsage, GroupLayout, GroupRecord, PipelineRecord
from cmdgraph.program import Dispatch, Program
from cmdgraph.workgroups import workgroup

__all__ = ["missing", "requirements"]

_DEFAULTS = {
    "maxBindGroups": 4,
    "maxBindingsPerBindGroup": 1000,
    "maxBufferSize": 268435456,
    "maxComputeInvocationsPerWorkgroup": 256,
    "maxComputeWorkgroupSizeX": 256,
    "maxComputeWorkgroupSizeY": 256,
    "maxComputeWorkgroupSizeZ": 64,
    "maxComputeWorkgroupStorageSize": 16384,
    "maxComputeWorkgroupsPerDimension": 65535,
    "maxDynamicStorageBuffersPerPipelineLayout": 4,
    "maxDynamicUniformBuffersPerPipelineLayout": 8,
    "maxImmediateSize": 0,
    "maxStorageBufferBindingSize": 134217728,
    "maxStorageBuffersPerShaderStage": 8,
    "maxUniformBufferBindingSize": 65536,
    "maxUniformBuffersPerShaderStage": 12,
    "minStorageBufferOffsetAlignment": 256,
    "minUniformBufferOffsetAlignment": 256,
}
"""The limits that compute work can meet, by the names of WebGPU, with their defaults."""
_WORDS = {"f64": "shader-f64", "i64": "shader-int64", "u64": "shader-int64"}
_PRIMARY = BufferUsage.MAP_READ | BufferUsage.MAP_WRITE


def requirements(program: Program, pipelines: list[PipelineRecord]) -> tuple[tuple[str, ...], dict[str, int]]:
    """The features and the limits that `program` needs, by the names of WebGPU."""
    backend, device = backend_of(program.device), program.device
    needs = Counter[str]()
    for name, need in _needs(program, pipelines):
        needs[name] = min(needs.get(name, need), need) if name.startswith("min") else max(needs[name], need)
    limits = {name: need for name, need in sorted(needs.items()) if _exceeds(name, need, _DEFAULTS[name])}
    enabled = {backend.standard_feature(feature) for feature in device.features}
    return tuple(sorted(set(_features(program, pipelines)) & enabled)), limits


def missing(features: tuple[str, ...], limits: Mapping[str, int], device: Any, file: str) -> None:
    """Raises GraphFormatError if `device` has not all that is required."""
    backend = backend_of(device)
    enabled = {backend.standard_feature(feature) for feature in device.features}
    for at, feature in enumerate(features):
        if feature not in enabled:
            raise GraphFormatError.at(
                file,
                f"/requires/features/{at}",
                f"the graph needs the feature {feature[:60]!r}, which this device was not made with; request it "
                "(required_features), or use an adapter that has it",
            )
    if limits.get("maxImmediateSize") and backend.immediates_feature not in (None, *device.features):
        raise GraphFormatError.at(
            file,
            "/requires/limits/maxImmediateSize",
            f"the graph needs immediates; request the feature {backend.immediates_feature!r} (required_features)",
        )
    for name, need in limits.items():
        if name not in _DEFAULTS:
            raise GraphFormatError.at(file, "/requires/limits", f"{name[:60]!r} is no limit of WebGPU's compute work")
        has = _limit(device, name)
        if has is None or _exceeds(name, need, has):
            raise GraphFormatError.at(
                file,
                f"/requires/limits/{name}",
                f"the graph needs {need}, this device has {has}; request it (required_limits: {_kebab(name)}), or use "
                "an adapter that has it",
            )


def _needs(program: Program, pipelines: list[PipelineRecord]) -> Iterator[tuple[str, int]]:
    yield from (("maxBufferSize", buffer.size) for buffer in program.buffers())
    for pipeline in pipelines:
        layouts = pipeline.group_layouts or ()
        yield "maxBindGroups", len(layouts)
        yield "maxImmediateSize", pipeline.immediate_size or 0
        yield from _counts([layout for layout in layouts if layout is not None])
        yield from _of_shader(pipeline)
    for record in program.groups().values():
        yield from _of_group(record)
    for node in program:
        if isinstance(node, Dispatch):
            yield "maxComputeWorkgroupsPerDimension", max(node.workgroups)
        for index, bound in enumerate(getattr(node, "groups", ())):
            if bound is not None:
                yield "maxBindGroups", index + 1
                for entry, offset in zip(bound.record.layout.dynamic, bound.offsets, strict=False):
                    yield _alignment(entry.kind), _power(offset)


def _of_shader(pipeline: PipelineRecord) -> Iterator[tuple[str, int]]:
    if isinstance(pipeline.module.code, str):
        found = workgroup(pipeline.module.code, pipeline.entry_point, pipeline.constants)
        if found.size is not None:
            yield from ((f"maxComputeWorkgroupSize{axis}", size) for axis, size in zip("XYZ", found.size, strict=True))
            yield "maxComputeInvocationsPerWorkgroup", math.prod(found.size)
        yield "maxComputeWorkgroupStorageSize", found.memory or 0


def _of_group(record: GroupRecord) -> Iterator[tuple[str, int]]:
    yield "maxBindingsPerBindGroup", 1 + max((b.binding for b in record.bindings), default=-1)
    for binding in record.bindings:
        entry = (record.layout.entries or {}).get(binding.binding)
        if entry is not None:
            uniform = entry.kind == "uniform"
            yield "maxUniformBufferBindingSize" if uniform else "maxStorageBufferBindingSize", binding.size
            yield _alignment(entry.kind), _power(binding.offset)


def _counts(layouts: list[GroupLayout]) -> Iterator[tuple[str, int]]:
    """Bindings of a whole pipeline, by kind."""
    entries = [entry for layout in layouts for entry in (layout.entries or {}).values()]
    for word, kinds in (("Storage", ("storage", "read-only-storage")), ("Uniform", ("uniform",))):
        found = [entry for entry in entries if entry.kind in kinds]
        yield f"max{word}BuffersPerShaderStage", len(found)
        yield f"maxDynamic{word}BuffersPerPipelineLayout", sum(entry.dynamic for entry in found)


def _features(program: Program, pipelines: list[PipelineRecord]) -> Iterator[str]:
    for code in {pipeline.module.code for pipeline in pipelines}:
        if isinstance(code, str):
            words = set(wgsl.tokens(code))
            yield from (feature for word, feature in _WORDS.items() if word in words)
            yield from ["shader-f16"] if any(wgsl.HALF.match(word) for word in words) else []
            yield from ["subgroups"] if any(wgsl.SUBGROUP.match(word) for word in words) else []
    for buffer in program.buffers():
        if buffer.usage & _PRIMARY and buffer.usage & ~(_PRIMARY | BufferUsage.COPY_SRC | BufferUsage.COPY_DST):
            yield "mappable-primary-buffers"


def _alignment(kind: str) -> str:
    return f"min{'Uniform' if kind == 'uniform' else 'Storage'}BufferOffsetAlignment"


def _power(offset: int) -> int:
    """The largest power of two, up to the default alignment, that divides an offset."""
    return min(256, offset & -offset) if offset else 256


def _exceeds(name: str, need: int, has: int) -> bool:
    return need < has if name.startswith("min") else need > has


def _limit(device: Any, name: str) -> int | None:
    return device.limits.get(_kebab(name))


def _kebab(name: str) -> str:
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in name)
