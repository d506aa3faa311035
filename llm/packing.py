"""From weights to the bytes of a GPU buffer, in the layouts and formats that the kernels read."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from llm.blocks import BLOCK, Blocks
from llm.errors import UnsupportedModelError
from llm.plans.plan import Stored, padded


def pack(stored: Stored, weights: Mapping[str, Any]) -> np.ndarray:
    """The bytes of the buffer that `stored` describes, uint8.

    `weights` gives float32 arrays; for the formats q4 and q8 it must also have a method `blocks(name)`. Raises
    UnsupportedModelError where a value does not fit f16.
    """
    if stored.layout == "vector":
        values = np.concatenate([np.asarray(weights[name], np.float32) for name in stored.sources])
        return _bytes(values)
    if stored.format in ("q4", "q8"):
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
    bits = 8 if blocks.minima is None else 4
    words = np.zeros((rows, count, 1 + BLOCK * bits // 32), np.uint32)
    words[:, :, 0] = blocks.scales.view(np.uint16)
    if blocks.minima is not None:
        words[:, :, 0] |= blocks.minima.view(np.uint16).astype(np.uint32) << 16
    numbers = blocks.numbers.view(np.uint8).reshape(rows, count, -1, 32 // bits)
    for k in range(32 // bits):
        words[:, :, 1:] |= numbers[..., k].astype(np.uint32) << (bits * k)
    return words


def _columns(stored: Stored, weights: Any) -> np.ndarray:
    """(blocks, quads of rows, words, 4) uint32."""
    words = np.concatenate(_packed_blocks(stored, weights))
    words = np.pad(words, ((0, -stored.rows % 4), (0, 0), (0, 0)))
    return words.reshape(-1, 4, *words.shape[1:]).transpose(2, 0, 3, 1)


def _bytes(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values).view(np.uint8).reshape(-1)
