"""A page of spec_proposal in headless Chromium with WebGPU: the system's browser, driven by Playwright.

Without a GPU WebGPU runs on SwiftShader, which Chromium brings along. Pages are served on localhost with the headers
that make them cross-origin isolated, so that their clocks are as fine as a browser lets them be.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

__all__ = ["BrowserMissingError", "chromium_path", "driver", "served", "webgpu_page"]

ROOT = Path(__file__).resolve().parent.parent / "spec_proposal"

ARGUMENTS = (
    "--enable-unsafe-webgpu",  # the one flag that gives an adapter; with others requestAdapter may never answer
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--js-flags=--expose-gc",
)


class BrowserMissingError(RuntimeError):
    """Chromium or Playwright is not installed."""


@contextmanager
def webgpu_page(path: str, folder: Path = ROOT) -> Iterator[Any]:
    """A Playwright page that shows the file `path` of spec_proposal, or of another folder.

    Raises:
        BrowserMissingError: there is no browser to show it.
    """
    browser, playwright = chromium_path(), driver()
    with served(folder) as address, tempfile.TemporaryDirectory() as profile:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=browser, headless=True, args=list(ARGUMENTS)
        )
        try:
            page = context.new_page()
            page.goto(f"{address}/{path}")
            yield page
        finally:
            context.close()


@functools.cache
def driver() -> Any:
    """Playwright, started once: a thread can have no second one beside it. Stopped at exit.

    Raises:
        BrowserMissingError: it is not installed.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise BrowserMissingError("Playwright is not installed: pip install playwright") from error
    started = sync_playwright().start()
    atexit.register(started.stop)
    return started


def chromium_path() -> str:
    """The browser.

    Raises:
        BrowserMissingError: there is none.
    """
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        raise BrowserMissingError("Chromium is not installed: apt-get install chromium")
    return found


@contextmanager
def served(folder: Path, port: int = 0) -> Iterator[str]:
    """Serves `folder` on localhost, at any free port for 0; gives its address."""
    server = ThreadingHTTPServer(("127.0.0.1", port), functools.partial(_Handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(SimpleHTTPRequestHandler):
    # The types must not depend on what the machine has registered for file names.
    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript", ".wasm": "application/wasm"}

    def end_headers(self) -> None:
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, *args: object) -> None:
        """Says nothing."""
