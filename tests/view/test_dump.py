"""Files: the form by suffix, all at once or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import cmdgraph
from cmdgraph.view import dump
from tests.kit import INC, Kit, captured


@pytest.fixture
def graph(native: Kit) -> cmdgraph.CommandGraph:
    return captured(native.device, native.call(INC, native.buffer([1] * 4, "b")), name="inc")


@pytest.mark.parametrize(
    ("name", "begins"), [("g.dot", "digraph"), ("g.json", '{"format":"cmdgraph view"'), ("g.HTML", "<!doctype html>")]
)
def test_the_suffix_chooses_the_form(graph: cmdgraph.CommandGraph, tmp_path: Path, name: str, begins: str) -> None:
    path = graph.debug_dump(tmp_path / name)

    assert path == tmp_path / name
    assert path.read_text().startswith(begins)
    assert os.listdir(tmp_path) == [name]


def test_json_holds_the_document(graph: cmdgraph.CommandGraph, tmp_path: Path) -> None:
    path = graph.debug_dump(str(tmp_path / "g.json"))

    assert json.loads(path.read_text()) == json.loads(json.dumps(graph.document()))


@pytest.mark.parametrize("name", ["g.png", "g", ".dot"])
def test_another_suffix_is_refused_with_those_there_are(
    graph: cmdgraph.CommandGraph, tmp_path: Path, name: str
) -> None:
    with pytest.raises(cmdgraph.ViewError, match=r"a graph is written as \.dot, \.json, \.html"):
        graph.debug_dump(tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_a_place_that_cannot_be_written_is_named(graph: cmdgraph.CommandGraph, tmp_path: Path) -> None:
    with pytest.raises(cmdgraph.ViewError, match=r"g\.dot cannot be written: No such file or directory"):
        graph.debug_dump(tmp_path / "no such folder" / "g.dot")


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "g.dot"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(dump.os, "replace", full)
    with pytest.raises(cmdgraph.ViewError, match="No space left on device"):
        dump.write(path, "new")

    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["g.dot"]


def test_a_label_that_is_no_text_is_still_written(tmp_path: Path) -> None:
    assert dump.write(tmp_path / "g.dot", "a\ud800b").read_text() == "a\\ud800b"
