"""Splitting a replay over several submits: chosen by adapter and length, or set."""

from __future__ import annotations

import pytest

from cmdgraph.replay.single_pass import NODES_PER_SUBMIT, chosen_split
from tests.kit import INC, Kit, captured


class _Device:
    """A device on an adapter of one type."""

    def __init__(self, kind: str) -> None:
        self.adapter = self
        self.info = {"adapter_type": kind}


@pytest.mark.parametrize(
    ("kind", "nodes", "submits"),
    [
        ("CPU", 100_000, 1),
        ("DiscreteGPU", 1, 1),
        ("DiscreteGPU", NODES_PER_SUBMIT, 1),
        ("DiscreteGPU", 4 * NODES_PER_SUBMIT + 5, 4),
        ("IntegratedGPU", 2 * NODES_PER_SUBMIT, 2),
    ],
)
def test_real_adapters_get_several_submits_for_long_graphs(kind: str, nodes: int, submits: int) -> None:
    assert chosen_split(_Device(kind), nodes) == submits


@pytest.mark.parametrize("split", [1, 2, 3, 10, 50])
def test_a_split_replay_gives_the_same_result(kit: Kit, split: int) -> None:
    c = kit.buffer([0, 0, 0, 0])
    call = kit.call(INC, c)
    graph = captured(kit.device, lambda: [call() for _ in range(10)])
    graph.split = split

    assert graph.stats.submits == min(split, 10)
    graph.replay(times=2, wait=True)
    assert kit.read(c) == [20] * 4


def test_several_replays_are_one_submit(kit: Kit) -> None:
    c = kit.buffer([0, 0, 0, 0])
    graph = captured(kit.device, kit.call(INC, c))
    graph.split = 1
    graph.replay(times=5)

    assert graph.stats.in_flight == 1
    graph.wait()
    assert kit.read(c) == [5] * 4


@pytest.mark.parametrize("split", [0, -1])
def test_less_than_one_submit_is_refused(kit: Kit, split: int) -> None:
    graph = captured(kit.device, kit.call(INC, kit.buffer([0, 0, 0, 0])))

    with pytest.raises(ValueError, match="at least 1"):
        graph.split = split
