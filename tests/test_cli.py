"""The command `cmdgraph` as a user or a script meets it: streams, exit statuses, and bad machines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cmdgraph import adapters

# The Vulkan loader finds no driver in a folder that is not there.
NO_DRIVER = {"VK_DRIVER_FILES": "/no/such/driver.json", "VK_ICD_FILENAMES": "/no/such/driver.json"}
SMALL = ("bench", "strategies", "--dispatches", "12", "-r", "2", "--warmup", "1")

needs_adapter = pytest.mark.skipif(not adapters.find("wgpu").get("adapters"), reason="no GPU adapter")


def _run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cmdgraph", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **variables})


@needs_adapter
def test_info_prints_json_alone() -> None:
    result = _run("info", "-o", "json")
    facts = json.loads(result.stdout)

    assert result.returncode == 0, result.stderr
    assert facts["versions"]["Python"] == sys.version.split()[0]
    assert facts["walker"]["available"] is (facts["walker"]["why_absent"] is None)
    native = facts["implementations"]["wgpu-native"]
    assert native["implementation"]["version"].count(".") == 3
    assert native["adapters"][0]["limits"]["max-compute-workgroups-per-dimension"] >= 65535
    assert isinstance(native["adapters"][0]["software_adapter"], bool)


@needs_adapter
def test_info_is_readable() -> None:
    result = _run("info")

    assert result.returncode == 0
    assert "## wgpu-native" in result.stdout
    assert "C walker: " in result.stdout
    assert "max-storage-buffer-binding-size" in result.stdout


def test_info_without_a_driver_says_what_to_do() -> None:
    result = _run("info", "-o", "json", **NO_DRIVER)

    assert result.returncode == 1
    assert json.loads(result.stdout)["implementations"]["wgpu-native"]["adapters"] == []
    assert result.stderr.count("\n") == 1
    assert "make setup" in result.stderr


def test_bench_without_a_driver_says_what_to_do() -> None:
    result = _run(*SMALL, **NO_DRIVER)

    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: no GPU adapter")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["bench", "strategies", "--dispatches", "0"],
        ["bench", "strategies", "-o", "xml"],
        ["info", "extra"],
    ],
)
def test_wrong_usage_is_status_2(arguments: list[str]) -> None:
    result = _run(*arguments)

    assert result.returncode == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


@needs_adapter
def test_bench_prints_json_alone_and_progress_as_lines() -> None:
    result = _run(*SMALL, "-o", "json")

    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["rows"][0]["strategy"] == "eager"
    assert "round 2 of 2\n" in result.stderr
    assert "\r" not in result.stderr


@needs_adapter
def test_quiet_is_quiet() -> None:
    result = _run(*SMALL, "--quiet")

    assert result.returncode == 0
    assert result.stderr == ""
    assert "| eager" in result.stdout


def test_a_reader_that_leaves_is_no_error() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "cmdgraph", "info"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.close()
    _, told = process.communicate(timeout=60)

    assert "Traceback" not in told
    assert "Exception ignored" not in told


def _broken_package(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    (folder / "broken_gpu.py").write_text(body)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.syspath_prepend(str(folder))


def test_a_library_that_aborts_is_told_not_died_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _broken_package(tmp_path, monkeypatch, "import os\nos.abort()\n")

    assert "ended its process (SIGABRT)" in adapters.find("broken_gpu")["error"]


def test_a_library_that_raises_gives_its_last_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _broken_package(tmp_path, monkeypatch, "raise OSError('libvulkan is broken')\n")

    assert adapters.find("broken_gpu")["error"] == "OSError: libvulkan is broken"


def test_a_library_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _broken_package(tmp_path, monkeypatch, "import time\ntime.sleep(60)\n")
    monkeypatch.setattr(adapters, "PROBE_TIMEOUT_S", 0.2)

    assert "no answer within" in adapters.find("broken_gpu")["error"]


def test_a_library_that_is_not_installed_is_named() -> None:
    assert "no_such_gpu_package is not installed" in adapters.find("no_such_gpu_package")["error"]
