"""Worker processes that load mutated files: started again when they die, killed when a file takes too long."""

from __future__ import annotations

import contextlib
import pickle
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from attrs import define, field

from tests.fuzz_format.mutations import Recipe

__all__ = ["SECONDS", "Worker"]

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 20
"""The longest that one file may take."""
LIFE = 20_000
"""Files after which a worker is replaced, so that what drivers keep of each is not taken for a leak of ours."""


@define
class Worker:
    """A process for one implementation, on the corpus in `folder`."""

    package: str
    folder: Path
    deaths: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _done: int = 0
    _words: IO[bytes] = field(factory=tempfile.TemporaryFile)

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

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._done = 0
            self._words.seek(0)
            self._words.truncate()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz_format.worker", self.package, str(self.folder)],
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
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                return ("dead", f"finding: it took more than {seconds} s")
        try:
            return pickle.load(process.stdout)
        except (EOFError, pickle.UnpicklingError):
            process.wait()
            self._words.seek(0)
            words = self._words.read()[-600:].decode(errors="replace")
            return ("dead", f"finding: the process ended with {process.returncode}: {words}")
