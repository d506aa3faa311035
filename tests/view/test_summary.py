"""The table of a graph's nodes."""

from __future__ import annotations

from cmdgraph.program import Program
from cmdgraph.view.summary import summary
from tests.kit import ADD1, Kit, captured
from tests.stand_ins import GPUBuffer, clear, copy, dispatch, write


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
    assert len(lines) == 4
    assert "dispatch_workgroups" in lines[3]
    assert "hidden" in lines[3]
    assert "4 x 1 x 1" in lines[3]
    assert "kit.py:" in lines[3]
