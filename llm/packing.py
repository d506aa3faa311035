"""From weights to the bytes of a GPU buffer, in the layouts and formats that the kernels read."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from llm.blocks import Blocks
from llm.errors import UnsupportedModelError
from llm.plans.plan import BLOCKS, Stored, padded


def pack(stored: Stored, weights: Mapping[str, Any]) -> np.ndarray:
    """The bytes of the buffer that `stored` describes, uint8.

    `weights` gives float32 arrays; for quantised formats it must also have a method `blocks(name)`. Raises
    UnsupportedModelError where a value does not fit f16.
    """
    if stored.layout == "vector":
        values = np.concatenate([np.asarray(weights[name], np.float32) for name in stored.sources])
        return _bytes(values)
    if stored.format in BLOCKS:
        return _bytes(
            np.concatenate(_packed_blocks(stored, weights)) if stored.layout == "rows" else _columns(stored, weights)
        )
    values = _below_each_other([weights[name] for name in stored.sources])[stored.first : stored.first + stored.rows]
    if stored.format == "f16":
        values = _halved(values, stored)
    if stored.layout == "columns":
        result = np.zeros((stored.columns, padded(stored.rows)), values.dtype)
        result[:, : stored.rows] = values.T
        return _bytes(result)
    if stored.columns % 8:
        values = np.pad(values, ((0, 0), (0, -stored.columns % 8)))
    return _bytes(values)


def _below_each_other(parts: list[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _halved(values: np.ndarray, stored: Stored) -> np.ndarray:
    if values.dtype == np.float16:
        return values
    with np.errstate(over="ignore"):
        halves = values.astype(np.float16)
    if not np.isfinite(halves).all():
        raise UnsupportedModelError(
            f"weight '{' + '.join(stored.sources)}' has values that f16 cannot hold; use --dtype f32"
        )
    return halves


def _packed_blocks(stored: Stored, weights: Any) -> list[np.ndarray]:
    """For each source (rows, blocks, words) uint32: the scales, then the numbers."""
    parts = [weights.blocks(name) for name in stored.sources]
    if len(parts) == 1:
        parts = [parts[0].rows(stored.first, stored.rows)]
    return [_words(part) for part in parts]


def _words(blocks: Blocks) -> np.ndarray:
    rows, count = blocks.scales.shape
    heads = blocks.scales.view(np.uint16).astype(np.uint32)
    if blocks.minima is not None:
        heads |= blocks.minima.view(np.uint16).astype(np.uint32) << 16
    bits = 4 if blocks.minima is not None or blocks.part_scales is not None else 8
    bytes_of_parts = [parts for parts in (blocks.part_scales, blocks.part_minima) if parts is not None]
    numbers = blocks.numbers.view(np.uint8)
    words = [heads, *[_packed(parts, 8) for parts in bytes_of_parts], _packed(numbers & (2**bits - 1), bits)]
    if bits == 4 and blocks.minima is None:
        words.append(_packed(numbers >> 4, 2))
    return np.concatenate([part.reshape(rows, count, -1) for part in words], axis=2)


def _packed(numbers: np.ndarray, bits: int) -> np.ndarray:
    """uint32 of numbers of so many bits each, the first in the lowest bits."""
    several = numbers.view(np.uint8).reshape(len(numbers), -1, 32 // bits).astype(np.uint32)
    return np.bitwise_or.reduce(several << (bits * np.arange(32 // bits, dtype=np.uint32)), axis=2)


def _columns(stored: Stored, weights: Any) -> np.ndarray:
    """(blocks, quads of rows, words, 4) uint32."""
    words = np.concatenate(_packed_blocks(stored, weights))
    words = np.pad(words, ((0, -stored.rows % 4), (0, 0), (0, 0)))
    return words.reshape(-1, 4, *words.shape[1:]).transpose(2, 0, 3, 1)


def _bytes(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values).view(np.uint8).reshape(-1)
