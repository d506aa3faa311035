"""Reads the contents of buffers, whatever their usages, as a stream of parts.

A buffer that can be copied is copied; one that cannot is read by a shader, where it is bound as storage or uniform, or
mapped. Two staging buffers take turns: while the bytes of one are used, the GPU fills the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import cache
from typing import Any

from attrs import frozen

from cmdgraph.errors import SaveError
from cmdgraph.objects import BufferUsage, describe

__all__ = ["Download", "Range"]

STAGING = 16 << 20
_WORKGROUP = 256
_BLOCK = 256
"""Bytes of a uniform buffer that one dispatch reads: the alignment of offsets."""
_COPY = f"""
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> target_: array<u32>;
@compute @workgroup_size({_WORKGROUP}) fn main(@builtin(global_invocation_id) id: vec3u) {{
    if id.x < arrayLength(&source) {{ target_[id.x] = source[id.x]; }}
}}
"""


@frozen(eq=False)
class Range:
    """Bytes of a buffer: multiples of 4, from a multiple of 256."""

    buffer: Any
    start: int
    size: int


@frozen(eq=False)
class _Placed:
    """A range and where it lies in a staging buffer."""

    of: Range
    at: int


class Download:
    """Reads ranges of buffers of one device. ``submit`` makes a submission; a context manager."""

    def __init__(self, device: Any, submit: Callable[[Any], None]) -> None:
        self.device = device
        self.submit = submit
        self._stack = ExitStack()
        self._staging = [self._buffer(BufferUsage.MAP_READ | BufferUsage.COPY_DST) for _ in range(2)]
        self._scratch: Callable[[], Any] = cache(lambda: self._buffer(BufferUsage.STORAGE | BufferUsage.COPY_SRC))
        self._pipeline: Callable[[str], Any] = cache(self._compiled)

    def __enter__(self) -> Download:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def batches(self, ranges: Iterable[Range]) -> Iterator[list[tuple[Range, memoryview]]]:
        """The ranges with their bytes, in order, many at a time. A long range comes in parts, in batches of their own;
        views live until the next batch.

        Raises:
            SaveError: a buffer cannot be read in any way.
        """
        filled: list[tuple[Any, list[_Placed], Any]] = []
        for number, batch in enumerate(_batches(_pieces(ranges))):
            staging = self._staging[number % 2]
            filled.append((staging, batch, self._fill(staging, batch)))
            if len(filled) == 2:
                yield from self._drain(*filled.pop(0))
        for each in filled:
            yield from self._drain(*each)

    def _drain(self, staging: Any, batch: list[_Placed], promise: Any) -> Iterator[list[tuple[Range, memoryview]]]:
        promise.sync_wait()
        try:
            yield [(placed.of, staging.read_mapped(placed.at, placed.of.size, copy=False)) for placed in batch]
        finally:
            staging.unmap()

    def _fill(self, staging: Any, batch: list[_Placed]) -> Any:
        """Has the GPU copy a batch into `staging`; a promise of the mapped buffer."""
        encoder = self.device.create_command_encoder()
        for placed in batch:
            usage = placed.of.buffer.usage
            if usage & BufferUsage.COPY_SRC:
                encoder.copy_buffer_to_buffer(placed.of.buffer, placed.of.start, staging, placed.at, placed.of.size)
            elif usage & (BufferUsage.STORAGE | BufferUsage.UNIFORM):
                self._read_by_shader(encoder, placed)
                encoder.copy_buffer_to_buffer(self._scratch(), placed.at, staging, placed.at, placed.of.size)
            else:
                raise SaveError(
                    f"the contents of {describe(placed.of.buffer)} cannot be read: it has neither usage COPY_SRC nor "
                    "STORAGE or UNIFORM; add COPY_SRC in create_buffer()"
                )
        self.submit(encoder.finish())
        # As "READ", which would submit once more, and on some drivers wait for it. The copy is submitted already.
        return staging.map_async("READ_NOSYNC", 0, staging.size)

    def _read_by_shader(self, encoder: Any, placed: _Placed) -> None:
        of = placed.of
        compute = encoder.begin_compute_pass()
        if of.buffer.usage & BufferUsage.STORAGE:
            compute.set_pipeline(pipeline := self._pipeline(_COPY))
            compute.set_bind_group(0, self._group(pipeline, of.buffer, of.start, placed.at, of.size))
            compute.dispatch_workgroups(-(-of.size // (4 * _WORKGROUP)))
        else:
            for at in range(0, of.size, _BLOCK):
                size = min(_BLOCK, of.size - at)
                compute.set_pipeline(pipeline := self._pipeline(_uniform_copy(size // 4)))
                compute.set_bind_group(0, self._group(pipeline, of.buffer, of.start + at, placed.at + at, size))
                compute.dispatch_workgroups(1)
        compute.end()

    def _group(self, pipeline: Any, buffer: Any, start: int, at: int, size: int) -> Any:
        ranges = ((buffer, start), (self._scratch(), at))
        return self.device.create_bind_group(
            layout=pipeline.get_bind_group_layout(0),
            entries=[
                {"binding": n, "resource": {"buffer": b, "offset": offset, "size": size}}
                for n, (b, offset) in enumerate(ranges)
            ],
        )

    def _buffer(self, usage: int) -> Any:
        buffer = self.device.create_buffer(label="cmdgraph download", size=STAGING, usage=usage)
        self._stack.callback(buffer.destroy)
        return buffer

    def _compiled(self, code: str) -> Any:
        module = self.device.create_shader_module(code=code)
        return self.device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})


def _uniform_copy(words: int) -> str:
    """A shader that copies so many words out of a uniform buffer, whose arrays could only have longer elements."""
    members = ", ".join(f"w{n}: u32" for n in range(words))
    copies = " ".join(f"target_[{n}] = source.w{n};" for n in range(words))
    return f"""
struct Words {{ {members} }}
@group(0) @binding(0) var<uniform> source: Words;
@group(0) @binding(1) var<storage, read_write> target_: array<u32>;
@compute @workgroup_size(1) fn main() {{ {copies} }}
"""


def _pieces(ranges: Iterable[Range]) -> Iterator[Range]:
    """The same ranges, each at most as long as a staging buffer."""
    for each in ranges:
        for at in range(0, each.size, STAGING):
            yield Range(each.buffer, each.start + at, min(STAGING, each.size - at))


def _batches(pieces: Iterable[Range]) -> Iterator[list[_Placed]]:
    """As many pieces together as a staging buffer holds, each from a multiple of 256 bytes on."""
    batch: list[_Placed] = []
    at = 0
    for piece in pieces:
        if batch and at + piece.size > STAGING:
            yield batch
            batch, at = [], 0
        batch.append(_Placed(piece, at))
        at += -(-piece.size // _BLOCK) * _BLOCK
    if batch:
        yield batch
