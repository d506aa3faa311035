"""The packed array: native commands in one block of memory, which the C walker and the Python loop both read.

One command is 56 bytes: an operation, three u32, two pointers and three u64. What each operation puts where stands in
`Op`; walker.h says the same in C, and a test holds the two against each other.
"""

from __future__ import annotations

import itertools
from enum import IntEnum
from typing import Any

import numpy as np
from attrs import define, field

__all__ = ["COMMAND", "Op", "Packed"]


class Op(IntEnum):
    """What a command does, and its operands."""

    ENCODER = 0  # make a command encoder
    SUBMIT = 1  # finish the encoder and submit it
    BEGIN_PASS = 2
    END_PASS = 3
    PIPELINE = 4  # p pipeline
    GROUP = 5  # x index, p bind group, y number of dynamic offsets, q their address
    IMMEDIATES = 6  # x offset, y size in bytes, q address of the bytes
    DISPATCH = 7  # x, y, z workgroups
    INDIRECT = 8  # p buffer, u offset
    COPY = 9  # p source, u offset, q destination, v offset, w size
    CLEAR = 10  # p buffer, u offset, w size


COMMAND = np.dtype(
    [
        ("op", np.uint32),
        ("x", np.uint32),
        ("y", np.uint32),
        ("z", np.uint32),
        ("p", np.uint64),
        ("q", np.uint64),
        ("u", np.uint64),
        ("v", np.uint64),
        ("w", np.uint64),
    ]
)


@define(eq=False)
class Packed:
    """A sequence of commands.

    ``commands`` is an array of `COMMAND`; ``node_of`` gives the node that each command belongs to (-1: none);
    ``dispatch_of`` gives the place of a dispatch node's own command. ``keep`` holds memory that the commands point to.
    """

    commands: np.ndarray
    node_of: list[int]
    dispatch_of: dict[int, int]
    keep: list[Any] = field(factory=list)
    generation: int = 0
    address: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.address = self.commands.ctypes.data

    def __len__(self) -> int:
        return len(self.commands)

    def count(self, op: Op) -> int:
        return int(np.count_nonzero(self.commands["op"] == op))

    def idle(self) -> Packed:
        """The same commands with nothing to do: no workgroups, no bytes; indirect dispatches stand as direct ones.

        Clears are left out: wgpu-native aborts on one of zero bytes.
        """
        kept = self.commands["op"] != Op.CLEAR
        commands = self.commands[kept]
        op = commands["op"]
        dispatches = (op == Op.DISPATCH) | (op == Op.INDIRECT)
        for counts in ("x", "y", "z"):
            commands[counts][dispatches] = 0
        commands["w"][op == Op.COPY] = 0
        commands["op"][op == Op.INDIRECT] = Op.DISPATCH
        return Packed(commands, list(itertools.compress(self.node_of, kept)), {}, self.keep)

    def set_workgroups(self, node: int, counts: tuple[int, int, int]) -> None:
        """Changes the size of a dispatch in place."""
        command = self.commands[self.dispatch_of[node]]
        command["x"], command["y"], command["z"] = counts
        self.generation += 1
