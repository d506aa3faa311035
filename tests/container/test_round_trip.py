"""A loaded graph is the saved one: its nodes, its objects, what its buffers hold, and what a replay makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cmdgraph
from cmdgraph.container import download, upload
from cmdgraph.objects import BufferUsage as U
from tests.container.saved import manifest_of, validate
from tests.kit import ADD1, INC, MAIN, OUT, READBACK, STORAGE, UNIFORM, UPLOAD, Kit, captured, open_device
from tests.programs import KERNELS, Machine, Program, programs
from tests.subprocesses import run


def loaded(graph: cmdgraph.CommandGraph, path: Path, device: Any) -> cmdgraph.CommandGraph:
    graph.save(path)
    validate(path)
    return cmdgraph.load(path, device)


def named(graph: cmdgraph.CommandGraph, label: str) -> Any:
    """The buffer of a graph with this label."""
    (found,) = {id(b): b for b in (*graph.inputs, *graph.outputs) if b.label == label}.values()
    return found


# -- random programs ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def machines(dawn_device: Any) -> dict[str, Machine]:
    """On wgpu-native with immediates, which Dawn has without asking; kernels with them run on both."""
    devices = {"wgpu": open_device("wgpu", ["immediates"]), "wgpudawn": dawn_device}
    return {package: Machine(Kit(device)) for package, device in devices.items()}


@pytest.mark.parametrize(("home", "away"), [("wgpu", "wgpudawn"), ("wgpudawn", "wgpu")])
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_loaded_graph_replays_as_eager_calls_would(
    home: str, away: str, machines: dict[str, Machine], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    machine = machines[home]
    program: Program = data.draw(programs(tuple(KERNELS)))
    path = tmp_path_factory.mktemp("saved") / data.draw(st.sampled_from(["graph.zip", "graph"]))
    replays = data.draw(st.integers(0, 2))
    machine.prepare(program)
    machine.reset()
    with cmdgraph.capture(machine.kit.device) as graph:
        machine.run(program)
    for _ in range(replays):
        graph.replay()

    graph.save(path)

    validate(path)
    machine.run(program)
    expected = machine.contents()
    for kit in (machine.kit, machines[away].kit):
        again = cmdgraph.load(path, kit.device)
        again.replay()
        for buffer in {id(b): b for b in (*again.inputs, *again.outputs)}.values():
            if buffer.label in expected:
                assert bytes(kit.queue.read_buffer(buffer)) == expected[buffer.label], buffer.label
        again.release()
    graph.release()


# -- each kind of thing ---------------------------------------------------------------------------------------------


def test_nodes_objects_and_names_are_the_same(kit: Kit, tmp_path: Path) -> None:
    x, y = kit.buffer([1, 2, 3, 4], "x"), kit.buffer([0] * 4, "y")
    pipeline = kit.kernel(ADD1)
    group = kit.group(pipeline, x, y, label="bound")

    def model() -> None:
        kit.write(x, [5, 6, 7, 8])
        encoder = kit.device.create_command_encoder()
        encoder.push_debug_group("layer 0")
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.insert_debug_marker("add")
        compute.dispatch_workgroups(4, 1, 1)
        compute.end()
        encoder.pop_debug_group()
        encoder.clear_buffer(x, 4, 8)
        encoder.copy_buffer_to_buffer(y, 0, x, 0, 4)
        kit.submit(encoder.finish())

    graph = captured(kit.device, model, name="named")
    again = loaded(graph, tmp_path / "graph.zip", kit.device)

    assert again.name == "named"
    assert [type(node) for node in again.nodes] == [type(node) for node in graph.nodes]
    assert again.nodes[1].path == ("layer 0",)
    assert again.nodes[1].label == "add"
    assert again.nodes[1].place.file == "test_round_trip.py"
    assert again.nodes[1].place.line == graph.nodes[1].place.line
    assert [b.label for b in again.inputs] == [b.label for b in graph.inputs]
    assert [b.label for b in again.outputs] == [b.label for b in graph.outputs]
    assert [(b.size, b.usage) for b in again.outputs] == [(b.size, b.usage) for b in graph.outputs]
    assert again.nodes[1].groups[0].record.group.label == "bound"  # type: ignore[attr-defined]


def test_override_constants_and_several_entry_points(kit: Kit, tmp_path: Path) -> None:
    code = f"""
    override scale: f32 = 1.0; @id(7) override shift: f32;
    {OUT}
    @compute @workgroup_size(1) fn first(@builtin(global_invocation_id) id: vec3u) {{ dst[id.x] += scale; }}
    @compute @workgroup_size(1) fn second(@builtin(global_invocation_id) id: vec3u) {{ dst[id.x] *= shift; }}
    """
    module = kit.device.create_shader_module(code=code, label="two")
    y = kit.buffer([1, 2, 3, 4], "y")

    def pipeline(name: str) -> Any:
        compute = {"module": module, "entry_point": name, "constants": {"scale": 3, "7": 0.5}}
        return kit.device.create_compute_pipeline(layout="auto", compute=compute)

    pipelines = [pipeline("first"), pipeline("second")]
    groups = [
        kit.device.create_bind_group(
            layout=p.get_bind_group_layout(0), entries=[{"binding": 1, "resource": {"buffer": y}}]
        )
        for p in pipelines
    ]
    graph = captured(kit.device, lambda: [kit.run(p, g) for p, g in zip(pipelines, groups, strict=True)])
    again = loaded(graph, tmp_path / "graph.zip", kit.device)
    manifest = manifest_of(tmp_path / "graph.zip")

    again.replay()

    assert kit.read(named(again, "y")) == [2, 2.5, 3, 3.5]
    assert [m["label"] for m in manifest["modules"]] == ["two"]
    assert [p["entryPoint"] for p in manifest["pipelines"]] == ["first", "second"]


def test_changes_before_saving_are_saved(kit: Kit, tmp_path: Path) -> None:
    x, y, z = kit.buffer([1] * 4, "x"), kit.buffer([0] * 4, "y"), kit.buffer([0] * 4, "z")
    add, inc = kit.call(ADD1, x, y), kit.call(INC, y)
    graph = captured(kit.device, lambda: (kit.write(y, [1] * 4), inc(), add()))
    graph.set_data(0, np.full(4, 7, np.float32))
    graph.set_workgroups(1, 2)
    graph.update(x=np.full(4, 3, np.float32))
    graph.rebind({y: z})
    graph.set_workgroups(2, 0)

    again = loaded(graph, tmp_path / "graph", kit.device)
    again.replay()

    assert kit.read(named(again, "z")) == [8, 8, 7, 7]
    assert {b.label for b in again.outputs} == {"z"}
    again.update(x=np.full(4, 30, np.float32))
    again.set_workgroups(2, 1)
    again.replay()
    assert kit.read(named(again, "z")) == [31, 8, 7, 7]


def test_views_of_one_buffer_stay_views_of_one_buffer(kit: Kit, tmp_path: Path) -> None:
    whole = kit.buffer([1] * 128, "whole")
    pipeline = kit.kernel(ADD1)
    group = kit.group(pipeline, whole, {"buffer": kit.buffer([0] * 4, "other")})
    parts = kit.group(kit.kernel(INC), {"buffer": whole, "offset": 256, "size": 256})
    graph = captured(kit.device, lambda: (kit.run(kit.kernel(INC), parts), kit.run(pipeline, group, count=128)))

    again = loaded(graph, tmp_path / "graph.zip", kit.device)
    again.replay()

    assert len(again.outputs) == 2
    assert kit.read(named(again, "whole")) == [1] * 64 + [2] * 4 + [1] * 60


def test_buffers_of_every_usage_come_back(kit: Kit, tmp_path: Path) -> None:
    """With no usage COPY_SRC, with none COPY_DST, uniform only, mapped for reading and for writing."""
    values = np.arange(1, 71, dtype=np.float32)
    storage = kit.buffer(values, "storage", usage=U.STORAGE)
    uniform = kit.buffer(values, "uniform", usage=UNIFORM)
    made = kit.device.create_buffer(size=16, usage=U.STORAGE, mapped_at_creation=True, label="made")
    made.write_mapped(np.array([1, 2, 3, 4], np.float32))
    made.unmap()
    staging = kit.device.create_buffer(size=16, usage=UPLOAD, mapped_at_creation=True, label="staging")
    staging.write_mapped(np.array([9, 9, 9, 9], np.float32))
    staging.unmap()
    readback = kit.device.create_buffer(size=16, usage=READBACK, label="readback")
    out, out2, out3 = (kit.buffer(np.zeros(70, np.float32), name) for name in ("out", "out2", "out3"))
    by_uniform = f"struct S {{ a: array<vec4f, 17>, b: f32, c: f32 }} @group(0) @binding(0) var<uniform> src: S; {OUT}"
    by_uniform += f"{MAIN} {{ if id.x < 68 {{ dst[id.x] = src.a[id.x / 4][id.x % 4]; }} "
    by_uniform += "else { dst[id.x] = src.b * f32(69 - id.x) + src.c * f32(id.x - 68); } }"

    def model() -> None:
        kit.call(ADD1, storage, out, count=70)()
        kit.call(by_uniform, {"buffer": uniform}, {"buffer": out2}, count=70)()
        kit.call(ADD1, made, out3)()
        kit.copy(staging, out3, 4, to=16)
        kit.copy(out3, readback, 16)

    uniform = kit.buffer(np.append(values, [0, 0]).astype(np.float32), "uniform", usage=UNIFORM)
    model()
    graph = captured(kit.device, model)
    again = loaded(graph, tmp_path / "graph.zip", kit.device)
    again.replay(wait=True)

    assert kit.read(named(again, "out")) == (values + 1).tolist()
    assert kit.read(named(again, "out2")) == values.tolist()
    assert kit.read(named(again, "out3"))[:6] == [2, 3, 4, 5, 9, 0]
    target = named(again, "readback")
    target.map_sync("READ")
    assert np.frombuffer(target.read_mapped(), np.float32).tolist() == [2, 3, 4, 5]
    target.unmap()


def test_large_contents_go_in_parts(kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "STAGING", 4096)
    monkeypatch.setattr(upload, "CHUNK", 1024)
    values = np.arange(5000, dtype=np.float32)
    values[:4000] = 0
    x = kit.buffer(values, "x", usage=U.STORAGE | U.COPY_DST)
    y = kit.buffer(values[::-1].copy(), "y", usage=U.STORAGE | U.COPY_SRC | U.COPY_DST)
    graph = captured(kit.device, kit.call(ADD1, x, y, count=5000))

    again = loaded(graph, tmp_path / "graph.zip", kit.device)

    assert kit.read(named(again, "y")) == values[::-1].tolist()
    again.replay()
    assert kit.read(named(again, "y")) == (values + 1).tolist()


def test_zeros_are_not_stored(kit: Kit, tmp_path: Path) -> None:
    late = np.zeros(100_000, np.float32)
    late[-1] = 1
    zero, last = kit.buffer(np.zeros(100_000, np.float32), "zero"), kit.buffer(late, "last")
    graph = captured(kit.device, kit.call(ADD1, zero, last))

    again = loaded(graph, tmp_path / "graph.zip", kit.device)

    stored = {b["label"]: "contents" in b for b in manifest_of(tmp_path / "graph.zip")["buffers"]}
    assert stored == {"zero": False, "last": True}
    assert kit.read(named(again, "last")) == late.tolist()


def test_buffers_may_share_labels_and_have_odd_ones(kit: Kit, tmp_path: Path) -> None:
    labels = ["same", "same", "", "writes", "__metadata__", "ü" * 5000]
    buffers = [kit.buffer([n] * 4, label) for n, label in enumerate(labels, 1)]
    graph = captured(kit.device, lambda: [kit.write(buffers[0], [1] * 4), *(kit.call(INC, b)() for b in buffers)])

    again = loaded(graph, tmp_path / "graph.zip", kit.device)
    again.replay()

    assert sorted(kit.read(b)[0] for b in again.outputs) == [2, 3, 4, 5, 6, 7]


def test_a_loaded_graph_is_saved_again_just_the_same(kit: Kit, tmp_path: Path) -> None:
    graph = captured(kit.device, kit.call(ADD1, kit.buffer([1] * 4, "x"), kit.buffer([2] * 4, "y")))
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"

    loaded(graph, first, kit.device).save(second)

    assert first.read_bytes() == second.read_bytes()


SWIFTSHADER = "/usr/lib/chromium/vk_swiftshader_icd.json"


@pytest.mark.parametrize("driver", ["", SWIFTSHADER], ids=["same-adapter", "swiftshader"])
def test_the_decode_step_of_a_model_goes_through_a_file_to_another_process(
    package: str, driver: str, tmp_path: Path, device: Any
) -> None:
    """Saved by wgpu-native, run by each implementation in a process that knows nothing of the model."""
    from llm.model import Model
    from tests.llm import tiny

    if not Path(driver).exists():
        pytest.skip(f"no {driver}")
    model = Model(device, tiny.LLAMA, tiny.random_weights(tiny.LLAMA), "fused", kernels="cpu")
    model.start([1, 2, 3])
    graph = captured(device, model.step)
    graph.save(tmp_path / "graph.zip")
    for _ in range(8):
        model.step()
    expected = model.read_tokens(3, 6)

    told = run(
        """
        import importlib, json, os, sys
        import numpy as np
        package, path, driver = sys.argv[1:]
        if driver:
            os.environ["VK_DRIVER_FILES"] = os.environ["VK_ICD_FILENAMES"] = driver
        import cmdgraph
        adapter = importlib.import_module(package).gpu.request_adapter_sync()
        graph = cmdgraph.load(path, device := adapter.request_device_sync())
        graph.replay(times=8, wait=True)
        tokens = next(b for b in graph.outputs if b.label == "tokens")
        print(adapter.info["device"])
        print(json.dumps(np.frombuffer(device.queue.read_buffer(tokens), np.uint32).tolist()[3:9]))
        """,
        package,
        str(tmp_path / "graph.zip"),
        driver,
    )

    *_, adapter, tokens = told.splitlines()
    assert json.loads(tokens) == expected
    assert ("SwiftShader" in adapter) == bool(driver)


# -- what cannot be saved -------------------------------------------------------------------------------------------


def test_what_a_file_cannot_hold_is_refused_by_name(kit: Kit, tmp_path: Path) -> None:
    textured = "@group(0) @binding(0) var t: texture_2d<f32>; " + OUT
    pipeline = kit.kernel(f"{textured} {MAIN} {{ dst[id.x] = textureLoad(t, vec2u(0), 0).x; }}")
    group = kit.group(pipeline, kit.texture("picture").create_view(), kit.buffer([0] * 4))
    graph = captured(kit.device, lambda: kit.run(pipeline, group))

    with pytest.raises(cmdgraph.SaveError, match="node 0 dispatch_workgroups cannot be saved.*binds.*buffers only"):
        graph.save(tmp_path / "graph.zip")
    assert list(tmp_path.iterdir()) == []


def test_contents_that_nobody_can_read_are_refused_only_if_they_matter(kit: Kit, tmp_path: Path) -> None:
    arguments = kit.buffer(np.array([2, 1, 1], np.uint32), "arguments", usage=U.INDIRECT | U.COPY_DST)
    y = kit.buffer([0] * 4, "y")
    pipeline = kit.kernel(INC)
    group = kit.group(pipeline, y)

    def model() -> None:
        encoder = kit.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups_indirect(arguments, 0)
        compute.end()
        kit.submit(encoder.finish())

    with pytest.raises(cmdgraph.SaveError, match='buffer "arguments" cannot be read.*add COPY_SRC'):
        captured(kit.device, model).save(tmp_path / "graph.zip")
    graph = captured(kit.device, lambda: (kit.write(arguments, np.array([3, 1, 1], np.uint32)), model()))
    again = loaded(graph, tmp_path / "graph.zip", kit.device)
    again.replay()
    assert kit.read(named(again, "y")) == [1, 1, 1, 0]


def test_a_graph_that_cannot_be_replayed_cannot_be_saved(kit: Kit, tmp_path: Path) -> None:
    x = kit.buffer([0] * 4, "x", usage=STORAGE)
    graph = captured(kit.device, kit.call(INC, x))
    x.destroy()

    with pytest.raises(cmdgraph.DestroyedError):
        graph.save(tmp_path / "graph.zip")
    graph.release()
    with pytest.raises(cmdgraph.ReleasedError):
        graph.save(tmp_path / "graph.zip")
    assert list(tmp_path.iterdir()) == []


def test_saving_and_loading_inside_a_capture_are_refused(kit: Kit, tmp_path: Path) -> None:
    step = kit.call(INC, kit.buffer([0] * 4))
    graph = captured(kit.device, step)
    graph.save(tmp_path / "graph.zip")

    with cmdgraph.capture(kit.device):
        step()
        with pytest.raises(cmdgraph.CaptureError):
            graph.save(tmp_path / "other.zip")
        with pytest.raises(cmdgraph.CaptureError):
            cmdgraph.load(tmp_path / "graph.zip", kit.device)


def test_without_the_extra_the_message_names_it() -> None:
    told = run(
        """
        import sys
        sys.modules["msgspec"] = None
        import cmdgraph
        try:
            cmdgraph.container.module("reading")
        except ModuleNotFoundError as error:
            print(error)
        """
    )

    assert told.strip() == "saved graphs need the package msgspec: pip install 'cmdgraph[files]'"
