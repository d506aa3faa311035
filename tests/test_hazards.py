"""Dependencies, inputs, outputs and moved writes, held against a model of byte arrays."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmdgraph import hazards
from cmdgraph.program import ClearBuffer, CopyBuffer, Node, Program, WriteBuffer
from tests.stand_ins import GPUBuffer, clear, copy, dispatch, write

SIZE = 32
BUFFERS = [GPUBuffer(SIZE, f"b{i}") for i in range(3)]

few = settings(max_examples=150, deadline=None, derandomize=True)
offsets = st.integers(0, SIZE // 4 - 1).map(lambda n: 4 * n)


@st.composite
def spans(draw: st.DrawFn) -> tuple[int, int]:
    start = draw(offsets)
    return start, draw(st.integers(1, (SIZE - start) // 4)) * 4


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    kind = draw(st.sampled_from(["write", "write", "copy", "clear", "dispatch", "dispatch", "indirect"]))
    start, size = draw(spans())
    if kind == "write":
        data = draw(st.binary(min_size=size, max_size=size))
        return write(draw(st.sampled_from(BUFFERS)), start, data)
    if kind == "clear":
        return clear(draw(st.sampled_from(BUFFERS)), start, size)
    if kind == "copy":
        source, target = draw(st.permutations(BUFFERS))[:2]
        to = draw(st.integers(0, (SIZE - size) // 4)) * 4
        return copy(source, start, target, to, size)
    uses = []
    for buffer in draw(st.permutations(BUFFERS))[: draw(st.integers(1, 3))]:
        offset, length = draw(spans())
        uses.append((buffer, offset, length, draw(st.booleans())))
    if kind == "indirect":
        return dispatch(*uses, indirect=(draw(st.sampled_from(BUFFERS)), draw(st.integers(0, 5)) * 4))
    return dispatch(*uses)


def _run(order: Sequence[tuple[int, Node]]) -> list[bytes]:
    """Runs nodes on byte arrays. A dispatch writes what depends on all that it may read, and on which node it is."""
    memory = {id(b): bytearray(bytes(range(i * SIZE, i * SIZE + SIZE))) for i, b in enumerate(BUFFERS)}
    for index, node in order:
        if isinstance(node, WriteBuffer):
            memory[id(node.buffer)][node.offset : node.offset + node.size] = node.data
        elif isinstance(node, ClearBuffer):
            memory[id(node.buffer)][node.offset : node.offset + node.size] = bytes(node.size)
        elif isinstance(node, CopyBuffer):
            data = memory[id(node.source)][node.source_offset : node.source_offset + node.size]
            memory[id(node.destination)][node.destination_offset : node.destination_offset + node.size] = data
        else:
            read = [bytes(memory[id(a.resource)][a.start : a.end]) for a in node.accesses() if a.reads]
            seed = zlib.crc32(b"".join(read), index)
            for access in node.accesses():
                if access.writes:
                    for place in range(access.start, access.end):
                        old = memory[id(access.resource)][place]
                        seed = zlib.crc32(bytes([old, place]), seed)
                        memory[id(access.resource)][place] = seed & 255
    return [bytes(memory[id(b)]) for b in BUFFERS]


@given(st.lists(nodes(), max_size=9), st.randoms(use_true_random=False))
@few
def test_any_order_that_respects_the_dependencies_gives_the_recorded_result(program: list[Node], random: Any) -> None:
    waits = hazards.dependencies(program)
    done: list[int] = []
    while len(done) < len(program):
        ready = [i for i in range(len(program)) if i not in done and set(waits[i]) <= set(done)]
        done.append(random.choice(ready))

    assert all(earlier < index for index, before in enumerate(waits) for earlier in before)
    assert _run([(i, program[i]) for i in done]) == _run(list(enumerate(program)))


@given(st.lists(nodes(), max_size=9))
@few
def test_leading_writes_can_run_before_everything_else(program: list[Node]) -> None:
    head = hazards.leading_writes(program)
    order = [*head, *(i for i in range(len(program)) if i not in head)]

    assert head == sorted(set(head))
    assert all(isinstance(program[i], WriteBuffer) for i in head)
    assert _run([(i, program[i]) for i in order]) == _run(list(enumerate(program)))


@given(st.lists(nodes(), min_size=1, max_size=6), st.data())
@few
def test_only_inputs_matter_and_only_outputs_change(recorded: list[Node], data: st.DataObject) -> None:
    program = Program(None, tuple(recorded))
    inputs, outputs = hazards.inputs(program), hazards.outputs(program)
    before = _run([])
    after = _run(list(enumerate(recorded)))

    for position, buffer in enumerate(BUFFERS):
        if buffer not in outputs:
            assert after[position] == before[position]
        if buffer not in inputs:
            other = write(buffer, 0, data.draw(st.binary(min_size=SIZE, max_size=SIZE)))
            changed = _run([(-1, other), *enumerate(recorded)])
            for place, target in enumerate(BUFFERS):
                if target is not buffer:
                    assert changed[place] == after[place]


def test_dependencies_are_not_more_than_needed() -> None:
    a, b, c = BUFFERS
    program = [
        write(a, 0, bytes(16)),
        write(b, 0, bytes(16)),
        dispatch((a, 0, 16, False), (c, 0, 16, True)),  # after the write of a
        dispatch((b, 0, 16, False), (c, 16, 16, True)),  # another half of c
        copy(c, 0, b, 16, 8),  # reads the first half of c, writes what nobody touched
        write(a, 16, bytes(16)),
        write(a, 0, bytes(16)),  # after node 2 has read it; hides node 0
        dispatch((a, 0, 8, False), (b, 24, 8, True)),
    ]

    assert hazards.dependencies(program) == [(), (), (0,), (1,), (2,), (), (0, 2), (6,)]


@pytest.mark.parametrize(
    ("program", "moved"),
    [
        ([("d", 0, 16), ("w", 0, 16)], []),
        ([("d", 0, 16), ("w", 16, 16)], [1]),
        ([("w", 0, 16), ("d", 0, 16), ("w", 0, 16)], [0]),
        ([("w", 0, 16), ("w", 0, 8), ("d", 0, 16)], [0, 1]),
        ([("d", 16, 8), ("w", 0, 20)], []),
        ([("d", 16, 8), ("w", 0, 20), ("w", 0, 4)], []),
    ],
)
def test_which_writes_lead(program: list[tuple[str, int, int]], moved: list[int]) -> None:
    a, b = BUFFERS[:2]
    made = [
        dispatch((a, at, size, False), (b, 0, 4, True)) if kind == "d" else write(a, at, bytes(size))
        for kind, at, size in program
    ]

    assert hazards.leading_writes(made) == moved


def test_the_first_overwrite_of_a_buffer() -> None:
    a, b, _ = BUFFERS
    read_then_written = Program(None, (dispatch((a, 0, 16, False), (b, 0, 16, True)), write(a, 0, bytes(16))))
    half_read = dispatch((a, 0, 16, False), (b, 0, 16, True))
    written_in_part = Program(None, (half_read, write(a, 8, bytes(16)), dispatch((a, 0, 32, False))))

    assert hazards.first_overwrite(read_then_written, a) is None
    assert hazards.first_overwrite(written_in_part, a) == 1
    assert hazards.first_overwrite(read_then_written, b) is None  # read_write: read as well
    assert hazards.first_overwrite(Program(None, (clear(b, 0, 4),)), b) == 0
    assert hazards.first_overwrite(Program(None, (clear(b, 0, 0),)), b) is None


# -- waves, critical path, reduction ---------------------------------------------------------------------------------

graphs = st.lists(st.integers(0, 2**12 - 1), max_size=12).map(
    lambda bits: [tuple(j for j in range(i) if bit >> j & 1) for i, bit in enumerate(bits)]
)


def _before(waits: Sequence[Sequence[int]]) -> list[set[int]]:
    """For each node all that must come before it."""
    found: list[set[int]] = []
    for earlier in waits:
        found.append(set(earlier).union(*(found[one] for one in earlier)))
    return found


@few
@given(graphs)
def test_the_reduction_says_the_same_with_the_least(waits: list[tuple[int, ...]]) -> None:
    reduced = hazards.reduced(waits)

    assert _before(reduced) == _before(waits)
    for index, earlier in enumerate(reduced):
        assert set(earlier) <= set(waits[index])
        for one in earlier:
            less = [tuple(e for e in few if (at, e) != (index, one)) for at, few in enumerate(reduced)]
            assert _before(less) != _before(waits), "this one could be left out"


@few
@given(graphs)
def test_a_wave_waits_only_for_waves_before_it_and_no_longer_than_it_must(waits: list[tuple[int, ...]]) -> None:
    waves = hazards.waves(waits)
    number = {node: at for at, wave in enumerate(waves) for node in wave}

    assert sorted(number) == list(range(len(waits)))
    for node, earlier in enumerate(waits):
        assert number[node] == 1 + max((number[one] for one in earlier), default=-1)


@few
@given(graphs, st.data())
def test_no_chain_costs_more_than_the_critical_path(waits: list[tuple[int, ...]], data: st.DataObject) -> None:
    costs = data.draw(st.lists(st.integers(0, 9), min_size=len(waits), max_size=len(waits)))
    path = hazards.critical_path(waits, costs)
    best: list[int] = []
    for index, earlier in enumerate(waits):
        best.append(costs[index] + max((best[one] for one in earlier), default=0))

    assert all(one in waits[later] for one, later in itertools.pairwise(path))
    assert sum(costs[node] for node in path) == max(best, default=0)
    assert len(hazards.critical_path(waits)) == len(hazards.waves(waits))


@given(ranges=st.lists(spans(), max_size=6), asked=spans())
@few
def test_ranges_are_sets_of_bytes(ranges: list[tuple[int, int]], asked: tuple[int, int]) -> None:
    found, model = hazards._Ranges(), set[int]()
    for start, size in ranges:
        found.add(start, start + size)
        model |= set(range(start, start + size))
    wanted = set(range(asked[0], sum(asked)))

    assert found.meet(asked[0], sum(asked)) == bool(model & wanted)
    assert found.cover(asked[0], sum(asked)) == (wanted <= model)


def test_a_buffer_overwritten_in_parts_is_no_input() -> None:
    first, second, third = BUFFERS
    program = Program(None, (write(first, 0, bytes(16)), clear(first, 16, 16), copy(first, 0, second, 0, SIZE)))

    assert hazards.inputs(program) == []
    assert hazards.inputs(Program(None, (*program.nodes, copy(third, 0, first, 0, 4)))) == [third]


def test_many_writes_among_many_copies_take_no_time() -> None:
    """A stranger's file may hold as many: each write used to look at each copy before it."""
    source, target = GPUBuffer(1 << 20, "source"), GPUBuffer(1 << 20, "target")
    program = [copy(source, 0, target, 8 * n, 4) for n in range(10_000)] + [write(target, 4, bytes(4))] * 10_000

    assert len(hazards.leading_writes(program)) == 10_000
