"""Puts the contents of a file into buffers, chunk by chunk, and holds their checksums against the manifest's."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from cmdgraph.container.archive import Span
from cmdgraph.container.manifest import Stored
from cmdgraph.container.tensors import Tensor
from cmdgraph.errors import GraphFormatError
from cmdgraph.objects import BufferUsage

__all__ = ["Contents"]

CHUNK = 8 << 20
_SMALL = 1 << 16


class Contents:
    """The data of a contents file. A second thread computes checksums; close it when done."""

    def __init__(self, span: Span, data_start: int, file: str) -> None:
        self._span = span
        self._data_start = data_start
        self._file = file
        self._memory = [memoryview(bytearray(CHUNK)) for _ in range(2)]
        self._hasher = ThreadPoolExecutor(1)

    def __enter__(self) -> Contents:
        return self

    def __exit__(self, *exc: object) -> None:
        self._hasher.shutdown()

    def into_buffer(self, buffer: Any, stored: Stored, tensor: Tensor) -> None:
        """Writes a tensor to the beginning of `buffer`, which is mapped if it cannot be written to.

        Raises:
            GraphFormatError: the bytes are not those that were saved.
        """
        if buffer.usage & BufferUsage.COPY_DST:
            queue = buffer._device.queue
            for at, part in self._checked(stored, tensor):
                queue.write_buffer(buffer, at, part)
                if len(part) > _SMALL:
                    queue.submit([])  # sends the chunk off, so that its staging memory can be used again
        else:
            for at, part in self._checked(stored, tensor):
                buffer.write_mapped(part, at)
            buffer.unmap()

    def as_bytes(self, stored: Stored, tensor: Tensor) -> bytes:
        """A whole tensor in memory.

        Raises:
            GraphFormatError: see `into_buffer`.
        """
        return b"".join(bytes(part) for _, part in self._checked(stored, tensor))

    def _checked(self, stored: Stored, tensor: Tensor) -> Iterator[tuple[int, memoryview]]:
        """The parts of a tensor with their offsets; raises after the last one if the checksum is another."""
        digest = hashlib.sha256()
        pending: list[Future[None]] = []
        size = tensor.end - tensor.start
        update: Callable[[Any], None] = digest.update
        for number, at in enumerate(range(0, size, CHUNK)):
            while len(pending) > 1:  # its memory is needed again
                pending.pop(0).result()
            part = self._memory[number % 2][: min(CHUNK, size - at)]
            if self._span.read_into(self._data_start + tensor.start + at, part) != len(part):
                raise self._wrong(stored, "its bytes end early; the file was truncated")
            if size <= _SMALL:
                update(part)
            else:
                pending.append(self._hasher.submit(update, part))
            yield at, part
        for future in pending:
            future.result()
        if digest.hexdigest() != stored.sha256:
            raise self._wrong(stored, "its checksum does not match: the contents were altered; save the graph again")

    def _wrong(self, stored: Stored, what: str) -> GraphFormatError:
        return GraphFormatError.at(self._file, f"tensor {stored.tensor[:100]!r}", what)
