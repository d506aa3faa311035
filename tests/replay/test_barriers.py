"""Where a native replay needs barriers, and whether what was recorded is what the graph holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmdgraph.hazards import dependencies
from cmdgraph.native import Action
from cmdgraph.program import Node, Program
from cmdgraph.replay.barriers import matched, needed
from cmdgraph.replay.packed import COMMAND, Op, Packed
from tests.stand_ins import GPUBuffer, clear, copy, dispatch

BUFFERS = [GPUBuffer(label=f"b{n}") for n in range(5)]


def _packed(*rows: tuple[int, ...]) -> Packed:
    """Commands (op, x, y, z, w), each of the node of its place among those that do something."""
    actions = [row[0] in (Op.DISPATCH, Op.INDIRECT, Op.COPY, Op.CLEAR) for row in rows]
    owners = [sum(actions[:at]) if action else -1 for at, action in enumerate(actions)]
    commands = np.zeros(len(rows), COMMAND)
    for command, (op, x, y, z, w) in zip(commands, rows, strict=True):
        command["op"], command["x"], command["y"], command["z"], command["w"] = op, x, y, z, w
    return Packed(commands, owners, {})


def _dispatch(x: int) -> tuple[int, ...]:
    return (Op.DISPATCH, x, 1, 1, 0)


PASS = [(Op.ENCODER, 0, 0, 0, 0), (Op.BEGIN_PASS, 0, 0, 0, 0)]
RAN = Action("dispatch", (3, 1, 1))
COUNTED = Action("indirect")
CASES = {
    "the same": ([_dispatch(3), (Op.COPY, 0, 0, 0, 16)], [RAN, Action("copy", size=16)], [0, 1]),
    "another size": ([_dispatch(4)], [RAN], None),
    "another number of bytes": ([(Op.COPY, 0, 0, 0, 16)], [Action("copy", size=8)], None),
    "more than ours": ([_dispatch(3)], [RAN, RAN], None),
    "the zeros of a first use": ([_dispatch(3)], [Action("fill", size=16), RAN], None),
    "less than ours": ([_dispatch(3), _dispatch(3)], [RAN], None),
    "nothing": ([_dispatch(3)], [], None),
    "no workgroups, recorded": ([_dispatch(0), _dispatch(3)], [Action("dispatch", (0, 1, 1)), RAN], [0, 1]),
    "no workgroups, left out": ([_dispatch(0), _dispatch(3)], [RAN], [1]),
    "no bytes, left out": ([(Op.COPY, 0, 0, 0, 0), _dispatch(3)], [RAN], [1]),
    "a clear": ([(Op.CLEAR, 0, 0, 0, 16)], [Action("fill", size=16)], [0]),
    "a copy for a clear": ([(Op.CLEAR, 0, 0, 0, 16)], [Action("copy", size=16)], None),
    "indirect, checked": ([(Op.INDIRECT, 0, 0, 0, 0), _dispatch(3)], [RAN, COUNTED, RAN], [0, 0, 1]),
    "indirect, unchecked": ([(Op.INDIRECT, 0, 0, 0, 0), _dispatch(3)], [COUNTED, RAN], [0, 1]),
    "indirect that was not": ([(Op.INDIRECT, 0, 0, 0, 0)], [RAN], None),
}


@pytest.mark.parametrize("case", CASES)
def test_recorded_actions_are_laid_beside_ours(case: str) -> None:
    rows, recorded, owners = CASES[case]

    assert matched(_packed(*PASS, *rows), recorded) == owners


def _node(kind: str, first: int, second: int) -> Node:
    a, b = BUFFERS[first], BUFFERS[second]
    if kind == "copy":
        return copy(a, 0, b, 0, 8) if a is not b else clear(a, 0, 8)
    return dispatch((a, 0, 16, kind == "both"), (b, 0, 16, True))


nodes = st.lists(
    st.builds(_node, st.sampled_from(["one", "both", "copy"]), st.integers(0, 4), st.integers(0, 4)), max_size=30
)


@given(found=nodes)
def test_every_dependency_has_a_barrier_and_no_barrier_is_in_vain(found: list[Node]) -> None:
    program = Program(None, tuple(found))
    barriers = needed(program, list(range(len(found))))
    waits = dependencies(found)

    for index, earlier in enumerate(waits):
        for one in earlier:
            assert any(barriers[one + 1 : index + 1]), (one, index)
    places = [at for at, barrier in enumerate(barriers) if barrier]
    for before, place in zip([0, *places], places, strict=False):
        assert any(before <= one for one in waits[place]), "the barrier before orders these already"


def test_nodes_that_do_not_concern_each_other_need_none() -> None:
    program = Program(None, tuple(dispatch((BUFFERS[0], 0, 16, False), (b, 0, 16, True)) for b in BUFFERS[1:]))

    assert needed(program, [0, 1, 2, 3]) == [False] * 4


def test_what_checks_indirect_arguments_is_kept_apart() -> None:
    """It writes a buffer that no node names, for the dispatch behind it."""
    program = Program(
        None, tuple(dispatch((b, 0, 16, True), indirect=(BUFFERS[0], 0)) for b in (BUFFERS[1], BUFFERS[2]))
    )

    assert needed(program, [0, 0, 1, 1]) == [True] * 4
    assert needed(program, [0, 1]) == [False] * 2
