"""Matrices kept as their file has them: small integers in blocks of columns with a scale, maybe a minimum."""

from collections.abc import Callable

import numpy as np
from attrs import evolve, fields, frozen
from gguf.constants import GGMLQuantizationType

BLOCK = 32
# Columns of a block of the K formats, whose parts have scales of their own.
SUPER_BLOCK = 256


@frozen(eq=False)
class Blocks:
    """numbers (rows, columns) uint8 or int8; scales and minima (rows, blocks) float16.

    A value is number * scale + minimum; without minima, number * scale. With `part_scales` (rows, parts) a block of 256
    columns has parts: a value is number * scale * part_scale - minimum * part_minimum; without minima, (number - 32) *
    scale * part_scale.
    """

    numbers: np.ndarray
    scales: np.ndarray
    minima: np.ndarray | None
    part_scales: np.ndarray | None = None
    part_minima: np.ndarray | None = None

    def rows(self, first: int, count: int) -> "Blocks":
        """Some rows."""
        return self.changed(lambda values: values[first : first + count])

    def changed(self, change: Callable[[np.ndarray], np.ndarray]) -> "Blocks":
        """The same change made to all arrays, of rows."""
        arrays = {field.name: getattr(self, field.name) for field in fields(Blocks)}
        return evolve(self, **{name: change(values) for name, values in arrays.items() if values is not None})

    def is_finite(self) -> bool:
        """Whether every scale and minimum is a number."""
        return all(np.isfinite(values).all() for values in (self.scales, self.minima) if values is not None)


def unpack_blocks(raw: np.ndarray, kind: GGMLQuantizationType, rows: int) -> Blocks:
    """The blocks of a tensor of `rows` rows from its raw bytes: Q4_0, Q4_1, Q8_0, Q4_K or Q6_K. Q4_0 counts from -8:
    that is a minimum.
    """
    if kind.name == "Q4_K":
        return _unpack_q4_k(raw.reshape(rows, -1, 144))
    if kind.name == "Q6_K":
        return _unpack_q6_k(raw.reshape(rows, -1, 210))
    header, size = {"Q4_0": (2, 18), "Q4_1": (4, 20), "Q8_0": (2, 34)}[kind.name]
    blocks = raw.reshape(rows, -1, size)
    heads = _halves(blocks[:, :, :header])
    data = blocks[:, :, header:]
    if kind.name == "Q8_0":
        return Blocks(np.ascontiguousarray(data).view(np.int8).reshape(rows, -1), heads[..., 0], None)
    numbers = np.concatenate([data & 15, data >> 4], axis=2).reshape(rows, -1)
    minima = heads[..., 0] * np.float16(-8) if kind.name == "Q4_0" else heads[..., 1]
    return Blocks(numbers, heads[..., 0], minima)


def _unpack_q4_k(blocks: np.ndarray) -> Blocks:
    """Scale and minimum, 8 pairs of 6 bits in 12 bytes, then 4 groups of 32 bytes: their low halves before the high."""
    rows = len(blocks)
    heads, packed, data = _halves(blocks[:, :, :4]), blocks[:, :, 4:16], blocks[:, :, 16:]
    first, second, third = packed[:, :, :4], packed[:, :, 4:8], packed[:, :, 8:]
    scales = np.concatenate([first & 63, third & 15 | first >> 6 << 4], axis=2)
    minima = np.concatenate([second & 63, third >> 4 | second >> 6 << 4], axis=2)
    groups = data.reshape(rows, -1, 4, 1, 32)
    numbers = np.concatenate([groups & 15, groups >> 4], axis=3).reshape(rows, -1)
    return Blocks(numbers, heads[..., 0], heads[..., 1], scales.reshape(rows, -1), minima.reshape(rows, -1))


def _unpack_q6_k(blocks: np.ndarray) -> Blocks:
    """Two halves of 128 numbers: 64 bytes of lower 4 bits, 32 of upper 2 bits; then 16 signed scales and the scale."""
    rows = len(blocks)
    low = blocks[:, :, :128].reshape(rows, -1, 2, 1, 64)
    high = blocks[:, :, 128:192].reshape(rows, -1, 2, 1, 32)
    lower = np.concatenate([low & 15, low >> 4], axis=3).reshape(rows, -1, 2, 4, 32)
    upper = high >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3
    parts = np.ascontiguousarray(blocks[:, :, 192:208]).view(np.int8).reshape(rows, -1)
    return Blocks((lower | upper << 4).reshape(rows, -1), _halves(blocks[:, :, 208:])[..., 0], None, parts)


def _halves(raw: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(raw).view("<f2")
