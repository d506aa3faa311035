"""The plain data that pictures are made from."""

from __future__ import annotations

import json

import cmdgraph
from cmdgraph.view.document import document
from tests.kit import ADD1, MUL2, Kit, captured
from tests.view.graphs import diamond, layered


def test_nodes_waves_and_the_critical_path() -> None:
    data = document(diamond(), "diamond")

    assert [node["waits"] for node in data["nodes"]] == [[], [0], [0], [1, 2]]
    assert data["waves"] == [[0], [1, 2], [3]]
    assert [node["wave"] for node in data["nodes"]] == [0, 1, 1, 2]
    assert data["critical_path"] in ([0, 1, 3], [0, 2, 3])
    assert [node["name"] for node in data["nodes"]] == ["bound", "left", "right", "bound"]
    assert [child["name"] for child in data["groups"]["children"]] == ["first", "second", "third"]
    assert data["totals"] == {
        "nodes": 4,
        "dispatches": 4,
        "waves": 3,
        "widest_wave": 2,
        "critical_path": 3,
        "resources": 3,
        "resource_bytes": 192,
        "touched_bytes": 64 * 8,
    }


def test_what_nodes_share_is_told_once() -> None:
    data = document(layered(3), "layers")

    assert len(data["modules"]) == 12
    assert len({module["code"] for module in data["modules"]}) == 12
    assert {node["pipeline"] for node in data["nodes"]} == set(range(len(data["pipelines"])))
    assert [one["label"] for one in data["resources"]] == [
        "layer.0.weights",
        "stream",
        "layer.1.weights",
        "layer.2.weights",
    ]


def test_the_document_of_a_graph(kit: Kit) -> None:
    x, y, z = kit.buffer([1] * 4, "x"), kit.buffer(label="y"), kit.buffer(label="z")
    first, second = kit.call(ADD1, x, y), kit.call(MUL2, y, z)
    graph = captured(kit.device, lambda: (kit.write(x, [3] * 4), first(), second()), name="two")
    data = json.loads(json.dumps(graph.document()))

    assert data["device"]["adapter"] == kit.device.adapter.info["device"]
    assert [node["operation"] for node in data["nodes"]] == ["write_buffer", *["dispatch_workgroups"] * 2]
    assert [b["variable"] for b in data["nodes"][1]["bindings"]] == ["src: array<f32>", "dst: array<f32>"]
    assert [(b["access"], b["size"]) for b in data["nodes"][1]["bindings"]] == [("read", 16), ("read-write", 16)]
    roles = {one["label"]: (one["input"], one["output"]) for one in data["resources"]}
    assert roles["x"] == (False, True)
    assert roles["z"] == (True, True)  # read_write: what it held may be read
    assert "STORAGE" in data["resources"][0]["usage"]
    assert data["modules"][0]["code"] == ADD1


def test_an_empty_graph_has_nothing_to_show() -> None:
    graph = cmdgraph.CommandGraph("none")

    for look in (graph.document, graph.summary, lambda: graph.debug_dump("none.json"), graph.profile):
        try:
            look()
        except cmdgraph.NothingCapturedError:
            continue
        raise AssertionError(look)
