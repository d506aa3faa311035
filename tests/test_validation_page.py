"""spec_proposal/validation.md says what the code says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cmdgraph import validation
from scripts import validation_page
from tests.fuzz.differences import DIFFERENCES

PAGE = validation_page.PAGE.read_text()


def test_its_tables_are_made_from_the_code_and_the_results() -> None:
    assert validation_page.rendered(PAGE) == PAGE, "python -m scripts.validation_page writes them"


def test_every_rule_and_difference_stands_in_it() -> None:
    for rule in (*validation.RULES, *validation.ELSEWHERE):
        assert f"[`{rule.name}`](https://www.w3.org/TR/webgpu/{rule.anchor})" in PAGE
    for difference in DIFFERENCES:
        assert f"[`{difference.name}`]" in PAGE


def test_a_changed_table_is_noticed() -> None:
    changed = PAGE.replace("set_bind_group names an index below maxBindGroups.", "anything")

    assert changed != PAGE
    assert validation_page.rendered(changed) == PAGE


@pytest.mark.parametrize("path", sorted(validation_page.RESULTS.glob("fuzz-*.json")), ids=lambda path: path.name)
def test_the_long_run_found_nothing_new(path: Path) -> None:
    """And the implementations' dry run refused nothing that our rules had accepted."""
    report = json.loads(path.read_text())

    assert report["programs"] >= 200_000
    assert report["new_findings"] == []
    for counts in report["rules"].values():
        assert not {"implementation", "unnamed"} & counts.keys()
