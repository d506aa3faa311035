"""Recording what a thread submits, and the graphs that come of it."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen

from cmdgraph.backends import backend_of
from cmdgraph.errors import NativeError
from cmdgraph.native.library import Library, library
from cmdgraph.objects import BufferUsage

__all__ = ["Action", "NativeGraph", "Recording", "Refused", "Sender"]


class Refused(Exception):  # noqa: N818 - an outcome, not an error
    """The layer does not build a graph. ``for_good``: it would say so again."""

    def __init__(self, reason: str, *, for_good: bool = True) -> None:
        super().__init__(reason)
        self.for_good = for_good


@frozen
class Action:
    """One recorded command that does something: ``kind`` is "dispatch", "indirect", "copy" or "fill"; ``size`` counts
    bytes."""

    kind: str
    workgroups: tuple[int, int, int] = (0, 0, 0)
    size: int = 0


_KINDS = ("dispatch", "indirect", "copy", "fill")  # in the order of cg_action_kind


class Sender:
    """Has an implementation submit, by its C functions: hooks and guards of the Python classes are not concerned."""

    def __init__(self, device: Any) -> None:
        backend = backend_of(device)
        self._submit, self._null = backend.functions.calls["submit"], backend.functions.null
        self._queue = device.queue
        self._scratch = device.create_buffer(size=4, usage=BufferUsage.COPY_DST, label="cmdgraph scratch")

    def flush(self) -> None:
        """Submits nothing; waiting writes go with it."""
        self._submit(self._queue._internal, 0, self._null)

    def send(self) -> None:
        """Submits a write of four bytes to a buffer of our own."""
        self._queue.write_buffer(self._scratch, 0, bytes(4))
        self.flush()


class Recording:
    """What one thread submits within a ``with`` block. Afterwards: `actions`, and `build`, until `close`."""

    def __init__(self, sender: Sender) -> None:
        self._layer = library()
        self._sender = sender
        self._handle: Any = None

    def __enter__(self) -> Recording:
        lib = self._layer.lib
        if not lib.cg_arm():
            raise NativeError("the native layer is recording on this thread already")
        try:
            # Dawn begins its next command buffer after each submit, before we were here: that one must go first.
            self._sender.send()
        except BaseException:
            lib.cg_forget(lib.cg_disarm())
            raise
        lib.cg_restart()
        return self

    def __exit__(self, *exc: object) -> None:
        self._handle = self._layer.lib.cg_disarm()

    def close(self) -> None:
        self._layer.lib.cg_forget(self._handle)
        self._handle = None

    def device(self) -> Any:
        """The layer's device that was submitted to, None if there is none. The caller gives it back (cg_leave)."""
        return self._layer.lib.cg_device_of_recording(self._handle) or None

    def require(self) -> None:
        """Raises Refused if what was recorded cannot be replayed."""
        lib, reason = self._layer.lib, self._layer.ffi.new("char **")
        state = lib.cg_state(self._handle, reason)
        if state != lib.CG_OK:
            raise Refused(self._layer.text(reason[0]), for_good=state == lib.CG_REFUSED)

    def actions(self) -> list[Action]:
        """What the commands do, in the order in which they were submitted."""
        lib, ffi = self._layer.lib, self._layer.ffi
        count = lib.cg_actions(self._handle, ffi.NULL, 0)
        rows = ffi.new("cg_action[]", count)
        lib.cg_actions(self._handle, rows, count)
        return [Action(_KINDS[row.kind], (row.x, row.y, row.z), row.size) for row in rows]

    def build(self, barriers: Sequence[bool] | None, *, edges: bool = True, overlap: bool = True) -> NativeGraph:
        """The graph. ``barriers`` says for each action whether a barrier comes before it; None keeps those recorded.

        ``edges`` are the barriers at both ends; ``overlap`` lets replays follow each other before they are done. Both
        are needed, and only turned off to see that it is noticed.

        Raises:
            Refused: the commands cannot be replayed, or the map does not have their length.
        """
        lib, ffi = self._layer.lib, self._layer.ffi
        flags = (lib.CG_EDGES if edges else 0) | (lib.CG_OVERLAP if overlap else 0)
        places = ffi.NULL if barriers is None else ffi.from_buffer(np.array(barriers, np.uint8))
        reason = ffi.new("char **")
        graph = lib.cg_build(self._handle, places, 0 if barriers is None else len(barriers), flags, reason)
        if not graph:
            raise Refused(self._layer.text(reason[0]))
        return NativeGraph(self._layer, graph)


class NativeGraph:
    """Commands that can be submitted again and again; ``barriers``, ``binds`` and ``binds_left_out`` are counts."""

    def __init__(self, layer: Library, handle: Any) -> None:
        self.handle = handle
        self.receipt = layer.ffi.new("cg_receipt *")
        facts = layer.ffi.new("cg_facts *")
        layer.lib.cg_facts_of(handle, facts)
        self.barriers, self.binds, self.binds_left_out = facts.barriers, facts.binds, facts.binds_left_out
        self.release = weakref.finalize(self, layer.lib.cg_release, handle)
