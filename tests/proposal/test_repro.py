"""The reproduction of what recording again costs: it is small, stands alone, and finishes with a table in Chromium."""

from __future__ import annotations

import re

import pytest

from scripts.webgpu_page import ROOT, BrowserMissingError, webgpu_page

PAGE = ROOT / "repro.html"


def test_it_is_small_and_stands_alone() -> None:
    text = PAGE.read_text()
    assert len(text.splitlines()) < 150
    assert not re.search(r"""\b(?:src=|import\b|fetch\()""", text)


def test_it_finishes_with_a_table() -> None:
    try:
        with webgpu_page(f"{PAGE.name}?rounds=2") as page:
            page.set_default_timeout(120_000)
            page.wait_for_function("() => !/^(Starting|Round)/.test(document.getElementById('status').textContent)")
            status = page.inner_text("#status")
            rows = page.locator("#rows tr").all_inner_texts()
    except BrowserMissingError as error:
        pytest.skip(str(error))

    assert status == "Done."
    figures = {name: [float(each) for each in cells] for name, *cells in (row.split("\t") for row in rows)}
    assert [submits for submits, *_ in figures.values()] == [1000, 1, 1]
    for _, median, least, most in figures.values():
        assert 0 < least <= median <= most


def test_a_wrong_result_is_not_timed() -> None:
    try:
        with webgpu_page("conformance/index.html") as page:
            page.set_default_timeout(60_000)
            page.add_init_script(
                "GPUComputePassEncoder.prototype.setPipeline = ((original, first) => function (pipeline) {"
                " original.call(this, (first ??= pipeline)); })(GPUComputePassEncoder.prototype.setPipeline);"
            )
            page.goto(page.url.replace("conformance/index.html", PAGE.name))
            page.wait_for_function("() => /^Wrong/.test(document.getElementById('status').textContent)")
            assert page.locator("#rows tr").count() == 0
    except BrowserMissingError as error:
        pytest.skip(str(error))
