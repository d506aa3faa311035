"""A replay equals the same calls made eagerly, byte for byte, however it reaches the queue."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import cmdgraph
from cmdgraph.replay import STRATEGIES
from tests.kit import ADD1, INC, INDIRECT, UNIFORM, Kit, captured, open_device, use, ways
from tests.programs import INTS, Machine, Model, Program, Run, Submit, Write, programs

few = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def machines() -> dict[Any, Machine]:
    return {}


@pytest.fixture
def machine(any_device: Any, machines: dict[Any, Machine]) -> Machine:
    """A machine on each implementation; on wgpu-native on a device with immediates, where the adapter has them."""
    if id(any_device) not in machines:
        device = any_device
        if "immediates" in device.adapter.features:
            device = open_device("wgpu", ["immediates"], {"max-immediate-size": 64})
        machines[id(any_device)] = Machine(Kit(device))
    return machines[id(any_device)]


@given(data=st.data())
@few
def test_replays_equal_eager_calls_and_the_model(machine: Machine, data: st.DataObject) -> None:
    program = data.draw(programs(machine.kernels), "program")
    poke = data.draw(st.lists(st.integers(0, 99), min_size=8, max_size=8), "eager work in between")
    machine.prepare(program)
    between: Program = (Write(INTS[0], 8, tuple(poke)),)

    model = Model()
    model.run(program)
    once = _bytes(model)
    model.run((*between, *program))
    twice = _bytes(model)

    machine.reset()
    machine.run(program)
    assert machine.contents() == once
    machine.run((*between, *program))
    assert machine.contents() == twice

    machine.reset()
    before = machine.contents()
    graph = captured(machine.kit.device, lambda: machine.run(program))
    assert machine.contents() == before
    for way in ways():
        machine.reset()
        use(graph, way).replay()
        assert machine.contents() == once, way
        machine.run(between)
        graph.replay()
        assert machine.contents() == twice, way
    machine.reset()
    executed = captured(machine.kit.device, lambda: machine.run(program), execute=True)
    assert machine.contents() == once
    machine.run(between)
    executed.replay()
    assert machine.contents() == twice
    graph.release()
    executed.release()


def _immediate(count: int | None) -> Run:
    return Run("immediate", ("i0",), count, (), (1, 0))


def _inc(count: int | None) -> Run:
    return Run("inc", ("i0",), count)


def _encoder(*passes: tuple[Run, ...]) -> Submit:
    return Submit((passes,), (0,))


# Immediates end with their pass, and wgpu-native forgets them at another pipeline: when are they to be set again?
IMMEDIATES: dict[str, Program] = {
    f"{name}, {'indirect' if count is None else 'direct'}": program
    for count in (None, 3)
    for name, program in {
        "one pass": (_encoder((_immediate(count), _inc(count), _immediate(count))),),
        "two submits": (_encoder((_immediate(count),)), _encoder((_immediate(count),))),
        "another pipeline first": (_encoder((_immediate(count),), (_inc(count), _immediate(count))),),
    }.items()
}


@pytest.mark.parametrize("program", IMMEDIATES)
def test_immediates_are_set_whenever_they_are_needed(machine: Machine, way: tuple[str, str], program: str) -> None:
    if "immediate" not in machine.kernels:
        pytest.skip("the device has no immediates")
    model = Model()
    model.run(IMMEDIATES[program])
    machine.prepare(IMMEDIATES[program])
    graph = use(captured(machine.kit.device, lambda: machine.run(IMMEDIATES[program])), way)

    machine.reset()
    graph.replay()

    assert machine.contents() == _bytes(model)


def _bytes(model: Model) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in model.at.items() if name != "u"}


def test_strategies_are_named_from_slow_to_fast() -> None:
    assert list(STRATEGIES)[:2] == ["per-op", "single-pass"]
    assert all(kind.name == name for name, kind in STRATEGIES.items())


def test_single_pass_is_the_one_by_default(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CMDGRAPH_STRATEGY", raising=False)
    graph = captured(kit.device, kit.call(INC, kit.buffer([0] * 4)))

    assert graph.strategy == "single-pass"


def test_the_environment_chooses_the_strategy(kit: Kit, monkeypatch: pytest.MonkeyPatch, strategy: str) -> None:
    monkeypatch.setenv("CMDGRAPH_STRATEGY", strategy)

    assert captured(kit.device, kit.call(INC, kit.buffer([0] * 4))).strategy == strategy


def test_an_unknown_strategy_in_the_environment_is_an_error(native: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CMDGRAPH_STRATEGY", "fastest")

    with pytest.raises(cmdgraph.CommandGraphError, match="CMDGRAPH_STRATEGY=fastest.*per-op, single-pass"):
        captured(native.device, native.call(INC, native.buffer([0] * 4)))


def test_an_unknown_strategy_leaves_the_graph_as_it_was(native: Kit) -> None:
    c = native.buffer([0] * 4)
    graph = captured(native.device, native.call(INC, c))

    with pytest.raises(ValueError, match="no strategy 'fastest'; choose one of per-op, single-pass"):
        graph.strategy = "fastest"
    assert graph.strategy == "single-pass"
    graph.replay()
    assert native.read(c) == [1] * 4


def test_counts_of_passes_and_submits(kit: Kit) -> None:
    a, b = kit.buffer([0] * 4), kit.buffer([0] * 4)
    inc, add = kit.call(INC, a), kit.call(ADD1, a, b)

    def model() -> None:
        inc()
        add()
        kit.copy(b, a)
        inc()
        kit.write(b, [1, 2, 3, 4])

    graph = captured(kit.device, model)

    assert (graph.stats.passes, graph.stats.submits) == (2, 1)
    graph.strategy = "per-op"
    assert (graph.stats.passes, graph.stats.submits) == (3, 5)


def test_many_replays_in_one_call_follow_each_other(kit: Kit, way: tuple[str, str]) -> None:
    c = kit.buffer([0] * 4)
    graph = use(captured(kit.device, kit.call(INC, c)), way)

    graph.replay(times=7)
    graph.replay(times=3, wait=True)

    assert kit.read(c) == [10] * 4
    assert graph.stats.replays == 10


def test_replays_that_are_outstanding_are_bounded(kit: Kit, way: tuple[str, str]) -> None:
    graph = use(captured(kit.device, kit.call(INC, kit.buffer([0] * 4))), way)
    graph.max_in_flight = 3

    for _ in range(10):
        graph.replay()
        assert graph.stats.in_flight <= 3
    graph.wait()
    assert graph.stats.in_flight == 0


@pytest.mark.filterwarnings("ignore:a graph is encoded for each replay")
def test_an_indirect_dispatch_reads_its_counts_at_each_replay(kit: Kit, way: tuple[str, str]) -> None:
    c, arguments = kit.buffer([0] * 4), kit.buffer(np.array([9, 4, 1, 1], np.uint32), usage=INDIRECT)
    pipeline = kit.kernel(INC)
    group = kit.group(pipeline, c)

    def model() -> None:
        encoder = kit.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups_indirect(arguments, 4)
        compute.end()
        kit.submit(encoder.finish())

    graph = use(captured(kit.device, model), way)
    assert kit.read(c) == [0] * 4  # the proof of an indirect dispatch runs nothing
    graph.replay()
    kit.write(arguments, np.array([9, 2, 1, 1], np.uint32))
    graph.replay()

    assert kit.read(c) == [2, 2, 1, 1]


def test_a_moved_write_still_comes_after_the_replay_before(kit: Kit, way: tuple[str, str]) -> None:
    """The write at the end of one replay may not be overtaken by the next one's beginning, nor by eager writes."""
    v, out, kept = kit.buffer([5] * 4, usage=UNIFORM | INDIRECT), kit.buffer(size=4), kit.buffer()
    add = kit.call(
        "@group(0) @binding(0) var<uniform> v: f32; @group(0) @binding(1) var<storage, read_write> dst: array<f32>;"
        "@compute @workgroup_size(1) fn main() { dst[0] = v + 1; }",
        v,
        out,
        count=1,
    )

    def model() -> None:
        add()
        kit.copy(out, kept, 4)
        kit.write(v, [40])

    graph = use(captured(kit.device, model), way)
    graph.replay()
    assert kit.read(kept)[0] == 6
    graph.replay()
    assert kit.read(kept)[0] == 41
    kit.write(v, [7])
    graph.replay(times=2)
    assert kit.read(kept)[0] == 41
    kit.write(v, [7])
    graph.replay()
    assert kit.read(kept)[0] == 8
