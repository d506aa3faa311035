"""The conformance tests of spec_proposal, against the polyfill in headless Chromium and on Dawn in Node."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.proposal.files import ConformanceTest, conformance_tests
from tests.proposal.node import run_node

SECONDS = 60


@pytest.mark.parametrize("test", conformance_tests(), ids=lambda test: test.id)
def test_in_chromium(page: Any, test: ConformanceTest) -> None:
    call = """([file, only, seconds]) => Promise.race([
        window.runFile(file, { only }),
        new Promise((_, reject) => setTimeout(() => reject(new Error(`no answer in ${seconds} s`)), 1000 * seconds)),
    ])"""
    (result,) = page.evaluate(call, [test.file, test.name, SECONDS])

    if result["skipped"]:
        pytest.skip(result["skipped"])
    assert result["cases"]
    assert not _failures(result)


def test_in_node() -> None:
    done = run_node("conformance/node.js")
    files = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    results = [(file["file"], result) for file in files for result in file["results"]]

    assert (
        "\n".join(f"{file}:{result['test']} {_failures(result)}" for file, result in results if _failures(result)) == ""
    )
    assert {f"{file}:{result['test']}" for file, result in results} == {test.id for test in conformance_tests()}


def _failures(result: dict[str, Any]) -> str:
    return "\n".join(f"{case['params']}: {failure}" for case in result["cases"] for failure in case["failures"])
