"""Chromium for tests of pages: the system's, by Playwright, which downloads none of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_ARGUMENTS = (
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def chromium(*arguments: str) -> Iterator[Any]:
    """A browser with more command line arguments; skips the test where Chromium or Playwright is not installed (`make
    setup` installs both).
    """
    sync_api = pytest.importorskip("playwright.sync_api")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=[*_ARGUMENTS, *arguments])
        try:
            yield browser
        finally:
            browser.close()
