"""The ways to run a decode step: called as written, or captured once and replayed by cmdgraph.

`prerecorded-ahead` submits the next step before it reads the last token, so that the GPU never waits for Python. It
replays a few graphs in turn, each of a whole step and a copy of the tokens into a buffer of its own that can be mapped:
waiting for one graph is then waiting for its step alone.
"""

import functools
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import wgpu
from attrs import define, field, frozen

import cmdgraph
from llm.counting import count_calls
from llm.model import Model

EAGER = "eager"
AHEAD = "prerecorded-ahead"
AS_RECORDED = "-barriers-as-recorded"
# Those of the native layer need CMDGRAPH_NATIVE=1: it must be there before the first adapter is asked for.
NATIVE = ("native", f"native{AS_RECORDED}", "native-ahead") if cmdgraph.native.enabled() else ()
REPLAYED = ("per-op", "single-pass", "prerecorded", AHEAD, *NATIVE)
STRATEGIES = (EAGER, *REPLAYED)
# One graph whose tokens are read, one that runs, one that waits for its turn on the GPU.
GRAPHS_AHEAD = 3


@frozen
class Ticket:
    """A submission that will make tokens: `read(first, count)` waits for it and gives those at positions from `first`
    on.
    """

    read: Callable[[int, int], list[int]]


@define
class Runner:
    """One way to run steps. The counts are of one step, sampling included.

    `step` runs one without waiting, `prefill` a batch of the prompt. `stream` runs many: a submission is `per_submit`
    steps, `ahead` of them are made before the tokens of one are read.
    """

    strategy: str
    step: Callable[[], Any]
    submit: Callable[[], Ticket] = field(repr=False)
    prefill: Callable[[int], Any] = field(repr=False)
    dispatches: int
    passes: int
    submits: int
    per_submit: int = 1
    ahead: int = 0
    worker_cpu: Callable[[], float] = field(default=lambda: 0.0, repr=False)
    cpu_s: list[float] = field(factory=list, init=False, repr=False)

    def stream(self, position: int, count: int) -> Iterator[int]:
        """The `count` tokens that follow position `position`, where the model stands, as they come.

        `cpu_s` gets the calling thread's CPU seconds of each submission.
        """
        outstanding: deque[tuple[Ticket, int, int]] = deque()
        made = 0
        while made < count or outstanding:
            if made < count:
                before = time.thread_time()
                ticket = self.submit()
                self.cpu_s.append(time.thread_time() - before)
                outstanding.append((ticket, position + made + 1, min(self.per_submit, count - made)))
                made += self.per_submit
                if len(outstanding) <= self.ahead and made < count:
                    continue
            ticket, first, tokens = outstanding.popleft()
            yield from ticket.read(first, tokens)


@contextmanager
def runner(model: Model, strategy: str, *, per_submit: int = 1) -> Iterator[Runner]:
    """A runner of `strategy` for the model's step; what it captured is released at the end.

    `per_submit` steps go into one submit, where the strategy replays. Finding the counts of `eager` runs one step, so
    start a text afterwards.
    """
    if strategy == EAGER:
        # Without debug groups: a replay has them for nothing, so they must not make eager calls look worse.
        step, prefill = (functools.partial(call, named=False) for call in (model.step, model.prefill))
        calls = count_calls(model.device, step)
        submit = _eagerly(model, step, per_submit)
        yield Runner(strategy, step, submit, prefill, calls.dispatches, calls.passes, calls.submits, per_submit)
        return
    with ExitStack() as stack:
        ahead = strategy.endswith("-ahead")
        way = strategy.removesuffix("-ahead")
        rounds = [stack.enter_context(_captured(model, way)) for _ in range(GRAPHS_AHEAD if ahead else 1)]
        graph = rounds[0].graph
        turn = _Turn(rounds, per_submit)
        stats = graph.stats
        yield Runner(
            strategy,
            graph.replay,
            turn.submit,
            _Prefills(model, stack).run,
            dispatches=stats.dispatches,
            passes=stats.passes,
            submits=stats.submits,
            per_submit=per_submit,
            ahead=GRAPHS_AHEAD - 1 if ahead else 0,
            worker_cpu=lambda: sum(each.graph.stats.worker_cpu_s for each in rounds),
        )


def _eagerly(model: Model, step: Callable[[], None], per_submit: int) -> Callable[[], Ticket]:
    def submit() -> Ticket:
        for _ in range(per_submit):
            step()
        return Ticket(lambda first, count: [model.read_token()] if count == 1 else model.read_tokens(first, count))

    return submit


@frozen(eq=False)
class _Round:
    """A graph of one step with a buffer of its own that the tokens are copied to."""

    graph: Any
    staging: Any

    def read(self, first: int, count: int) -> list[int]:
        self.graph.wait()
        self.staging.map_sync("READ")
        try:
            return np.frombuffer(self.staging.read_mapped(), np.uint32)[first : first + count].tolist()
        finally:
            self.staging.unmap()


@define
class _Turn:
    """Takes the rounds in turn."""

    rounds: list[_Round]
    per_submit: int
    done: int = 0

    def submit(self) -> Ticket:
        current = self.rounds[self.done % len(self.rounds)]
        self.done += 1
        current.graph.replay(times=self.per_submit)
        return Ticket(current.read)


@define
class _Prefills:
    """A graph for each length of batch, captured when it is first wanted and released with the stack."""

    model: Model
    stack: ExitStack
    graphs: dict[int, Any] = field(factory=dict)

    def run(self, tokens: int) -> None:
        if tokens not in self.graphs:
            self.model.prepare_prefill(tokens)
            with cmdgraph.capture(self.model.device, name=f"prefill {tokens}") as graph:
                self.model.prefill(tokens)
            self.graphs[tokens] = graph
            self.stack.callback(graph.release)
        self.graphs[tokens].replay()


@contextmanager
def _captured(model: Model, strategy: str) -> Iterator[_Round]:
    tokens = model.tokens_buffer
    usage = wgpu.BufferUsage.MAP_READ | wgpu.BufferUsage.COPY_DST
    staging = model.device.create_buffer(label="tokens.read", size=tokens.size, usage=usage)
    with cmdgraph.capture(model.device, name="decode") as graph:
        model.step()
        encoder = model.device.create_command_encoder()
        encoder.copy_buffer_to_buffer(tokens, 0, staging, 0, tokens.size)
        model.device.queue.submit([encoder.finish()])
    try:
        graph.strategy = strategy.removesuffix(AS_RECORDED)
        graph.elide_barriers = not strategy.endswith(AS_RECORDED)
        yield _Round(graph, staging)
    finally:
        graph.release()
