"""The thread that encodes ahead: one for each device, made when first needed, gone at exit."""

from __future__ import annotations

import atexit
import queue
import threading
import weakref
from typing import Protocol

from cmdgraph.liveness import DeviceState

__all__ = ["Job", "Worker", "worker_of"]


class Job(Protocol):
    def fill(self) -> None: ...


class Worker:
    """Runs `fill` of those who ask, one after the other. Holds them weakly: a graph that is gone asks for nothing."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[weakref.ref[Job] | None] = queue.SimpleQueue()
        self._asked: weakref.WeakSet[Job] = weakref.WeakSet()
        self._thread = threading.Thread(target=self._run, name="cmdgraph encoder", daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    def request(self, job: Job) -> None:
        """Has `job` filled soon; asking again before that changes nothing."""
        if job not in self._asked:
            self._asked.add(job)
            self._jobs.put(weakref.ref(job))

    def stop(self) -> None:
        """Ends the thread after the job it is at. No native call of ours runs while the interpreter shuts down."""
        atexit.unregister(self.stop)
        self._jobs.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while (reference := self._jobs.get()) is not None:
            job = reference()
            if job is not None:
                self._asked.discard(job)
                job.fill()
            del job  # or the thread would keep it alive while it waits


_making = threading.Lock()


def worker_of(state: DeviceState) -> Worker:
    """The worker of a device."""
    with _making:
        if state.worker is None:
            state.worker = Worker()
            weakref.finalize(state, state.worker.stop).atexit = False
        return state.worker
