"""Workgroup shapes by kernel: how many invocations a workgroup has and how many of them share a row (or a key).

The values for NVIDIA were chosen by GPU timestamps on an H200; any shape gives the same results.
"""

from attrs import evolve, frozen

LONG_ROW = 2048


@frozen
class Shape:
    """`workgroup`: invocations, a power of 2. `lanes`: how many share a row, a power of 2 not above `workgroup`."""

    workgroup: int
    lanes: int


@frozen
class Shapes:
    """The shapes of one class of adapters. `long`: rows of LONG_ROW columns and more. `logits_workgroups`: how many
    walk the output matrix.
    """

    row: Shape = Shape(128, 32)
    long: Shape = Shape(128, 128)
    qkv: Shape = Shape(128, 32)
    gate_up: Shape = Shape(128, 32)
    logits: Shape = Shape(128, 32)
    logits_workgroups: int = 1200
    attention: Shape = Shape(256, 2)
    norm: Shape = Shape(256, 32)

    def for_row(self, columns: int) -> Shape:
        """The shape for a plain linear of that many columns."""
        return self.long if columns >= LONG_ROW else self.row


DEFAULT = Shapes()
BY_VENDOR = {
    "nvidia": evolve(
        DEFAULT,
        row=Shape(64, 64),
        long=Shape(512, 128),
        qkv=Shape(128, 64),
        logits=Shape(256, 32),
        attention=Shape(512, 2),
    )
}


def shapes_for(adapter: str) -> Shapes:
    """The shapes for an adapter of that description."""
    known = [shapes for vendor, shapes in BY_VENDOR.items() if vendor in adapter.lower()]
    return known[0] if known else DEFAULT
