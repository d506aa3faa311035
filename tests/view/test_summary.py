"""The table of a graph's nodes."""

from __future__ import annotations

import pytest

from cmdgraph.program import Program
from cmdgraph.view.summary import summary, table
from tests.kit import ADD1, Kit, captured
from tests.stand_ins import GPUBuffer, clear, copy, dispatch, write
from tests.view.graphs import diamond, layered


def test_the_table_of_a_program() -> None:
    x, y = GPUBuffer(label="x"), GPUBuffer(label="y")
    program = Program(
        None,
        (
            write(x, 0, bytes(8)),
            dispatch((x, 0, 16, False), (y, 0, 16, True)),
            dispatch((y, 0, 16, False), indirect=(x, 4)),
            copy(x, 0, y, 0, 4),
            clear(y, 0, 4),
        ),
    )

    assert summary(program, "<title>").splitlines() == [
        "<title>",
        "5 nodes, 2 of them dispatches; 5 waves, at most 1 in one; 5 on the critical path",
        "2 buffers and textures of 128 B; the nodes touch at most 80 B",
        "",
        "#  operation                     pipeline  workgroups  reads  writes  called at",
        "-  ----------------------------  --------  ----------  -----  ------  ----------",
        "0  write_buffer                                               x       model.py:7",
        "1  dispatch_workgroups           kernel    1 x 1 x 1   x, y   y       model.py:7",
        "2  dispatch_workgroups_indirect  kernel                y, x           model.py:7",
        "3  copy_buffer_to_buffer                               x      y       model.py:7",
        "4  clear_buffer                                               y       model.py:7",
    ]


def test_things_without_a_label_have_a_number() -> None:
    buffer = GPUBuffer()

    assert f"unlabelled buffer #{buffer.uid}" in summary(Program(None, (clear(buffer, 0, 4),)), "")


def test_the_summary_of_a_graph_names_buffers_and_places(kit: Kit) -> None:
    graph = captured(kit.device, kit.call(ADD1, kit.buffer([1] * 4, "hidden"), kit.buffer(label="next")), name="step")
    lines = graph.summary().splitlines()

    assert lines[0] == repr(graph)
    assert len(lines) == 7
    assert "dispatch_workgroups" in lines[6]
    assert "hidden" in lines[6]
    assert "4 x 1 x 1" in lines[6]
    assert "kit.py:" in lines[6]


def test_nodes_are_counted_by_shader_group_or_block() -> None:
    program = layered(2)

    assert table(program, "shader").rows[0] == ("kernel", "72", "72", "4.504 MiB", "72")
    assert [row[:2] for row in table(program, "group").rows] == [("layer 0", "36"), ("layer 1", "36")]
    assert [row[:2] for row in table(program, "block").rows] == [("attention", "36"), ("mlp", "36")]
    assert summary(program, "").splitlines()[-1].split()[1:5] == ["layer", "1", "/", "mlp"]


def test_only_what_is_on_the_critical_path_counts_there() -> None:
    assert [row[-1] for row in table(diamond(), "group").rows] == ["1", "1", "1"]


def test_other_tables_are_refused() -> None:
    with pytest.raises(ValueError, match=r"summary\(by='colour'\): by must be one of node, shader, group, block"):
        summary(diamond(), "", "colour")
