"""One browser for all tests of the proposal's pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from scripts.webgpu_page import BrowserMissingError, webgpu_page


@pytest.fixture(scope="session")
def page() -> Iterator[Any]:
    """The page that runs conformance tests; skips where there is no Chromium."""
    try:
        with webgpu_page("conformance/index.html") as opened:
            yield opened
    except BrowserMissingError as error:
        pytest.skip(str(error))
