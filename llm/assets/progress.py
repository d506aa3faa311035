"""How a download is told on stderr: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType

Report = Callable[[str], None]

BAR = 30
REDRAW_S = 0.1
LINES = 5  # without a terminal: one line each fifth of the way


def quiet(_message: str) -> None:
    """Tells nothing."""


def to_stderr(message: str) -> None:
    """Tells one line on stderr."""
    print(message, file=sys.stderr, flush=True)


def megabytes(count: float) -> str:
    """A byte count as text, in units of 10^6 bytes."""
    return f"{count / 1e6:.1f} MB"


class Progress:
    """Bytes done of `total`. `start_at` tells how much was there before, which does not count as speed."""

    def __init__(self, label: str, total: int, *, on: bool) -> None:
        self._label, self._total, self._on = label, total, on
        self._bar = on and sys.stderr.isatty()
        self._done = self._first = 0
        self._drawn_at = 0.0
        self._lines = 0
        self._started = time.monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar and self._drawn_at:
            self._draw()
            print(file=sys.stderr, flush=True)

    def start_at(self, done: int) -> None:
        """What is there already, in bytes."""
        self._done = self._first = done
        self._started = time.monotonic()
        self._lines = int(LINES * done / self._total)
        if self._on and not self._bar:
            rest = f", {megabytes(done)} of it are here" if done else ""
            to_stderr(f"{self._label}, {megabytes(self._total)}{rest}")

    def advance(self, count: int) -> None:
        """`count` more bytes have arrived."""
        self._done += count
        if self._bar and time.monotonic() - self._drawn_at >= REDRAW_S:
            self._draw()
        elif self._on and not self._bar and int(LINES * self._done / self._total) > self._lines:
            self._lines = int(LINES * self._done / self._total)
            to_stderr(f"{self._label} {100 * self._done // self._total} % ({self._speed()})")

    def _draw(self) -> None:
        self._drawn_at = time.monotonic()
        filled = BAR * self._done // self._total
        bar = "#" * filled + "-" * (BAR - filled)
        amount = f"{self._done / 1e6:.1f} / {megabytes(self._total)}"
        sys.stderr.write(f"\r{self._label} [{bar}] {amount}  {self._speed()}   ")
        sys.stderr.flush()

    def _speed(self) -> str:
        elapsed = max(time.monotonic() - self._started, 1e-3)
        return f"{megabytes((self._done - self._first) / elapsed)}/s"
