"""The measurement of bundles in the browser: its arms are right, its report is whole. Figures are not judged here."""

from __future__ import annotations

import pytest

from scripts import bundle_bench
from scripts.webgpu_page import BrowserMissingError


def test_a_short_run() -> None:
    try:
        report = bundle_bench.measure(dispatches=40, pattern="blocks", rounds=3, warmup=1)
    except BrowserMissingError as error:
        pytest.skip(str(error))

    rows = {row["name"]: row["js_us_per_dispatch"] for row in report["rows"]}
    assert {"per-op", "one-pass", "bundle", "bundle with a slot", "graph"} <= rows.keys()
    assert all(len(row["samples"]) == 3 and row["median"] > 0 for row in rows.values())
    assert report["environment"]["cross_origin_isolated"]
    assert {("per-op", "bundle"), ("bundle", "one-pass")} <= {(r["over"], r["under"]) for r in report["ratios"]}
    assert "| bundle " in bundle_bench.to_markdown(report)
