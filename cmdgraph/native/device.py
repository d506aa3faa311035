"""The layer's view of a device, its graphs and its submissions."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import define, field, frozen

from cmdgraph.backends import backend_of
from cmdgraph.errors import DeviceLostError, NativeError
from cmdgraph.liveness import DeviceState, state_of
from cmdgraph.native.library import Library, library
from cmdgraph.objects import BufferUsage, describe

__all__ = ["Action", "NativeDevice", "NativeGraph", "Recording", "Refused", "Submission", "device_of", "known_device"]

_ATTRIBUTE = "_cmdgraph_native"
_LOST = -4  # VK_ERROR_DEVICE_LOST


class Refused(Exception):  # noqa: N818 - an outcome, not an error
    """The layer does not build a graph. ``for_good``: it would say so again."""

    def __init__(self, reason: str, *, for_good: bool = True) -> None:
        super().__init__(reason)
        self.for_good = for_good


class _Sender:
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


@frozen
class Action:
    """One recorded command that does something: ``kind`` is "dispatch", "indirect", "copy" or "fill"; ``size`` counts
    bytes."""

    kind: str
    workgroups: tuple[int, int, int] = (0, 0, 0)
    size: int = 0


_KINDS = ("dispatch", "indirect", "copy", "fill")  # in the order of cg_action_kind


@define(eq=False, slots=False)
class NativeDevice:
    """A device under the layer. The application's queue is the one that replays go to."""

    handle: Any
    state: DeviceState
    _sender: _Sender
    _layer: Library = field(factory=library)
    _last: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        weakref.finalize(self, self._layer.lib.cg_leave, self.handle).atexit = False
        _devices.add(self)

    def flush(self) -> None:
        """Sends writes to the queue that the implementation keeps for its next submit."""
        pending = self._layer.lib.cg_pending(self.handle)
        if pending:
            self._sender.flush()
            self._layer.lib.cg_flushed(self.handle, pending)

    def record(self) -> Recording:
        """Records what this thread submits inside the block that it is used for."""
        return Recording(self._sender)

    def wait(self, serial: int) -> None:
        """Blocks until a submission is done.

        Raises:
            DeviceLostError: the device was lost, so it may never be.
        """
        result = self._layer.lib.cg_wait(self.handle, serial)
        if result < 0:
            with self.state.lock:
                self.state.lose(f"was lost (VkResult {result} while waiting for a native replay)")
                raise DeviceLostError("the device was lost during a native replay. Make a new one and capture again")

    def settle(self) -> None:
        """Blocks until all native work is done, or never will be."""
        if self._last:
            self._layer.lib.cg_wait(self.handle, self._last)

    def replay(self, graph: NativeGraph, times: int) -> Submission | None:
        """Submits `graph` `times` times in one submit; None when something that it uses has gone.

        Raises:
            DeviceLostError: the device was lost.
            NativeError: Vulkan reported another error.
        """
        lib, receipt, flushed = self._layer.lib, graph.receipt, 0
        while (outcome := lib.cg_replay(graph.handle, times, flushed, receipt)) == lib.CG_PENDING:
            flushed = receipt.pending
            self._sender.flush()
        if outcome == lib.CG_OK:
            self._last = receipt.serial
            return Submission(self, receipt.serial)
        if outcome == lib.CG_INVALID:
            return None
        if receipt.result == _LOST:
            self.state.lose("was lost (VK_ERROR_DEVICE_LOST at a native replay)")
            raise DeviceLostError("the device was lost at a native replay. Make a new one and capture again")
        raise NativeError(f"Vulkan refused a native replay: VkResult {receipt.result}; nothing was submitted")


@frozen(eq=False)
class Submission:
    """Native work that was submitted."""

    device: NativeDevice
    serial: int

    def wait(self) -> None:
        """Blocks until it is done.

        Raises:
            DeviceLostError: the device was lost.
        """
        self.device.wait(self.serial)

    def settle(self) -> None:
        """Blocks until it is done, or never will be."""
        self.device._layer.lib.cg_wait(self.device.handle, self.serial)


class NativeGraph:
    """Commands that can be submitted again and again; ``barriers``, ``binds`` and ``binds_left_out`` are counts."""

    def __init__(self, layer: Library, handle: Any) -> None:
        self.handle = handle
        self.receipt = layer.ffi.new("cg_receipt *")
        facts = layer.ffi.new("cg_facts *")
        layer.lib.cg_facts_of(handle, facts)
        self.barriers, self.binds, self.binds_left_out = facts.barriers, facts.binds, facts.binds_left_out
        self.release = weakref.finalize(self, layer.lib.cg_release, handle)


class Recording:
    """What one thread submits within a ``with`` block. Afterwards: `actions`, and `build`, until `close`."""

    def __init__(self, sender: _Sender) -> None:
        self._layer = library()
        self._sender = sender
        self._handle: Any = None

    def __enter__(self) -> Recording:
        lib = self._layer.lib
        if not lib.cg_arm():
            raise NativeError("the native layer is recording on this thread already")
        # Dawn begins its next command buffer after each submit, before we were here: that one must go first.
        self._sender.send()
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


def known_device(device: Any) -> NativeDevice | None:
    """The layer's view of `device`, if it was asked for before."""
    return getattr(device, _ATTRIBUTE, None)


def device_of(device: Any) -> NativeDevice:
    """The layer's view of a GPUDevice.

    Raises:
        NativeError: the layer is not under it.
    """
    if (found := known_device(device)) is None:
        found = _find(device)
        setattr(device, _ATTRIBUTE, found)
    return found


def _find(device: Any) -> NativeDevice:
    """Submits something, and looks which of its devices the layer sees it on."""
    sender = _Sender(device)
    with Recording(sender) as recording:
        sender.send()
    handle = recording.device()
    recording.close()
    if handle is None:
        raise NativeError(
            f"{describe(device)} was made without the native layer: call cmdgraph.enable_native() before the first "
            "adapter is requested (or set CMDGRAPH_NATIVE=1), and use a Vulkan adapter"
        )
    return NativeDevice(handle, state_of(device), sender)


_devices: weakref.WeakSet[NativeDevice] = weakref.WeakSet()


@atexit.register
def _settle_all() -> None:
    """No replay is under way when drivers are taken down."""
    for device in list(_devices):
        device.settle()
