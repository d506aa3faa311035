"""Chromium for tests of pages: the system's, by Playwright, which downloads none of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from scripts.webgpu_page import BrowserMissingError, chromium_path, driver

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
    try:
        path, playwright = chromium_path(), driver()
    except BrowserMissingError as error:
        pytest.skip(str(error))
    browser = playwright.chromium.launch(executable_path=path, headless=True, args=[*_ARGUMENTS, *arguments])
    try:
        yield browser
    finally:
        browser.close()
