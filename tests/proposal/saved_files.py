"""A small saved graph, written by hand as spec_proposal/format.md says, with places to damage it."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

SHADER = """
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] = x[id.x] * 3u + 1u; }
"""
START = (5).to_bytes(4, "little") * 4
WRITTEN = (9).to_bytes(4, "little")

Change = Callable[[Any], object]


def saved(
    *,
    change: Change = lambda manifest: None,
    damage_manifest: Change = lambda raw: None,
    damage_contents: Change = lambda raw: None,
    compression: int = zipfile.ZIP_STORED,
) -> bytes:
    """A zip file with one dispatch, a copy and a write over two buffers.

    ``change`` changes the manifest before its checksum is made; the damages happen to finished bytes.
    """
    contents, header = _contents({"x": START, "writes": WRITTEN})
    manifest = _manifest(len(contents), header)
    change(manifest)
    body = json.dumps(manifest).removesuffix("}").encode()
    raw = bytearray(body + f',\n"sha256":"{hashlib.sha256(body).hexdigest()}"}}\n'.encode())
    damaged = bytearray(contents)
    damage_manifest(raw)
    damage_contents(damaged)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("contents.safetensors", bytes(damaged))
        archive.writestr("graph.json", bytes(raw))
    return file.getvalue()


def _contents(tensors: dict[str, bytes]) -> tuple[bytes, bytes]:
    entries, offset = {}, 0
    for name, data in tensors.items():
        shape, ends = [len(data) // 4], [offset, offset + len(data)]
        entries[name] = {"dtype": "U32", "shape": shape, "data_offsets": ends}
        offset += len(data)
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    header = len(text).to_bytes(8, "little") + text
    return header + b"".join(tensors.values()), header


def _manifest(size: int, header: bytes) -> dict[str, Any]:
    storage = 0x80 | 0x8 | 0x4
    return {
        "format": "cmdgraph",
        "version": 1,
        "generator": "a test",
        "name": "small",
        "requires": {"features": [], "limits": {}},
        "contents": {"file": "contents.safetensors", "size": size, "headerSha256": _sha256(header)},
        "modules": [{"label": "", "code": SHADER}],
        "bindGroupLayouts": [],
        "pipelineLayouts": [],
        "pipelines": [{"label": "", "module": 0, "entryPoint": "main", "layout": "auto", "constants": {}}],
        "buffers": [
            {"label": "x", "size": 16, "usage": storage, "contents": {"tensor": "x", "sha256": _sha256(START)}},
            {"label": "y", "size": 16, "usage": storage},
        ],
        "bindGroups": [
            {
                "label": "",
                "layout": {"pipeline": 0, "group": 0},
                "entries": [{"binding": 0, "buffer": 0, "offset": 0, "size": 16}],
            }
        ],
        "writes": {"tensor": "writes", "sha256": _sha256(WRITTEN)},
        "nodes": [
            {
                "op": "dispatchWorkgroups",
                "pipeline": 0,
                "bindGroups": [{"group": 0}],
                "workgroups": [1, 1, 1],
                "label": "step",
                "place": {"file": "a.py", "line": 3},
            },
            {"op": "copyBufferToBuffer", "source": 0, "destination": 1, "size": 16},
            {"op": "writeBuffer", "buffer": 1, "offset": 4, "dataOffset": 0, "size": 4},
        ],
        "inputs": [0],
        "outputs": [0, 1],
    }


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
