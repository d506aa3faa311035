"""Which resources are gone: flags set by destroy, map and device loss, and the lock that orders them with submits.

A submit that touches a destroyed or mapped buffer aborts the process in wgpu-native, and a destroyed GPUBuffer looks
alive from Python. So `destroy` and friends are wrapped for good: under the device's lock they set a flag on every
graph that uses the resource. A replay tests one flag under the same lock and submits before it lets go of it; nothing
can come in between. Buffers that can be mapped are tested each time, because mapping ends again; they are few (see
https://www.w3.org/TR/webgpu/#buffer-mapping: MAP_READ goes with COPY_DST only, MAP_WRITE with COPY_SRC only).

A finaliser that the garbage collector runs on the replaying thread itself would get through its own lock. While a
submit is under way such a `destroy` is therefore put off until the submit is done.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from attrs import define, field

from cmdgraph.errors import (
    CommandGraphError,
    DestroyedError,
    DeviceLostError,
    InvalidatedError,
    MappedError,
)
from cmdgraph.objects import BufferUsage, describe

__all__ = [
    "DeviceState",
    "Watch",
    "destroyed_error",
    "install",
    "is_destroyed",
    "is_mapped",
    "refuse_dead",
    "state_of",
]

_MAPPABLE = BufferUsage.MAP_READ | BufferUsage.MAP_WRITE
_ATTRIBUTE = "_cmdgraph_life"
_creating = threading.Lock()


@define(eq=False, slots=False)
class DeviceState:
    """The lock of one device, and whether it is lost.

    ``lock`` orders submits of graphs with destroy, map and loss. ``submitting`` is true while the thread that holds the
    lock is between its test and the end of its submit. ``workers`` encode ahead for this device
    (`cmdgraph.replay.worker`).
    """

    lock: threading.RLock = field(factory=threading.RLock)
    lost: str | None = None
    submitting: bool = False
    workers: Any = None
    _put_off: list[Callable[[], None]] = field(factory=list, init=False)
    _watches: weakref.WeakSet[Watch] = field(factory=weakref.WeakSet, init=False)

    @contextmanager
    def submission(self) -> Iterator[None]:
        """Holds the lock; destroys that arrive on this very thread meanwhile happen at the end."""
        with self.lock:
            if self.submitting:
                raise CommandGraphError(
                    "a replay was started from a finaliser while another one is being submitted on the same thread; "
                    "do not replay in __del__ or in weakref callbacks"
                )
            self.submitting = True
            try:
                yield
            finally:
                self.submitting = False
                while self._put_off:  # whatever came in meanwhile
                    self._put_off.pop(0)()

    def put_off(self, action: Callable[[], None]) -> None:
        self._put_off.append(action)

    def lose(self, reason: str) -> None:
        """Marks the device, and every graph on it, as lost. Call it with the lock held."""
        if self.lost is None:
            self.lost = reason
            for watch in list(self._watches):
                watch.invalidate(_device_lost, reason)

    def refuse_lost(self, device: Any) -> None:
        """Raises DeviceLostError if the device is lost. Call it with the lock held."""
        if self.lost is not None:
            raise DeviceLostError(f"{describe(device)} {self.lost}; nothing was submitted. Make a new device")

    def add(self, watch: Watch) -> None:
        self._watches.add(watch)
        if self.lost is not None:
            watch.invalidate(_device_lost, self.lost)


@define(eq=False, slots=False)
class Watch:
    """One graph's flag: None while it may be replayed, otherwise the reason why not.

    `begin` watches resources; `check` is what a replay pays, whatever the number of nodes.
    """

    where: Callable[[Any], str]
    broken: Callable[[], InvalidatedError] | None = field(default=None, init=False)
    mappable: tuple[Any, ...] = field(default=(), init=False)

    def begin(self, device: Any, resources: Iterable[Any]) -> None:
        """Watches `resources`, and nothing else from now on. Call it with the device's lock held."""
        state = state_of(device)
        mappable = []
        self.broken = None
        state.add(self)
        any_mappable = "mappable-primary-buffers" in device.features
        for resource in resources:
            life = _life(resource)
            life.watches.add(self)
            if life.destroyed:
                self.invalidate(_destroyed, resource)
            usage = resource.usage if hasattr(resource, "map_state") else 0
            if usage & _MAPPABLE and (any_mappable or usage & (BufferUsage.COPY_SRC | BufferUsage.COPY_DST)):
                mappable.append(resource)
            elif hasattr(resource, "map_state") and resource.map_state != "unmapped":
                mappable.append(resource)  # mapped at creation: tested until it is unmapped for good
        self.mappable = tuple(mappable)

    def end(self, resources: Iterable[Any]) -> None:
        """Stops watching `resources`."""
        for resource in resources:
            _life(resource).watches.discard(self)

    def check(self) -> None:
        """Raises InvalidatedError if a replay must not be submitted. Call it with the device's lock held."""
        if self.broken is not None:
            raise self.broken()
        for buffer in self.mappable:
            if buffer.map_state != "unmapped":
                raise MappedError(
                    f"{describe(buffer)} is mapped ({self.where(buffer)}): the graph was not submitted. "
                    f"Unmap it before the replay (its map state is {buffer.map_state!r})"
                )

    def invalidate(self, kind: Callable[[Watch, Any], InvalidatedError], cause: Any) -> None:
        if self.broken is None:
            error = kind(self, cause)  # made now: the words must not depend on what happens to the graph later
            self.broken = lambda: type(error)(*error.args)


