"""Switching the layer on: when, with what words when it cannot be, and what the loader is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cmdgraph.native.places import FOLDER, LAYER
from tests.native.layer import needs_layer
from tests.subprocesses import ROOT

OFF = {"CMDGRAPH_NATIVE": "", "VK_LAYER_PATH": "", "VK_INSTANCE_LAYERS": ""}


def _run(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **OFF, **variables}
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={name: value for name, value in environment.items() if value},
    )


def _last(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr.strip().splitlines()[-1]


TELL = "import os; print(os.environ['VK_INSTANCE_LAYERS']); print(os.environ['VK_LAYER_PATH'])"


@needs_layer
def test_the_layer_comes_before_those_that_are_asked_for_already() -> None:
    program = f"import cmdgraph; cmdgraph.enable_native(); cmdgraph.enable_native(); {TELL}"
    names, folders = _run(program, VK_INSTANCE_LAYERS="VK_LAYER_OTHER", VK_LAYER_PATH="/else/where").stdout.split()

    assert names == f"{LAYER}:VK_LAYER_OTHER"
    assert folders == f"{FOLDER}:/else/where"


@needs_layer
def test_folders_that_the_loader_looks_into_by_itself_stay() -> None:
    names, folders = _run(f"import cmdgraph; {TELL}", CMDGRAPH_NATIVE="1").stdout.split()

    assert names == LAYER
    assert folders.split(":")[0] == str(FOLDER)
    assert {"/etc/vulkan/explicit_layer.d", "/usr/share/vulkan/explicit_layer.d"} <= set(folders.split(":"))


@needs_layer
def test_too_late_is_an_error() -> None:
    done = _run("import cmdgraph, wgpu; wgpu.gpu.request_adapter_sync(); cmdgraph.enable_native()")

    assert done.returncode == 1
    assert "NativeError: enable_native() comes too late: wgpu-native has looked for adapters" in _last(done)


GRAPH = """
import cmdgraph, wgpu
from tests.kit import INC, Kit, captured, open_device
kit = Kit(open_device("wgpu"))
captured(kit.device, kit.call(INC, kit.buffer([0] * 4))).strategy = "native"
"""


@needs_layer
def test_a_device_without_the_layer_is_an_error() -> None:
    assert "was made without the native layer: call cmdgraph.enable_native() before the first" in _last(_run(GRAPH))


def test_a_layer_that_is_not_built_is_an_error_that_says_how_to_build_it() -> None:
    away = "import cmdgraph.native.library as l; from pathlib import Path; l.LIBRARY = Path('/no/such.so'); "
    for program in (f"{away}import cmdgraph; cmdgraph.enable_native()", away + GRAPH):
        assert "NativeError: the native layer is not built (such.so is missing): run `make native`" in _last(
            _run(program)
        )


def test_a_library_that_does_not_load_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "broken.so").write_text("no library")
    program = f"import cmdgraph.native.library as l; from pathlib import Path; l.LIBRARY = Path('{tmp_path}/broken.so')"
    done = _run(f"{program}; l.library()")

    assert "NativeError: the native layer does not load" in _last(done)
    assert "make native" in _last(done)


def test_it_is_off_unless_asked_for() -> None:
    done = _run("import cmdgraph.native, os; print(cmdgraph.native.enabled(), 'VK_LAYER_PATH' in os.environ)")
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("value", ["0", ""])
def test_the_switch_can_say_no(value: str) -> None:
    done = _run("import cmdgraph.native; print(cmdgraph.native.enabled())", CMDGRAPH_NATIVE=value)
    assert done.stdout.split() == ["False"]
