"""Objects know what they were made of, whenever and however they were made; those from before are refused."""

from __future__ import annotations

from typing import Any

import pytest

import cmdgraph
from cmdgraph.objects import PipelineLayoutRecord
from cmdgraph.tracking import record_of
from tests import subprocesses
from tests.kit import ADD1, INC, STORAGE, UNIFORM, Kit, captured, use


def test_a_bind_group_knows_its_bindings(kit: Kit) -> None:
    x, y = kit.buffer(size=512), kit.buffer(size=512)
    group = kit.group(kit.kernel(ADD1), x, {"buffer": y, "offset": 256})
    bindings = record_of(group).bindings

    assert [(b.binding, b.resource, b.offset, b.size) for b in bindings] == [(0, x, 0, 512), (1, y, 256, 256)]
    assert [writes for _, writes in record_of(group).accesses] == [False, True]


def test_the_buffer_itself_as_resource(kit: Kit) -> None:
    """wgpu-py takes a buffer in place of {"buffer": ...}."""
    x = kit.buffer()
    layout = kit.kernel(INC).get_bind_group_layout(0)
    group = kit.device.create_bind_group(layout=layout, entries=[{"binding": 0, "resource": x}])

    assert [(b.resource, b.size) for b in record_of(group).bindings] == [(x, 16)]


def test_entries_may_be_iterators(kit: Kit, way: tuple[str, str]) -> None:
    x = kit.buffer([0] * 4)
    entries = ({"binding": i, "visibility": "COMPUTE", "buffer": {"type": "storage"}} for i in range(1))
    layout = kit.device.create_bind_group_layout(entries=list(entries))
    pipeline = kit.device.create_compute_pipeline(
        layout=kit.device.create_pipeline_layout(bind_group_layouts=[layout]),
        compute={"module": kit.device.create_shader_module(code=INC), "entry_point": "main"},
    )
    group = kit.device.create_bind_group(layout=layout, entries=[{"binding": 0, "resource": {"buffer": x}}])

    use(captured(kit.device, lambda: kit.run(pipeline, group)), way).replay()
    assert kit.read(x) == [1] * 4


def test_an_explicit_layout_is_known_with_all_its_settings(kit: Kit) -> None:
    layout = kit.device.create_bind_group_layout(
        entries=[
            {
                "binding": 3,
                "visibility": 4,
                "buffer": {"type": "uniform", "has_dynamic_offset": True, "min_binding_size": 16},
            },
            {"binding": 1, "visibility": "COMPUTE", "buffer": {"type": "read-only-storage"}},
            {"binding": 0, "visibility": 4, "buffer": {}},
        ]
    )
    entries = record_of(layout).entries

    assert {b: (e.kind, e.dynamic, e.min_size, e.visibility) for b, e in entries.items()} == {
        3: ("uniform", True, 16, 4),
        1: ("read-only-storage", False, 0, 4),
        0: ("uniform", False, 0, 4),
    }
    assert [e.binding for e in record_of(layout).dynamic] == [3]


def test_an_automatic_layout_belongs_to_its_pipeline(kit: Kit) -> None:
    one, two = (Kit(kit.device).kernel(INC) for _ in range(2))
    first, again, second = one.get_bind_group_layout(0), one.get_bind_group_layout(0), two.get_bind_group_layout(0)

    assert record_of(first).equivalent(record_of(again))
    assert not record_of(first).equivalent(record_of(second))


def test_a_pipeline_made_asynchronously_is_known(kit: Kit, way: tuple[str, str]) -> None:
    module = kit.device.create_shader_module(code=INC)
    promise = kit.device.create_compute_pipeline_async(layout="auto", compute={"module": module, "entry_point": "main"})
    pipeline = promise.sync_wait()
    c = kit.buffer([0] * 4)
    group = kit.group(pipeline, c)

    use(captured(kit.device, lambda: kit.run(pipeline, group)), way).replay()
    assert kit.read(c) == [1] * 4


