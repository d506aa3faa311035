"""What a peer is: some library's way to run the chain again and again.

A peer lives in a process of its own (`cmdgraph.bench.peers.child`), because several bring a Dawn, a Vulkan layer or
settings of the environment that would meet each other in one.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

from cmdgraph.bench.peers.elementwise import Elementwise

__all__ = ["Peer", "Prepared", "Sample", "UnavailableError", "missing"]


class UnavailableError(Exception):
    """The peer cannot run on this machine; says why in a few words."""


@attrs.frozen
class Prepared:
    """A chain that is ready to run: everything that a program makes once has been made.

    `write` replaces the 64 floats of the input, `run` runs the whole chain without waiting, `sync` waits until the GPU
    is done with all runs, `read` gives the result. `worker_cpu` reads the CPU seconds that a thread of the library has
    spent so far on work that it took from the caller. `facts` says what runs: adapter, driver, settings.
    """

    write: Callable[[np.ndarray], object]
    run: Callable[[], object]
    sync: Callable[[], object]
    read: Callable[[], np.ndarray]
    close: Callable[[], object] = lambda: None
    worker_cpu: Callable[[], float] = lambda: 0.0
    facts: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class Peer:
    """One row of the comparison.

    `available` says why the peer cannot run here, or None; it looks, but imports nothing heavy. What only shows when
    the library is up, `prepare` says with `UnavailableError`. `environment` gives variables that must be set before
    the library is imported. `packages` are the distributions whose versions are reported. With `dependent` false the
    dispatches do not read what the one before wrote: the result is one row a dispatch. `ours` marks a strategy of
    cmdgraph.
    """

    name: str
    about: str
    prepare: Callable[[Elementwise], Prepared]
    available: Callable[[], str | None] = lambda: None
    packages: tuple[str, ...] = ()
    environment: Callable[[], Mapping[str, str]] = dict
    dependent: bool = True
    ours: bool = False


@attrs.frozen
class Sample:
    """Seconds of some runs and one wait: `call_s` is the caller's CPU time until the last run has returned, `cpu_s`
    with the wait, `worker_s` that of the library's own threads, `process_s` that of all threads.
    """

    wall_s: float
    call_s: float
    cpu_s: float
    worker_s: float
    process_s: float


def missing(modules: Mapping[str, str], *, hint: str = "pip install 'cmdgraph[peers]'") -> str | None:
    """Which of the modules (by name: the distribution that brings it) are not installed, as a reason; or None."""
    absent = [name for module, name in modules.items() if importlib.util.find_spec(module) is None]
    return f"{' and '.join(absent)} not installed: {hint}" if absent else None
