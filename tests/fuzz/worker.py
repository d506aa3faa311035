"""A process that judges programs on one implementation: `python -m tests.fuzz.worker PACKAGE RULE STRATEGY`.

RULE is one that cmdgraph forgets, or empty; STRATEGY is how graphs are replayed.

It reads pickled lists of (program, fatal) from stdin and answers each with pickled messages on stdout: ("stage", name,
verdicts so far) before whatever may kill it, then ("answer", answer).
"""

from __future__ import annotations

import os
import pickle
import random
import sys
from typing import Any

from attrs import evolve

from cmdgraph import enable_native, validation  # before any pipeline or bind group is made
from tests.fuzz.judge import judge
from tests.fuzz.programs import Program, draw_program
from tests.fuzz.world import open_world

__all__ = ["main"]


def main(package: str, without: str, strategy: str) -> None:
    if strategy == "native":
        enable_native()
    validation.RULES[:] = [rule for rule in validation.RULES if rule.name != without]
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # drivers print, and must not print into the answers
    world = open_world(package)

    def stage(*message: Any) -> None:
        pickle.dump(("stage", *message), answers)
        answers.flush()

    pickle.dump(("ready",), answers)
    answers.flush()
    while True:
        try:
            batch = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        for wanted, fatal in batch:
            program = wanted if isinstance(wanted, Program) else draw_program(random.Random(wanted))
            program = evolve(program, strategy=strategy)
            answer = judge(world, program, stage, fatal=fatal, aborts=package == "wgpu")
            pickle.dump(("answer", answer), answers)
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
