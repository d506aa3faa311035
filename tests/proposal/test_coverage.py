"""Every sentence of the text that binds has a test, and every name leads to a sentence."""

from __future__ import annotations

from collections import Counter

from scripts import coverage_page
from tests.proposal.files import conformance_tests, rules, sentences

IDS = [sentence.id for sentence in sentences()]
COVERED = {each for test in conformance_tests() for each in test.covers}


def test_every_sentence_has_a_test() -> None:
    assert [name for name in IDS if name not in COVERED] == []
    assert len(IDS) >= 90


def test_identifiers_are_unique() -> None:
    assert [name for name, count in Counter(IDS).items() if count > 1] == []


def test_tests_name_sentences_that_exist() -> None:
    assert sorted(COVERED - set(IDS)) == []
    assert [test.id for test in conformance_tests() if not test.covers] == []


def test_rules_of_the_polyfill_are_named_as_sentences() -> None:
    assert sorted(set(rules()) - set(IDS)) == []
    assert len(rules()) >= 40


def test_the_page_is_made_from_them() -> None:
    page = coverage_page.PAGE.read_text()

    assert coverage_page.rendered(page) == page, "python -m scripts.coverage_page writes it"
