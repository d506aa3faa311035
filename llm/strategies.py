"""The ways to run a decode step: called as written, or captured once and replayed by cmdgraph."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from attrs import define, field, frozen

import cmdgraph
from llm.counting import count_calls
from llm.model import Model

EAGER = "eager"
REPLAYED = ("per-op", "single-pass")
STRATEGIES = (EAGER, *REPLAYED)


@frozen
class Runner:
    """One way to run a step. `step` does not wait; the counts are of one step, sampling included."""

    strategy: str
    step: Callable[[], Any]
    dispatches: int
    passes: int
    submits: int


@define
class TimedStep:
    """A step that notes the calling thread's CPU seconds of each call; what waits for the GPU is not among them."""

    step: Callable[[], Any]
    cpu_s: list[float] = field(factory=list, init=False)

    def __call__(self) -> None:
        before = time.thread_time()
        self.step()
        self.cpu_s.append(time.thread_time() - before)


@contextmanager
def runner(model: Model, strategy: str) -> Iterator[Runner]:
    """A runner of `strategy` for the model's step; what it captured is released at the end.

    Finding the counts of `eager` runs one step, so start a text afterwards.
    """
    if strategy == EAGER:
        calls = count_calls(model.device, model.step)
        yield Runner(strategy, model.step, calls.dispatches, calls.passes, calls.submits)
        return
    with cmdgraph.capture(model.device, name="decode") as graph:
        model.step()
    try:
        graph.strategy = strategy
        stats = graph.stats
        yield Runner(strategy, graph.replay, stats.dispatches, stats.passes, stats.submits)
    finally:
        graph.release()
