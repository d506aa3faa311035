"""How calls of ordinary wgpu-py code reach a capture or a guard.

An encoder made inside a capture is an instance of a subclass of the implementation's own encoder class, so `isinstance`
holds and no method of encoders and passes needs to be patched. Only the methods that hand out encoders, and those
of the queue, are replaced, for as long as some capture or guard is active. Each of them asks whether this thread is
capturing, then whether the device is guarded, and otherwise goes straight on to the original.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Protocol

from cmdgraph.backends import Backend, loaded, on_load

__all__ = ["Listener", "active", "capturing", "installed", "start", "stepping_aside"]


class Listener(Protocol):
    """What the replaced methods call: a capture, or a guard.

    Each gets the original method and its arguments and answers in its place.
    """

    def create_command_encoder(self, original: Callable[..., Any], device: Any, label: str) -> Any: ...
    def submit(self, original: Callable[..., Any], queue: Any, command_buffers: Any) -> None: ...
    def write_buffer(self, original: Callable[..., Any], queue: Any, *args: Any, **kwargs: Any) -> None: ...
    def synchronise(self, original: Callable[..., Any], name: str, obj: Any, *args: Any, **kwargs: Any) -> Any: ...
    def unsupported(self, original: Callable[..., Any], name: str, obj: Any, *args: Any, **kwargs: Any) -> Any: ...


class _Thread(threading.local):
    listener: Listener | None = None
    aside: int = 0


_thread = _Thread()
_lock = threading.Lock()
_users = 0
_originals: list[tuple[Any, str, Any]] = []


def capturing() -> Listener | None:
    """The capture that is active on this thread, if any."""
    return _thread.listener


@contextmanager
def active(listener: Listener) -> Iterator[None]:
    """`listener` receives this thread's calls."""
    with installed():
        _thread.listener = listener
        try:
            yield
        finally:
            _thread.listener = None


@contextmanager
def stepping_aside() -> Iterator[None]:
    """This thread's calls go to the implementation: for what wgpu-py does inside of read_buffer and the like."""
    _thread.aside += 1
    try:
        yield
    finally:
        _thread.aside -= 1


@contextmanager
def installed() -> Iterator[None]:
    """The methods are replaced while at least one user is inside."""
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            for backend in loaded():
                _replace(backend)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                while _originals:
                    setattr(*_originals.pop())


def start() -> None:
    """Backends that are imported while a capture is active get their hooks at once."""

    def late(backend: Backend) -> None:
        with _lock:
            if _users:
                _replace(backend)

    on_load(late)


def _listener(device: Any) -> Listener | None:
    if _thread.aside:
        return None
    return _thread.listener or getattr(device, "_cmdgraph_guard", None)


def _replace(backend: Backend) -> None:
    api = backend.api
    _hook(api.GPUDevice, "create_command_encoder", _creating)
    _hook(api.GPUQueue, "submit", _submitting)
    _hook(api.GPUQueue, "write_buffer", _writing)
    for name in ("read_buffer", "read_texture", "on_submitted_work_done_async"):
        _hook(api.GPUQueue, name, _synchronising)
    _hook(api.GPUBuffer, "map_async", _synchronising)
    _hook(api.GPUQueue, "write_texture", _unsupporting)


def _hook(cls: Any, name: str, wrapper: Callable[[Any, str], Any]) -> None:
    original = cls.__dict__[name]
    _originals.append((cls, name, original))
    setattr(cls, name, wraps(original)(wrapper(original, name)))


def _creating(original: Any, _name: str) -> Any:
    def create_command_encoder(self: Any, *, label: str = "") -> Any:
        listener = _listener(self)
        if listener is None:
            return original(self, label=label)
        return listener.create_command_encoder(original, self, label)

    return create_command_encoder


def _submitting(original: Any, _name: str) -> Any:
    def submit(self: Any, command_buffers: Any) -> None:
        listener = _listener(self._device)
        if listener is None:
            return original(self, command_buffers)
        return listener.submit(original, self, command_buffers)

    return submit


def _writing(original: Any, _name: str) -> Any:
    def write_buffer(self: Any, *args: Any, **kwargs: Any) -> None:
        listener = _listener(self._device)
        if listener is None:
            return original(self, *args, **kwargs)
        return listener.write_buffer(original, self, *args, **kwargs)

    return write_buffer


def _synchronising(original: Any, name: str) -> Any:
    def synchronise(self: Any, *args: Any, **kwargs: Any) -> Any:
        listener = _listener(self._device)
        if listener is None:
            return original(self, *args, **kwargs)
        return listener.synchronise(original, name, self, *args, **kwargs)

    return synchronise


def _unsupporting(original: Any, name: str) -> Any:
    def unsupported(self: Any, *args: Any, **kwargs: Any) -> Any:
        listener = _listener(self._device)
        if listener is None:
            return original(self, *args, **kwargs)
        return listener.unsupported(original, name, self, *args, **kwargs)

    return unsupported
