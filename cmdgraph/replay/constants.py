"""The bytes of a graph's write_buffer nodes, kept on the GPU and copied to their places by every replay."""

from __future__ import annotations

from typing import Any

from attrs import define, field

from cmdgraph.objects import BufferUsage
from cmdgraph.program import Program, WriteBuffer

__all__ = ["Constants"]


@define(eq=False)
class Constants:
    """Buffers that hold the data of all write_buffer nodes, split where the device's maxBufferSize asks for it."""

    device: Any
    _buffers: list[Any] = field(factory=list, init=False)
    _places: dict[int, tuple[int, int]] = field(factory=dict, init=False)
    nbytes: int = field(default=0, init=False)

    @classmethod
    def of(cls, program: Program) -> Constants:
        """Makes the buffers for `program` and fills them."""
        self = cls(program.device)
        writes = [(i, n) for i, n in enumerate(program.nodes) if isinstance(n, WriteBuffer) and n.size]
        sizes = self._lay_out(writes)
        self._buffers = [
            program.device.create_buffer(
                label=f"cmdgraph constants {i}", size=size, usage=BufferUsage.COPY_SRC | BufferUsage.COPY_DST
            )
            for i, size in enumerate(sizes)
        ]
        for index, node in writes:
            self.write(index, node.data)
        self.nbytes = sum(sizes)
        return self

    def place(self, node: int) -> tuple[Any, int]:
        """The buffer and offset that hold a node's bytes."""
        number, offset = self._places[node]
        return self._buffers[number], offset

    def write(self, node: int, data: bytes) -> None:
        """New bytes for a node; in queue order, so replays submitted before still write the old ones."""
        buffer, offset = self.place(node)
        self.device.queue.write_buffer(buffer, offset, data)

    def _lay_out(self, writes: list[tuple[int, WriteBuffer]]) -> list[int]:
        limit = self.device.limits["max-buffer-size"]
        sizes: list[int] = []
        for index, node in writes:
            if not sizes or sizes[-1] + node.size > limit:
                sizes.append(0)
            self._places[index] = (len(sizes) - 1, sizes[-1])
            sizes[-1] += node.size
        return sizes
