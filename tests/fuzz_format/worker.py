"""A process that loads mutated files: `python -m tests.fuzz_format.worker PACKAGE FOLDER WITHOUT`.

PACKAGE is the implementation, FOLDER has the good files, WITHOUT is a function of `cmdgraph.container.checks` that is
made to find nothing, or empty. It reads pickled lists of recipes from stdin and answers each on stdout with pickled
messages: ("begin",) before what may kill it, then ("end", outcome). Its address space may grow by `BOUND` bytes.
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

import cmdgraph
from cmdgraph.container import checks
from tests.fuzz_format.corpus import read
from tests.fuzz_format.mutations import Recipe, made
from tests.kit import open_device

__all__ = ["BOUND", "LIMITS", "main"]

BOUND = 1 << 30
LIMITS = cmdgraph.FileLimits(zeroed_bytes=128 << 20, pipelines=200)


def main(package: str, folder: str, without: str = "") -> None:
    if without:  # to see that it would be missed
        setattr(checks, without, lambda *_: None)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # drivers print, and must not print into the answers
    device = open_device(package, ["immediates"] if package == "wgpu" else [])
    corpus = read(Path(folder))

    def tell(*message: Any) -> None:
        pickle.dump(message, answers)
        answers.flush()

    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as place:
        path = Path(place) / "graph.zip"
        for saved in range(len(corpus)):  # once with nothing changed: what drivers keep is kept from now on
            path.write_bytes(made(Recipe(saved, ()), corpus))
            cmdgraph.load(path, device, limits=LIMITS).release()
        _limit_memory()
        tell("ready")
        while True:
            try:
                recipes = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            for recipe in recipes:
                path.write_bytes(made(recipe, corpus))
                tell("begin")
                tell("end", _outcome(path, device))
            gc.collect()
            device._poll()


def _outcome(path: Path, device: Any) -> str:
    """ "loaded", "refused PLACE", or what else came of it, which should not be."""
    try:
        graph = cmdgraph.load(path, device, limits=LIMITS)
    except cmdgraph.GraphFormatError as error:
        if len(str(error)) > 3000 or not error.file:
            return f"finding: a message of {len(str(error))} characters"
        return f"refused {error.place}"
    except BaseException as error:
        return f"finding: {type(error).__name__}: {str(error)[:500]}"
    graph.release()
    return "loaded"


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + BOUND
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    main(*sys.argv[1:])
