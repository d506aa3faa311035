"""`cmdgraph.graphed(fn)`: a function that captures itself, as `torch.cuda.make_graphed_callables` and TinyJit do.

The first call runs as it is, the second is captured, later ones are replayed; one graph for each signature of the
arguments. What
a numpy array holds may change from call to call: it is copied in. All other arguments are part of the signature.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Hashable, Iterator
from functools import update_wrapper
from typing import Any

import numpy as np
from attrs import define, field

from cmdgraph.capture import capture
from cmdgraph.errors import CaptureError
from cmdgraph.graph import CommandGraph
from cmdgraph.program import WriteBuffer

__all__ = ["GraphLimitWarning", "Graphed", "GraphedStats", "graphed"]


class GraphLimitWarning(UserWarning):
    """A graphed function has as many graphs as it may have; calls with further signatures run eagerly."""


@define
class GraphedStats:
    """How the calls of a graphed function were served."""

    eager: int = 0
    captured: int = 0
    replayed: int = 0


def graphed(fn: Callable[..., Any] | None = None, *, device: Any = None, limit: int = 8, strict: bool = False) -> Any:
    """Makes `fn` capture itself. Use it as a decorator, with or without arguments, or as a function.

    `fn` gets its data through `queue.write_buffer` of its array arguments (or parts of them) and leaves its results in
    buffers; what it returns at the captured call is returned by every replay. Values computed from an array on the
    host would be frozen, so an array that no write_buffer takes is refused. Other arguments (numbers, texts, buffers,
    ...) must be
    hashable: each new combination of them, and of shapes and dtypes, is a signature with a graph of its own.

    Args:
        device: as for `capture`.
        limit: at most so many graphs; further signatures run eagerly, with a GraphLimitWarning, or fail if `strict`.
        strict: never call `fn` eagerly: the first call is captured already.

    Raises (from the calls):
        CaptureError: an array argument is not written to a buffer, or `strict` and the limit is reached.
        Whatever `capture` and `CommandGraph.replay` raise.
    """
    if limit < 1:
        raise ValueError(f"graphed(limit={limit}): must be at least 1")
    if fn is None:
        return lambda function: Graphed(function, device, limit, strict)
    return Graphed(fn, device, limit, strict)


@define
class _Captured:
    """The graph of one signature, what `fn` returned, and which nodes write which part of which array."""

    graph: CommandGraph
    result: Any
    writes: list[tuple[int, int, int, int]] = field(factory=list)  # node, array, start, end in bytes


class Graphed:
    """What `graphed` gives. Call it like the function; `stats` tells how calls were served, `graphs` holds the
    graphs.
    """

    def __init__(self, fn: Callable[..., Any], device: Any, limit: int, strict: bool) -> None:
        self._fn = fn
        self._device = device
        self._limit = limit
        self._strict = strict
        self._seen: set[Hashable] = set()
        self._captured: dict[Hashable, _Captured] = {}
        self._lock = threading.RLock()
        self._warned = False
        self.stats = GraphedStats()
        update_wrapper(self, fn)

    @property
    def graphs(self) -> tuple[CommandGraph, ...]:
        """The graphs so far, in the order of their capture."""
        return tuple(one.graph for one in self._captured.values())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        signature = _signature(args, kwargs)
        with self._lock:
            if signature in self._captured:
                return self._replay(self._captured[signature], args, kwargs)
            if len(self._captured) >= self._limit:
                self._complain()
            elif self._strict or signature in self._seen:
                return self._capture(signature, args, kwargs)
            self._seen.add(signature)
            self.stats.eager += 1
        return self._fn(*args, **kwargs)

    def release(self) -> None:
        """Lets go of all graphs; the next calls begin anew."""
        with self._lock:
            for one in self._captured.values():
                one.graph.release()
            self._captured.clear()
            self._seen.clear()

    def _capture(self, signature: Hashable, args: Any, kwargs: Any) -> Any:
        arrays = list(_arrays(args, kwargs))
        with capture(self._device, name=getattr(self._fn, "__name__", None)) as graph:
            result = self._fn(*args, **kwargs)
        try:
            one = _Captured(graph, result, list(_writes(graph, arrays)))
        except CaptureError:
            graph.release()
            raise
        self._captured[signature] = one
        self.stats.captured += 1
        graph.replay()
        return result

    def _replay(self, one: _Captured, args: Any, kwargs: Any) -> Any:
        arrays = [np.ascontiguousarray(a).view(np.uint8).reshape(-1) for a in _arrays(args, kwargs)]
        for node, array, start, end in one.writes:
            one.graph.set_data(node, arrays[array][start:end].tobytes())
        one.graph.replay()
        self.stats.replayed += 1
        return one.result

    def _complain(self) -> None:
        text = (
            f"{self._fn.__qualname__} has {len(self._captured)} graphs, its limit: this call has yet another "
            "signature (shapes, dtypes and values of its arguments). Raise `limit`, or keep what varies in buffers"
        )
        if self._strict:
            raise CaptureError(text)
        if not self._warned:
            self._warned = True
            warnings.warn(text + ". Further signatures run eagerly", GraphLimitWarning, stacklevel=3)


def _arrays(args: Any, kwargs: Any) -> Iterator[np.ndarray]:
    """The arrays among the arguments, in an order that does not depend on that of the keywords."""
    yield from (a for a in (*args, *(kwargs[name] for name in sorted(kwargs))) if isinstance(a, np.ndarray))


def _signature(args: Any, kwargs: Any) -> Hashable:
    return tuple((name, _key(name, value)) for name, value in (*enumerate(args), *sorted(kwargs.items())))


def _key(name: Any, value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        return ("array", value.shape, value.dtype.str)
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            f"argument {name!r} of a graphed function is a {type(value).__name__}, which is not hashable; pass a "
            "tuple, or a numpy array for data that changes"
        ) from None
    return (type(value), value)


def _writes(graph: CommandGraph, arrays: list[np.ndarray]) -> Iterator[tuple[int, int, int, int]]:
    """Which node takes its bytes from which array."""
    spans = [(a.__array_interface__["data"][0], a.nbytes) for a in arrays]
    used: set[int] = set()
    for index, node in enumerate(graph.nodes):
        for number, (address, size) in enumerate(spans):
            start = node.address - address if isinstance(node, WriteBuffer) else -1
            if isinstance(node, WriteBuffer) and start >= 0 and start + node.size <= size:
                used.add(number)
                yield index, number, start, start + node.size
                break  # the same array twice: the second counts as not written, and is refused
    for number in range(len(arrays)):
        if number not in used and arrays[number].size:
            raise CaptureError(
                f"array argument {number} of a graphed function is not written to any buffer by "
                "queue.write_buffer(), so later calls could not bring new values in. Write the array itself (not a "
                "value computed from it), or pass it as bytes if it never changes"
            )
