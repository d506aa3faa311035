"""A dispatch plan: which kernels a decode step runs, in which order, on which buffers. Data only, no GPU."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Literal

from attrs import field, frozen

KernelSet = Literal["gpu-subgroups", "gpu", "cpu"]
KERNEL_SETS: tuple[KernelSet, ...] = ("gpu-subgroups", "gpu", "cpu")

Format = Literal["f32", "f16", "q8", "q4", "q6k", "q4k"]
# Of the quantised formats: columns of a block, and the u32 that it takes.
BLOCKS: dict[Format, tuple[int, int]] = {"q8": (32, 9), "q4": (32, 5), "q6k": (256, 53), "q4k": (256, 37)}
Layout = Literal["rows", "columns", "vector"]

# The least that every WebGPU device offers.
MAX_WORKGROUPS = 65535
BINDING_LIMIT = 128 << 20


@frozen
class Op:
    """One dispatch. `kernel` names a file of `shaders/`, `parts` those of `shaders/parts/` that it is made with,
    `constants` its overrides, `buffers` its bindings from 0 on.

    `category` is what the paper's table of counts calls it. `early` are buffers that the kernel does not use, bound for
    reading behind the others: neighbours read them, and one barrier here does for all of them.
    """

    name: str
    category: str
    kernel: str
    parts: tuple[str, ...]
    constants: tuple[tuple[str, float], ...]
    buffers: tuple[str, ...]
    workgroups: tuple[int, int, int]
    early: tuple[str, ...] = ()


@frozen
class Stored:
    """How a buffer of weights is made: rows `first` to `first + rows` of the weights `sources`, put below each other.

    Layouts: `rows` one row after another, filled up to 8 columns; `columns` one column (or block of 32) after another,
    rows filled up to a multiple of 4; `vector` one number after another, always f32.
    """

    sources: tuple[str, ...]
    layout: Layout
    format: Format
    first: int
    rows: int
    columns: int

    @property
    def nbytes(self) -> int:
        """Bytes of the buffer."""
        if self.layout == "vector":
            return self.rows * 4
        if self.layout == "columns":
            return padded(self.rows) * row_bytes(self.format, self.columns)
        return self.rows * row_bytes(self.format, padded(self.columns, 8))


@frozen
class Plan:
    """The ops of one decode step. `forward` is the model itself, `sampling` the choice of the next token.

    `scratch` gives the sizes in bytes of the buffers that are neither weights, nor tables, nor state; `weights` says
    how those of weights are made.
    """

    name: str
    kernels: KernelSet
    capacity: int
    forward: tuple[Op, ...]
    sampling: tuple[Op, ...]
    scratch: Mapping[str, int] = field(repr=False)
    weights: Mapping[str, Stored] = field(repr=False)

    @property
    def ops(self) -> tuple[Op, ...]:
        """All dispatches of a step in order."""
        return self.forward + self.sampling

    def counts(self) -> Counter[str]:
        """Dispatches of the forward pass by category."""
        return Counter(op.category for op in self.forward)


def workgroup_grid(count: int) -> tuple[int, int, int]:
    """At least `count` workgroups, in two dimensions where one is not enough."""
    rows = math.ceil(count / MAX_WORKGROUPS)
    return (math.ceil(count / rows), rows, 1)


def padded(count: int, multiple: int = 4) -> int:
    """`count` filled up to a multiple."""
    return math.ceil(count / multiple) * multiple


def row_bytes(kind: Format, columns: int) -> int:
    """Bytes that `columns` columns of a row take."""
    if kind in BLOCKS:
        block, words = BLOCKS[kind]
        return columns // block * words * 4
    return columns * (4 if kind == "f32" else 2)
