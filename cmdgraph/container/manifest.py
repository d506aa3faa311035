"""The manifest: the form of a graph in JSON, in the words of WebGPU's own descriptors.

Objects are named by their place in the list of their kind. Reading is strict: an unknown member, a wrong type or a
number out of range is an error that names its place. The last member is a checksum of everything before it.
"""

from __future__ import annotations

import hashlib
import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from cmdgraph.errors import GraphFormatError

__all__ = [
    "FORMAT",
    "LONGEST_LABEL",
    "VERSION",
    "AnyNode",
    "BindGroup",
    "BindGroupLayout",
    "Binding",
    "BoundGroup",
    "Buffer",
    "BufferLayout",
    "ClearBuffer",
    "ContentsFile",
    "CopyBuffer",
    "Dispatch",
    "DispatchIndirect",
    "GroupOfPipeline",
    "Immediates",
    "LayoutEntry",
    "Manifest",
    "Module",
    "Pipeline",
    "PipelineLayout",
    "Place",
    "Requires",
    "Stored",
    "WriteBuffer",
    "decode",
    "encode",
    "schema",
]

FORMAT = "cmdgraph"
VERSION: Literal[1] = 1

U32 = Annotated[int, Meta(ge=0, le=2**32 - 1)]
Bytes = Annotated[int, Meta(ge=0, le=2**53 - 1)]  # what a number in JavaScript holds exactly
Index = U32
LONGEST_LABEL = 4096
Label = Annotated[str, Meta(max_length=LONGEST_LABEL)]
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Hex = Annotated[str, Meta(pattern="^([0-9a-f]{8})*$", max_length=8192)]
FileName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$")]


class _Part(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, rename="camel"):
    """A part of the manifest. Members with their default value are left out."""


class Requires(_Part, frozen=True, kw_only=True):
    """What a device must have: features, and limits where WebGPU's default is not enough."""

    features: tuple[Label, ...] = ()
    limits: dict[Label, Bytes] = {}


class Stored(_Part, frozen=True, kw_only=True):
    """Bytes in the contents: the name of a tensor, and the SHA-256 of its bytes."""

    tensor: Label
    sha256: Digest


class ContentsFile(_Part, frozen=True, kw_only=True):
    """The safetensors file: its name beside the manifest, its size, and the SHA-256 of its header."""

    file: FileName
    size: Bytes
    header_sha256: Digest


class Module(_Part, frozen=True, kw_only=True):
    """A shader module: WGSL."""

    label: Label = ""
    code: str


class BufferLayout(_Part, frozen=True, kw_only=True):
    type: Literal["uniform", "storage", "read-only-storage"]
    has_dynamic_offset: bool = False
    min_binding_size: Bytes = 0


class LayoutEntry(_Part, frozen=True, kw_only=True):
    binding: U32
    visibility: Annotated[int, Meta(ge=0, le=7)]
    buffer: BufferLayout


class BindGroupLayout(_Part, frozen=True, kw_only=True):
    label: Label = ""
    entries: tuple[LayoutEntry, ...]


class PipelineLayout(_Part, frozen=True, kw_only=True):
    label: Label = ""
    bind_group_layouts: tuple[Index, ...]
    immediate_size: U32 = 0


class Pipeline(_Part, frozen=True, kw_only=True):
    """A compute pipeline. Without ``entry_point`` the module has one only."""

    label: Label = ""
    module: Index
    entry_point: Label | None = None
    layout: Index | Literal["auto"]
    constants: dict[Label, float] = {}


class Buffer(_Part, frozen=True, kw_only=True):
    """A buffer. Without ``contents`` it is all zeros; with them the bytes after them (fewer than 4) are."""

    label: Label = ""
    size: Bytes
    usage: Annotated[int, Meta(ge=0, le=0x3FF)]
    contents: Stored | None = None


class GroupOfPipeline(_Part, frozen=True, kw_only=True):
    """The bind group layout that ``layout: "auto"`` made for a pipeline."""

    pipeline: Index
    group: Annotated[int, Meta(ge=0, le=1023)]


class Binding(_Part, frozen=True, kw_only=True):
    binding: U32
    buffer: Index
    offset: Bytes = 0
    size: Annotated[int, Meta(ge=1, le=2**53 - 1)]


class BindGroup(_Part, frozen=True, kw_only=True):
    label: Label = ""
    layout: Index | GroupOfPipeline
    entries: tuple[Binding, ...]


class Place(_Part, frozen=True, kw_only=True):
    """Where the call stood in the program that was captured: for messages."""

    file: Label
    line: U32


class BoundGroup(_Part, frozen=True, kw_only=True):
    group: Index
    dynamic_offsets: tuple[U32, ...] = ()


class Immediates(_Part, frozen=True, kw_only=True):
    """Bytes, in hexadecimal, for setImmediates at ``offset``."""

    offset: U32
    data: Hex


class _Node(_Part, frozen=True, kw_only=True, tag_field="op"):
    """``debug_groups`` are those around the call, outermost first; ``label`` is the debug marker before it."""

    label: Label = ""
    debug_groups: tuple[Label, ...] = ()
    place: Place | None = None


