"""Puts the tables of spec_proposal/conformance/coverage.md in place, from text and tests; `--check` only compares."""

from __future__ import annotations

from cmdgraph.bench import markdown
from scripts.sections import filled, put
from tests.proposal.files import PROPOSAL, Sentence, conformance_tests, rules, sentences

PAGE = PROPOSAL / "conformance" / "coverage.md"
WORDS = 22  # of a sentence; its identifier leads to the rest


def rendered(text: str) -> str:
    """`text` with both tables made anew."""
    return filled(text, _table)


def _table(part: str) -> str:
    checked = set(rules())
    rows = [
        [f"`{each.id}`", _beginning(each), _tests_of(each), "rule" if each.id in checked else ""]
        for each in sentences()
        if each.part == part
    ]
    return markdown.table(["sentence", "what it says", "tests", "polyfill"], rows)


def _tests_of(sentence: Sentence) -> str:
    found = [test for test in conformance_tests() if sentence.id in test.covers]
    return ", ".join(f"{test.id} (implementations only: {test.beyond})" if test.beyond else test.id for test in found)


def _beginning(sentence: Sentence) -> str:
    words = sentence.text.split()
    return " ".join(words[:WORDS]).replace("|", "\\|") + (" ..." if len(words) > WORDS else "")


if __name__ == "__main__":
    put(PAGE, rendered, "python -m scripts.coverage_page")
