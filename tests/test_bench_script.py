"""`make bench`: one folder of JSON, whole or not at all, that goes on where it was stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cmdgraph import adapters
from cmdgraph.bench import environment, experiments, results
from scripts import bench
from scripts.bench import Step

REPORT = "print(open({report!r}).read()); open({log!r}, 'a').write('1')"


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, and steps that write a report at once."""
    monkeypatch.setattr(bench, "WORK", tmp_path / "work")
    monkeypatch.setattr(environment, "commit", lambda: ("c" * 40, False))
    return tmp_path


def _step(folder: Path, name: str, program: str) -> Step:
    path, report = folder / f"{name}.py", folder / f"{name}.report"
    command = f"python {path}"
    where = {"commit": "c" * 40, "dirty": False, "command": command}
    results.write(results.make("x", environment=where, workload={}, method={}, rows=[]), report)
    path.write_text(program.format(report=str(report), log=str(folder / f"{name}.log")))
    return Step(name, command)


def _use(monkeypatch: pytest.MonkeyPatch, *steps: Step) -> None:
    monkeypatch.setattr(bench, "steps", lambda package, full: list(steps))


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(bench.main, arguments)


def _runs(folder: Path, name: str) -> int:
    log = folder / f"{name}.log"
    return len(log.read_text()) if log.exists() else 0


def test_files_appear_together_and_named(stage: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _use(monkeypatch, _step(stage, "a", REPORT), _step(stage, "b", REPORT))
    done = _run("card", "--out", str(stage / "out"))

    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in (stage / "out").iterdir()) == ["a-card.json", "b-card.json"]
    assert results.read(stage / "out" / "a-card.json")["experiment"] == "x"
    assert list((stage / "work" / "card").iterdir()) == []


def test_it_goes_on_where_it_failed(stage: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = _step(stage, "a", REPORT), _step(stage, "b", "raise SystemExit(3)")
    _use(monkeypatch, good, bad)
    done = _run("card", "--out", str(stage / "out"))
    assert done.exit_code == 1
    assert "failed: b; the same command goes on" in done.output
    assert "[2/2] b: failed (exit status 3)" in done.output
    assert not (stage / "out").exists()

    _step(stage, "b", REPORT)
    done = _run("card", "--out", str(stage / "out"))
    assert done.exit_code == 0, done.output
    assert "[1/2] a: there already" in done.output
    assert (_runs(stage, "a"), _runs(stage, "b")) == (1, 1)


def test_what_is_no_report_is_not_kept(stage: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _use(monkeypatch, _step(stage, "a", "print('oops')"))
    done = _run("card", "--out", str(stage / "out"))

    assert done.exit_code == 1
    assert "is no JSON" in done.output
    assert not (stage / "work" / "card" / "a.json").exists()


@pytest.mark.parametrize(
    "other",
    [
        {"environment": {"commit": "d" * 40}},
        {"environment": {"dirty": True}},
        {"environment": {"command": "python other.py"}},
        {"interrupted": True},
    ],
)
def test_what_was_measured_otherwise_is_measured_again(stage: Path, other: dict[str, Any]) -> None:
    step = _step(stage, "a", REPORT)
    assert step.run(stage) is None
    assert step.done(stage)

    report = results.read(step.report(stage))
    changed = {**report, **other, "environment": {**report["environment"], **other.get("environment", {})}}
    step.report(stage).write_text(json.dumps(changed))
    assert not step.done(stage)


def test_again_and_only(stage: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = _step(stage, "a", REPORT), _step(stage, "b", REPORT)
    _use(monkeypatch, a, b)
    (stage / "work" / "card").mkdir(parents=True)
    a.run(stage / "work" / "card")

    assert _run("card", "--out", str(stage / "out"), "--again", "--only", "a").exit_code == 0
    assert (_runs(stage, "a"), _runs(stage, "b")) == (2, 0)
    assert [path.name for path in (stage / "out").iterdir()] == ["a-card.json"]
    refused = _run("card", "--only", "a,c")
    assert refused.exit_code == 2
    assert "'c' is none of a, b" in refused.output


def test_a_place_that_cannot_be_written_is_one_line(stage: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _use(monkeypatch, _step(stage, "a", REPORT))
    (stage / "file").touch()
    done = _run("card", "--out", str(stage / "file" / "out"))

    assert done.exit_code == 1
    assert f"cannot write {stage}/file/out" in done.output.splitlines()[-1]


def test_every_experiment_is_in_the_short_set() -> None:
    native, dawn = bench.steps("wgpu", full=False), bench.steps("wgpudawn", full=False)

    assert [step.name for step in native] == [*experiments.NAMES, *bench.LLM]
    assert [step.name for step in dawn] == list(experiments.NAMES)
    assert all(" --quick " in step.command and "--on wgpudawn" in step.command for step in dawn)
    assert not any("--quick" in step.command for step in bench.steps("wgpu", full=True))


def test_the_name_is_that_of_the_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"adapters": [{"adapter": "NVIDIA H200 (rev 1, 2 bits)"}]}
    monkeypatch.setattr(adapters, "find", lambda package: found)
    assert (bench.default_name("wgpu"), bench.default_name("wgpudawn")) == ("nvidia-h200", "nvidia-h200-dawn")

    monkeypatch.setattr(adapters, "find", lambda package: {"adapters": []})
    done = _run()
    assert done.exit_code == 1
    assert "no GPU adapter" in done.output
