"""Runs the JavaScript of spec_proposal in Node, on the Dawn of the npm package "webgpu"."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.proposal.files import PROPOSAL

SWIFTSHADER = Path("/usr/lib/chromium/vk_swiftshader_icd.json")


def run_node(script: str, *arguments: str, gpu: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs a script of spec_proposal; skips the test where Node, its packages or the driver are missing."""
    node = shutil.which("node")
    if node is None or not (PROPOSAL / "node_modules" / ".installed").exists():
        pytest.skip("Node or the packages of spec_proposal are not installed: make setup says why")
    environment = dict(os.environ)
    if gpu:
        if not SWIFTSHADER.exists():
            pytest.skip("Dawn in Node needs a driver that it takes: SwiftShader, which comes with Debian's chromium")
        environment["VK_ICD_FILENAMES"] = environment["VK_DRIVER_FILES"] = str(SWIFTSHADER)
    return subprocess.run(
        [node, script, *arguments],
        cwd=PROPOSAL,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
