"""Matrices kept as their file has them: small integers in blocks of 32 columns with a scale, maybe a minimum."""

import numpy as np
from attrs import frozen
from gguf.constants import GGMLQuantizationType

BLOCK = 32


@frozen(eq=False)
class Blocks:
    """numbers (rows, columns) uint8 of 4 bits or int8; scales and minima (rows, columns / 32) float16.

    A value is number * scale + minimum; without minima, number * scale.
    """

    numbers: np.ndarray
    scales: np.ndarray
    minima: np.ndarray | None

    def rows(self, first: int, count: int) -> "Blocks":
        """Some rows."""
        cut = slice(first, first + count)
        return Blocks(self.numbers[cut], self.scales[cut], None if self.minima is None else self.minima[cut])


def unpack_blocks(raw: np.ndarray, kind: GGMLQuantizationType, rows: int) -> Blocks:
    """The blocks of a Q4_0, Q4_1 or Q8_0 tensor: raw bytes of `rows` rows. Q4_0 counts from -8: that is a minimum."""
    header, size = {"Q4_0": (2, 18), "Q4_1": (4, 20), "Q8_0": (2, 34)}[kind.name]
    blocks = raw.reshape(rows, -1, size)
    heads = np.ascontiguousarray(blocks[:, :, :header]).view("<f2")
    data = blocks[:, :, header:]
    if kind.name == "Q8_0":
        return Blocks(np.ascontiguousarray(data).view(np.int8).reshape(rows, -1), heads[..., 0], None)
    numbers = np.concatenate([data & 15, data >> 4], axis=2).reshape(rows, -1)
    minima = heads[..., 0] * np.float16(-8) if kind.name == "Q4_0" else heads[..., 1]
    return Blocks(numbers, heads[..., 0], minima)
