"""Random programs of the public API: what they are made of, and a generator that any `random.Random` drives.

Half of the programs are made with care: every choice is a valid one. In the others each choice may go wrong. Hypothesis
drives the same generator in the tests (`st.randoms`), which makes its failures small; long runs use plain seeds.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from attrs import evolve, field, frozen

from cmdgraph.objects import BufferUsage as U
from tests.fuzz.kernels import KERNELS, Kernel, Slot

__all__ = ["Buffer", "Group", "Program", "draw_program", "numbered"]

_COPIES = U.COPY_SRC | U.COPY_DST
FULL = U.STORAGE | U.UNIFORM | U.INDIRECT | _COPIES
USAGES = (
    FULL,
    U.STORAGE | _COPIES,
    U.STORAGE | U.COPY_DST,
    U.STORAGE,
    U.UNIFORM | U.COPY_DST,
    U.UNIFORM | U.STORAGE | _COPIES,
    U.INDIRECT | U.COPY_DST,
    U.INDIRECT | U.STORAGE | _COPIES,
    U.COPY_SRC,
    U.COPY_DST,
    U.VERTEX | U.INDEX | _COPIES,
    U.QUERY_RESOLVE | U.COPY_SRC,
    U.MAP_READ | U.COPY_DST,
    U.MAP_WRITE | U.COPY_SRC,
)
SIZES = (0, 4, 12, 16, 20, 32, 64, 192, 256, 260, 512, 768, 1024)
LIMIT = 65535
ALIGNMENT = 256


@frozen
class Buffer:
    """``foreign``: of another device."""

    usage: int
    size: int
    foreign: bool = False


@frozen
class Group:
    """A bind group of the layout that `kernel` has at `index`; entries are (binding, buffer, offset, size or None)."""

    kernel: int
    index: int
    entries: tuple[tuple[int, int, int, int | None], ...]


Event = tuple[str, int]
"""("destroy" | "map" | "map and unmap", buffer)"""
Command = tuple[Any, ...]
"""In an encoder: ("pass", commands), ("copy", source, offset, destination, offset, size), ("clear", buffer, offset,
size). In a pass: ("pipeline", kernel), ("group", index, group, offsets), ("immediates", offset, words),
("dispatch", x, y, z), ("indirect", buffer, offset).
"""
Step = tuple[Any, ...]
"""Of the queue: ("write", buffer, offset, size, seed), ("submit", encoders)."""


@frozen
class Program:
    """``before`` happens before the capture, ``after`` between two replays; ``strategy`` is how it is replayed.

    ``rebind`` puts another buffer in the place of one; ``resize`` gives a dispatch (by number) other workgroup counts.
    """

    buffers: tuple[Buffer, ...]
    groups: tuple[Group, ...]
    steps: tuple[Step, ...]
    before: tuple[Event, ...] = ()
    after: tuple[Event, ...] = ()
    strategy: str = "single-pass"
    rebind: tuple[int, Buffer] | None = None
    resize: tuple[int, tuple[int, int, int]] | None = None

    def rebound(self) -> Program:
        """The program that `rebind` leads to."""
        assert self.rebind is not None
        slot, new = self.rebind
        return evolve(self, buffers=(*self.buffers[:slot], new, *self.buffers[slot + 1 :]))

    def resized(self) -> Program | None:
        """The program that `resize` leads to; None where it has no dispatch."""
        assert self.resize is not None
        dispatches = sum(command[0] == "dispatch" for command in self.commands())
        if not dispatches:
            return None
        wanted, left = self.resize[1], [self.resize[0] % dispatches]

        def changed(command: Command) -> Command:
            if command[0] in ("submit", "pass"):
                return (command[0], tuple(changed(part) for part in command[1]))
            if command and isinstance(command[0], tuple):  # an encoder
                return tuple(changed(part) for part in command)
            if command[0] != "dispatch":
                return command
            left[0] -= 1
            return ("dispatch", *wanted) if left[0] == -1 else command

        return evolve(self, steps=tuple(changed(step) for step in self.steps))

    def commands(self) -> Iterator[Command]:
        """All commands, those of passes too."""
        for step in self.steps:
            if step[0] == "write":
                yield step
                continue
            for encoder in step[1]:
                for command in encoder:
                    if command[0] == "pass":
                        yield from command[1]
                    else:
                        yield command


def numbered(seed: int, number: int) -> Program:
    """One program of a long run."""
    return draw_program(random.Random(f"{seed} {number}"))


def draw_program(rng: random.Random) -> Program:
    return _Drawing(rng).program()


@frozen
class _Drawing:
    rng: random.Random
    buffers: list[Buffer] = field(factory=list)
    groups: list[Group] = field(factory=list)
    care: list[float] = field(factory=list)

    def program(self) -> Program:
        self.care.append(self.rng.choice([0, 0.03, 0.12]))
        for _ in range(4):
            self.buffers.append(Buffer(FULL, 1024))
        for _ in range(self.rng.randint(0, 4)):
            self.buffers.append(Buffer(self.rng.choice(USAGES), self.rng.choice(SIZES)))
        if self.care[0] and self.rng.random() < 0.2:
            self.buffers.append(Buffer(FULL, 1024, True))
        steps = tuple(self._step() for _ in range(self.rng.randint(1, 3)))
        before = self._events(0.04)
        return Program(
            tuple(self.buffers),
            tuple(self.groups),
            steps,
            before,
            self._events(0.15),
            self.rng.choice(["single-pass", "per-op", "prerecorded"]),
            *self._changes(),
        )

    # -- choices ----------------------------------------------------------------------------------------------------

    def bad(self) -> bool:
        """Whether the next choice may be a wrong one."""
        return self.care[0] > 0 and self.rng.random() < self.care[0]

    def _rarely(self) -> bool:
        """For what makes the objects impossible, so that no command is reached."""
        return self.rng.random() < 0.15

    def _buffer(self, usage: int, size: int = 0, taken: set[int] | None = None) -> int:
        """A buffer with these usages and at least this size, none of those taken; or any, where choices go wrong."""
        everything = range(len(self.buffers))
        if self.bad():
            return self.rng.choice(everything)
        fitting = [
            b
            for b in everything
            if not usage & ~self.buffers[b].usage
            and self.buffers[b].size >= size
            and b not in (taken or ())
            and not self.buffers[b].foreign
        ]
        return self.rng.choice(fitting or [0])

    def _span(self, buffer: int, least: int = 0) -> tuple[int, int]:
        """Offset and size of a range, in multiples of 4 within the buffer."""
        words = self.buffers[buffer].size // 4
        start = self.rng.randint(0, words)
        size = self.rng.choice([0, 1, words - start, self.rng.randint(0, words - start)])
        start, size = 4 * start, 4 * min(size, words - start)
        if least and not self.bad():  # wgpu-py itself refuses empty clears and writes
            start, size = (start, size) if size else (0, min(4, 4 * words))
        if self.bad():
            start += self.rng.choice([-4, 1, 2, 4, 1024, 1 << 32])
        if self.bad():
            size += self.rng.choice([1, 2, 4, 8, 1024])
        return max(0, start), size

    def _events(self, chance: float) -> tuple[Event, ...]:
        if self.rng.random() >= chance:
            return ()
        kind = self.rng.choice(["destroy", "map", "map and unmap"])
        mappable = [n for n, b in enumerate(self.buffers) if b.usage & (U.MAP_READ | U.MAP_WRITE)]
        return ((kind, self.rng.choice(mappable if mappable and kind != "destroy" else range(len(self.buffers)))),)

    def _changes(self) -> tuple[Any, Any]:
        """Another buffer for one, and another size for a dispatch; only sometimes, and sometimes wrong ones."""
        kind = self.rng.choice(["none", "none", "rebind", "resize"])
        if kind == "rebind":
            good = self.rng.random() < 0.5
            usage = FULL if good else self.rng.choice(USAGES)
            size = 1024 if good else self.rng.choice(SIZES)
            return (self.rng.randrange(len(self.buffers)), Buffer(usage, size)), None
        if kind == "resize":
            counts = self.rng.choice(
                [(1, 1, 1), (0, 1, 1), (3, 1, 1), (LIMIT, 0, 1), (LIMIT + 1, 0, 0), (1, 1, 1 << 31)]
            )
            return None, (self.rng.randrange(8), counts)
        return None, None

    # -- commands ---------------------------------------------------------------------------------------------------

    def _step(self) -> Step:
        if self.rng.random() < 0.2:
            buffer = self._buffer(U.COPY_DST, 4)
            start, size = self._span(buffer, 4)
            return ("write", buffer, start, size, self.rng.randrange(7))
        return ("submit", tuple(self._encoder() for _ in range(self.rng.choice([1, 1, 1, 2]))))

    def _encoder(self) -> tuple[Command, ...]:
        return tuple(self._command() for _ in range(self.rng.choice([1, 1, 2])))

    def _command(self) -> Command:
        kind = self.rng.choice(["pass", "pass", "pass", "copy", "clear"])
        if kind == "pass":
            return ("pass", tuple(self._pass()))
        if kind == "clear":
            buffer = self._buffer(U.COPY_DST, 4)
            return ("clear", buffer, *self._span(buffer, 4))
        source, target = self._buffer(U.COPY_SRC), self._buffer(U.COPY_DST)
        if source == target and not self.bad():
            target = (source + 1) % 4
        start, size = self._span(source)
        room = max(0, self.buffers[target].size - size) // 4
        place = 4 * self.rng.randint(0, room) + (self.rng.choice([1, 4, 1024]) if self.bad() else 0)
        if not self.bad():
            size = min(size, max(0, self.buffers[target].size - place) // 4 * 4)
        return ("copy", source, start, target, place, size)

    def _pass(self) -> Iterator[Command]:
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            kernel = self.rng.choice(KERNELS)
            arguments = None
            taken: dict[int, str] = {}
            if self.rng.random() < 0.2:
                arguments = self._buffer(U.INDIRECT, 12)
                taken[arguments] = "read"
            if not self.bad():
                yield ("pipeline", kernel.number)
            for index, slots in enumerate(kernel.groups):
                if slots and not self.bad():
                    yield self._group(kernel, index, slots, taken)
            if self.rng.random() < 0.05:
                yield from self._another_group(kernel)
            if kernel.words and not self.bad():
                yield from self._immediates(kernel)
            if arguments is None:
                yield ("dispatch", *self._counts())
            else:
                yield ("indirect", arguments, self._argument_offset(arguments))

    def _another_group(self, kernel: Kernel) -> Iterator[Command]:
        """One that the pipeline does not use, or one of another layout, or at an index that there is not."""
        index = self.rng.choice([4, 9]) if self.bad() else self.rng.randint(0, 3)
        other = self.rng.choice(KERNELS)
        wrong = index < len(kernel.groups) and kernel.groups[index]
        if other.groups and other.groups[0] and (not wrong or self.bad()):
            _, _, group, offsets = self._group(other, 0, other.groups[0], {})
            yield ("group", index, group, offsets)

    def _immediates(self, kernel: Kernel) -> Iterator[Command]:
        if self.bad():
            yield ("immediates", self.rng.choice([0, 4, 2, 60, 64]), self._words(self.rng.choice([0, 1, 2])))
        elif self.rng.random() < 0.3:
            for word in kernel.words:
                yield ("immediates", word, self._words(1))
        else:
            yield ("immediates", 0, self._words(kernel.immediate_size // 4))

    def _words(self, count: int) -> tuple[int, ...]:
        return tuple(self.rng.randrange(7) for _ in range(count))

    def _counts(self) -> tuple[int, int, int]:
        if self.bad():
            counts = [self.rng.choice([0, 1, LIMIT, LIMIT + 1, (1 << 31) - 1, (1 << 32) - 1]) for _ in range(3)]
            if sum(0 < c <= LIMIT for c in counts) == 3:  # all of them valid: it would take hours
                counts[self.rng.randrange(3)] = 0
            return (counts[0], counts[1], counts[2])
        kind = self.rng.choice(["one", "few", "zero", "wide"])
        if kind == "wide":
            axes = [LIMIT, 0, LIMIT]
            self.rng.shuffle(axes)
            return (axes[0], axes[1], axes[2])
        return {"one": (1, 1, 1), "few": (2, 1, 3), "zero": (0, 1, 1)}[kind]

    def _argument_offset(self, buffer: int) -> int:
        last = max(0, self.buffers[buffer].size - 12) // 4
        return 4 * self.rng.randint(0, last) + (self.rng.choice([2, 4, 8, 1024]) if self.bad() else 0)

    def _group(self, kernel: Kernel, index: int, slots: tuple[Slot, ...], taken: dict[int, str]) -> Command:
        if self.groups and self.bad():
            number = self.rng.randrange(len(self.groups))  # one made before, for whatever layout
            slots = KERNELS[self.groups[number].kernel].groups[self.groups[number].index]
        else:
            entries = tuple(self._entry(kernel.number, slot, taken) for slot in slots)
            group = Group(kernel.number, index, entries)
            number = self.groups.index(group) if group in self.groups else len(self.groups)
            if number == len(self.groups):
                self.groups.append(group)
        offsets = tuple(self._dynamic(number, slot) for slot in slots if slot.dynamic)
        if self.bad():
            offsets = self.rng.choice([(), (*offsets, 0), offsets[:-1]])
        return ("group", index, number, offsets)

    def _entry(self, kernel: int, slot: Slot, taken: dict[int, str]) -> tuple[int, int, int, int | None]:
        usage = U.UNIFORM if slot.kind == "uniform" else U.STORAGE
        needed = max(slot.type.size, slot.least)
        use = "write" if slot.writes else "read"
        conflicting = {b for b, other in taken.items() if "write" in (use, other)}
        buffer = self._buffer(usage, needed, conflicting if not self.bad() else None)
        if (self.buffers[buffer].usage & usage == 0 or self.buffers[buffer].foreign) and not self._rarely():
            buffer = self.rng.randrange(4)
        taken[buffer] = use
        size = self.buffers[buffer].size
        if slot.dynamic:
            length: int | None = min(256, size) if needed <= 256 else size
            return (slot.binding, buffer, 0, None if length == size else length)
        room = max(0, size - needed) // ALIGNMENT
        offset = ALIGNMENT * self.rng.randint(0, room)
        if self.bad() and self._rarely():
            offset += self.rng.choice([4, 32, 128])
        rest = (size - offset) // 4 * 4
        whole = None if offset == 0 else rest  # as a rebind understands it
        length = self.rng.choice([whole, needed, rest - 4 if rest > needed else whole])
        if length == size:
            length = None
        if not KERNELS[kernel].auto and slot.least == 0 and self.rng.random() < 3 * self.care[0]:
            length = self.rng.choice([4, 12, max(4, needed - 4)])
        if self.bad() and self._rarely():
            length = self.rng.choice([0, 2, needed + 2, 2048])
        return (slot.binding, buffer, offset, length)

    def _dynamic(self, group: int, slot: Slot) -> int:
        entry = next((e for e in self.groups[group].entries if e[0] == slot.binding), None)
        size = 0 if entry is None else self.buffers[entry[1]].size
        room = 0 if entry is None or entry[3] is None else (size - entry[3]) // ALIGNMENT
        if self.bad():
            return self.rng.choice([4, 128, 256, 768, 1024, (1 << 32) - 256])
        return ALIGNMENT * self.rng.randint(0, max(0, room))
