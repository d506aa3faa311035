"""The text for Graphviz."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from cmdgraph.view.document import document
from cmdgraph.view.dot import dot
from tests.stand_ins import GPUBuffer
from tests.view.graphs import diamond, layered, named

NASTY = 'a"b\\c\n"];}\r<script>'


def test_groups_are_clusters_and_dependencies_arrows() -> None:
    text = dot(document(diamond(), "diamond"))

    assert text.startswith('digraph "diamond" {')
    assert re.findall(r"n(\d) -> n(\d)", text) == [("0", "1"), ("0", "2"), ("1", "3"), ("2", "3")]
    assert re.findall(r"label=\"(\w+)\"; color", text) == ["first", "second", "third"]
    assert len(re.findall(r"n\d -> n\d \[.*penwidth=2", text)) == 2
    assert text.count("{") == text.count("}")


def test_nothing_in_a_label_leaves_its_quotes() -> None:
    program = layered(1, labels=NASTY)
    text = dot(document(program, NASTY))
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)

    assert "script" not in outside
    assert '"' not in outside
    assert outside.count("{") == outside.count("}") == 4


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("label", ["{op}", NASTY])
def test_graphviz_takes_it(label: str) -> None:
    text = dot(document(layered(2, labels=label), label))

    subprocess.run(["dot", "-Tcanon"], input=text, text=True, check=True, capture_output=True, timeout=60)


def test_a_node_without_a_label_is_named_by_its_operation() -> None:
    from cmdgraph.program import Program
    from tests.stand_ins import clear

    text = dot(document(Program(None, (named(clear(GPUBuffer(), 0, 4)),)), ""))

    assert 'n0 [label="0  clear_buffer"' in text