@define(eq=False)
class _Life:
    destroyed: bool = False
    watches: weakref.WeakSet[Watch] = field(factory=weakref.WeakSet)


def state_of(device: Any) -> DeviceState:
    """The state of `device`, made when first asked for."""
    try:
        return device._cmdgraph_state
    except AttributeError:
        with _creating:
            if not hasattr(device, "_cmdgraph_state"):
                device._cmdgraph_state = DeviceState()
            return device._cmdgraph_state


def is_destroyed(resource: Any) -> bool:
    """Whether ``destroy()`` was called on a buffer or texture."""
    life = getattr(resource, _ATTRIBUTE, None)
    return life is not None and life.destroyed


def is_mapped(buffer: Any) -> bool:
    """Whether a buffer is mapped, or about to be."""
    return buffer.map_state != "unmapped"


def destroyed_error(resource: Any, where: str) -> DestroyedError:
    return DestroyedError(
        f"{describe(resource)} was destroyed; {where}. Nothing was submitted. "
        "Capture again, or put another buffer in its place with graph.rebind()"
    )


def refuse_dead(resource: Any, call: str) -> None:
    """Raises if a buffer or texture is destroyed or mapped, so that `call` would fail or abort. With the lock held."""
    if is_destroyed(resource):
        raise destroyed_error(resource, f"{call}() would use it")
    if hasattr(resource, "map_state") and is_mapped(resource):
        raise MappedError(f"{describe(resource)} is mapped and {call}() would use it; unmap it first")


def install(api: Any) -> None:
    """Wraps destroy and map of one implementation's classes (`api`: its module of concrete classes). For good."""
    for cls in (api.GPUBuffer, api.GPUTexture):
        cls.destroy = _destroying(cls.destroy)
    api.GPUBuffer.map_async = _mapping(api.GPUBuffer.map_async)
    api.GPUBuffer.unmap = _mapping(api.GPUBuffer.unmap)
    api.GPUDevice.destroy = _losing(api.GPUDevice.destroy)


def _destroying(original: Callable[[Any], None]) -> Callable[[Any], None]:
    @wraps(original)
    def destroy(self: Any) -> None:
        state = state_of(self._device)
        with state.lock:
            if state.submitting:
                return state.put_off(lambda: destroy(self))
            life = _life(self)
            if not life.destroyed:
                life.destroyed = True
                for watch in list(life.watches):
                    watch.invalidate(_destroyed, self)
            return original(self)

    return destroy


def _mapping(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def mapping(self: Any, *args: Any, **kwargs: Any) -> Any:
        state = state_of(self._device)
        with state.lock:
            if state.submitting:
                raise CommandGraphError(
                    f"{describe(self)} was mapped or unmapped from a finaliser during a submit on the same thread"
                )
            return original(self, *args, **kwargs)

    return mapping


def _losing(original: Callable[[Any], None]) -> Callable[[Any], None]:
    @wraps(original)
    def destroy(self: Any) -> None:
        state = state_of(self)
        with state.lock:
            if state.submitting:
                return state.put_off(lambda: destroy(self))
            state.lose("was destroyed")
            return original(self)

    return destroy


def _life(resource: Any) -> _Life:
    try:
        return getattr(resource, _ATTRIBUTE)
    except AttributeError:
        life = _Life()
        setattr(resource, _ATTRIBUTE, life)
        return life


def _destroyed(watch: Watch, resource: Any) -> InvalidatedError:
    return destroyed_error(resource, watch.where(resource))


def _device_lost(_watch: Watch, reason: str) -> InvalidatedError:
    return DeviceLostError(
        f"the device of this graph {reason}; nothing was submitted. Make a new device and capture again"
    )
