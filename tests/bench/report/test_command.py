"""`cmdgraph report` as a user meets it: paths on stdout, one line for each mistake, and the right status."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cmdgraph.cli import main
from tests.bench.report import made


def test_the_paths_of_what_was_written_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = made.put(tmp_path / "results", one=made.strategies())

    assert main(["report", str(source), "-o", str(tmp_path / "out")]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert [Path(line).exists() for line in told.out.splitlines()] == [True] * 4
    assert told.out.splitlines()[0] == str(tmp_path / "out" / "report.html")


def test_a_folder_that_is_not_there_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path / "absent")]) == 2
    assert "is not there" in capsys.readouterr().err


def test_results_of_several_commits_fail_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = made.put(tmp_path / "results", one=made.strategies(), two=made.dtype(commit="d" * 40))
    arguments = ["report", str(source), "-o", str(tmp_path / "out")]

    assert main(arguments) == 1
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert "results of 2 commits; --mix" in told.err
    assert not (tmp_path / "out").exists()
    assert main([*arguments, "--mix"]) == 0


def test_a_missing_package_is_named_with_the_remedy(tmp_path: Path) -> None:
    source = made.put(tmp_path / "results", one=made.strategies())
    program = (
        "import sys; sys.modules['matplotlib'] = None; from cmdgraph.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "report", str(source), "-o", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert done.stderr == "Error: matplotlib is not installed: pip install 'cmdgraph[bench]'\n"
