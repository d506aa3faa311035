"""`cmdgraph bench` as a user meets it: what goes where, what is refused, and what an interruption leaves."""

from __future__ import annotations

import csv
import functools
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import frozen

from cmdgraph import adapters
from cmdgraph.bench import experiments, results
from cmdgraph.cli import main

NO_DRIVER = {"VK_DRIVER_FILES": "/no/such/driver.json", "VK_ICD_FILENAMES": "/no/such/driver.json"}
SMALLEST = ("dispatch", "--counts", "1,2", "-r", "2", "--warmup", "1")

ADAPTERS = functools.cache(adapters.find)

needs_adapter = pytest.mark.skipif(not ADAPTERS("wgpu").get("adapters"), reason="no GPU adapter")


@frozen
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


Bench = Callable[..., Done]


@pytest.fixture
def bench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Runs `cmdgraph bench` in this process; which adapters there are is asked once for all tests."""
    monkeypatch.setattr(adapters, "find", ADAPTERS)

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["cmdgraph", "bench", *arguments])
        status = main(["bench", *arguments])
        return Done(status, *capsys.readouterr())

    return run


@needs_adapter
def test_c23_the_table_carries_its_evidence(tmp_path: Path, bench: Bench) -> None:
    done = bench(*SMALLEST, "-o", "json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)  # JSON alone on stdout

    where = report["environment"]
    for key in ("adapter", "vendor", "driver", "backend", "adapter_type", "wgpu_py", "os", "python", "cpu", "command"):
        assert where[key], key
    assert where["implementation"].keys() == {"name", "version"}
    assert where["date"].endswith("+00:00")
    assert {"commit", "dirty", "timer_resolution_s", "load_average"} <= where.keys()
    how = report["method"]
    assert (how["rounds"], how["rounds_wanted"], how["warmup"], how["seed"]) == (2, 2, 1, 0)
    assert all(runs >= 1 for runs in how["warmup_runs"].values())
    assert "graph.wait()" in how["sync"]
    for row in report["rows"]:
        assert row["dispatches_per_sample"] >= row["dispatches"] >= 1
        assert row["submits_per_sample"] >= 1
        assert row["checked"] == "equal to numpy, to the bit"
        for figure in results.figures(row).values():
            assert figure["unit"] == "us"
            assert len(figure["samples"]) == 2
            assert {"median", "p10", "p90", "ci95_low", "ci95_high", "min", "max", "noisy"} <= figure.keys()
    assert "round 2 of 2\n" in done.stderr  # progress is on stderr, which is no terminal: no carriage returns
    assert "\r" not in done.stderr

    done = bench(*SMALLEST, "--file", str(tmp_path / "dispatch.json"))
    header = done.stdout.splitlines()[0]
    assert header.startswith("**software adapter**") is where["software_adapter"]
    for word in (where["adapter"], where["driver"], where["implementation"]["version"], "--counts 1,2", "cores"):
        assert word in header
    assert "| eager/2" in done.stdout
    assert "10-p90" in done.stdout
    assert done.stderr.endswith(f"dispatch: {tmp_path}/dispatch.json\n")
    assert results.read(tmp_path / "dispatch.json")["rows"][0]["name"] == "single-op"


@needs_adapter
def test_csv_has_a_line_for_each_figure_and_jsonl_one_for_each_row(bench: Bench) -> None:
    lines = list(csv.DictReader(io.StringIO(bench(*SMALLEST, "-o", "csv").stdout)))
    assert {line["row"] for line in lines} >= {"single-op", "eager/1", "eager/2"}
    assert all(float(line["p10"]) <= float(line["median"]) <= float(line["p90"]) for line in lines)
    assert {line["n"] for line in lines} == {"2"}

    rows = [json.loads(line) for line in bench(*SMALLEST, "-o", "jsonl").stdout.splitlines()]
    assert [row["row"]["name"] for row in rows][:2] == ["single-op", "eager/1"]
    assert all(row["environment"]["adapter"] and row["experiment"] == "dispatch" for row in rows)


@needs_adapter
@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["dispatch", "--adapter", "no such card"], 2, "no adapter is called 'no such card'; there are: "),
        (["dispatch", "--counts", "7"], 2, "counts: needs two different numbers"),
        (["dispatch", "--counts", "a,b"], 2, "'a,b' is no list of whole numbers"),
        (["dispatch", "--counts", "0,4"], 2, "0 is below 1"),
        (["dispatch", "--file", "/no/such/folder/x.json"], 1, "cannot write /no/such/folder/x.json: No such file"),
        (["dispatch", "--file", "/"], 1, "it is a folder"),
        (["dispatch", "-o", "xml"], 2, "'xml' is not one of"),
        (["nonsense"], 2, "No such command 'nonsense'"),
        ([], 2, "name an experiment: strategies, dispatch"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_measured(
    bench: Bench, arguments: list[str], status: int, words: str
) -> None:
    done = bench(*arguments)

    assert (done.returncode, done.stdout) == (status, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_without_an_adapter_it_says_what_to_do() -> None:
    command = [sys.executable, "-m", "cmdgraph", "bench", "--list-adapters"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **NO_DRIVER})

    assert (done.returncode, done.stdout) == (1, "")
    assert "no GPU adapter" in done.stderr
    assert "Traceback" not in done.stderr


@needs_adapter
def test_adapters_are_listed_as_options(bench: Bench) -> None:
    done = bench("dispatch", "--list-adapters")

    assert done.returncode == 0
    line = done.stdout.splitlines()[0]
    assert line.startswith("--on wgpu --adapter '")
    assert ADAPTERS("wgpu")["adapters"][0]["adapter"] in line


@needs_adapter
def test_a_part_of_the_adapters_name_is_enough(bench: Bench) -> None:
    name = ADAPTERS("wgpu")["adapters"][0]["adapter"]
    done = bench(*SMALLEST, "--quiet", "-o", "json", "--adapter", name[:4].upper())

    assert json.loads(done.stdout)["environment"]["adapter"] == name


@needs_adapter
def test_quick_asks_for_less_unless_it_is_said(bench: Bench) -> None:
    quick = experiments.load("phases").quick
    report = json.loads(bench("phases", "--quick", "--quiet", "-r", "2", "--warmup", "1", "-o", "json").stdout)

    assert report["workload"]["dispatches"] == quick["dispatches"]
    assert report["method"]["rounds"] == 2


@needs_adapter
def test_an_interruption_keeps_what_there_is(tmp_path: Path) -> None:
    file = tmp_path / "dispatch.json"
    arguments = ["dispatch", "--counts", "1,2", "-r", "1000000", "-o", "json", "--file", str(file)]
    process = subprocess.Popen(
        [sys.executable, "-m", "cmdgraph", "bench", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "round 1 of 1000000\n"
    process.send_signal(signal.SIGINT)
    out, told = process.communicate(timeout=60)

    assert process.returncode == 130
    report = json.loads(out)
    assert report == results.read(file)
    assert report["interrupted"]
    rounds = report["method"]["rounds"]
    assert 1 <= rounds < 1_000_000
    assert {len(row["wall_us_per_run"]["samples"]) for row in report["rows"]} == {rounds}
    assert f"interrupted after {rounds} of 1000000 rounds; the samples so far are kept" in told
    assert "Traceback" not in told
