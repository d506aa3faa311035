"""What the tests of the native layer share."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cmdgraph.native.places import LIBRARY
from tests.subprocesses import ROOT, SECONDS

needs_layer = pytest.mark.skipif(not LIBRARY.exists(), reason="the native layer is not built: make native")


def python(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs Python with the layer on: what goes wrong in it may end the process."""
    environment = {**os.environ, "CMDGRAPH_NATIVE": "1", **variables}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        env={name: value for name, value in environment.items() if value},
    )
