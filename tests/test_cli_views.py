"""`cmdgraph show` and `cmdgraph profile`: forms, files, streams and exit statuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import cmdgraph
from cmdgraph import adapters, cli
from tests.kit import INC, Kit, captured

needs_adapter = pytest.mark.skipif(not adapters.find("wgpu").get("adapters"), reason="no GPU adapter")
pytestmark = needs_adapter


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file from which a graph of two nodes is loaded, whatever is in it."""

    def load(path: str, device: Any) -> cmdgraph.CommandGraph:
        if "missing" in Path(path).read_text():
            raise cmdgraph.CommandGraphError(f"{path}: it is not a graph")
        kit = Kit(device)
        step = kit.call(INC, kit.buffer([1] * 4, "b"))
        return captured(device, lambda: (step(), step()), name="stored")

    monkeypatch.setattr(cmdgraph, "load", load, raising=False)
    path = tmp_path / "stored.graph"
    path.write_text("graph")
    return str(path)


def test_show_prints_totals_and_a_table(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", file]) == 0
    shown = capsys.readouterr().out

    assert '<CommandGraph "stored": 2 nodes' in shown
    assert "shader  nodes" in shown
    assert cli.main(["show", file, "--by", "node"]) == 0
    assert "called at" in capsys.readouterr().out


@pytest.mark.parametrize(("form", "begins"), [("dot", "digraph"), ("json", '{"format"'), ("html", "<!doctype html>")])
def test_show_prints_a_picture_or_writes_it(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, begins: str
) -> None:
    assert cli.main(["show", file, "-o", form]) == 0
    printed = capsys.readouterr().out
    target = tmp_path / f"g.{form}"
    assert cli.main(["show", file, "--to", str(target)]) == 0

    assert capsys.readouterr().out == f"{target}\n"
    assert printed.startswith(begins)
    assert target.read_text().startswith(begins)


def test_profile_prints_tables(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["profile", file, "-r", "4"]) == 0
    shown = capsys.readouterr().out

    assert shown.startswith('PROFILED graph "stored", 2 nodes')
    assert "undisturbed replay" in shown
    assert "By shader, profiled" in shown


def test_profile_writes_a_trace_and_a_page(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["profile", file, "-r", "2", "--to", str(tmp_path / "t.json")]) == 0
    assert "PROFILED" in capsys.readouterr().err
    assert cli.main(["profile", file, "-r", "2", "--to", str(tmp_path / "t.html")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 't.html'}\n"
    assert cli.main(["profile", file, "-r", "2", "-o", "trace"]) == 0

    assert json.loads(capsys.readouterr().out).keys() == json.loads((tmp_path / "t.json").read_text()).keys()
    assert '"profiled":true' in (tmp_path / "t.html").read_text()


@pytest.mark.parametrize("command", ["show", "profile"])
def test_what_is_wrong_is_one_line(command: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([command, str(tmp_path / "none")]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert cli.main([command, file, "--to", str(tmp_path / "g.png")]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith(f'error: {tmp_path / "g.png"} has ".png"')

    Path(file).write_text("missing")
    assert cli.main([command, file]) == 1
    assert capsys.readouterr().err == f"error: {file}: it is not a graph\n"


@pytest.mark.parametrize("command", ["show", "profile"])
def test_a_saved_graph(command: str, native: Kit, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "inc.zip"
    graph: Any = captured(native.device, native.call(INC, native.buffer([1] * 4, "b")), name="inc")
    graph.save(path)

    assert cli.main([command, str(path)]) == 0
    assert '"inc"' in capsys.readouterr().out
