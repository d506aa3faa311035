"""The polyfill: its surface is that of the text's IDL, its size, and that each of its rules is needed."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.proposal.files import PROPOSAL, rules
from tests.proposal.node import run_node

LARGEST = 25_000  # bytes, minified

# Without these the browser behind the polyfill refuses the same, at the same moment.
ALSO_BY_THE_BROWSER = {
    "binding-complete",
    "binding-offset-alignment",
    "binding-offset-count",
    "binding-offset-range",
    "binding-valid",
}


def test_its_surface_is_that_of_the_idl() -> None:
    done = run_node("tools/idl.js")
    assert done.stdout.startswith("{"), done.stderr
    report = json.loads(done.stdout.splitlines()[0])

    assert report["problems"] == []
    assert {"GPUComputePassEncoder.executeBundle", "GPUComputeBundleEncoder.setBindGroupSlot"} <= set(
        report["compared"]
    )
    assert len(report["compared"]) > 35


def test_it_is_small() -> None:
    arguments = ["polyfill/index.js", "--bundle", "--minify", "--format=esm", "--log-level=error"]
    done = run_node("node_modules/esbuild/bin/esbuild", *arguments, gpu=False)

    assert done.returncode == 0, done.stderr
    assert 5_000 < len(done.stdout.encode()) <= LARGEST


def test_it_imports_nothing_from_elsewhere() -> None:
    imports = [
        line.rpartition("from ")[2].strip("';")
        for path in PROPOSAL.glob("polyfill/*.js")
        for line in path.read_text().splitlines()
        if line.startswith("import ")
    ]

    assert imports
    assert [name for name in imports if not name.startswith("./")] == []


@pytest.mark.long
@pytest.mark.parametrize("rule", rules())
def test_without_a_rule_a_test_fails(rule: str) -> None:
    done = run_node("conformance/mutations.js", rule)
    (report,) = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    assert report["rule"] == rule
    assert bool(report["killed"]) == (rule not in ALSO_BY_THE_BROWSER)


@pytest.mark.long
def test_the_text_builds_without_errors_or_warnings() -> None:
    subprocess.run([PROPOSAL.parent / "scripts" / "spec.sh"], check=True)
    page = (PROPOSAL.parent / "build" / "spec" / "index.html").read_text()

    assert 'id="dom-gpucomputepassencoder-executebundle"' in page
