"""Where a native replay needs barriers: the recorded commands laid beside ours, and the hazards between the nodes.

A barrier is global: it orders all that came before it with all that comes after. So one dependency that it serves makes
every older one served as well, and a node needs a barrier only if it waits for a node since the last.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from cmdgraph.hazards import dependencies
from cmdgraph.native import Action
from cmdgraph.program import Program
from cmdgraph.replay.packed import Op, Packed

__all__ = ["matched", "needed"]

_ACTIONS = (Op.DISPATCH, Op.INDIRECT, Op.COPY, Op.CLEAR)


def matched(packed: Packed, recorded: Sequence[Action]) -> list[int] | None:
    """For each recorded action the node it belongs to; None if they are not the commands of `packed`.

    Implementations leave out what does nothing. An indirect dispatch may bring one that checks its arguments.
    """
    found: list[int] = []
    rows = np.flatnonzero(np.isin(packed.commands["op"], _ACTIONS))
    for row in rows.tolist():
        command = packed.commands[row]
        count = _taken(Op(int(command["op"])), command, recorded[len(found) : len(found) + 2])
        if count is None:
            return None
        found += [packed.node_of[row]] * count
    return found if len(found) == len(recorded) else None


def needed(program: Program, owners: Sequence[int]) -> list[bool]:
    """For each action, of which `owners` names the node, whether a barrier must come before it."""
    order = list(dict.fromkeys(owners))
    waits = dependencies([program.nodes[index] for index in order])
    place = {index: position for position, index in enumerate(order)}
    several = {owner for owner, following in itertools.pairwise(owners) if owner == following}
    found: list[bool] = []
    last = 0
    for owner in owners:
        position = place[owner]
        # The check of indirect arguments writes what the dispatch reads, in a buffer that no node names.
        barrier = owner in several or bool(waits[position] and waits[position][-1] >= last)
        if barrier:
            last = position
        found.append(barrier)
    return found


def _taken(op: Op, command: np.void, following: Sequence[Action]) -> int | None:
    """How many of the `following` actions belong to a command of ours; None if they are another's."""
    first = following[0] if following else None
    if op == Op.DISPATCH:
        counts = (int(command["x"]), int(command["y"]), int(command["z"]))
        if first is not None and first.kind == "dispatch" and first.workgroups == counts:
            return 1
        return 0 if 0 in counts else None
    if op == Op.INDIRECT:
        kinds = [action.kind for action in following]
        return 2 if kinds == ["dispatch", "indirect"] else 1 if kinds[:1] == ["indirect"] else None
    size = int(command["w"])
    if first is not None and first.kind == ("copy" if op == Op.COPY else "fill") and first.size == size:
        return 1
    return 0 if size == 0 else None
