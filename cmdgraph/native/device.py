"""The layer's view of a device, and what is submitted to it."""

from __future__ import annotations

import atexit
import weakref
from typing import Any

from attrs import define, field, frozen

from cmdgraph.errors import DeviceLostError, NativeError
from cmdgraph.liveness import DeviceState, state_of
from cmdgraph.native.library import Library, library
from cmdgraph.native.recording import NativeGraph, Recording, Sender
from cmdgraph.objects import describe

__all__ = ["NativeDevice", "Submission", "device_of", "known_device"]

_ATTRIBUTE = "_cmdgraph_native"
_LOST = -4  # VK_ERROR_DEVICE_LOST


@define(eq=False, slots=False)
class NativeDevice:
    """A device under the layer. The application's queue is the one that replays go to."""

    handle: Any
    state: DeviceState
    _sender: Sender
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


def known_device(device: Any) -> NativeDevice | None:
    """The layer's view of `device`, if it was asked for before."""
    return getattr(device, _ATTRIBUTE, None)


def device_of(device: Any) -> NativeDevice:
    """The layer's view of a GPUDevice.

    Raises:
        NativeError: the layer is not under it, or not built.
        DeviceLostError: the device is lost.
    """
    if (found := known_device(device)) is None:
        found = _find(device)
        setattr(device, _ATTRIBUTE, found)
    return found


def _find(device: Any) -> NativeDevice:
    """Submits something, and looks which of its devices the layer sees it on."""
    state = state_of(device)
    with state.lock:
        state.refuse_lost(device)
    sender = Sender(device)
    with Recording(sender) as recording:
        sender.send()
    handle = recording.device()
    recording.close()
    if handle is None:
        raise NativeError(
            f"{describe(device)} was made without the native layer: call cmdgraph.enable_native() before the first "
            "adapter is requested (or set CMDGRAPH_NATIVE=1), and use a Vulkan adapter"
        )
    return NativeDevice(handle, state, sender)


_devices: weakref.WeakSet[NativeDevice] = weakref.WeakSet()


@atexit.register
def _settle_all() -> None:
    """No replay is under way when drivers are taken down."""
    for device in list(_devices):
        device.settle()
