"""The GPU time of each node: results stay right, figures are labelled, and nothing is hidden."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cmdgraph
from cmdgraph.view import profile as profiles
from cmdgraph.view import timing
from cmdgraph.view.trace import trace
from tests.kit import INC, INDIRECT, STORAGE, Kit, captured, open_device
from tests.programs import Machine, Model, programs
from tests.stand_ins import GPUBuffer, clear
from tests.view.graphs import named

BUSY = INC.replace("b[id.x] = b[id.x] + 1;", "for (var i = 0; i < 2000; i++) { b[id.x] = b[id.x] + 1; }")


MACHINES: dict[int, Machine] = {}


@pytest.fixture(scope="module")
def timed_kits() -> dict[str, Kit]:
    return {}


@pytest.fixture
def timed(package: str, timed_kits: dict[str, Kit]) -> Kit:
    """A kit on a device of each implementation that has timestamps."""
    if package not in timed_kits:
        timed_kits[package] = Kit(_timed_device(package))
    return timed_kits[package]


def _timed_device(package: str) -> Any:
    adapter = import_module(package).gpu.request_adapter_sync(power_preference="high-performance")
    features = [name for name in ("timestamp-query", "immediates") if name in adapter.features]
    limits = {"max-immediate-size": 64} if "immediates" in features else {}
    return open_device(package, features, limits)


def everything(kit: Kit) -> tuple[Any, Any, cmdgraph.CommandGraph]:
    """A graph with a node of each kind: b, f32, grows by 2 with each replay, c gets a copy of it."""
    b, c, counts = kit.buffer([0] * 4, "b"), kit.buffer(label="c"), kit.buffer(np.uint32([4, 1, 1]), usage=INDIRECT)
    pipeline = kit.kernel(INC)
    group = kit.group(pipeline, b, label="grow")

    def model() -> None:
        kit.write(c, [9] * 4)
        encoder = kit.device.create_command_encoder()
        encoder.push_debug_group("layer")
        compute = encoder.begin_compute_pass(label="block")
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups(4)
        compute.dispatch_workgroups_indirect(counts, 0)
        compute.end()
        encoder.pop_debug_group()
        encoder.clear_buffer(c, 8)
        encoder.copy_buffer_to_buffer(b, 0, c, 0, 8)
        kit.submit(encoder.finish())

    return b, c, captured(kit.device, model, name="everything")


@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_profiled_replay_equals_the_model(timed: Kit, data: st.DataObject) -> None:
    machine = MACHINES.setdefault(id(timed), Machine(timed))
    program = data.draw(programs(machine.kernels), "program")
    machine.prepare(program)
    graph = captured(timed.device, lambda: machine.run(program))
    model = Model()
    model.run(program)
    model.run(program)

    machine.reset()
    graph.profile(repeats=2)
    assert machine.contents() == {name: model.at[name].tobytes() for name in machine.contents()}


@pytest.mark.parametrize("strategy", ["single-pass", "prerecorded"])
def test_results_are_those_of_as_many_replays(timed: Kit, strategy: str) -> None:
    b, c, graph = everything(timed)
    graph.strategy = strategy
    found = graph.profile(repeats=7)

    assert timed.read(b) == [14] * 4
    assert timed.read(c) == [14, 14, 0, 0]
    assert graph.stats.replays == 7
    assert (len(found.undisturbed_ms), len(found.profiled_ms), found.strategy) == (4, 3, strategy)

    graph.replay(wait=True)
    assert timed.read(b) == [16] * 4


def test_everything_that_comes_out_says_that_it_was_profiled(timed: Kit, tmp_path: Path) -> None:
    *_, graph = everything(timed)
    found = graph.profile(repeats=4)

    assert "PROFILED" in str(found).splitlines()[0]
    assert all("profiled" in table.title for table in found.tables())
    assert "1 tick = " in str(found)
    assert "smallest step seen" in str(found)
    data = json.loads(found.save(tmp_path / "trace.json").read_text())
    assert data["otherData"]["profiled"] is True
    assert all("profiled" in event["cat"] for event in data["traceEvents"] if event["ph"] == "X")
    assert json.loads(graph.debug_dump(tmp_path / "g.json", profile=found).read_text())["profile"]["profiled"] is True


def test_the_longest_node_is_found(timed: Kit) -> None:
    heavy, light = timed.buffer([0] * 4096, "heavy"), timed.buffer([0] * 4, "light")
    graph = captured(
        timed.device,
        lambda: (timed.call(INC, light)(), timed.call(BUSY, heavy, count=4096)(), timed.call(INC, light)()),
    )
    found = graph.profile(repeats=6)

    assert found.top(1).rows[0][0] == "1"
    assert found.times[1].ns == max(one.ns or 0 for one in found.times)
    assert found.critical_path == (1,) or found.critical_ns == sum(found.times[i].ns or 0 for i in (0, 2))
    assert found.sum_ns <= 1.5e6 * max(found.profiled_ms)
    assert found.period_ns > 0
    assert found.step_ns >= found.period_ns


def test_groups_shaders_and_blocks_hold_all_of_the_time(timed: Kit) -> None:
    *_, graph = everything(timed)
    found = graph.profile(repeats=4)

    for kind in ("shader", "group", "block"):
        parts = found.by(kind)
        assert sum(len(ones) for ones in parts.values()) == len(graph)
        assert sum(one.ns or 0 for ones in parts.values() for one in ones) == pytest.approx(found.sum_ns)
    assert len(found.by("group")["layer"]) == len(found.by("block")["block"]) == 2
    with pytest.raises(ValueError, match="must be one of shader, group, block"):
        found.by("colour")


def test_more_nodes_than_a_query_set_holds(timed: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "_NODES_PER_SET", 3)
    b, c, graph = everything(timed)
    found = graph.profile(repeats=2)

    assert [one.index for one in found.times] == list(range(5))
    assert timed.read(b) == [4] * 4
    assert timed.read(c) == [4, 4, 0, 0]


def test_a_device_without_timestamps_is_told_what_to_ask_for(kit: Kit) -> None:
    graph = captured(kit.device, kit.call(INC, kit.buffer([0] * 4)))

    with pytest.raises(cmdgraph.ProfileError, match=r'required_features=\["timestamp-query"\]'):
        graph.profile()
    assert graph.stats.replays == 0


def test_one_replay_is_too_few(native: Kit) -> None:
    with pytest.raises(ValueError, match="must be at least 2, an undisturbed and a profiled replay"):
        captured(native.device, native.call(INC, native.buffer([0] * 4))).profile(repeats=1)


def test_a_graph_of_a_destroyed_buffer_is_not_run(timed: Kit) -> None:
    b = timed.buffer([0] * 4, "gone", usage=STORAGE)
    graph = captured(timed.device, timed.call(INC, b))
    b.destroy()

    with pytest.raises(cmdgraph.DestroyedError, match="gone"):
        graph.profile(repeats=2)


def test_a_guarded_device_can_be_profiled(timed: Kit) -> None:
    b, _, graph = everything(timed)
    with cmdgraph.guard(timed.device):
        graph.profile(repeats=2)

    assert timed.read(b) == [4] * 4


def test_the_profile_of_another_graph_is_refused(timed: Kit, tmp_path: Path) -> None:
    *_, graph = everything(timed)
    other = captured(timed.device, timed.call(INC, timed.buffer([0] * 4))).profile(repeats=2)

    with pytest.raises(cmdgraph.ProfileError, match="with 1 nodes, and the graph here has 5"):
        graph.debug_dump(tmp_path / "g.html", profile=other)
    with pytest.raises(cmdgraph.ViewError, match="saved as .json"):
        other.save(tmp_path / "trace.html")
    assert not list(tmp_path.iterdir())


# -- what the clock says, without a GPU ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("samples", "step", "ns", "flag"),
    [
        ([100, 300, 200], 1, 200, ""),
        ([0, 0, 0], 64, 0, "zero"),
        ([0, 0, 64], 64, 64 / 3, "coarse"),  # the median would say that it takes no time
        ([-5, 100, 300], 1, 200, ""),
        ([-5, -1], 1, None, "invalid"),
    ],
)
def test_what_a_clock_cannot_tell_is_flagged(samples: list[float], step: float, ns: float | None, flag: str) -> None:
    time = profiles._node_time(0, named(clear(GPUBuffer(), 0, 4)), np.array(samples), step)

    assert (time.ns, time.flag) == (ns, flag)


def test_a_trace_nests_nodes_in_their_groups() -> None:
    nodes = [named(clear(GPUBuffer(), 0, 4), "layer", part, label=part) for part in ("q", "k")]
    events = trace("g", "gpu", nodes, np.array([[1000, 3000], [3500, 4000]]), {})["traceEvents"]
    spans = [(e["name"], e["ts"], e["dur"]) for e in events if e["ph"] == "X"]

    assert spans == [("layer", 1.0, 3.0), ("q", 1.0, 2.0), ("k", 3.5, 0.5), ("q", 1.0, 2.0), ("k", 3.5, 0.5)]


def test_tables_are_plain_where_rich_is_missing(
    timed: Kit, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    *_, graph = everything(timed)
    found = graph.profile(repeats=2)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    found.show(top=2)

    shown = capsys.readouterr().out
    assert str(found.top(2)) in shown
    assert "(1 others)" not in str(found.table("block"))
