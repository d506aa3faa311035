"""`cmdgraph.graphed`: eager, captured, replayed; a graph for each signature; array arguments are copied in."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cmdgraph
from tests.kit import ADD1, INC, Kit


@pytest.fixture
def add_one(kit: Kit) -> Callable[[np.ndarray], Any]:
    """Writes an array to x, adds 1 into y, and returns y."""
    x, y = kit.buffer(size=16, label="x"), kit.buffer(size=16, label="y")
    call = kit.call(ADD1, x, y)

    def add_one(values: np.ndarray) -> Any:
        kit.queue.write_buffer(x, 0, values)
        call()
        return y

    return add_one


def _values(start: float) -> np.ndarray:
    return np.arange(start, start + 4, dtype=np.float32)


@pytest.mark.parametrize("strict", [False, True])
def test_each_call_sees_its_own_array(kit: Kit, add_one: Callable[[np.ndarray], Any], strict: bool) -> None:
    step = cmdgraph.graphed(add_one, strict=strict)
    for start in (0, 10, 20, 30, 40):
        assert kit.read(step(_values(start))) == (_values(start) + 1).tolist()

    assert (step.stats.eager, step.stats.captured, step.stats.replayed) == ((0, 1, 4) if strict else (1, 1, 3))


def test_the_array_may_be_another_object_or_not_contiguous(kit: Kit, add_one: Callable[[np.ndarray], Any]) -> None:
    step = cmdgraph.graphed(add_one, strict=True)
    step(_values(0))

    assert kit.read(step(np.arange(8, dtype=np.float32)[::2])) == [1, 3, 5, 7]


def test_parts_of_an_array_are_followed(kit: Kit) -> None:
    x, y = kit.buffer(size=16), kit.buffer(size=16)
    call = kit.call(ADD1, x, y)

    @cmdgraph.graphed(strict=True)
    def step(values: np.ndarray) -> Any:
        kit.queue.write_buffer(x, 0, values, 8, 8)
        kit.queue.write_buffer(x, 8, values[:2])
        call()
        return y

    for start in (0, 10):
        first = _values(start)
        assert kit.read(step(first)) == [first[2] + 1, first[3] + 1, first[0] + 1, first[1] + 1]


def test_each_signature_has_a_graph(kit: Kit) -> None:
    c = kit.buffer([0, 0, 0, 0])
    call = kit.call(INC, c)

    @cmdgraph.graphed(strict=True)
    def step(times: int, *, label: str = "") -> None:
        for _ in range(times):
            call()

    for times in (1, 2, 1, 2):
        step(times)
    step(2, label="a")
    step(label="a", times=2)

    assert [len(graph) for graph in step.graphs] == [1, 2, 2, 2]
    assert kit.read(c) == [10] * 4


def test_more_signatures_than_the_limit_run_eagerly_with_one_warning(kit: Kit) -> None:
    c = kit.buffer([0, 0, 0, 0])
    call = kit.call(INC, c)
    step = cmdgraph.graphed(lambda n: [call() for _ in range(n)], limit=1)
    step(1)
    step(1)

    with pytest.warns(cmdgraph.GraphLimitWarning, match="has 1 graphs, its limit"):
        step(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step(3)
    assert (step.stats.eager, step.stats.captured, len(step.graphs)) == (3, 1, 1)
    assert kit.read(c) == [7] * 4


def test_strict_never_calls_eagerly(kit: Kit) -> None:
    c = kit.buffer([0, 0, 0, 0])
    call = kit.call(INC, c)
    step = cmdgraph.graphed(lambda n: [call() for _ in range(n)], limit=1, strict=True)
    step(1)

    with pytest.raises(cmdgraph.CaptureError, match="limit"):
        step(2)
    assert step.stats.eager == 0
    assert kit.read(c) == [1] * 4


def test_an_array_that_is_not_written_is_refused(kit: Kit, add_one: Callable[[np.ndarray], Any]) -> None:
    step = cmdgraph.graphed(lambda values: add_one(values * 2), strict=True)

    with pytest.raises(cmdgraph.CaptureError, match="array argument 0 .* is not written"):
        step(_values(0))
    assert step.graphs == ()


def test_what_is_not_hashable_is_refused(kit: Kit) -> None:
    step = cmdgraph.graphed(lambda values: None)

    with pytest.raises(TypeError, match="argument 0 .* list, which is not hashable"):
        step([1, 2])


def test_a_buffer_is_part_of_the_signature(kit: Kit) -> None:
    buffers = [kit.buffer([0, 0, 0, 0], label) for label in "ab"]
    calls = {buffer: kit.call(INC, buffer) for buffer in buffers}
    step = cmdgraph.graphed(lambda buffer: calls[buffer](), strict=True)
    for buffer in (*buffers, buffers[0]):
        step(buffer)

    assert [kit.read(buffer) for buffer in buffers] == [[2] * 4, [1] * 4]
    assert len(step.graphs) == 2


def test_a_failed_capture_leaves_nothing_and_can_be_tried_again(kit: Kit) -> None:
    c = kit.buffer([0, 0, 0, 0])
    call = kit.call(INC, c)
    bad = [True]

    @cmdgraph.graphed(strict=True)
    def step() -> None:
        call()
        if bad:
            raise RuntimeError("not yet")

    with pytest.raises(RuntimeError, match="not yet"):
        step()
    bad.clear()
    step()
    assert kit.read(c) == [1] * 4


def test_release_begins_anew(kit: Kit, add_one: Callable[[np.ndarray], Any]) -> None:
    step = cmdgraph.graphed(add_one)
    for _ in range(3):
        step(_values(0))
    graph = step.graphs[0]
    step.release()
    gc.collect()

    with pytest.raises(cmdgraph.ReleasedError):
        graph.replay()
    step(_values(5))
    assert (step.stats.eager, step.graphs) == (2, ())


def test_it_looks_like_the_function(add_one: Callable[[np.ndarray], Any]) -> None:
    assert cmdgraph.graphed(add_one).__name__ == "add_one"


@pytest.mark.parametrize("limit", [0, -3])
def test_no_room_for_graphs_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        cmdgraph.graphed(lambda: None, limit=limit)
