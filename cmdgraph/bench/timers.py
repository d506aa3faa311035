"""The clocks that everything is measured with, and how fine they are."""

from __future__ import annotations

import time
from collections.abc import Callable

import attrs

__all__ = ["SYSTEM_TIMERS", "Timers", "resolution"]


@attrs.frozen
class Timers:
    """The clocks, in seconds. Tests put virtual ones in their place."""

    wall: Callable[[], float] = time.perf_counter
    cpu: Callable[[], float] = time.thread_time
    process: Callable[[], float] = time.process_time


SYSTEM_TIMERS = Timers()


def resolution(timer: Callable[[], float], *, steps: int = 50) -> float:
    """The smallest step that the timer was seen to make, in seconds."""
    smallest = float("inf")
    before = timer()
    while steps:
        now = timer()
        if now > before:
            smallest = min(smallest, now - before)
            before = now
            steps -= 1
    return smallest
