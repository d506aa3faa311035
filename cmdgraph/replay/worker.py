"""The threads that work ahead of replays and clean up behind them: a few for each device, gone at exit.

They encode for "prerecorded", and they wait for finished work in the place of a replay that has to: wgpu-native frees
what a submission used inside the call that waits for it, at about a third of what encoding costs.
"""

from __future__ import annotations

import atexit
import os
import queue
import threading
import weakref
from collections.abc import Callable
from typing import Protocol

from cmdgraph.liveness import DeviceState

__all__ = ["Filler", "Workers", "workers_of"]

MOST_THREADS = 2
"""Where encoding takes longer than the GPU, two keep up; more would only hold more memory."""


class Filler(Protocol):
    def fill_one(self) -> None: ...


class Workers:
    """Run what they are asked for, in the order in which it came."""

    def __init__(self, threads: int) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, name=f"cmdgraph worker {n}", daemon=True) for n in range(threads)
        ]
        for thread in self._threads:
            thread.start()
        atexit.register(self.stop)

    def request(self, filler: Filler, count: int) -> None:
        """Has `filler` fill `count` times soon. It is held weakly until then."""
        reference = weakref.ref(filler)

        def fill() -> None:
            if (alive := reference()) is not None:
                alive.fill_one()

        for _ in range(count):
            self._jobs.put(fill)

    def run(self, job: Callable[[], None]) -> None:
        """Blocks until `job` has run on a worker's thread; raises what it raised."""
        done = threading.Event()
        failures: list[BaseException] = []

        def run() -> None:
            try:
                job()
            except BaseException as error:
                failures.append(error)
            finally:
                done.set()

        self._jobs.put(run)
        done.wait()
        if failures:
            raise failures[0]

    def stop(self) -> None:
        """Ends the threads after the jobs they are at: no native call of ours runs while the interpreter shuts down."""
        atexit.unregister(self.stop)
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            if threading.current_thread() is not thread:
                thread.join()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job  # or it would stay alive while the thread waits for the next


_making = threading.Lock()


def workers_of(state: DeviceState) -> Workers:
    """The workers of a device, made when first asked for. Two processors are left to the program and the driver."""
    with _making:
        if state.workers is None:
            processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
            state.workers = Workers(max(1, min(MOST_THREADS, processors - 2)))
            weakref.finalize(state, state.workers.stop).atexit = False
        return state.workers