def test_the_entry_point_may_be_left_out(kit: Kit, way: tuple[str, str]) -> None:
    module = kit.device.create_shader_module(code=INC)
    pipeline = kit.device.create_compute_pipeline(layout="auto", compute={"module": module})
    c = kit.buffer([0] * 4)
    group = kit.group(pipeline, c)

    use(captured(kit.device, lambda: kit.run(pipeline, group)), way).replay()
    assert kit.read(c) == [1] * 4


GLSL = (
    "#version 450\nlayout(local_size_x = 1) in;\nlayout(std430, set = 0, binding = 0) buffer B { float b[]; };\n"
    "void main() { b[gl_GlobalInvocationID.x] += 1.0; }"
)


def _glsl(kit: Kit) -> Any:
    module = kit.device.create_shader_module(label="compute", code=GLSL)
    return kit.device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})


def test_glsl_can_be_captured_though_its_bindings_are_not_known(native: Kit, way: tuple[str, str]) -> None:
    pipeline, c = _glsl(native), native.buffer([0] * 4)
    group = native.group(pipeline, c)

    graph = use(captured(native.device, lambda: native.run(pipeline, group)), way)
    graph.replay(times=2)
    assert native.read(c) == [2] * 4
    c.destroy()
    with pytest.raises(cmdgraph.DestroyedError):
        graph.replay()


def test_a_missing_bind_group_of_an_unknown_shader_is_refused_by_the_implementation(native: Kit) -> None:
    """Also when the pass that a replay merges it with has one."""
    pipeline = _glsl(native)
    group = native.group(pipeline, native.buffer([0] * 4))

    with pytest.raises(cmdgraph.ImplementationError, match="node 1 "):
        captured(native.device, lambda: (native.run(pipeline, group), native.run(pipeline)))


def test_a_uniform_and_a_storage_binding_are_told_apart(kit: Kit) -> None:
    code = (
        "@group(0) @binding(0) var<uniform> u: vec4f; @group(0) @binding(1) var<storage, read_write> o: array<vec4f>;"
        "@compute @workgroup_size(1) fn main() { o[0] = u; }"
    )
    group = kit.group(kit.kernel(code), kit.buffer(usage=UNIFORM), kit.buffer(usage=STORAGE))
    entries = record_of(group).layout.entries

    assert {b: e.kind for b, e in entries.items()} == {0: "uniform", 1: "storage"}


BEFORE = """
    import importlib, sys
    package, early, late = sys.argv[1:4]
    gpu = importlib.import_module(package).gpu
    device = gpu.request_adapter_sync(power_preference="high-performance").request_device_sync()
    code = "@group(0) @binding(0) var<storage, read_write> b: array<f32>;"
    code += "@compute @workgroup_size(1) fn main() { b[0] = 1; }"
    def pipeline():
        module = device.create_shader_module(code=code)
        return device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})
    def group(pipeline):
        buffer = device.create_buffer(size=16, usage=0x8C, label="b")
        entries = [{"binding": 0, "resource": {"buffer": buffer}}]
        return device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries, label="old")
    made_early = pipeline()
    group_early = group(made_early)
    import cmdgraph
    p = made_early if early == "pipeline" else pipeline()
    g = group_early if late == "group" else group(p)
    try:
        with cmdgraph.capture(device):
            encoder = device.create_command_encoder()
            compute = encoder.begin_compute_pass()
            compute.set_pipeline(p)
            compute.set_bind_group(0, g)
            compute.dispatch_workgroups(1)
            compute.end()
            device.queue.submit([encoder.finish()])
    except cmdgraph.UnknownObjectError as error:
        print("refused:", error)
"""


@pytest.mark.parametrize(("early", "late"), [("pipeline", "new"), ("new", "group"), ("pipeline", "group")])
def test_objects_made_before_the_import_are_refused(package: str, early: str, late: str) -> None:
    told = subprocesses.run(BEFORE, package, early, late)

    assert told.startswith("refused: ")
    assert "was made before cmdgraph was imported" in told
    assert ("pipeline" if early == "pipeline" else 'bind group "old"') in told


