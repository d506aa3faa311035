"""One worker process for each implementation, started again when it dies."""

from __future__ import annotations

import contextlib
import pickle
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

from attrs import define, evolve, field

from tests.fuzz.judge import Answer, Verdict
from tests.fuzz.programs import Program

__all__ = ["PACKAGES", "Pool"]

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("wgpu", "wgpudawn")
LIFE = 20_000
"""Programs after which a worker is replaced: wgpu-native keeps what was finished and never submitted."""

Wanted = Program | str
"""A program, or the seed that it is drawn from."""


class Pool:
    """Judges programs on all implementations at once. A context manager.

    ``without`` names a rule that cmdgraph is made to forget, to see that it is missed; ``strategy`` is how graphs are
    replayed.
    """

    def __init__(self, packages: Sequence[str] = PACKAGES, without: str = "", strategy: str = "single-pass") -> None:
        self.packages = packages
        self.strategy = strategy
        self._workers = {package: _Worker(package, without, strategy) for package in packages}
        self._threads = {package: ThreadPoolExecutor(1) for package in packages}

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for package, worker in self._workers.items():
            self._threads[package].shutdown(cancel_futures=True)
            worker.stop()

    @property
    def deaths(self) -> dict[str, int]:
        """How often each worker was killed."""
        return {package: worker.deaths for package, worker in self._workers.items()}

    def ask(self, programs: Sequence[Wanted], fatal: Sequence[bool]) -> dict[str, Future[list[Answer]]]:
        """Starts judging; the answers come in the order of `programs`."""
        batch = list(zip(programs, fatal, strict=True))
        return {p: self._threads[p].submit(self._workers[p].judge, batch) for p in self.packages}

    def judge(self, program: Wanted, fatal: bool = False) -> dict[str, Answer]:
        return {package: future.result()[0] for package, future in self.ask([program], [fatal]).items()}


@define
class _Worker:
    package: str
    without: str = ""
    strategy: str = "single-pass"
    deaths: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _judged: int = field(default=0)

    def judge(self, batch: list[tuple[Wanted, bool]]) -> list[Answer]:
        found: list[Answer] = []
        while len(found) < len(batch):
            if self._judged > LIFE:
                self.stop()
            process = self._running()
            assert process.stdin is not None
            try:
                pickle.dump(batch[len(found) :], process.stdin)
                process.stdin.flush()
            except BrokenPipeError:
                pass
            before: Any = ("", "nothing")
            while len(found) < len(batch):
                message = self._message(process)
                if message is None:
                    found.append(_dead(before))
                    self.deaths += 1
                    self.stop()
                    break
                if message[0] == "answer":
                    found.append(message[1])
                    self._judged += 1
                    before = ("", "making objects")
                else:
                    before = message
        return found

    def stop(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
            self._process.stdout.close()
            self._process.wait()
            self._process = None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.worker", self.package, self.without, self.strategy],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            self._judged = 0
            if self._message(self._process) is None:
                self.stop()
                raise RuntimeError(f"the worker for {self.package} does not start: no adapter?")
        return self._process

    @staticmethod
    def _message(process: subprocess.Popen[bytes]) -> Any:
        assert process.stdout is not None
        try:
            return pickle.load(process.stdout)
        except (EOFError, pickle.UnpicklingError):
            return None


def _dead(stage: tuple[Any, ...]) -> Answer:
    """The answer of a worker that was killed at `stage`."""
    _, name, *verdicts = stage
    answer = Answer(died=name)
    killed = Verdict(False, frozenset({"abort"}), "the process was killed")
    if name == "eager" and verdicts:
        return evolve(answer, ours=verdicts[0], eager=killed)
    if name == "eager after events" and verdicts:
        return evolve(answer, ours=verdicts[0], ours_after=verdicts[1], eager=Verdict(True), eager_after=killed)
    return answer
