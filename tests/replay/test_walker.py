"""The two walkers call the same native functions in the same order, and stop before a submit of something refused."""

from __future__ import annotations

import pytest

from cmdgraph.backends import backend_of
from cmdgraph.replay import walker
from tests import subprocesses
from tests.kit import INC, Kit, captured


def test_an_unknown_walker_is_refused(native: Kit) -> None:
    with pytest.raises(ValueError, match='unknown walker \'rust\': choose "c" or "python"'):
        walker.make("rust", backend_of(native.device), native.device)


def test_the_names_of_walkers(native: Kit, walking: str) -> None:
    assert walker.make(walking, backend_of(native.device), native.device).name == walking


def test_a_reason_is_given_exactly_when_the_c_walker_is_absent() -> None:
    assert (walker.why_absent() is None) == walker.available()


def test_a_graph_takes_the_c_walker_where_it_is(kit: Kit) -> None:
    graph = captured(kit.device, kit.call(INC, kit.buffer([0] * 4)))

    assert graph.walker == ("c" if walker.available() else "python")
    assert graph.stats.walker == graph.walker


TURNED_OFF = """
    import cmdgraph
    from cmdgraph.replay import walker
    from tests.kit import INC, Kit, captured, open_device
    kit = Kit(open_device("wgpu"))
    c = kit.buffer([0] * 4)
    graph = captured(kit.device, kit.call(INC, c))
    graph.replay()
    assert kit.read(c) == [1] * 4
    try:
        graph.walker = "c"
    except ValueError as error:
        print(graph.walker, walker.available(), error)
"""


def test_the_environment_turns_the_c_walker_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CMDGRAPH_WALKER", "python")

    told = subprocesses.run(TURNED_OFF)
    assert told.startswith("python False ")
    assert "CMDGRAPH_WALKER=python turns it off" in told


ABSENT = """
    import sys
    sys.modules["cmdgraph.replay._walker"] = None
    from cmdgraph.replay import walker
    print(walker.available(), walker.why_absent())
"""


def test_without_the_compiled_module_the_reason_says_what_to_do() -> None:
    told = subprocesses.run(ABSENT)

    assert told.startswith("False not compiled")
    assert "install a C compiler" in told


def test_changing_the_walker_keeps_strategy_and_sizes(kit: Kit, walking: str, strategy: str) -> None:
    c = kit.buffer([0] * 4)
    graph = captured(kit.device, kit.call(INC, c))
    graph.strategy = strategy
    graph.set_workgroups(0, 2)
    graph.walker = walking
    graph.replay()

    assert graph.strategy == strategy
    assert kit.read(c) == [1, 1, 0, 0]


def test_sizes_changed_after_a_replay_are_seen(kit: Kit, walking: str) -> None:
    c = kit.buffer([0] * 4)
    graph = captured(kit.device, kit.call(INC, c))
    graph.walker = walking
    graph.replay()
    graph.set_workgroups(0, 1)
    graph.replay()

    assert kit.read(c) == [2, 1, 1, 1]
