"""The polyfill reads saved graphs, in Chromium: what it replays, and what it refuses."""

from __future__ import annotations

import base64
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cmdgraph
from tests.kit import Kit
from tests.proposal.saved_files import saved

READ = """async ([base64, replays, words]) => {
    const { install } = await import('/polyfill/index.js');
    const { readGraph } = await import('/polyfill/saved.js');
    install();
    const errors = [];
    const bytes = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
    const file = await readGraph(bytes.buffer);
    const device = await (await navigator.gpu.requestAdapter()).requestDevice(file.deviceDescriptor);
    device.addEventListener('uncapturederror', ({ error }) => errors.push(error.message));
    const { graph, buffers } = await file.instantiate(device);
    for (let n = 0; n < replays; n++) device.queue.submitGraph(graph);
    const found = {};
    for (const buffer of buffers) {
        const usage = GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ;
        const staging = device.createBuffer({ size: 4 * words, usage });
        const encoder = device.createCommandEncoder();
        encoder.copyBufferToBuffer(buffer, 0, staging, 0, 4 * words);
        device.queue.submit([encoder.finish()]);
        await staging.mapAsync(GPUMapMode.READ);
        found[buffer.label] = [...new Uint32Array(staging.getMappedRange())];
    }
    if (errors.length) throw new Error(`uncaptured: ${errors}`);
    return found;
}"""


@pytest.mark.parametrize("replays", [0, 1, 3])
def test_a_file_is_replayed(page: Any, replays: int) -> None:
    found = _read(page, saved(), replays)

    x, y = [5] * 4, [0] * 4
    for _ in range(replays):
        x = [3 * value + 1 for value in x]
        y = [x[0], 9, *x[2:]]
    assert found == {"x": x, "y": y}


def _first(kind: str, **values: object) -> Any:
    return lambda manifest: manifest[kind][0].update(values)


REFUSED = {
    "manifest damaged": ({"damage_manifest": lambda raw: raw.__setitem__(30, raw[30] ^ 1)}, "checksum of the manifest"),
    "tensor damaged": ({"damage_contents": lambda raw: raw.__setitem__(-5, raw[-5] ^ 1)}, "checksum of tensor"),
    "header damaged": ({"damage_contents": lambda raw: raw.__setitem__(12, raw[12] ^ 1)}, "checksum of the header"),
    "contents cut off": ({"damage_contents": lambda raw: raw.__delitem__(-1)}, "the contents have"),
    "compressed": ({"compression": zipfile.ZIP_DEFLATED}, "compressed"),
    "another version": ({"change": lambda manifest: manifest.update(version=2)}, "not cmdgraph 1"),
    "unknown member": ({"change": lambda manifest: manifest.update(script="x")}, 'unknown member "script"'),
    "unknown member of a node": ({"change": _first("nodes", repeat=2)}, 'unknown member "repeat"'),
    "no object": ({"change": lambda manifest: manifest.update(nodes=[None])}, "a node that is no object"),
    "no list": ({"change": lambda manifest: manifest.update(buffers=3)}, "must be a list"),
    "unknown node": ({"change": _first("nodes", op="loop")}, 'unknown node "loop"'),
    "a number too large": ({"change": _first("nodes", pipeline=1)}, "no object number 1 of 1"),
    "a negative number": ({"change": _first("nodes", pipeline=-1)}, "no object number -1"),
    "no such tensor": ({"change": _first("buffers", contents={"tensor": "z", "sha256": ""})}, 'no tensor "z"'),
    "a buffer of another size": ({"change": _first("buffers", size=32)}, "have 16 bytes"),
    "a path": ({"change": lambda manifest: manifest["contents"].update(file="../x")}, "name of a file"),
    "too much memory": ({"change": lambda manifest: manifest["buffers"][1].update(size=1 << 40)}, "too many bytes"),
    "too many workgroups": ({"change": _first("nodes", workgroups=[1 << 20, 1, 1])}, "not valid on this device"),
    "no WGSL": ({"change": _first("modules", code="fn")}, "not valid on this device"),
    "a copy out of range": (
        {"change": lambda manifest: manifest["nodes"][1].update(size=32)},
        "not valid on this device",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_file_is_refused(page: Any, case: str) -> None:
    arguments, words = REFUSED[case]

    with pytest.raises(Exception, match="saved graph: ") as caught:
        _read(page, saved(**arguments), 1)  # type: ignore[arg-type]
    assert words in str(caught.value)


def test_bytes_that_are_no_file_are_refused(page: Any) -> None:
    for raw in (b"", b"PK", bytes(100)):
        with pytest.raises(Exception, match="no zip file"):
            _read(page, raw, 1)
    whole = saved()
    for cut in (20, len(whole) - 120):
        with pytest.raises(Exception, match="saved graph: "):
            _read(page, whole[:cut] + whole[-22:], 1)


def test_what_python_saved_is_replayed_in_the_browser(page: Any, native: Kit, tmp_path: Path) -> None:
    device = native.device
    code = """
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            x[id.x] = x[id.x] * 7u + 2u;
        }
    """
    buffer = device.create_buffer_with_data(data=np.arange(4, dtype=np.uint32), usage=0x8C, label="x")
    module = device.create_shader_module(code=code)
    pipeline = device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})
    group = device.create_bind_group(
        layout=pipeline.get_bind_group_layout(0), entries=[{"binding": 0, "resource": {"buffer": buffer}}]
    )
    with cmdgraph.capture() as graph:
        encoder = device.create_command_encoder()
        for _ in range(2):
            pass_ = encoder.begin_compute_pass()
            pass_.set_pipeline(pipeline)
            pass_.set_bind_group(0, group)
            pass_.dispatch_workgroups(1)
            pass_.end()
        device.queue.submit([encoder.finish()])
    path = tmp_path / "graph.zip"
    graph.save(path)  # type: ignore[attr-defined,unused-ignore]
    for _ in range(2):
        graph.replay()

    found = _read(page, path.read_bytes(), 2)

    assert found == {"x": np.frombuffer(device.queue.read_buffer(buffer), np.uint32).tolist()}


def _read(page: Any, raw: bytes, replays: int) -> Any:
    return page.evaluate(READ, [base64.b64encode(raw).decode(), replays, 4])
