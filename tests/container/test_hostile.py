"""Files that are damaged, altered, too large, or made to harm.

Each is refused by a message that names the place, before anything is made on the device where that can be told, and
nothing of it stays there.
"""

from __future__ import annotations

import gc
import json
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cmdgraph
from cmdgraph import FileLimits, GraphFormatError
from cmdgraph.container.archive import CONTENTS, MANIFEST
from tests.container.saved import changed, contents_of, manifest_of, packed, sealed
from tests.kit import ADD1, MAIN, OUT, Kit, captured
from tests.subprocesses import run

Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def path(device: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good file: an explicit and an automatic layout, a dispatch of each kind, a copy, a clear, a write."""
    kit = Kit(device)
    x, y, words = kit.buffer([1, 2, 3, 4], "x"), kit.buffer([0] * 4, "y"), kit.buffer([0] * 4, "words", usage=0x18C)
    entries = [
        {"binding": n, "visibility": 4, "buffer": {"type": kind, "has_dynamic_offset": not n}}
        for n, kind in enumerate(["read-only-storage", "storage"])
    ]
    pipeline = kit.explicit(ADD1, entries)
    group = kit.group(pipeline, x, y)

    def model() -> None:
        encoder = kit.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group, [0])
        compute.dispatch_workgroups(4)
        compute.dispatch_workgroups_indirect(words, 0)
        compute.end()
        encoder.copy_buffer_to_buffer(y, 0, x, 8, 8)
        encoder.clear_buffer(y, 0, 4)
        kit.submit(encoder.finish())
        kit.write(x, [5])
        kit.call(ADD1, x, y)()

    path = tmp_path_factory.mktemp("good") / "graph.zip"
    captured(device, model).save(path)
    return path


def native_objects(device: Any) -> int:
    """How many objects wgpu-native holds."""
    import wgpu

    gc.collect()
    device._poll()
    return wgpu.diagnostics.wgpu_native_counts.get_dict()["total"]["count"]


def refused(path: Path, device: Any, place: str, words: str, **limits: int) -> None:
    with pytest.raises(GraphFormatError) as caught:
        cmdgraph.load(path, device, limits=FileLimits(**limits))
    assert caught.value.place == place
    assert caught.value.file == str(path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def refused_without_a_trace(path: Path, device: Any, place: str, words: str) -> None:
    """Objects were made when the file was refused, and are gone."""
    before = native_objects(device)
    refused(path, device, place, words)
    # wgpu-py 0.32 forgets to release what wgpu-native refused to make: one handle with nothing behind it.
    assert native_objects(device) <= before + (words == "refuses it")


# -- the manifest ---------------------------------------------------------------------------------------------------


def put(*keys: Any, value: Any) -> Change:
    """Sets one member, by its path."""

    def change(manifest: dict[str, Any]) -> None:
        part: Any = manifest
        for key in keys[:-1]:
            part = part[key]
        part[keys[-1]] = value

    return change


def without(*keys: Any) -> Change:
    def change(manifest: dict[str, Any]) -> None:
        part: Any = manifest
        for key in keys[:-1]:
            part = part[key]
        del part[keys[-1]]

    return change


DEEP = "(" * 3000 + "1" + ")" * 3000
BOMB = [{"size": 1 << 30, "usage": 128} for _ in range(64)]

FORM: list[tuple[Change, str, str]] = [
    (put("format", value="other"), "/format", "no saved graph"),
    (put("version", value=2), "/version", "Update cmdgraph"),
    (put("version", value=0), "/version", "Save the graph again"),
    (put("version", value="1"), "/version", "Expected `int`"),
    (without("nodes"), "/", "nodes"),
    (put("extra", value=1), "/", "extra"),
    (put("nodes", value=[]), "/nodes", "no node"),
    (put("nodes", 0, "op", value="drawIndexed"), "/nodes/0/op", "drawIndexed"),
    (put("nodes", 0, "workgroups", value=[1, 2]), "/nodes/0/workgroups", "length 3"),
    (put("nodes", 0, "workgroups", 1, value=1 << 32), "/nodes/0/workgroups/1", "4294967295"),
    (put("nodes", 0, "workgroups", 1, value=-1), "/nodes/0/workgroups/1", ">= 0"),
    (put("nodes", 0, "workgroups", 1, value=0.5), "/nodes/0/workgroups/1", "Expected `int`"),
    (put("nodes", 0, "workgroups", 1, value=True), "/nodes/0/workgroups/1", "Expected `int`"),
    (put("nodes", 0, "pipeline", value=9), "/nodes/0/pipeline", "no pipeline 9"),
    (put("nodes", 0, "bindGroups", 0, "group", value=7), "/nodes/0/bindGroups/0/group", "no bind group 7"),
    (put("nodes", 0, "immediates", value=[{"offset": 0, "data": "zz"}]), "/nodes/0/immediates/0/data", "regex"),
    (put("nodes", 1, "buffer", value=99), "/nodes/1/buffer", "no buffer 99"),
    (put("nodes", 1, "offset", value=8), "/nodes/1", "past the end"),
    (put("nodes", 2, "size", value=12), "/nodes/2", "past the end"),
    (put("nodes", 2, "source", value=99), "/nodes/2/source", "no buffer 99"),
    (put("nodes", 3, "offset", value=1 << 52), "/nodes/3", "past the end"),
    (put("nodes", 4, "dataOffset", value=4), "/nodes/4/dataOffset", "ends at 8 of 4"),
    (put("buffers", 0, "size", value=1 << 53), "/buffers/0/size", "9007199254740991"),
    (put("buffers", 0, "size", value=32), "/buffers/0/contents/tensor", "needs 32"),
    (put("buffers", 0, "usage", value=1 << 10), "/buffers/0/usage", "1023"),
    (put("buffers", 0, "label", value="x" * 5000), "/buffers/0/label", "4096"),
    (put("bindGroups", 0, "layout", value=5), "/bindGroups/0/layout", "no bind group layout 5"),
    (put("bindGroups", 0, "layout", value={"pipeline": 5, "group": 0}), "/bindGroups/0/layout/pipeline", "no pipeline"),
    (put("bindGroups", 0, "layout", value={"pipeline": 0, "group": 0}), "/bindGroups/0/layout/pipeline", "automatic"),
    (put("bindGroups", 0, "entries", 0, "size", value=0), "/bindGroups/0/entries/0/size", ">= 1"),
    (put("bindGroups", 0, "entries", 0, "offset", value=4), "/bindGroups/0/entries/0", "past the end"),
    (put("bindGroups", 0, "entries", 1, "binding", value=0), "/bindGroups/0/entries", "same binding"),
    (put("bindGroupLayouts", 0, "entries", 1, "binding", value=0), "/bindGroupLayouts/0/entries", "same binding"),
    (put("pipelineLayouts", 0, "bindGroupLayouts", value=[4]), "/pipelineLayouts/0/bindGroupLayouts/0", "layout 4"),
    (put("pipelines", 0, "module", value=4), "/pipelines/0/module", "no module 4"),
    (put("pipelines", 0, "layout", value=4), "/pipelines/0/layout", "no pipeline layout 4"),
    (put("pipelines", 0, "layout", value="other"), "/pipelines/0/layout", "other"),
    (put("modules", 0, "code", value="#version 450"), "/modules/0/code", "no compute shader"),
    (put("modules", 0, "code", value=f"{MAIN} {{ let x = {DEEP}; }}"), "/modules/0/code", "brackets in each other"),
    (put("modules", 0, "code", value=f"{MAIN} {{ let x = 1{'+1' * 9999}; }}"), "/modules/0/code", "512 operators"),
    (
        put("modules", 0, "code", value=f"{MAIN} {{ if true {{}} {'else if true {}' * 9999} }}"),
        "/modules/0/code",
        "127",
    ),
    (put("modules", 0, "code", value=f"{MAIN} {{}} /* "), "/modules/0/code", "does not end"),
    (put("contents", "file", value="../secret"), "/contents/file", "regex"),
    (put("contents", "file", value="other.safetensors"), "other.safetensors", "no such file"),
    (put("contents", "size", value=4), "contents.safetensors", "expected 4"),
    (put("contents", "headerSha256", value="0" * 64), "contents.safetensors", "checksum of its header"),
    (put("writes", "tensor", value="x"), "tensor 'x'", "names it twice"),
    (without("writes"), "/nodes/4/dataOffset", "of 0 bytes"),
    (put("inputs", value=[77]), "/inputs/0", "no buffer 77"),
    (put("requires", value={"features": ["warp-drive"]}), "/requires/features/0", "warp-drive"),
    (
        put("requires", value={"limits": {"maxBufferSize": 1 << 50}}),
        "/requires/limits/maxBufferSize",
        "max-buffer-size",
    ),
    (put("requires", value={"limits": {"maxSpeed": 1}}), "/requires/limits", "maxSpeed"),
    (
        put("requires", value={"limits": {"minStorageBufferOffsetAlignment": 1}}),
        "/requires/limits/minStorageBufferOffsetAlignment",
        "this device has",
    ),
]
"""What is refused before anything is made."""


@pytest.mark.parametrize("number", range(len(FORM)))
def test_what_is_no_graph_is_refused_before_anything_is_made(
    number: int, path: Path, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, place, words = FORM[number]
    for name in ("buffer", "shader_module", "bind_group_layout", "pipeline_layout", "compute_pipeline", "bind_group"):
        monkeypatch.setattr(type(device), f"create_{name}", None)

    refused(changed(path, change), device, place, words)


RULES: list[tuple[Change, str, str]] = [
    (put("modules", 0, "code", value="@compute fn main( {"), "/modules/0", "refuses it"),
    (put("pipelines", 0, "entryPoint", value="other"), "/pipelines/0", "refuses it"),
    (put("pipelines", 0, "constants", value={"other": 1.0}), "/pipelines/0", "refuses it"),
    (put("buffers", 0, "usage", value=1 | 128), "/buffers/0", "refuses it"),
    (put("buffers", 0, "usage", value=8), "/bindGroups/0", "refuses it"),
    (put("bindGroupLayouts", 0, "entries", 0, "binding", value=77), "/pipelines/0", "refuses it"),
    (put("nodes", 0, "workgroups", 0, value=65536), "/nodes/0", "maxComputeWorkgroupsPerDimension"),
    (put("nodes", 0, "bindGroups", value=[]), "/nodes/0", "needs a bind group at index 0"),
    (put("nodes", 0, "bindGroups", value=[None] * 40 + [{"group": 0}]), "/nodes/0", "maxBindGroups"),
    (put("nodes", 0, "bindGroups", 0, "dynamicOffsets", value=[]), "/nodes/0", "0 offsets are given"),
    (put("nodes", 0, "bindGroups", 0, "dynamicOffsets", value=[3]), "/nodes/0", "not a multiple"),
    (put("nodes", 5, "bindGroups", 0, value={"group": 0, "dynamicOffsets": [0]}), "/nodes/5", "for another layout"),
    (put("nodes", 0, "immediates", value=[{"offset": 2, "data": "00000000"}]), "/nodes/0", "multiple of 4"),
    (put("nodes", 0, "immediates", value=[{"offset": 1 << 20, "data": "00000000"}]), "/nodes/0", "maxImmediateSize"),
    (put("nodes", 1, "offset", value=2), "/nodes/1", "multiple of 4"),
    (put("nodes", 1, "buffer", value=0), "/nodes/1", "without usage INDIRECT"),
    (put("nodes", 2, "destination", value=1), "/nodes/2", "the same buffer"),
    (put("nodes", 3, "size", value=2), "/nodes/3", "multiple of 4"),
    (put("nodes", 4, "offset", value=1), "/nodes/4", "multiple of 4"),
]
"""What breaks a rule of WebGPU: refused as the same calls would be, and by the same code."""


@pytest.mark.parametrize("number", range(len(RULES)))
def test_what_breaks_a_rule_is_refused_like_a_recorded_call(number: int, path: Path, device: Any) -> None:
    change, place, words = RULES[number]
    refused_without_a_trace(changed(path, change), device, place, words)


@pytest.mark.parametrize(
    ("limit", "value", "place"),
    [
        ("manifest_bytes", 10, MANIFEST),
        ("contents_bytes", 10, "/contents/contents.safetensors"),
        ("zeroed_bytes", 10, "/buffers"),
        ("written_bytes", 3, "/writes"),
        ("code_bytes", 10, "/modules"),
        ("nodes", 5, "/nodes"),
        ("code_bytes", 600, "/pipelines"),
        ("pipelines", 1, "/modules"),
        ("objects", 1, "/buffers"),
        ("bindings", 3, "/bindGroups"),
    ],
)
def test_each_limit_holds_and_is_named(limit: str, value: int, place: str, path: Path, device: Any) -> None:
    refused(path, device, place, f"FileLimits{'.' if limit == 'manifest_bytes' else '('}{limit}", **{limit: value})


def test_a_small_file_cannot_ask_for_much_memory(path: Path, device: Any) -> None:
    bomb = changed(path, lambda m: m["buffers"].extend(BOMB))
    refused(bomb, device, "/buffers", "over the limit of 1073741824")


def test_many_bytes_of_json_stay_small(path: Path, device: Any) -> None:
    nested = b'{"format":"cmdgraph","version":1,"nodes":' + b"[" * 2_000_000
    refused(packed(path.with_name("deep.zip"), nested, b""), device, "/", "JSON")
    for text in (b"", b"null", b"[]", b"\xff\xfe", b'{"format":"cmdgraph"}', b'{"format":"cmdgraph","version":NaN}'):
        with pytest.raises(GraphFormatError):
            cmdgraph.load(packed(path.with_name("odd.zip"), text, b""), device)


@pytest.mark.parametrize("at", range(0, 2000, 97))
def test_a_changed_byte_of_the_manifest_is_noticed(at: int, path: Path, device: Any) -> None:
    text = bytearray(zipfile.ZipFile(path).read(MANIFEST))
    text[at % len(text)] ^= 1

    with pytest.raises(GraphFormatError):
        cmdgraph.load(packed(path.with_name("flipped.zip"), bytes(text), contents_of(path)), device)


# -- the contents ---------------------------------------------------------------------------------------------------


def test_changed_contents_are_noticed_and_the_buffer_is_named(path: Path, device: Any) -> None:
    contents = bytearray(contents_of(path))
    start = contents.index(struct.pack("<4f", 1, 2, 3, 4))
    contents[start + 3] ^= 1
    text = zipfile.ZipFile(path).read(MANIFEST)

    flipped = packed(path.with_name("flipped.zip"), text, bytes(contents))
    refused_without_a_trace(flipped, device, "tensor 'x'", "checksum")


def _with_header(path: Path, entries: Any, data: bytes = b"") -> Path:
    """The file with another header of its contents, and checksums that fit."""
    import hashlib

    raw = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    head = len(raw).to_bytes(8, "little") + raw

    def fit(manifest: dict[str, Any]) -> None:
        manifest["contents"] |= {"size": len(head + data), "headerSha256": hashlib.sha256(head).hexdigest()}

    manifest = manifest_of(path)
    fit(manifest)
    return packed(path.with_name("header.zip"), sealed(manifest), head + data)


def _tensor(start: int, end: int, dtype: str = "U8", shape: Any = None) -> dict[str, Any]:
    return {"dtype": dtype, "shape": [end - start] if shape is None else shape, "data_offsets": [start, end]}


@pytest.mark.parametrize(
    ("entries", "place", "words"),
    [
        (b"[]", "contents.safetensors", "no JSON object"),
        (b"{", "contents.safetensors", "no JSON object"),
        (b"[" * 100_000, "contents.safetensors", "no JSON object"),
        ({"x": _tensor(0, 4), "y": _tensor(2, 8)}, "contents.safetensors: y", "no gaps"),
        ({"x": _tensor(0, 4), "y": _tensor(6, 8)}, "contents.safetensors: y", "no gaps"),
        ({"x": _tensor(0, 8), "y": _tensor(8, 4, shape=[1])}, "tensor 'y'", "does not fill"),
        ({"x": _tensor(0, 4)}, "contents.safetensors", "its tensors have 4 bytes"),
        ({"x": _tensor(0, 1 << 40)}, "contents.safetensors", "its tensors have"),
        ({"x": _tensor(0, 8, "F32")}, "tensor 'x'", "does not fill"),
        ({"x": _tensor(0, 8, "F64")}, "tensor 'x'", "dtype 'F64'"),
        ({"x": _tensor(0, 8, shape=[2, 4])}, "tensor 'x'", "does not fill"),
        ({"x": _tensor(0, 8, shape=[-8])}, "tensor 'x'", ">= 0"),
        ({"x": {"dtype": "U8"}}, "tensor 'x'", "missing required field"),
        ({"x": 3}, "tensor 'x'", "Expected `object`"),
        ({"__metadata__": {"a": "b"}, "x": _tensor(0, 8)}, "tensor '__metadata__'", "unknown field"),
        ({"z": _tensor(0, 8)}, "/buffers/0/contents/tensor", "no tensor 'x'"),
    ],
)
def test_a_damaged_header_is_refused(entries: Any, place: str, words: str, path: Path, device: Any) -> None:
    refused(_with_header(path, entries, bytes(8)), device, place, words)


def test_a_header_longer_than_its_file_is_refused(path: Path, device: Any) -> None:
    manifest = manifest_of(path)
    for head, words in (
        (bytes(3), "truncated"),
        ((1 << 62).to_bytes(8, "little"), "over the limit"),
        ((100).to_bytes(8, "little"), "truncated"),
    ):
        manifest["contents"]["size"] = len(head)
        other = packed(path.with_name("short.zip"), sealed(manifest), head)
        refused(other, device, "contents.safetensors", words)


# -- the zip file and the folder ------------------------------------------------------------------------------------


def test_a_file_cut_anywhere_is_refused(path: Path, device: Any) -> None:
    whole = path.read_bytes()
    short = path.with_name("short.zip")
    for length in {*range(0, len(whole), 61), *range(len(whole) - 60, len(whole))}:
        short.write_bytes(whole[:length])
        with pytest.raises(GraphFormatError):
            cmdgraph.load(short, device)


def _zipped(path: Path, *files: tuple[str, bytes], **options: Any) -> Path:
    other = path.with_name("other.zip")
    with zipfile.ZipFile(other, "w", **options) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return other


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_odd_zip_files_are_refused(path: Path, device: Any) -> None:
    text, contents = zipfile.ZipFile(path).read(MANIFEST), contents_of(path)
    good = [(MANIFEST, text), (CONTENTS, contents)]

    refused(_zipped(path, *good, compression=zipfile.ZIP_DEFLATED), device, "", "is compressed")
    refused(_zipped(path, *good, (MANIFEST, text)), device, "", "appears twice")
    refused(_zipped(path, (MANIFEST, text)), device, CONTENTS, "no such file")
    refused(_zipped(path, (CONTENTS, contents)), device, MANIFEST, "no such file")
    refused(_zipped(path, *((f"{n}", b"") for n in range(99))), device, "", "99 files")
    cmdgraph.load(_zipped(path, *good, ("../../escape", b"never looked at")), device).release()
    bomb = _zipped(path, (MANIFEST, bytes(100_000_000)), compression=zipfile.ZIP_DEFLATED)
    assert bomb.stat().st_size < 200_000
    refused(bomb, device, "", "is compressed")


@pytest.mark.parametrize(
    ("signature", "at", "value", "words"),
    [
        (b"PK\5\6", 4, b"\1\0", "one part of several"),
        (b"PK\5\6", 8, b"\xfe\xff\xfe\xff", "files"),
        (b"PK\5\6", 12, b"\xff\xff\xff\x7f", "files"),
        (b"PK\5\6", 16, b"\xff\xff\xff\x7f", "past its end"),
        (b"PK\5\6", 16, b"\xff\xff\xff\xff", "ZIP64"),
        (b"PK\5\6", 20, b"\1\0", "no zip directory"),
        (b"PK\1\2", 0, b"XXXX", "its directory is damaged"),
        (b"PK\1\2", 8, b"\1\0", "encrypted"),
        (b"PK\1\2", 24, b"\0\0\0\x7f", "compressed"),
        (b"PK\1\2", 42, b"\1\0\0\0", "where the directory says"),
        (b"PK\1\2", 42, b"\xff\xff\xff\x7f", "behind its directory"),
        (b"PK\3\4", 26, b"\5\0", "where the directory says"),
        (b"PK\3\4", 28, b"\xff\xff", "overlap"),
    ],
)
def test_a_damaged_directory_is_refused(
    signature: bytes, at: int, value: bytes, words: str, path: Path, device: Any
) -> None:
    data = bytearray(path.read_bytes())
    start = data.index(signature) + at
    data[start : start + len(value)] = value
    damaged = path.with_name("damaged.zip")
    damaged.write_bytes(data)

    refused(damaged, device, "", words)


def test_a_folder_with_a_part_missing_or_strange_is_refused(native: Kit, tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    captured(native.device, native.call(ADD1, native.buffer([1] * 4), native.buffer([2] * 4))).save(folder)
    (contents,) = folder.glob("contents-*")

    contents.rename(tmp_path / "kept")
    refused(folder, native.device, contents.name, "missing")
    os.mkfifo(contents)
    with pytest.raises(GraphFormatError, match="no plain file"):  # and does not wait for a writer
        cmdgraph.load(folder, native.device)
    contents.unlink()
    (tmp_path / "kept").rename(contents)
    (folder / MANIFEST).unlink()
    refused(folder, native.device, MANIFEST, "missing")
    with pytest.raises(FileNotFoundError):
        cmdgraph.load(tmp_path / "nothing.zip", native.device)


# -- the device -----------------------------------------------------------------------------------------------------


def test_what_wgpu_native_alone_cannot_survive_is_refused(package: str, path: Path) -> None:
    """In a process of its own: a binding without bytes, code that nests deep, a lost device."""
    deep = f"{OUT} {MAIN} {{ var y = dst[0]; {'{' * 120}{'if y > 0 {' * 3} y = {'(' * 90}y{')' * 90}; {'}' * 123} }}"
    wild = changed(path, put("modules", 1, "code", value=deep))
    told = run(
        """
        import importlib, sys
        import cmdgraph
        package, *paths = sys.argv[1:]
        device = importlib.import_module(package).gpu.request_adapter_sync().request_device_sync()
        for path in paths:
            try:
                cmdgraph.load(path, device).release()
                print("loaded")
            except cmdgraph.GraphFormatError as error:
                print("refused", error.place)
        device.destroy()
        try:
            cmdgraph.load(paths[0], device)
        except cmdgraph.DeviceLostError:
            print("lost")
        """,
        package,
        str(path),
        str(wild),
    )

    assert told.split() == ["loaded", "refused", "/modules/1/code", "lost"]
