"""The ways to run the chain that `cmdgraph bench strategies` compares, one function each.

`WAYS` names them; a new strategy is one more entry.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import attrs

import cmdgraph
from cmdgraph import native
from cmdgraph.bench import timestamps
from cmdgraph.bench.chain import Chain
from cmdgraph.bench.timestamps import PassTimer
from cmdgraph.replay import walker

__all__ = ["WAYS", "LeftOut", "Way", "call_eagerly", "call_in_one_pass", "capture"]

# So many replays share one wait, as in a loop that generates text; a naive replay is long enough by itself.
REPLAYS = 8
# "prerecorded" is timed over at least 1,000 replays: 40 in each of 30 rounds.
LONG_REPLAYS = 40
BURST = 8


class LeftOut(Exception):  # noqa: N818 - an outcome, not an error
    """A way cannot be measured here; says why."""


@attrs.frozen
class Way:
    """One way to run the chain.

    `run(times)` submits it that often; `wait` waits for all of it, with everything that was prepared for later, so
    that no work is moved out of a sample. A sample is ``run(replays)`` and `wait`. `worker_cpu` reads the CPU seconds
    that another thread of ours has spent so far, `gpu` the seconds that the last run took on the GPU.
    """

    run: Callable[[int], object]
    wait: Callable[[], object]
    submits: int
    passes: int
    replays: int
    close: Callable[[], object] = lambda: None
    worker_cpu: Callable[[], float] = lambda: 0.0
    ahead: Callable[[], float] = lambda: 0.0
    barriers: Callable[[], int | None] = lambda: None
    gpu: Callable[[], float] | None = None


def call_eagerly(chain: Chain) -> None:
    """An encoder, a pass and a submit for each operation, by the public API."""
    device = chain.device
    for pipeline, group in chain.calls:
        encoder = device.create_command_encoder()
        compute_pass = encoder.begin_compute_pass()
        compute_pass.set_pipeline(pipeline)
        compute_pass.set_bind_group(0, group)
        compute_pass.dispatch_workgroups(1)
        compute_pass.end()
        device.queue.submit([encoder.finish()])


def call_in_one_pass(chain: Chain, **descriptor: Any) -> Any:
    """One pass by the public API, not submitted: the encoder. `descriptor` is that of the pass."""
    encoder = chain.device.create_command_encoder()
    compute_pass = encoder.begin_compute_pass(**descriptor)
    for pipeline, group in chain.calls:
        compute_pass.set_pipeline(pipeline)
        compute_pass.set_bind_group(0, group)
        compute_pass.dispatch_workgroups(1)
    compute_pass.end()
    return encoder


def capture(chain: Chain) -> Any:
    """The graph of the chain."""
    with cmdgraph.capture(chain.device, name="chain") as graph:
        call_eagerly(chain)
    return graph


def _eager(chain: Chain) -> Way:
    """The naive path: what programs do today."""
    count = len(chain.calls)
    return Way(_times(lambda: call_eagerly(chain)), chain.wait, submits=count, passes=count, replays=1)


def _single_pass_public(chain: Chain) -> Way:
    """One pass and one submit, written by hand with the public API: what a careful user can do today."""
    queue = chain.device.queue

    def run() -> None:
        queue.submit([call_in_one_pass(chain).finish()])

    return Way(_times(run), chain.wait, submits=1, passes=1, replays=REPLAYS)


def _timed_pass(chain: Chain) -> Way:
    """The same with a timestamp at both ends: what the GPU itself takes, whoever encodes."""
    if reason := timestamps.why_absent(chain.device):
        raise LeftOut(reason)
    timer = PassTimer(chain.device)
    once = timer.run(lambda **descriptor: call_in_one_pass(chain, **descriptor))
    return Way(_times(once), chain.wait, submits=1, passes=1, replays=1, gpu=timer.seconds)


def _bare_c_loop(chain: Chain) -> Way:
    """The C walker alone, over the array of single-pass: no lock, no test, nothing of the graph around it."""
    graph = _walked(capture(chain), "c", split=1)
    session, packed = graph._session, graph._strategy.whole

    def run() -> None:
        with session.backend.error_scope() as scope:
            session.walker.run(packed, scope)

    return Way(_times(run), chain.wait, submits=1, passes=1, replays=REPLAYS, close=graph.release)


def _graph(chain: Chain, strategy: str, *, walk: str = "c", split: int | None = None, replays: int = REPLAYS) -> Way:
    """A replayed graph: `replays` calls of replay(), one wait."""
    graph = _walked(capture(chain), walk, split)
    graph.strategy = strategy
    return _way(graph, _times(graph.replay), replays)


def _split(chain: Chain, submits: int) -> Way:
    """Single-pass over several submits, with a wait after each replay: what an early start of the GPU gains."""
    graph = _walked(capture(chain), "c", submits)
    return _way(graph, _times(lambda: graph.replay(wait=True)), REPLAYS)


def _synced(chain: Chain) -> Way:
    """Prerecorded with a wait after each replay, as when a token is read back each step."""
    graph = _prerecorded(chain)
    return _way(graph, _times(lambda: graph.replay(wait=True)), LONG_REPLAYS)


def _back_to_back(chain: Chain) -> Way:
    """Prerecorded without waiting in between."""
    graph = _prerecorded(chain)
    return _way(graph, _times(graph.replay), LONG_REPLAYS)


def _several_in_one_submit(chain: Chain) -> Way:
    """Prerecorded, 8 replays in each submit."""
    graph = _prerecorded(chain)
    return _way(graph, lambda times: graph.replay(times=times), REPLAYS)


def _burst(chain: Chain) -> Way:
    """Prerecorded, a burst of 8 replays that are all encoded ahead."""
    graph = _prerecorded(chain)
    graph.encode_ahead = BURST
    graph.fill()
    return _way(graph, _times(graph.replay), BURST)


def _native(chain: Chain, *, elide: bool = True, each: bool = False, at_once: bool = False) -> Way:
    """The native layer encodes nothing. ``each`` replay is waited for, or all go into one submit ``at_once``."""
    if not native.enabled():
        raise LeftOut("the native layer is off: give --native, after make native")
    graph = _walked(capture(chain), "c")
    graph.strategy, graph.elide_barriers = "native", elide
    graph.replay(wait=True)
    if graph.stats.refused is not None or not graph.stats.ready:
        graph.release()
        raise LeftOut(f"the native layer does not replay it: {graph.stats.refused or 'nothing was recorded'}")
    if at_once:
        return _way(graph, lambda times: graph.replay(times=times), REPLAYS)
    return _way(graph, _times(lambda: graph.replay(wait=each)), LONG_REPLAYS)


def _prerecorded(chain: Chain) -> Any:
    graph = _walked(capture(chain), "c")
    graph.strategy = "prerecorded"
    return graph


def _walked(graph: Any, walk: str, split: int | None = None) -> Any:
    if walk == "c" and not walker.available():
        graph.release()
        raise LeftOut(f"no C walker: {walker.why_absent()}")
    graph.walker, graph.split = walk, split
    return graph


def _way(graph: Any, run: Callable[[int], object], replays: int) -> Way:
    def wait() -> None:
        graph.wait()
        graph.fill()

    stats = graph.stats
    return Way(
        run,
        wait,
        stats.submits,
        stats.passes,
        replays,
        graph.release,
        lambda: graph.stats.worker_cpu_s,
        lambda: graph.stats.ahead / max(1, graph.stats.replays),
        lambda: graph.stats.barriers,
    )


def _times(once: Callable[[], object]) -> Callable[[int], None]:
    def run(times: int) -> None:
        for _ in range(times):
            once()

    return run


WAYS: dict[str, Callable[[Chain], Way]] = {
    "eager": _eager,
    "single-pass-public": _single_pass_public,
    "single-pass-timed": _timed_pass,
    "bare-c-loop": _bare_c_loop,
    "per-op": functools.partial(_graph, strategy="per-op", replays=1),
    "single-pass": functools.partial(_graph, strategy="single-pass", split=1),
    "single-pass-python": functools.partial(_graph, strategy="single-pass", walk="python", split=1),
    **{f"single-pass-synced-split-{n}": functools.partial(_split, submits=n) for n in (1, 2, 4, 8, 16)},
    "prerecorded": _synced,
    "prerecorded-back-to-back": _back_to_back,
    "prerecorded-times-8": _several_in_one_submit,
    "prerecorded-burst-8": _burst,
    "native": functools.partial(_native, each=True),
    "native-back-to-back": _native,
    "native-times-8": functools.partial(_native, at_once=True),
    "native-barriers-as-recorded": functools.partial(_native, elide=False, each=True),
    "native-barriers-as-recorded-back-to-back": functools.partial(_native, elide=False),
    "native-barriers-as-recorded-times-8": functools.partial(_native, elide=False, at_once=True),
}
"""All ways by name, from slow to fast. "per-op" and "single-pass" walk in C."""