CMDGRAPH, WGPU, DAWN = "import cmdgraph; ", "import wgpu; gpu = wgpu.gpu; ", "import wgpudawn; gpu = wgpudawn.gpu; "
INSTALL = "import wgpudawn; wgpudawn.install_as_wgpu(); "
ORDERS = {
    "wgpu first": "import wgpu.backends.wgpu_native; " + WGPU + CMDGRAPH,
    "cmdgraph first": CMDGRAPH + WGPU,
    "wgpudawn first": DAWN + CMDGRAPH,
    "wgpudawn last": CMDGRAPH + WGPU + "gpu.request_adapter_sync(); " + DAWN,
    "installed as wgpu": CMDGRAPH + INSTALL + WGPU,
    "installed as wgpu before": INSTALL + WGPU + CMDGRAPH,
}

MODEL = """
    exec(__import__("sys").argv[1])
    device = gpu.request_adapter_sync().request_device_sync()
    code = "@group(0) @binding(0) var<storage, read_write> b: array<u32>;"
    code += "@compute @workgroup_size(1) fn main() { b[0] += 1; }"
    module = device.create_shader_module(code=code)
    pipeline = device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})
    buffer = device.create_buffer(size=16, usage=0x8C)
    entries = [{"binding": 0, "resource": {"buffer": buffer}}]
    group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
    with cmdgraph.capture() as graph:
        encoder = device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups(1)
        compute.end()
        device.queue.submit([encoder.finish()])
    graph.replay(times=3)
    print(type(device).__module__.partition(".")[0], len(graph), device.queue.read_buffer(buffer)[0])
"""


@pytest.mark.parametrize("order", ORDERS)
def test_imports_come_in_any_order(order: str, request: pytest.FixtureRequest) -> None:
    if "dawn" in ORDERS[order]:
        request.getfixturevalue("dawn_device")
    told: Any = subprocesses.run(MODEL, ORDERS[order]).split()

    assert told == ["wgpudawn" if "wgpudawn" in ORDERS[order] else "wgpu", "1", "3"]


def test_importing_cmdgraph_loads_no_implementation() -> None:
    told = subprocesses.run("import sys, cmdgraph; print([m for m in sys.modules if m.startswith('wgpu')])")

    assert told.strip() == "[]"


def test_a_layout_of_textures_is_known_with_its_settings(kit: Kit) -> None:
    entries = [
        {"binding": 0, "visibility": "COMPUTE | FRAGMENT", "texture": {"sample_type": "float"}},
        {"binding": 1, "visibility": 4, "sampler": {"type": "filtering"}},
        {"binding": 2, "visibility": 4, "storage_texture": {"format": "r32float", "access": "write-only"}},
        {"binding": 3, "visibility": 4, "storage_texture": {"format": "r32float", "access": "read-only"}},
    ]
    found = record_of(kit.device.create_bind_group_layout(entries=entries)).entries

    assert [entry.kind for entry in found.values()] == ["texture", "sampler", "storage-texture", "storage-texture"]
    assert [entry.writes for entry in found.values()] == [False, False, True, False]
    assert found[0].visibility == 6
    assert found[0].detail == (("sample_type", "float"),)


def test_what_is_not_known_of_an_object_is_an_error_that_says_why(kit: Kit) -> None:
    """Here in this process; see the tests with another order of imports for the whole way."""
    pipeline = kit._kernel(INC)
    del pipeline._cmdgraph_record

    with pytest.raises(cmdgraph.UnknownObjectError, match="was made before cmdgraph was imported"):
        record_of(pipeline)
    layout = pipeline.get_bind_group_layout(0)  # as of a render pipeline: nothing is noted
    assert not hasattr(layout, "_cmdgraph_record")


def test_a_pipeline_layout_made_before_the_hooks_needs_nothing_that_is_known() -> None:
    assert PipelineLayoutRecord(None).needed is None
