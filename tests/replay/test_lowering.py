"""Which native commands a program becomes: passes merged, writes moved, state not set twice."""

from __future__ import annotations

from typing import Any

import pytest

import cmdgraph
from cmdgraph.replay.packed import Op
from tests.kit import ADD1, INC, UNIFORM, Kit, captured, dispatch


def _ops(graph: cmdgraph.CommandGraph) -> list[str]:
    assert graph._strategy is not None
    return [Op(op).name.lower() for op in graph._strategy.whole.commands["op"].tolist()]


def test_dispatches_of_several_submits_share_a_pass(native: Kit) -> None:
    a, b = native.buffer([0] * 4), native.buffer([0] * 4)
    inc_a, inc_b = native.call(INC, a), native.call(INC, b)
    graph = captured(native.device, lambda: (inc_a(), inc_b(), inc_b(), inc_a()))

    assert _ops(graph) == [
        *("encoder", "begin_pass", "pipeline", "group", "dispatch", "group", "dispatch", "dispatch"),
        *("group", "dispatch", "end_pass", "submit"),
    ]


def test_a_pipeline_is_set_when_it_changes(native: Kit) -> None:
    a, b = native.buffer([0] * 4), native.buffer([0] * 4)
    inc, add = native.call(INC, a), native.call(ADD1, a, b)
    graph = captured(native.device, lambda: (inc(), add(), add(), inc()))

    assert [op for op in _ops(graph) if op in ("pipeline", "dispatch")] == [
        *("pipeline", "dispatch", "pipeline", "dispatch", "dispatch", "pipeline", "dispatch")
    ]


def test_copies_end_the_pass_and_state_is_set_again(native: Kit) -> None:
    a, b = native.buffer([0] * 4), native.buffer([0] * 4)
    inc = native.call(INC, a)
    graph = captured(native.device, lambda: (inc(), native.copy(a, b), inc()))

    assert _ops(graph) == [
        *("encoder", "begin_pass", "pipeline", "group", "dispatch", "end_pass", "copy"),
        *("begin_pass", "pipeline", "group", "dispatch", "end_pass", "submit"),
    ]


def test_writes_move_to_the_head_where_nothing_before_touches_them(native: Kit) -> None:
    a, u = native.buffer([0] * 4), native.buffer(usage=UNIFORM)
    inc = native.call(INC, a)
    graph = captured(native.device, lambda: (inc(), native.write(u, [1] * 4), inc()))

    assert _ops(graph) == [
        *("encoder", "copy", "begin_pass", "pipeline", "group", "dispatch", "dispatch", "end_pass", "submit")
    ]


def test_writes_stay_where_something_before_uses_the_range(native: Kit) -> None:
    a = native.buffer([0] * 4)
    inc = native.call(INC, a)
    graph = captured(native.device, lambda: (inc(), native.write(a, [1] * 4), inc()))

    assert [op for op in _ops(graph) if op in ("copy", "dispatch")] == ["dispatch", "copy", "dispatch"]


def test_per_op_is_an_encoder_a_pass_and_a_submit_each(native: Kit) -> None:
    a, b = native.buffer([0] * 4), native.buffer([0] * 4)
    inc = native.call(INC, a)
    graph = captured(native.device, lambda: (inc(), native.copy(a, b), inc()))
    graph.strategy = "per-op"
    one = ["encoder", "begin_pass", "pipeline", "group", "dispatch", "end_pass", "submit"]

    assert _ops(graph) == [*one, "encoder", "copy", "submit", *one]


def test_a_group_with_other_offsets_is_set_again(native: Kit) -> None:
    entry = {"binding": 0, "visibility": 4, "buffer": {"type": "storage", "has_dynamic_offset": True}}
    pipeline = native.explicit(INC, [entry])
    group = native.group(pipeline, {"buffer": native.buffer([0] * 192), "offset": 0, "size": 256})

    def model() -> None:
        encoder = native.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        for offset in (0, 0, 256, 0):
            compute.set_bind_group(0, group, [offset])
            compute.dispatch_workgroups(1)
        compute.end()
        native.submit(encoder.finish())

    graph = captured(native.device, model)
    assert _ops(graph).count("group") == 3
    assert _ops(graph).count("dispatch") == 4


def test_groups_beyond_the_layout_are_not_set(native: Kit) -> None:
    pipeline = native.kernel(INC)
    groups = [native.group(pipeline, native.buffer([0] * 4)) for _ in range(2)]
    graph = captured(native.device, lambda: native.run(pipeline, *groups))

    assert _ops(graph).count("group") == 1


def test_empty_nodes_cost_nothing(native: Kit) -> None:
    a, b = native.buffer([0] * 4), native.buffer()
    inc = native.call(INC, a)
    graph = captured(native.device, lambda: (inc(), native.copy(a, b, 0), inc()))

    assert len(graph) == 3
    assert "clear" not in _ops(graph)


def test_large_constants_are_spread_over_buffers(native: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    from cmdgraph.replay.constants import Constants

    targets = [native.buffer(label=f"t{i}") for i in range(3)]
    graph = captured(native.device, lambda: [native.write(t, [i] * 4) for i, t in enumerate(targets)])
    program = graph._program
    assert program is not None

    class Device:
        """The real device with a small maxBufferSize."""

        limits: Any = {**native.device.limits, "max-buffer-size": 32}

        def __getattr__(self, name: str) -> Any:
            return getattr(native.device, name)

    constants = Constants(Device())
    sizes = constants._lay_out([(i, node) for i, node in enumerate(program.nodes)])
    assert sizes == [32, 16]
    assert constants._places == {0: (0, 0), 1: (0, 16), 2: (1, 0)}
    graph.replay()
    assert [native.read(t)[0] for t in targets] == [0, 1, 2]


def test_each_command_knows_its_node(native: Kit) -> None:
    a, b = native.buffer([0] * 4), native.buffer([0] * 4)
    inc = native.call(INC, a)

    def model() -> None:
        encoder = native.device.create_command_encoder()
        dispatch(encoder, native.kernel(INC), native.group(native.kernel(INC), b))
        native.submit(encoder.finish())
        inc()

    graph = captured(native.device, model)
    assert graph._strategy is not None
    packed = graph._strategy.whole

    assert len(packed.node_of) == len(packed)
    assert [packed.node_of[packed.dispatch_of[node]] for node in (0, 1)] == [0, 1]
    assert packed.node_of[0] == packed.node_of[-1] == -1
