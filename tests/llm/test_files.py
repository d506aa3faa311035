"""Saving a model's decode step, and timing it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cmdgraph
from llm import files
from llm.cli import main
from tests.container.saved import validate
from tests.llm import tiny

ARMS = ["save", "write", "read back and write", "load", "read", "read and upload"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny.write_model(tmp_path_factory.mktemp("model") / "tiny.gguf", tiny.LLAMA))


@pytest.mark.parametrize("name", ["step.zip", "step"])
def test_save(model: str, name: str, tmp_path: Path, device: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["save", "--model", model, "--prompt", "Hi", "-o", str(tmp_path / name)]) == 0

    told = capsys.readouterr()
    validate(tmp_path / name)
    graph = cmdgraph.load(tmp_path / name, device)
    assert f"{tmp_path / name}: {len(graph)} nodes, " in told.err
    assert told.out == ""
    graph.replay(wait=True)


def test_save_to_nowhere_is_one_line(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["save", "--model", model, "-o", str(tmp_path / "no" / "step.zip")]) == 1

    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert told.count("\n") == 1


def test_the_report_has_every_arm_and_leaves_no_file(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--model", model, "--rounds", "2", "--folder", str(tmp_path), "-o", "json", "--quiet"]
    assert main(["files", *options]) == 0

    report = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in report["rows"]] == ARMS
    assert all(len(row["seconds"]["samples"]) == 2 for row in report["rows"])
    assert {row["seconds"]["unit"] for row in report["rows"]} == {"s"}
    assert {r["quantity"] for r in report["ratios"]} == {"seconds"}
    assert {(r["over"], r["under"]) for r in report["ratios"]} >= {("save", "write"), ("load", "read and upload")}
    text = files.to_markdown(report)
    assert all(f"| {arm} " in text for arm in ARMS)
    assert list(tmp_path.iterdir()) == []
