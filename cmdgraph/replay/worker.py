"""The thread that works ahead of replays and cleans up behind them: one for each device, gone at exit.

It encodes for "prerecorded", and it waits for finished work in the place of a replay that has to: wgpu-native frees
what a submission used inside the call that waits for it, at about a third of what encoding costs.
"""

from __future__ import annotations

import atexit
import queue
import threading
import weakref
from collections.abc import Callable
from typing import Protocol

from cmdgraph.liveness import DeviceState

__all__ = ["Filler", "Worker", "worker_of"]


class Filler(Protocol):
    def fill(self) -> None: ...


class Worker:
    """Runs what it is asked for, one thing after the other."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._asked: weakref.WeakSet[Filler] = weakref.WeakSet()
        self._thread = threading.Thread(target=self._run, name="cmdgraph worker", daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    def request(self, filler: Filler) -> None:
        """Has `filler` filled soon; asking again before that changes nothing. It is held weakly until then."""
        if filler not in self._asked:
            self._asked.add(filler)
            reference = weakref.ref(filler)

            def fill() -> None:
                if (alive := reference()) is not None:
                    self._asked.discard(alive)
                    alive.fill()

            self._jobs.put(fill)

    def run(self, job: Callable[[], None]) -> None:
        """Blocks until `job` has run on the worker's thread; raises what it raised."""
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
        """Ends the thread after the job it is at: no native call of ours runs while the interpreter shuts down."""
        atexit.unregister(self.stop)
        self._jobs.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job  # or it would stay alive while the thread waits for the next


_making = threading.Lock()


def worker_of(state: DeviceState) -> Worker:
    """The worker of a device, made when first asked for."""
    with _making:
        if state.worker is None:
            state.worker = Worker()
            weakref.finalize(state, state.worker.stop).atexit = False
        return state.worker
