"""spec_proposal/explainer.md: its tables are those of the results, and its links lead somewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from scripts import explainer_page

PAGE = explainer_page.PAGE.read_text()


def test_the_tables_are_made_from_the_results() -> None:
    assert explainer_page.rendered(PAGE) == PAGE, "make explainer writes them"


def test_every_section_has_its_place() -> None:
    assert set(re.findall(r"<!-- ([\w-]+) -->", PAGE)) - {"end"} == set(explainer_page.SECTIONS)


def test_figures_are_those_of_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = json.loads((explainer_page.RESULTS / "decode-h200.json").read_text())
    eager, *_ = report["rows"]
    eager["ms_per_token"]["median"] = 12345.678
    wrong = next(row for row in report["rows"] if row["plan"] == "fused" and row["strategy"] == "single-pass")
    wrong["tokens_equal_reference"] = False
    (tmp_path / "decode-here.json").write_text(json.dumps(report))
    monkeypatch.setattr(explainer_page, "RESULTS", tmp_path)

    table = explainer_page.decode()

    assert "12345.68" in table
    assert re.search(r"as few dispatches as pays .* -  *\|", table)  # a wrong result has no speed
    assert explainer_page.ways() == "*Not measured yet: `make bench ARGS=--full`.*"


def test_experiments_with_names_alike_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "decode-batch-h200.json").write_text((explainer_page.RESULTS / "decode-batch-h200.json").read_text())
    monkeypatch.setattr(explainer_page, "RESULTS", tmp_path)

    assert explainer_page.decode() == "*Not measured yet: `make bench ARGS=--full`.*"


def test_links_lead_to_files() -> None:
    links = re.findall(r"\]\((?!http)([^)#]+)\)", PAGE)

    assert links
    assert [link for link in links if not (explainer_page.PAGE.parent / link).exists()] == []
