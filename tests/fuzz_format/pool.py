"""Worker processes that load mutated files: started again when they die, killed when a file takes too long."""

from __future__ import annotations

import contextlib
import os
import pickle
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from attrs import define

from tests.fuzz_format.mutations import Recipe

__all__ = ["SECONDS", "Worker"]

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 20
"""The CPU time that one file may take; on a busy machine it may take several times as long by the clock."""
_PATIENCE = 10
LIFE = 20_000
"""Files after which a worker is replaced, so that what drivers keep of each is not taken for a leak of ours."""


@define
class Worker:
    """A process for one implementation, on the corpus in `folder`. ``without`` names a check that is left out."""

    package: str
    folder: Path
    without: str = ""
    deaths: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _done: int = 0
    _words: IO[bytes] | None = None

    def outcomes(self, recipes: Sequence[Recipe]) -> list[str]:
        """What comes of each file: what the worker says, or how it ended."""
        found: list[str] = []
        while len(found) < len(recipes):
            if self._done > LIFE:
                self.stop()
            process = self._running()
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                pickle.dump(list(recipes[len(found) :]), process.stdin)
                process.stdin.flush()
            while len(found) < len(recipes):
                message = self._message(process)
                if message[0] == "end":
                    found.append(message[1])
                    self._done += 1
                elif message[0] != "begin":
                    found.append(message[1])
                    self.deaths += 1
                    self.stop()
                    break
        return found

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
        if self._words is not None:
            self._words.close()
            self._words = None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._done = 0
            self._words = tempfile.TemporaryFile()  # noqa: SIM115 - what it says last; a pipe would fill up
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz_format.worker", self.package, str(self.folder), self.without],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._words,
                bufsize=0,
            )
            message = self._message(self._process, 120)
            if message[0] != "ready":
                raise RuntimeError(f"the worker for {self.package} does not start: {message[1]}")
        return self._process

    def _message(self, process: subprocess.Popen[bytes], seconds: float = SECONDS) -> tuple[Any, ...]:
        """The next message, or ("dead", a finding)."""
        assert process.stdout is not None
        before = _cpu_seconds(process.pid)
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            for _ in range(_PATIENCE):
                if selector.select(seconds):
                    break
                if _cpu_seconds(process.pid) - before > seconds:
                    return ("dead", f"finding: it took more than {seconds} s")
            else:
                return ("dead", f"finding: it waited for more than {_PATIENCE * seconds} s")
        try:
            return pickle.load(process.stdout)
        except (EOFError, pickle.UnpicklingError):
            process.wait()
            assert self._words is not None
            self._words.seek(0)
            said = self._words.read()[-600:].decode(errors="replace")
            return ("dead", f"finding: the process ended with {process.returncode}: {said}")


def _cpu_seconds(process: int) -> float:
    """The CPU time that a process has taken so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