class _AnyDispatch(_Node, frozen=True, kw_only=True):
    pipeline: Index
    bind_groups: tuple[BoundGroup | None, ...]
    immediates: tuple[Immediates, ...] = ()


class Dispatch(_AnyDispatch, frozen=True, kw_only=True, tag="dispatchWorkgroups"):
    workgroups: tuple[U32, U32, U32]


class DispatchIndirect(_AnyDispatch, frozen=True, kw_only=True, tag="dispatchWorkgroupsIndirect"):
    buffer: Index
    offset: Bytes


class CopyBuffer(_Node, frozen=True, kw_only=True, tag="copyBufferToBuffer"):
    source: Index
    source_offset: Bytes
    destination: Index
    destination_offset: Bytes
    size: Bytes


class ClearBuffer(_Node, frozen=True, kw_only=True, tag="clearBuffer"):
    buffer: Index
    offset: Bytes
    size: Bytes


class WriteBuffer(_Node, frozen=True, kw_only=True, tag="writeBuffer"):
    """``size`` bytes from ``data_offset`` of the tensor that the manifest's ``writes`` names."""

    buffer: Index
    offset: Bytes
    data_offset: Bytes
    size: Bytes


AnyNode = Dispatch | DispatchIndirect | CopyBuffer | ClearBuffer | WriteBuffer


class Manifest(_Part, frozen=True, kw_only=True):
    """A whole graph. ``inputs`` and ``outputs`` are for readers that only look: they follow from the nodes."""

    format: Literal["cmdgraph"]
    version: Literal[1]
    generator: Label = ""
    name: Label | None = None
    requires: Requires
    contents: ContentsFile
    modules: tuple[Module, ...]
    bind_group_layouts: tuple[BindGroupLayout, ...]
    pipeline_layouts: tuple[PipelineLayout, ...]
    pipelines: tuple[Pipeline, ...]
    buffers: tuple[Buffer, ...]
    bind_groups: tuple[BindGroup, ...]
    writes: Stored | None = None
    nodes: tuple[AnyNode, ...]
    inputs: tuple[Index, ...]
    outputs: tuple[Index, ...]
    sha256: Digest | Literal[""] = ""


class _Head(Struct):
    """What every version begins with."""

    format: str
    version: int


_SEAL = re.compile(rb',\n"sha256":"([0-9a-f]{64})"}\n\Z')
_SEAL_BYTES = len(b',\n"sha256":""}\n') + 64
_AT = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<path>.*)`)?$", re.DOTALL)


def encode(manifest: Manifest) -> bytes:
    """The manifest as JSON with its checksum, one node a line."""
    text = msgspec.json.encode(manifest).replace(b'{"op":', b'\n{"op":')
    body = text[:-1]
    return b'%s,\n"sha256":"%s"}\n' % (body, hashlib.sha256(body).hexdigest().encode())


def decode(text: bytes, file: str) -> Manifest:
    """The manifest that `encode` wrote.

    Raises:
        GraphFormatError: it is of another version, altered, or not of this form; the message names the place.
    """
    head = _decoded(text, _Head, file)
    if head.format != FORMAT:
        raise GraphFormatError.at(file, "/format", f"{head.format[:40]!r} is not {FORMAT!r}: this is no saved graph")
    if head.version != VERSION:
        raise GraphFormatError.at(
            file,
            "/version",
            f"version {head.version} of the format; this cmdgraph reads version {VERSION}. "
            + ("Update cmdgraph" if head.version > VERSION else "Save the graph again"),
        )
    seal = _SEAL.search(text, max(0, len(text) - _SEAL_BYTES))
    if seal is None:
        raise GraphFormatError.at(
            file, "/sha256", "the checksum at the end is missing: the manifest is truncated or altered"
        )
    if hashlib.sha256(text[: seal.start()]).hexdigest().encode() != seal[1]:
        raise GraphFormatError.at(
            file, "/sha256", "the checksum does not match: the manifest was altered; save the graph again"
        )
    return _decoded(text, Manifest, file)


def schema() -> dict[str, Any]:
    """The JSON Schema of manifests."""
    found = msgspec.json.schema(Manifest)
    whole = found["$defs"]["Manifest"]
    whole["properties"]["sha256"] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}  # empty only while it is written
    whole["required"].append("sha256")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"cmdgraph graph, version {VERSION}",
        **found,
    }


def _decoded(text: bytes, kind: Any, file: str) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as wrong:
        found = _AT.match(str(wrong))
        what, path = (found["what"], found["path"] or "") if found else (str(wrong), "")
        raise GraphFormatError.at(
            file, _pointer(path) or "/", f"{what[:300]}; the manifest is not of this form"
        ) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as wrong:
        raise GraphFormatError.at(
            file, "/", f"the manifest is no valid JSON ({str(wrong)[:200]}); it is damaged"
        ) from None


def _pointer(path: str) -> str:
    """msgspec's path, such as ``.nodes[3].size``, as a JSON pointer."""
    return re.sub(r"\[(\.\.\.|\d+)\]", lambda m: "/*" if m[1] == "..." else f"/{m[1]}", path).replace(".", "/")
