"""Runs code that could abort the interpreter in a process of its own, and says how it ended.

`run` is for one snippet. `Outcomes` is for many small cases: they share a process, each on a fresh device unless it
says that it leaves the device as it was (``shared``); when one of them kills the process, the cases after it go on in
the next. Cases of which that is expected (``fatal``) run in a fork.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import traceback
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from attrs import frozen

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 240


def run(snippet: str, *arguments: str) -> str:
    """What `snippet` prints; fails if it aborts, or raises.

    ``arguments`` are its ``sys.argv[1:]``.
    """
    done = _python("-c", textwrap.dedent(snippet), *arguments)
    assert done.returncode >= 0, f"the process was killed by signal {-done.returncode}:\n{done.stderr[-3000:]}"
    assert done.returncode == 0, f"exit code {done.returncode}:\n{done.stderr[-3000:]}"
    return done.stdout


def ends(snippet: str, *arguments: str) -> int:
    """The return code of `snippet`; negative when it aborts."""
    return _python("-c", textwrap.dedent(snippet), *arguments).returncode


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False
    )


@frozen
class Outcome:
    """How a case ended: ``error`` is the name of the class it raised, "" for none, "abort" for a killed process."""

    error: str
    text: str


@frozen
class Outcomes:
    """The outcomes of all cases of one module (its list `CASES` of functions of a device) on one implementation."""

    module: str
    package: str
    setting: str = ""

    def of(self, case: str) -> Outcome:
        return self._all[case]

    @cached_property
    def _all(self) -> dict[str, Outcome]:
        names = [case.__name__ for case in import_module(self.module).CASES]
        found: dict[str, Outcome] = {}
        while left := [name for name in names if name not in found]:
            done = _python("-m", __name__, self.module, self.package, self.setting, *left)
            for line in done.stdout.splitlines():
                if line.startswith("{"):
                    answer = json.loads(line)
                    found[answer["case"]] = Outcome(answer["error"], answer["text"])
            if left := [name for name in names if name not in found]:
                found[left[0]] = Outcome("abort", f"return code {done.returncode}: {_panic(done.stderr)}")
        return found


def _main(module: str, package: str, setting: str, *names: str) -> None:
    cases: dict[str, Callable[..., Any]] = {case.__name__: case for case in import_module(module).CASES}
    from tests.kit import Kit, open_device

    import_module(package)
    fatal = [name for name in names if getattr(cases[name], "fatal", False)]
    for name in fatal:  # before this process has a device: then it can be forked, which is quicker than a new one
        _in_a_fork(name, lambda name=name: cases[name](Kit(open_device(package)), setting))
    common = cache(lambda: Kit(open_device(package)))
    for name in names:
        if name not in fatal:
            shared = getattr(cases[name], "shared", False)
            kit = common() if shared else Kit(open_device(package))
            _tell(name, lambda name=name, kit=kit: cases[name](kit, setting))


def _tell(name: str, call: Callable[[], object]) -> None:
    """Prints how a case ends."""
    try:
        call()
    except Exception as error:  # every way to end is an answer
        answer = {"error": type(error).__name__, "text": f"{error}\n{_frames(error)}"}
    else:
        answer = {"error": "", "text": ""}
    print(json.dumps({"case": name, **answer}), flush=True)


def _in_a_fork(name: str, call: Callable[[], object]) -> None:
    child = os.fork()
    if child == 0:
        _tell(name, call)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        print(json.dumps({"case": name, "error": "abort", "text": f"return code {status}"}), flush=True)


def _panic(text: str) -> str:
    """What a process that died said last: from Rust's panic on, if it was one."""
    start = text.find("panicked at")
    return text[-1000:] if start < 0 else text[start : start + 300]


def _frames(error: Exception) -> str:
    return "".join(traceback.format_tb(error.__traceback__)[-2:])


def main(arguments: Sequence[str]) -> None:
    _main(arguments[0], arguments[1], arguments[2], *arguments[3:])


if __name__ == "__main__":
    main(sys.argv[1:])
