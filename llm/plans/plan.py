"""A dispatch plan: which kernels a decode step runs, in which order, on which buffers. Data only, no GPU."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Literal

from attrs import field, frozen

KernelSet = Literal["gpu", "cpu"]
KERNEL_SETS: tuple[KernelSet, ...] = ("gpu", "cpu")

# The least that every WebGPU device offers.
MAX_WORKGROUPS = 65535


@frozen
class Op:
    """One dispatch. `kernel` names a file of `shaders/`, `constants` its overrides, `buffers` its bindings
    from 0 on.

    `category` is what the paper's table of counts calls it.
    """

    name: str
    category: str
    kernel: str
    constants: tuple[tuple[str, float], ...]
    buffers: tuple[str, ...]
    workgroups: tuple[int, int, int]


@frozen
class Plan:
    """The ops of one decode step. `forward` is the model itself, `sampling` the choice of the next token.

    `scratch` gives the sizes in bytes of the buffers that are neither weights, nor tables, nor state,
    `transposed` the weights that are wanted column after column, rows filled up to a multiple of 4.
    """

    name: str
    kernels: KernelSet
    capacity: int
    forward: tuple[Op, ...]
    sampling: tuple[Op, ...]
    scratch: Mapping[str, int] = field(repr=False)
    transposed: frozenset[str] = field(repr=False)

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


def padded(rows: int) -> int:
    """Rows filled up to whole vec4s."""
    return math.ceil(rows / 4) * 4
