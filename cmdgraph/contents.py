"""New bytes for a buffer or a node, held against the size and the element type that are expected."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmdgraph.errors import UpdateError
from cmdgraph.objects import BufferUsage, describe
from cmdgraph.program import NUMPY_TYPES, WriteBuffer

__all__ = ["of_buffer", "of_immediates", "of_node"]


def of_buffer(buffer: Any, data: Any, element: str | None) -> bytes:
    """The bytes of `data` as the whole new contents of `buffer`.

    ``element`` is the scalar type that the shaders declare for the buffer ("f32", ...), None where it is not known.

    Raises:
        UpdateError: wrong size or dtype, or the buffer cannot be written to.
    """
    what = f"update of {describe(buffer)}"
    if not buffer.usage & BufferUsage.COPY_DST:
        raise UpdateError(f"{what}: it was made without usage COPY_DST, so nothing can be written to it")
    raw = _as_bytes(data, element, what)
    if len(raw) != buffer.size:
        raise UpdateError(
            f"{what}: expected {buffer.size} bytes, got {len(raw)}; an update replaces the whole buffer "
            "(use queue.write_buffer() for a part of it)"
        )
    return raw


def of_node(index: int, node: WriteBuffer, data: Any, element: str | None) -> bytes:
    """The bytes of `data` in place of those that a write_buffer node has.

    Raises:
        UpdateError: wrong size or dtype.
    """
    what = f"set_data() of node {index}, write_buffer to {describe(node.buffer)}"
    raw = _as_bytes(data, element, what)
    if len(raw) != node.size:
        raise UpdateError(f"{what}: expected {node.size} bytes, got {len(raw)}; capture again for another size")
    return raw


def of_immediates(
    index: int, recorded: tuple[tuple[int, bytes], ...], data: Any, offset: int
) -> tuple[tuple[int, bytes], ...]:
    """The immediates of a node, ranges of (offset, bytes), with those from `offset` on replaced by `data`.

    Raises:
        UpdateError: the node has no immediates there.
    """
    raw = _as_bytes(data, None, f"set_immediates() of node {index}")
    for position, (start, old) in enumerate(recorded):
        if start <= offset and offset + len(raw) <= start + len(old):
            new = old[: offset - start] + raw + old[offset - start + len(raw) :]
            return (*recorded[:position], (start, new), *recorded[position + 1 :])
    ranges = ", ".join(f"{start}..{start + len(old)}" for start, old in recorded) or "none"
    raise UpdateError(
        f"set_immediates() of node {index}: bytes {offset}..{offset + len(raw)} were not set when it was recorded "
        f"(recorded: {ranges})"
    )


def _as_bytes(data: Any, element: str | None, what: str) -> bytes:
    """The bytes of `data`, with its dtype held against the element type that the shader declares."""
    expected = np.dtype(NUMPY_TYPES[element]) if element is not None else None
    if isinstance(data, bytes | bytearray):
        return bytes(data)
    if isinstance(data, list | tuple | int | float):
        if expected is None:
            raise UpdateError(f"{what}: its element type is not known from the shaders; pass a numpy array")
        return np.asarray(data, expected).tobytes()
    try:
        array = np.asarray(data if isinstance(data, np.ndarray | np.generic) else memoryview(data))
    except TypeError:
        raise UpdateError(f"{what}: {type(data).__name__} is no array; pass a numpy array or bytes") from None
    raw_bytes = array.dtype.kind in "Sb" or (array.dtype.itemsize == 1 and not isinstance(data, np.ndarray))
    if expected is not None and array.dtype != expected and not raw_bytes:
        raise UpdateError(
            f"{what}: the shader declares {element}, expected dtype {expected}, got {array.dtype}; convert it with "
            f".astype(np.{expected})"
        )
    return np.ascontiguousarray(array).tobytes()
