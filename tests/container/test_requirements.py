"""What a device must have: no more than the graph needs, by the names of WebGPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import cmdgraph
from cmdgraph.backends import backend_of
from tests.container.saved import manifest_of
from tests.kit import IMMEDIATE, INC, MAIN, OUT, Kit, captured, open_device


def required(kit: Kit, path: Path, *calls: Any) -> dict[str, Any]:
    captured(kit.device, lambda: [call() for call in calls]).save(path)
    return manifest_of(path)["requires"]


def test_a_plain_graph_asks_for_nothing(kit: Kit, tmp_path: Path) -> None:
    assert required(kit, tmp_path / "graph.zip", kit.call(INC, kit.buffer([0] * 4))) == {}


def test_what_is_over_a_default_is_asked_for(native: Kit, tmp_path: Path) -> None:
    code = (
        f"override WIDE: u32 = 512; var<workgroup> w: array<vec4f, 1024 + WIDE>; {OUT} @compute @workgroup_size(WIDE) "
        "fn main(@builtin(local_invocation_index) i: u32) { w[i] = vec4f(); workgroupBarrier(); dst[0] = w[0].x; }"
    )
    many = "".join(f"@group(0) @binding({n}) var<storage, read> b{n}: u32;" for n in range(10))
    sum_ = "+".join(f"f32(b{n})" for n in range(10))
    many += f"@group(0) @binding(10) var<storage, read_write> dst: f32; {MAIN} {{ dst = {sum_}; }}"
    wide = native.kernel(code)
    y = native.buffer([0] * 4)
    group = native.device.create_bind_group(
        layout=wide.get_bind_group_layout(0), entries=[{"binding": 1, "resource": {"buffer": y}}]
    )

    found = required(
        native,
        tmp_path / "graph.zip",
        lambda: native.run(wide, group),
        native.call(many, *(native.buffer([0] * 4) for _ in range(11))),
    )

    assert found == {
        "limits": {
            "maxComputeInvocationsPerWorkgroup": 512,
            "maxComputeWorkgroupSizeX": 512,
            "maxComputeWorkgroupStorageSize": 16 * 1536,
            "maxStorageBuffersPerShaderStage": 11,
        }
    }


def test_alignments_and_dynamic_offsets_are_asked_for(tmp_path: Path) -> None:
    limits = {"min-storage-buffer-offset-alignment": 32}
    kit = Kit(open_device("wgpu", limits=limits))
    entry = {"binding": 0, "visibility": 4, "buffer": {"type": "storage", "has_dynamic_offset": True}}
    pipeline = kit.explicit(INC, [entry])
    x = kit.buffer([0] * 64, "x")
    group = kit.group(pipeline, {"buffer": x, "offset": 64, "size": 64})

    def model() -> None:
        encoder = kit.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group, [32])
        compute.dispatch_workgroups(4)
        compute.end()
        kit.submit(encoder.finish())

    path = tmp_path / "graph.zip"
    assert required(kit, path, model) == {"limits": {"minStorageBufferOffsetAlignment": 32}}
    with pytest.raises(cmdgraph.GraphFormatError, match="minStorageBufferOffsetAlignment: the graph needs 32.*has 256"):
        cmdgraph.load(path, open_device("wgpu", limits={"min-storage-buffer-offset-alignment": 256}))


def test_immediates_are_a_limit_and_standard_wgsl(tmp_path: Path) -> None:
    kit = Kit(open_device("wgpu", ["immediates"]))
    pipeline = kit.explicit(
        IMMEDIATE, [{"binding": 1, "visibility": 4, "buffer": {"type": "storage"}}], immediate_size=8
    )
    group = kit.device.create_bind_group(
        layout=pipeline.get_bind_group_layout(0),
        entries=[{"binding": 1, "resource": {"buffer": kit.buffer([0] * 4)}}],
    )

    def model() -> None:
        encoder = kit.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.set_immediates(0, bytes(8), 0, 8)
        compute.dispatch_workgroups(4)
        compute.end()
        kit.submit(encoder.finish())

    path = tmp_path / "graph.zip"
    assert required(kit, path, model) == {"limits": {"maxImmediateSize": 8}}
    assert manifest_of(path)["modules"][0]["code"].startswith("requires immediate_address_space;\n")
    with pytest.raises(cmdgraph.GraphFormatError, match="maxImmediateSize: the graph needs immediates.*'immediates'"):
        cmdgraph.load(path, open_device("wgpu"))


def test_dialects_of_wgsl(device: Any, dawn_device: Any) -> None:
    native, dawn = backend_of(device), backend_of(dawn_device)
    code = "@compute @workgroup_size(32) fn main() { let a = subgroupAdd(1u); }"
    standard = "enable subgroups;\n" + code

    assert native.standard_wgsl(code) == standard
    assert native.own_wgsl(standard) == code
    assert native.own_wgsl("enable f16, subgroups;\n" + code) == "enable f16;\n" + code
    assert native.own_wgsl("// enable subgroups;\nenable f16;\n") == "// enable subgroups;\nenable f16;\n"
    assert dawn.standard_wgsl(standard) == dawn.own_wgsl(standard) == standard
    assert native.standard_wgsl("fn main() { /* subgroupAdd */ }") == "fn main() { /* subgroupAdd */ }"
    assert native.standard_feature("subgroup") == dawn.standard_feature("subgroups") == "subgroups"


def test_subgroups_go_from_one_implementation_to_the_other(tmp_path: Path) -> None:
    code = f"{OUT} @compute @workgroup_size(32) fn main() {{ let s = subgroupAdd(1u); dst[0] = f32(s * 0u + 3u); }}"
    try:
        kit, other = Kit(open_device("wgpu", ["subgroup"])), Kit(open_device("wgpudawn", ["subgroups"]))
    except Exception as error:  # the implementations' own classes
        pytest.skip(f"no subgroups here: {error}")
    y = kit.buffer([0] * 4, "y")
    pipeline = kit.kernel(code)
    group = kit.device.create_bind_group(
        layout=pipeline.get_bind_group_layout(0), entries=[{"binding": 1, "resource": {"buffer": y}}]
    )

    assert required(kit, tmp_path / "graph.zip", lambda: kit.run(pipeline, group, count=1)) == {
        "features": ["subgroups"]
    }
    again = cmdgraph.load(tmp_path / "graph.zip", other.device)
    again.replay()
    assert other.read(again.outputs[0])[0] == 3
    with pytest.raises(cmdgraph.GraphFormatError, match=r"/requires/features/0.*'subgroups'"):
        cmdgraph.load(tmp_path / "graph.zip", open_device("wgpu"))
