"""From a program to a file."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field
from msgspec.structs import replace

from cmdgraph import hazards
from cmdgraph.container.archive import Target, writing
from cmdgraph.container.describing import Described, describe
from cmdgraph.container.download import Download, Range
from cmdgraph.container.manifest import VERSION, ContentsFile, Manifest, Requires, Stored, encode
from cmdgraph.container.requirements import requirements
from cmdgraph.container.tensors import WRITES, header
from cmdgraph.errors import SaveError
from cmdgraph.objects import BufferUsage
from cmdgraph.objects import describe as name_of
from cmdgraph.program import Program

__all__ = ["write"]

_DTYPES = {"f32": "F32", "f16": "F16", "i32": "I32", "u32": "U32", None: "U8"}
_READABLE = BufferUsage.COPY_SRC | BufferUsage.STORAGE | BufferUsage.UNIFORM
_PROBE = 1 << 16
_HASHERS = 4
_LONGEST_NAME = 1000
_TAKEN = {WRITES, "__metadata__"}
_NUMBERED = re.compile(r"buffer \d+")


def write(program: Program, name: str | None, path: str | os.PathLike[str], submit: Callable[[Any], None]) -> None:
    """Writes `program` and what its buffers hold; ``submit`` makes a submission on its device.

    Raises:
        SaveError: see `CommandGraph.save`.
        OSError: the file cannot be written; what was there before still is.
    """
    described = describe(program)
    with (
        ThreadPoolExecutor(1) as aside,
        Download(program.device, submit) as download,
        writing(Path(path)) as target,
    ):
        needed = aside.submit(requirements, program, described.records)  # while the contents are on their way
        contents = _Contents(program, described, download, target)
        contents.write()
        features, limits = needed.result()
        manifest = Manifest(
            format="cmdgraph",
            version=VERSION,
            generator=f"cmdgraph {metadata.version('cmdgraph')}",
            name=name,
            requires=Requires(features=features, limits=limits),
            contents=ContentsFile(file="-", size=contents.size, header_sha256=contents.header_sha256),
            modules=tuple(described.modules.parts),
            bind_group_layouts=tuple(described.bind_group_layouts.parts),
            pipeline_layouts=tuple(described.pipeline_layouts.parts),
            pipelines=tuple(described.pipelines.parts),
            buffers=contents.buffers(),
            bind_groups=tuple(described.bind_groups.parts),
            writes=contents.stored.get(WRITES),
            nodes=tuple(described.nodes),
            inputs=tuple(described.buffer(buffer) for buffer in hazards.inputs(program)),
            outputs=tuple(described.buffer(buffer) for buffer in hazards.outputs(program)),
        )

        def with_name(file: str) -> bytes:
            return encode(replace(manifest, contents=replace(manifest.contents, file=file)))

        target.finish(contents.digest, with_name)


@define(eq=False, slots=False)
class _Contents:
    """The tensors: those buffers that hold anything but zeros, and the data of write_buffer nodes."""

    program: Program
    described: Described
    download: Download
    target: Target
    stored: dict[str, Stored] = field(factory=dict)
    header_sha256: str = ""
    size: int = 0
    _names: dict[int, str] = field(factory=dict)

    def write(self) -> None:
        kept = self._not_zero()
        elements = self.program.elements()
        sizes = [
            (self._name(number), _DTYPES[elements.get(id(buffer))], _whole(buffer)) for number, buffer in kept.items()
        ]
        if self.described.written:
            sizes.append((WRITES, "U8", self.described.written_bytes))
        head = header(sizes)
        self.header_sha256 = hashlib.sha256(head).hexdigest()
        self.size = len(head) + sum(size for _, _, size in sizes)
        self.target.write(head)
        with ThreadPoolExecutor(_HASHERS) as hashers:
            self._write_buffers(kept, hashers)
        if self.described.written:
            digest = hashlib.sha256()
            for data in self.described.written:
                self.target.write(data)
                digest.update(data)
            self.stored[WRITES] = Stored(tensor=WRITES, sha256=digest.hexdigest())

    def buffers(self) -> tuple[Any, ...]:
        """The buffers of the manifest, with their contents."""
        return tuple(
            replace(part, contents=self.stored.get(self._names.get(number, "")))
            for number, part in enumerate(self.described.buffers.parts)
        )

    @property
    def digest(self) -> str:
        """Tells these contents from others."""
        parts = [self.header_sha256, *(each.sha256 for each in self.stored.values())]
        return hashlib.sha256(" ".join(parts).encode()).hexdigest()

    def _write_buffers(self, kept: dict[int, Any], hashers: ThreadPoolExecutor) -> None:
        """Streams the buffers: checksums of a batch are computed while it is written."""
        digests = {id(buffer): hashlib.sha256() for buffer in kept.values()}
        for batch in self.download.batches(Range(buffer, 0, _whole(buffer)) for buffer in kept.values()):
            hashed = [hashers.submit(digests[id(part.buffer)].update, view) for part, view in batch]
            for _, view in batch:
                self.target.write(view)
            for future in hashed:
                future.result()
        for number, buffer in kept.items():
            name = self._name(number)
            self.stored[name] = Stored(tensor=name, sha256=digests[id(buffer)].hexdigest())

    def _not_zero(self) -> dict[int, Any]:
        """The buffers to keep, by number: those that hold something, and that anyone could read."""
        inputs = {id(buffer) for buffer in hazards.inputs(self.program)}
        readable = {}
        for number, buffer in enumerate(self.described.resources):
            if buffer.usage & _READABLE:
                readable[number] = buffer
            elif id(buffer) in inputs:
                raise SaveError(
                    f"the contents of {name_of(buffer)} cannot be read, but the graph depends on them: it has none of "
                    "the usages COPY_SRC, STORAGE and UNIFORM; add COPY_SRC in create_buffer()"
                )
        found = self._holding({number: min(_PROBE, _whole(b)) for number, b in readable.items()})
        rest = {n: _whole(b) for n, b in readable.items() if n not in found and _whole(b) > _PROBE}
        found |= self._holding(rest)
        for number in found:
            self._refuse_unwritable(self.described.resources[number])
        return {number: buffer for number, buffer in readable.items() if number in found}

    def _holding(self, sizes: dict[int, int]) -> set[int]:
        """Which buffers hold anything but zeros in so many bytes."""
        resources = self.described.resources
        numbers = {id(resources[number]): number for number in sizes}
        ranges = (Range(resources[number], 0, size) for number, size in sizes.items())
        return {
            numbers[id(part.buffer)]
            for batch in self.download.batches(ranges)
            for part, view in batch
            if np.frombuffer(view, np.uint32).any()
        }

    def _refuse_unwritable(self, buffer: Any) -> None:
        if not buffer.usage & BufferUsage.COPY_DST and buffer.size % 4:
            raise SaveError(
                f"{name_of(buffer)} has {buffer.size} bytes and no usage COPY_DST, so its contents could not be put "
                "back; make its size a multiple of 4, or add COPY_DST in create_buffer()"
            )

    def _name(self, number: int) -> str:
        """The tensor of a buffer: its label where that is its alone."""
        if number not in self._names:
            label = self.described.resources[number].label
            fits = 0 < len(label) <= _LONGEST_NAME and label not in _TAKEN and not _NUMBERED.fullmatch(label)
            self._names[number] = label if fits and self._labels[label] == 1 else f"buffer {number}"
        return self._names[number]

    @cached_property
    def _labels(self) -> Counter[str]:
        return Counter(buffer.label for buffer in self.described.resources)


def _whole(buffer: Any) -> int:
    """The bytes of a buffer that commands can reach: all but the last, fewer than 4."""
    return buffer.size // 4 * 4
