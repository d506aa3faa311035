"""From a file to a program on a device."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attrs import frozen

from cmdgraph.container import requirements
from cmdgraph.container.archive import opened
from cmdgraph.container.building import Building
from cmdgraph.container.checks import check
from cmdgraph.container.limits import FileLimits
from cmdgraph.container.manifest import decode
from cmdgraph.container.tensors import read_header
from cmdgraph.container.upload import Contents
from cmdgraph.errors import GraphFormatError
from cmdgraph.program import Program

__all__ = ["Loaded", "read"]


@frozen(eq=False)
class Loaded:
    """A program from a file, the graph's name, and a way to destroy its buffers."""

    program: Program
    name: str | None
    give_back: Callable[[], None]


def read(path: str | os.PathLike[str], device: Any, limits: FileLimits) -> Loaded:
    """Reads a saved graph. Nothing is made on `device` before the file is known to be whole and within the limits, and
    nothing stays there if it is refused.

    Raises:
        GraphFormatError: see `cmdgraph.load`.
        OSError: the file is not there, or cannot be read.
    """
    file = os.fspath(path)
    with opened(Path(file), limits) as archive:
        manifest = decode(archive.manifest, file)
        told = manifest.contents
        span = archive.contents(told.file)
        if span.size != told.size:
            raise GraphFormatError.at(
                file, told.file, f"{span.size} bytes, expected {told.size}; it is truncated or belongs to another save"
            )
        header, tensors, data_start = read_header(span, limits.manifest_bytes, file, told.file)
        if hashlib.sha256(header).hexdigest() != told.header_sha256:
            raise GraphFormatError.at(file, told.file, "the checksum of its header does not match: it was altered")
        check(manifest, tensors, limits, file)
        requirements.missing(manifest.requires.features, manifest.requires.limits, device, file)
        building = Building(manifest, device, file)
        try:
            with Contents(span, data_start, file) as contents:
                writes = manifest.writes
                written = b"" if writes is None else contents.as_bytes(writes, tensors[writes.tensor])
                building.make_objects()
                program = building.program(written)
                for buffer, part in zip(building.buffers, manifest.buffers, strict=True):
                    if part.contents is not None:
                        contents.into_buffer(buffer, part.contents, tensors[part.contents.tensor])
        except BaseException:
            building.give_back()
            raise
    return Loaded(program, manifest.name, building.give_back)
