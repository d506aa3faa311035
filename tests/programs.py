"""Random small programs for the property tests: their shape, a numpy model of them, and the same in wgpu-py calls.

A program is a list of queue operations: writes, and submits of one or more encoders, each a list of passes, copies and
clears. `Model` runs one on numpy arrays, `Machine` on a device through plain wgpu-py calls, so that it can be captured.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from attrs import evolve, frozen
from hypothesis import strategies as st

from tests.kit import INDIRECT, UNIFORM, Kit

WORDS = 128
"""Elements of every storage buffer: two halves of 256 bytes, the alignment of dynamic offsets."""
HALF = WORDS // 2
INTS = ("i0", "i1", "i2")
FLOATS = ("f0", "f1")
ARGUMENTS = "args"
UNIFORM_WORD = "u"
STORAGES = (*INTS, *FLOATS)

_HEAD = "@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3u)"


def _var(group: int, binding: int, name: str, kind: str, access: str = "read_write") -> str:
    return f"@group({group}) @binding({binding}) var<storage, {access}> {name}: array<{kind}>;\n"


KERNELS = {
    "inc": _var(0, 0, "b", "u32") + _HEAD + "{ b[id.x] = b[id.x] * 3u + 1u; }",
    "add": _var(0, 0, "a", "u32", "read") + _var(0, 1, "o", "u32") + _HEAD + "{ o[id.x] = o[id.x] + a[id.x]; }",
    "two_groups": _var(0, 0, "a", "u32", "read")
    + _var(1, 0, "o", "u32")
    + _HEAD
    + "{ o[id.x] = a[id.x] ^ (id.x * 7u); }",
    "scale": _var(0, 0, "o", "u32")
    + "@group(0) @binding(1) var<uniform> s: vec4u;\n"
    + _HEAD
    + "{ o[id.x] = o[id.x] * s.x + s.y; }",
    "float": _var(0, 0, "a", "f32", "read") + _var(0, 1, "o", "f32") + _HEAD + "{ o[id.x] = a[id.x] * 0.5 + 1.0; }",
    "dynamic": _var(0, 0, "a", "u32", "read") + _var(0, 1, "o", "u32") + _HEAD + "{ o[id.x] = a[id.x] + 5u; }",
    "counts": _var(0, 0, "a", "u32", "read")
    + _var(0, 1, "o", "u32")
    + "@compute @workgroup_size(1) fn main() { o[0] = a[0] % 5u; o[1] = 1u; o[2] = 1u; }",
    "immediate": "var<immediate> k: vec2u;\n"
    + _var(0, 0, "o", "u32")
    + _HEAD
    + "{ o[id.x] = o[id.x] + k.x * 2u + k.y; }",
}


@frozen
class Run:
    """One dispatch: a kernel on buffers, with `count` workgroups of four, or as many as the indirect buffer says."""

    kernel: str
    buffers: tuple[str, ...]
    count: int | None
    offsets: tuple[int, ...] = ()
    immediates: tuple[int, ...] = ()


@frozen
class Copy:
    source: str
    start: int
    target: str
    place: int
    words: int


@frozen
class Clear:
    buffer: str
    start: int
    words: int


@frozen
class Write:
    buffer: str
    start: int
    values: tuple[int, ...]


Pass = tuple[Run, ...]
Encoder = tuple[Pass | Copy | Clear, ...]


@frozen
class Submit:
    """Encoders, made in this order and submitted in the order of `places`."""

    encoders: tuple[Encoder, ...]
    places: tuple[int, ...]


Program = tuple[Submit | Write, ...]

counts = st.one_of(st.none(), st.integers(0, WORDS // 4))
half_counts = st.integers(0, HALF // 4)
values = st.integers(0, 1000)


@st.composite
def runs(draw: st.DrawFn, kernels: tuple[str, ...]) -> Run:
    kernel = draw(st.sampled_from(kernels))
    count = draw(counts)
    distinct = st.lists(st.sampled_from(INTS), min_size=2, max_size=2, unique=True)
    match kernel:
        case "float":
            first = draw(st.integers(0, 1))
            return Run(kernel, (FLOATS[first], FLOATS[1 - first]), count)
        case "add" | "two_groups":
            return Run(kernel, tuple(draw(distinct)), count)
        case "counts":
            return Run(kernel, (draw(st.sampled_from(INTS)), ARGUMENTS), 1)
        case "scale":
            return Run(kernel, (draw(st.sampled_from(INTS)), UNIFORM_WORD), count)
        case "dynamic":
            offsets = tuple(draw(st.lists(st.sampled_from([0, 256]), min_size=2, max_size=2)))
            return Run(kernel, tuple(draw(distinct)), draw(half_counts), offsets)
        case "immediate":
            return Run(kernel, (draw(st.sampled_from(INTS)),), count, (), (draw(values), draw(values)))
        case _:
            return Run(kernel, (draw(st.sampled_from(INTS)),), count)


@st.composite
def spans(draw: st.DrawFn) -> tuple[int, int]:
    start = draw(st.integers(0, WORDS - 1))
    return start, draw(st.integers(0, WORDS - start))


@st.composite
def copies(draw: st.DrawFn) -> Copy:
    source, target = draw(st.permutations(STORAGES))[:2]
    if (source in FLOATS) != (target in FLOATS):  # bits of integers as floats would be NaNs
        source, target = "i0", "i1"
    start, words = draw(spans())
    return Copy(source, start, target, draw(st.integers(0, WORDS - words)), words)


@st.composite
def clears(draw: st.DrawFn) -> Clear:
    start, words = draw(spans())
    return Clear(draw(st.sampled_from(STORAGES)), start, max(words, 1))


@st.composite
def writes(draw: st.DrawFn) -> Write:
    buffer = draw(st.sampled_from([*INTS, *INTS, UNIFORM_WORD, ARGUMENTS]))
    if buffer == ARGUMENTS:
        return Write(buffer, 0, (draw(st.integers(0, WORDS // 4)), 1, 1))
    length = 4 if buffer == UNIFORM_WORD else draw(st.integers(1, 16))
    start = 0 if buffer == UNIFORM_WORD else draw(st.integers(0, WORDS - length))
    return Write(buffer, start, tuple(draw(st.lists(values, min_size=length, max_size=length))))


@st.composite
def programs(draw: st.DrawFn, kernels: tuple[str, ...]) -> Program:
    """A program of up to eight queue operations with at least one submit of a dispatch."""
    step = st.one_of(st.lists(runs(kernels), min_size=1, max_size=4).map(tuple), copies(), clears())
    encoder = st.lists(step, min_size=1, max_size=3).map(tuple)

    @st.composite
    def submits(draw: st.DrawFn) -> Submit:
        encoders = draw(st.lists(encoder, min_size=1, max_size=2))
        return Submit(tuple(encoders), tuple(draw(st.permutations(range(len(encoders))))))

    operations = draw(st.lists(st.one_of(submits(), writes(), submits()), min_size=1, max_size=6))
    first = Submit((((draw(runs(kernels)),),),), (0,))
    return (*operations[: len(operations) // 2], first, *operations[len(operations) // 2 :])


def without_indirect(program: Program) -> Program:
    """The same with five workgroups wherever a buffer would say how many."""

    def part(found: Pass | Copy | Clear) -> Pass | Copy | Clear:
        if not isinstance(found, tuple):
            return found
        return tuple(evolve(run, count=5) if run.count is None else run for run in found)

    return tuple(
        step if isinstance(step, Write) else evolve(step, encoders=tuple(tuple(map(part, e)) for e in step.encoders))
        for step in program
    )


def initial() -> dict[str, np.ndarray]:
    """Contents that differ in every element."""
    contents = {name: np.arange(WORDS, dtype=np.uint32) * (i + 3) + i for i, name in enumerate(INTS)}
    contents |= {name: np.arange(WORDS, dtype=np.float32) * (i + 1) for i, name in enumerate(FLOATS)}
    contents[ARGUMENTS] = np.array([3, 1, 1, 0], np.uint32)
    contents[UNIFORM_WORD] = np.array([2, 9, 0, 0], np.uint32)
    return contents


class Model:
    """The same on numpy arrays: what the answer is."""

    def __init__(self) -> None:
        self.at = initial()

    def run(self, program: Program) -> None:
        for step in program:
            if isinstance(step, Write):
                self.at[step.buffer][step.start : step.start + len(step.values)] = step.values
            else:
                for place in step.places:
                    for part in step.encoders[place]:
                        self._part(part)

    def _part(self, part: Pass | Copy | Clear) -> None:
        if isinstance(part, Copy):
            source = self.at[part.source][part.start : part.start + part.words].copy()
            self.at[part.target][part.place : part.place + part.words] = source
        elif isinstance(part, Clear):
            self.at[part.buffer][part.start : part.start + part.words] = 0
        else:
            for run in part:
                self._dispatch(run)

    def _dispatch(self, run: Run) -> None:
        count = int(self.at[ARGUMENTS][0]) if run.count is None else run.count
        n = min(4 * count, WORDS)
        arrays = [self.at[name] for name in run.buffers]
        index = np.arange(n, dtype=np.uint32)
        out = arrays[-1]
        match run.kernel:
            case "inc":
                out[:n] = out[:n] * np.uint32(3) + np.uint32(1)
            case "add":
                out[:n] += arrays[0][:n]
            case "two_groups":
                out[:n] = arrays[0][:n] ^ (index * np.uint32(7))
            case "scale":
                scale = arrays[1]
                arrays[0][:n] = arrays[0][:n] * scale[0] + scale[1]
            case "float":
                out[:n] = arrays[0][:n] * np.float32(0.5) + np.float32(1)
            case "dynamic":
                source, target = (offset // 4 for offset in run.offsets)
                out[target : target + n] = arrays[0][source : source + n] + np.uint32(5)
            case "counts":
                if count:
                    out[:3] = [arrays[0][0] % 5, 1, 1]
            case "immediate":
                out[:n] += np.uint32(run.immediates[0] * 2 + run.immediates[1])


class Machine:
    """The same on a device. Pipelines and bind groups are made once, as a program makes them."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        self.buffers = {
            name: kit.buffer(data, name, usage=UNIFORM if name == UNIFORM_WORD else INDIRECT)
            for name, data in initial().items()
        }
        self._groups: dict[tuple[str, tuple[str, ...]], list[Any]] = {}

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels that this device can run."""
        immediates = "immediates" in self.kit.device.features
        return tuple(name for name in KERNELS if name != "immediate" or immediates)

    def reset(self) -> None:
        for name, data in initial().items():
            self.kit.queue.write_buffer(self.buffers[name], 0, data)

    def contents(self) -> dict[str, bytes]:
        names = [name for name in self.buffers if name != UNIFORM_WORD]
        return {name: bytes(self.kit.queue.read_buffer(self.buffers[name])) for name in names}

    def prepare(self, program: Program) -> None:
        """Makes the bind groups, so that a capture holds none of it."""
        for run in _runs(program):
            self._bind(run)

    def run(self, program: Program) -> None:
        for step in program:
            if isinstance(step, Write):
                data = np.array(step.values, np.uint32)
                self.kit.queue.write_buffer(self.buffers[step.buffer], 4 * step.start, data)
            else:
                commands = [self._encode(encoder) for encoder in step.encoders]
                self.kit.submit(*(commands[place] for place in step.places))

    def _encode(self, parts: Encoder) -> Any:
        encoder = self.kit.device.create_command_encoder()
        for part in parts:
            if isinstance(part, Copy):
                source, target = self.buffers[part.source], self.buffers[part.target]
                encoder.copy_buffer_to_buffer(source, 4 * part.start, target, 4 * part.place, 4 * part.words)
            elif isinstance(part, Clear):
                encoder.clear_buffer(self.buffers[part.buffer], 4 * part.start, 4 * part.words)
            else:
                self._pass(encoder, part)
        return encoder.finish()

    def _pass(self, encoder: Any, runs: Pass) -> None:
        compute = encoder.begin_compute_pass()
        before: Run | None = None
        for run in runs:
            pipeline, groups = self._bind(run)
            if before is None or before.kernel != run.kernel:  # as programs do: set what changes
                compute.set_pipeline(pipeline)
            for index, group in enumerate(groups):
                compute.set_bind_group(index, group, run.offsets)
            if run.immediates:
                compute.set_immediates(0, np.array(run.immediates, np.uint32), 0, 8)
            if run.count is None:
                compute.dispatch_workgroups_indirect(self.buffers[ARGUMENTS], 0)
            else:
                compute.dispatch_workgroups(run.count)
            before = run
        compute.end()

    def _bind(self, run: Run) -> tuple[Any, list[Any]]:
        explicit = {"dynamic": self._dynamic, "immediate": self._immediate}
        pipeline = explicit[run.kernel]() if run.kernel in explicit else self.kit.kernel(KERNELS[run.kernel])
        key = (run.kernel, run.buffers)
        if key not in self._groups:
            buffers = [self.buffers[name] for name in run.buffers]
            if run.kernel == "dynamic":
                parts = [{"buffer": b, "offset": 0, "size": 4 * HALF} for b in buffers]
                groups = [self.kit.group(pipeline, *parts)]
            elif run.kernel == "two_groups":
                groups = [self.kit.group(pipeline, b, index=i) for i, b in enumerate(buffers)]
            else:
                groups = [self.kit.group(pipeline, *buffers)]
            self._groups[key] = groups
        return pipeline, self._groups[key]

    @cache  # noqa: B019 - a machine lives as long as the tests
    def _dynamic(self) -> Any:
        kinds = ("read-only-storage", "storage")
        return self.kit.explicit(
            KERNELS["dynamic"],
            [
                {"binding": i, "visibility": 4, "buffer": {"type": k, "has_dynamic_offset": True}}
                for i, k in enumerate(kinds)
            ],
        )

    @cache  # noqa: B019
    def _immediate(self) -> Any:
        entries = [{"binding": 0, "visibility": 4, "buffer": {"type": "storage"}}]
        return self.kit.explicit(KERNELS["immediate"], entries, immediate_size=8)


def _runs(program: Program) -> Iterator[Run]:
    for step in program:
        if isinstance(step, Submit):
            for encoder in step.encoders:
                for part in encoder:
                    if isinstance(part, tuple):
                        yield from part
