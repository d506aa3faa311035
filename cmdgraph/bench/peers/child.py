"""The process that a peer lives in: `python -m cmdgraph.bench.peers.child MODULE PEER SOCKET`.

It answers one request after the other, (number, name, arguments) with (number, outcome, value), until its parent closes
the socket or dies. Samples are timed here, so that sending is not.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from cmdgraph.bench import method
from cmdgraph.bench.method import SYSTEM_TIMERS
from cmdgraph.bench.peers import registry
from cmdgraph.bench.peers.base import Peer, Prepared, Sample, UnavailableError
from cmdgraph.bench.peers.elementwise import Elementwise

__all__ = ["FAILED", "OK", "UNAVAILABLE", "main"]

OK, UNAVAILABLE, FAILED = "ok", "unavailable", "failed"


class _Server:
    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._prepared: dict[int, Prepared] = {}
        self.requests: dict[str, Callable[..., Any]] = {
            "prepare": self.prepare,
            "result": self.result,
            "sample": self.sample,
            "close": self.close,
        }

    def prepare(self, dispatches: int, seed: int) -> dict[str, Any]:
        """Makes a chain ready and gives the peer's facts."""
        self._prepared[dispatches] = made = self._peer.prepare(Elementwise(dispatches, seed))
        return dict(made.facts)

    def result(self, dispatches: int, values: np.ndarray, runs: int) -> np.ndarray:
        """What `runs` runs make of the input."""
        made = self._prepared[dispatches]
        made.write(values)
        for _ in range(runs):
            made.run()
        made.sync()
        return np.array(made.read())

    def sample(self, dispatches: int, runs: int) -> Sample:
        """Times `runs` runs and a wait."""
        made, timers = self._prepared[dispatches], SYSTEM_TIMERS
        run, sync = made.run, made.sync
        with method.collector_off():
            worker = made.worker_cpu()
            process, wall, cpu = timers.process(), timers.wall(), timers.cpu()
            for _ in range(runs):
                run()
            called = timers.cpu()
            sync()
            cpu_end, wall_end, process_end = timers.cpu(), timers.wall(), timers.process()
            return Sample(
                wall_s=wall_end - wall,
                call_s=called - cpu,
                cpu_s=cpu_end - cpu,
                worker_s=made.worker_cpu() - worker,
                process_s=process_end - process,
            )

    def close(self) -> None:
        for made in self._prepared.values():
            made.close()


def main(module: str, name: str, socket: str) -> None:
    """Serves one peer."""
    os.dup2(2, 1)  # what a library prints must not reach the parent's stdout
    server = _Server(registry.find(module, name))
    connection = Connection(int(socket))
    while True:
        try:
            number, request, arguments = connection.recv()
        except (EOFError, OSError):
            break
        connection.send((number, *_outcome(server.requests[request], arguments)))
        if request == "close":
            break
    os._exit(0)  # several libraries crash in their own end


def _outcome(call: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[str, Any]:
    try:
        return OK, call(*arguments)
    except UnavailableError as error:
        return UNAVAILABLE, str(error)
    except Exception as error:  # whatever a peer raises is an outcome
        return FAILED, f"{type(error).__name__}: {' '.join(str(error).split())}"


if __name__ == "__main__":
    main(*sys.argv[1:])
