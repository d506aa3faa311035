"""spec_proposal/format.md and its schema say what is written, and what they say is enough to read it."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import zipfile
from pathlib import Path
from shutil import which

import jsonschema
import numpy as np
import pytest
from safetensors.numpy import load as load_tensors

from cmdgraph.container import manifest as form
from cmdgraph.container.archive import MANIFEST
from scripts import format_schema
from tests.container.saved import contents_of, manifest_of
from tests.kit import ADD1, Kit, captured

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "spec_proposal" / "format.md").read_text()
SCHEMA = format_schema.PATH.read_text()
VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA))


def saved(kit: Kit, path: Path) -> Path:
    """A graph with most of what there is."""
    x, y = kit.buffer([1, 2, 3, 4], "x"), kit.buffer([0] * 4, "y")
    entries = [
        {"binding": n, "visibility": 4, "buffer": {"type": kind, "has_dynamic_offset": not n}}
        for n, kind in enumerate(["read-only-storage", "storage"])
    ]
    pipeline = kit.explicit(ADD1, entries)
    group = kit.group(pipeline, x, y)

    def model() -> None:
        encoder = kit.device.create_command_encoder()
        compute = encoder.begin_compute_pass(label="pass")
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group, [0])
        compute.dispatch_workgroups(4)
        compute.end()
        encoder.copy_buffer_to_buffer(y, 0, x, 8, 8)
        encoder.clear_buffer(y, 0, 4)
        kit.submit(encoder.finish())
        kit.write(x, [5])
        kit.call(ADD1, x, y)()

    captured(kit.device, model).save(path)
    return path


def test_the_schema_is_made_from_the_code() -> None:
    assert format_schema.text() == SCHEMA, "python -m scripts.format_schema writes it"
    jsonschema.Draft202012Validator.check_schema(json.loads(SCHEMA))


def test_saved_manifests_are_valid_by_the_schema(kit: Kit, tmp_path: Path) -> None:
    manifest = json.loads(zipfile.ZipFile(saved(kit, tmp_path / "graph.zip")).read(MANIFEST))

    VALIDATOR.validate(manifest)
    assert {node["op"] for node in manifest["nodes"]} == {
        "dispatchWorkgroups",
        "copyBufferToBuffer",
        "clearBuffer",
        "writeBuffer",
    }
    manifest["nodes"][0]["workgroups"] = [1, 1]
    assert not VALIDATOR.is_valid(manifest)


def test_the_page_names_every_member() -> None:
    told = set(re.findall(r"\w+", PAGE))

    for name in form.__all__:
        fields = getattr(getattr(form, name), "__struct_encode_fields__", ())
        assert set(fields) <= told, name
    for definition in json.loads(SCHEMA)["$defs"].values():
        assert set(definition["properties"].get("op", {}).get("enum", ())) <= told


def test_contents_are_safetensors_and_zip_tools_read_the_file(native: Kit, tmp_path: Path) -> None:
    path = saved(native, tmp_path / "graph.zip")
    tensors = load_tensors(contents_of(path))

    assert zipfile.ZipFile(path).testzip() is None
    assert {info.compress_type for info in zipfile.ZipFile(path).infolist()} == {zipfile.ZIP_STORED}
    assert tensors["x"].tolist() == [1, 2, 3, 4]
    assert tensors["x"].dtype == np.float32
    assert tensors["writes"].tobytes() == np.array([5], np.float32).tobytes()


def test_the_checksum_covers_all_but_the_last_79_bytes(native: Kit, tmp_path: Path) -> None:
    text = zipfile.ZipFile(saved(native, tmp_path / "graph.zip")).read(MANIFEST)

    assert text.endswith(b'"sha256":"' + hashlib.sha256(text[:-79]).hexdigest().encode() + b'"}\n')


@pytest.mark.skipif(which("node") is None, reason="node is not installed")
def test_the_reader_of_the_page_makes_the_same_calls(native: Kit, tmp_path: Path) -> None:
    """In Node, on a stand-in for a device that notes what it is asked for."""
    path = saved(native, tmp_path / "graph.zip")
    (code,) = re.findall(r"```js\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "reader.mjs").write_text(code)
    (tmp_path / "run.mjs").write_text(STAND_IN)

    done = subprocess.run(
        ["node", tmp_path / "run.mjs", path], capture_output=True, text=True, check=False, cwd=tmp_path
    )

    assert done.returncode == 0, done.stderr
    calls = [json.loads(line) for line in done.stdout.splitlines()]
    made = [call for call, *_ in calls]
    assert made.count("createBuffer") == len(manifest_of(path)["buffers"])
    assert ["writeBuffer", "x", 0, [0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 64, 64, 0, 0, 128, 64]] in calls
    replay = calls[made.index("createCommandEncoder") :]
    assert [call for call in replay if call[0] not in ("setPipeline", "createCommandEncoder", "beginComputePass")] == [
        ["setBindGroup", 0, "", [0]],
        ["dispatchWorkgroups", 4, 1, 1],
        ["end"],
        ["copyBufferToBuffer", "y", 0, "x", 8, 8],
        ["clearBuffer", "y", 0, 4],
        ["finish"],
        ["submit"],
        ["writeBuffer", "x", 0, [0, 0, 160, 64]],
        ["setBindGroup", 0, "", []],
        ["dispatchWorkgroups", 4, 1, 1],
        ["end"],
        ["finish"],
        ["submit"],
    ]


STAND_IN = """
import {readFileSync} from "node:fs";
import {load} from "./reader.mjs";
globalThis.GPUBufferUsage = {COPY_DST: 8};
const simple = (value) => Array.isArray(value) && typeof value[0] !== "object";
const seen = (value) => value instanceof Uint8Array ? [...value] : simple(value) ? value : value?.label ?? value;
const noting = (label) => new Proxy({label}, {
  get: (target, name) => name in target || name === "then" ? target[name] : (...values) => {
    if (name === "writeBuffer" && values.length > 3)
      values = [values[0], values[1], values[2].subarray(values[3], values[3] + values[4])];
    const plain = values.map(seen).filter((v) => typeof v !== "object" || simple(v));
    console.log(JSON.stringify([name, ...plain]));
    return noting(values[0]?.label ?? "");
  },
});
const device = noting("device");
device.queue = noting("queue");
const file = readFileSync(process.argv[2]);
const graph = await load(device, file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength));
graph.replay();
"""
