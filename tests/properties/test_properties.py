"""Properties over whole lives of graphs. Each runs in a process of its own, because a mistake aborts it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.subprocesses import ROOT, SECONDS

EXAMPLES = 40


def _module(name: str, *arguments: str) -> str:
    """What `python -m tests.properties.NAME` prints last; fails with its words if it fails."""
    command = [sys.executable, "-m", f"tests.properties.{name}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-6000:]}"
    return done.stdout.strip().splitlines()[-1]


def test_graphs_follow_the_model_whatever_happens(package: str) -> None:
    assert _module("machine", package, str(EXAMPLES)) == "held"


def test_an_event_at_every_point_gives_the_right_error(package: str) -> None:
    tried = json.loads(_module("injection", package))

    assert set(tried) == {"destroy", "map", "lose the device"}
    assert sum(tried.values()) > 90


@pytest.mark.parametrize("devices", ["one", "two"])
def test_two_threads_get_what_one_would_get(package: str, devices: str) -> None:
    if package == "wgpudawn":
        pytest.skip("plain wgpudawn 0.32 crashes in create_bind_group with work on several devices of a process")
    assert int(_module("threads", package, devices)) > 0
