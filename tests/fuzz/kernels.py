"""The compute pipelines of random programs: made from a fixed seed, so that both implementations compile the same ones.

Between them they have automatic and explicit layouts, no to four bind groups with gaps, every kind of buffer binding,
dynamic offsets, minBindingSize left out, exact and larger, bindings that the shader does not use, and immediates. One
invocation of each does the work, and all values stay below 7, so results are the same however often it runs, and an
indirect dispatch never becomes a long one.
"""

from __future__ import annotations

import random
from functools import cached_property
from typing import Any

from attrs import field, frozen

__all__ = ["KERNELS", "Kernel", "Slot"]

MODULUS = 7
STRUCTS = """
struct Tail { a: vec3u, b: u32, c: array<u32> }
struct Wide { a: u32, @align(16) b: vec2u, @size(32) c: u32 }
struct Odd { a: vec4u, b: u32 }
struct Padded { a: u32, @align(16) b: vec2u }
"""


@frozen
class Type:
    """A WGSL type, how to get at one u32 of it, and the bytes that a binding of it must have."""

    text: str
    word: str
    size: int
    uniform: bool = False


TYPES = (
    Type("array<u32>", "[0]", 4),
    Type("array<vec4u>", "[0].y", 16),
    Type("array<vec3u>", "[0].x", 16),
    Type("u32", "", 4, True),
    Type("vec4u", ".z", 16, True),
    Type("array<u32, 5>", "[4]", 20),
    Type("array<vec4u, 4>", "[3].w", 64, True),
    Type("Tail", ".c[0]", 32),
    Type("Wide", ".b.y", 64, True),
    Type("Odd", ".b", 32, True),
    Type("array<Wide, 3>", "[2].c", 192, True),
)
IMMEDIATES = (
    ("u32", "", (0,), 4),
    ("vec2u", ".y", (0, 4), 8),
    ("Padded", ".b.x", (0, 16, 20), 32),
    ("vec3u", ".z", (0, 4, 8), 12),
)
"""Type, a word of it, the words that must be set, the bytes that the layout has."""


@frozen
class Slot:
    """One binding: ``kind`` as in a bind group layout; ``least`` is its minBindingSize; the shader may not use it."""

    binding: int
    kind: str
    type: Type
    dynamic: bool = False
    least: int = 0
    used: bool = True

    @property
    def writes(self) -> bool:
        return self.kind == "storage"

    def entry(self) -> dict[str, Any]:
        buffer = {"type": self.kind, "has_dynamic_offset": self.dynamic, "min_binding_size": self.least}
        return {"binding": self.binding, "visibility": 4, "buffer": buffer}


@frozen(slots=False)
class Kernel:
    """A pipeline: ``auto`` layout or an explicit one with these groups."""

    number: int
    auto: bool
    groups: tuple[tuple[Slot, ...], ...]
    immediates: int | None = None
    words: tuple[int, ...] = field(init=False)
    immediate_size: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        _, _, words, size = ("", "", (), 0) if self.immediates is None else IMMEDIATES[self.immediates]
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "immediate_size", size)

    @cached_property
    def code(self) -> str:
        lines, reads = [STRUCTS], [f"{self.number}u"]
        writes: list[str] = []
        for index, slots in enumerate(self.groups):
            for slot in slots:
                name = f"v{index}_{slot.binding}"
                space = {"uniform": "uniform", "storage": "storage, read_write", "read-only-storage": "storage, read"}
                lines.append(
                    f"@group({index}) @binding({slot.binding}) var<{space[slot.kind]}> {name}: {slot.type.text};"
                )
                if slot.used:
                    (writes if slot.writes else reads).append(name + slot.type.word)
        if self.immediates is not None:
            text, word, _, _ = IMMEDIATES[self.immediates]
            lines.append(f"var<immediate> k: {text};")
            reads.append(f"k{word}")
        body = [f"let sum = {' + '.join(reads)};"]
        body += [f"{place} = ({place} * 3u + sum + {n}u) % {MODULUS}u;" for n, place in enumerate(writes, 1)]
        lines.append(
            "@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3u) { "
            f"if (all(id == vec3u())) {{ {' '.join(body)} }} }}"
        )
        return "\n".join(lines)


def _slot(draw: random.Random, binding: int, auto: bool) -> Slot:
    kind = draw.choice(["storage", "storage", "read-only-storage", "uniform"])
    kind_type = draw.choice([t for t in TYPES if t.uniform or kind != "uniform"])
    if auto:
        return Slot(binding, kind, kind_type)
    least = draw.choice([0, 0, kind_type.size, kind_type.size + 16])
    return Slot(binding, kind, kind_type, draw.random() < 0.25, least, draw.random() < 0.85)


def _kernel(number: int) -> Kernel:
    draw = random.Random(f"kernel {number}")
    auto = draw.random() < 0.4
    immediates = None if auto or draw.random() < 0.75 else draw.randrange(len(IMMEDIATES))
    groups = []
    for _ in range(draw.choice([0, 1, 1, 1, 2, 2, 3, 4])):
        bindings = sorted(draw.sample(range(5), draw.choice([0, 1, 1, 2, 2, 3])))
        groups.append(tuple(_slot(draw, binding, auto) for binding in bindings))
    if auto:
        while groups and not groups[-1]:
            groups.pop()
    return Kernel(number, auto, tuple(groups), immediates)


KERNELS: tuple[Kernel, ...] = tuple(_kernel(number) for number in range(96))
