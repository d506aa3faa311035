"""What an implementation believes finished although a native replay is under way, since it knows nothing of it.

Mapping a buffer, and asking when submitted work is done, wait for the native replays concerned first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from cmdgraph.native.device import NativeDevice, Submission, known_device

__all__ = ["install", "note_use"]

_ATTRIBUTE = "_cmdgraph_native_use"


def note_use(buffer: Any, submission: Submission) -> None:
    """`submission` uses `buffer`, which can be mapped."""
    setattr(buffer, _ATTRIBUTE, submission)


def install(api: Any) -> None:
    """Wraps the methods of one implementation's classes (`api`: its module of concrete classes). For good."""
    api.GPUBuffer.map_async = _mapping(api.GPUBuffer.map_async)
    api.GPUQueue.on_submitted_work_done_async = _asking(api.GPUQueue.on_submitted_work_done_async)


def _mapping(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def map_async(self: Any, *args: Any, **kwargs: Any) -> Any:
        use: Submission | None = self.__dict__.pop(_ATTRIBUTE, None)
        if use is not None:
            use.settle()
        return original(self, *args, **kwargs)

    return map_async


def _asking(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def on_submitted_work_done_async(self: Any) -> Any:
        device: NativeDevice | None = known_device(self._device)
        if device is not None:
            device.settle()
        return original(self)

    return on_submitted_work_done_async
