"""Our end of a peer's process: asks, waits no longer than is reasonable, and says how it died if it did."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from multiprocessing.connection import Connection
from typing import Any

from cmdgraph.bench.peers import child
from cmdgraph.bench.peers.base import Peer, UnavailableError

__all__ = ["PeerError", "Process"]

GRACE_S = 5


class PeerError(Exception):
    """A peer raised, crashed or hangs; says which, in one line. Its process is of no use any more."""


class Process:
    """A peer's process. What it prints goes to a file, whose last line is told when it dies.

    Args:
        module: where the peer is from.
        patience_s: how long an answer may take.
    """

    def __init__(self, module: str, peer: Peer, patience_s: float) -> None:
        self._patience_s = patience_s
        self._number = 0
        self._dead: str | None = None
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `_end`
        ours, theirs = socket.socketpair()
        self._connection = Connection(ours.detach())
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", child.__name__, module, peer.name, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                # It finds the modules that we find.
                env={**os.environ, **peer.environment(), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.DEVNULL,
                stdout=self._printed,
                stderr=self._printed,
                start_new_session=True,  # Ctrl-C is ours: it ends the rounds, then we end the peers
            )

    def ask(self, request: str, *arguments: Any) -> Any:
        """The answer to a request.

        Raises:
            UnavailableError: the peer cannot run here.
            PeerError: it raised, died or does not answer; also when it did so earlier.
        """
        if self._dead is not None:
            raise PeerError(self._dead)
        self._number += 1
        try:
            self._connection.send((self._number, request, arguments))
            outcome, value = self._answer(request)
        except (EOFError, OSError) as error:
            raise self._fail(self._how_it_ended()) from error
        if outcome == child.UNAVAILABLE:
            raise UnavailableError(value)
        if outcome == child.FAILED:
            raise self._fail(f"{request} failed: {value}")
        return value

    def close(self) -> None:
        """Lets it end in order, or ends it."""
        if self._dead is None:
            try:
                self._connection.send((0, "close", ()))
                self._process.wait(GRACE_S)
            except (OSError, subprocess.TimeoutExpired):
                pass
        self._end()

    def _answer(self, request: str) -> tuple[str, Any]:
        while True:
            if not self._connection.poll(self._patience_s):
                raise self._fail(f"hangs: no answer to {request} within {self._patience_s:g} s")
            number, outcome, value = self._connection.recv()
            if number == self._number:  # else the answer to what an interrupt cut short
                return outcome, value

    def _fail(self, reason: str) -> PeerError:
        self._dead = reason
        self._end()
        return PeerError(reason)

    def _how_it_ended(self) -> str:
        try:
            status = self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            return "closed its connection"
        how = f"was killed ({signal.Signals(-status).name})" if status < 0 else f"ended with status {status}"
        self._printed.seek(0)
        lines = self._printed.read().decode(errors="replace").strip().splitlines()
        return f"its process {how}" + (f": {lines[-1]}" if lines else "")

    def _end(self) -> None:
        if not self._connection.closed:
            self._connection.close()
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._printed.close()
