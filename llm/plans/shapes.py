"""Workgroup shapes by kernel: how many invocations a workgroup has and how many of them share a row (or a key).

The values for NVIDIA were chosen by `python -m llm tune` on an H200 for the fused plan: one workgroup of many
invocations for a head is as fast as several that share its cache, and f16 unpacked from u32 beats f16 as a type. Any
shape gives the same results.
"""

from attrs import evolve, frozen

LONG_ROW = 2048


@frozen
class Shape:
    """`workgroup`: invocations, a power of 2. `lanes`: how many share a row, a power of 2 not above `workgroup`.
    `rows`: how many rows they share, 1, 2 or 4, where the kernel leaves the choice.
    """

    workgroup: int
    lanes: int
    rows: int = 1

    @property
    def teams(self) -> int:
        """Groups of `lanes` invocations in a workgroup."""
        return self.workgroup // self.lanes


@frozen
class Shapes:
    """The shapes of one class of adapters. `long`: rows of LONG_ROW columns and more. `logits_workgroups`: how many
    walk the output matrix. `splits`: how many workgroups of the fused plan share a head's cache, of the shape `split`,
    and `merge` the shape of the kernel that puts their parts together; with 1 there is one of the shape `attention`.
    `ahead`: MiB of the next large matrix that others read meanwhile. `half`: f16 is used as a type where the device
    has it.
    """

    row: Shape = Shape(128, 32)
    long: Shape = Shape(128, 128)
    qkv: Shape = Shape(128, 32)
    gate_up: Shape = Shape(128, 32)
    logits: Shape = Shape(128, 32)
    logits_workgroups: int = 1200
    attention: Shape = Shape(256, 2)
    split: Shape = Shape(256, 4)
    splits: int = 4
    merge: Shape = Shape(256, 32)
    ahead: int = 0
    half: bool = True
    norm: Shape = Shape(256, 32)

    def for_row(self, columns: int) -> Shape:
        """The shape for a plain linear of that many columns."""
        return self.long if columns >= LONG_ROW else self.row


DEFAULT = Shapes()
BY_VENDOR = {
    "nvidia": evolve(
        DEFAULT,
        row=Shape(64, 64),
        long=Shape(256, 256, 2),
        qkv=Shape(128, 128),
        gate_up=Shape(256, 32),
        logits=Shape(128, 16),
        logits_workgroups=792,
        attention=Shape(512, 2),
        splits=1,
        half=False,
    )
}


def shapes_for(adapter: str) -> Shapes:
    """The shapes for an adapter of that description."""
    known = [shapes for vendor, shapes in BY_VENDOR.items() if vendor in adapter.lower()]
    return known[0] if known else DEFAULT
