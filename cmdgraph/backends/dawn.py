"""Dawn through wgpudawn (`wgpudawn.backends.dawn`): cffi in API mode, errors in one list that the calls fill.

Dawn raises instead of aborting when something invalid is submitted, so nobody need look between `finish` and `submit`.
Its objects are not safe for use from several threads at once: the device's lock around submits also serves for that.
"""

from __future__ import annotations

from typing import Any

from attrs import frozen

from cmdgraph.backends.base import FUNCTIONS, Backend, ErrorScope, Functions

__all__ = ["Dawn"]

MODULE = "wgpudawn.backends.dawn._api"


@frozen(eq=False)
class Dawn(Backend):
    name = "Dawn"
    repeats_indirect = False

    def _functions(self) -> Functions:
        lib, ffi = self.api.lib, self.api.ffi
        return Functions(
            calls={name: getattr(lib, native) for name, native in FUNCTIONS.items()},
            addresses={name: self.function_address(native) for name, native in FUNCTIONS.items()},
            null=ffi.NULL,
            cast=ffi.cast,
        )

    def function_address(self, name: str) -> int:
        return int(self.api.ffi.cast("uintptr_t", self.api.ffi.addressof(self.api.lib, name)))

    def address(self, obj: Any) -> int:
        return int(self.api.ffi.cast("uintptr_t", obj._internal))

    def error_scope(self) -> ErrorScope:
        return _Scope(self.api.error_handler)

    def ticket(self, queue: Any, submission: int) -> Any:
        del submission
        return queue.on_submitted_work_done_async()

    def wait(self, device: Any, ticket: Any) -> None:
        del device
        ticket.sync_wait()

    def encodes_on_threads(self, device: Any) -> bool:
        return "implicit-device-synchronization" in device.features

    def without_validation(self, device: Any) -> Any:
        import wgpudawn
        from wgpudawn.backends.dawn import extras

        # An adapter gives one device only: the same one is asked for anew.
        adapters = wgpudawn.gpu.enumerate_adapters_sync()
        adapter = next(each for each in adapters if dict(each.info) == dict(device.adapter.info))
        return extras.request_device_sync(
            adapter, required_features=sorted(device.features), enable_toggles=["skip_validation"]
        )

    def version(self) -> str:
        from wgpudawn.backends.dawn import __version__

        return __version__

    def lost(self, device: Any) -> str | None:
        promise = getattr(device, "_lost_promise", None)
        if promise is None or promise._state == "pending":
            return None
        info = promise._value
        return f"was lost ({getattr(info, 'reason', 'unknown')}: {getattr(info, 'message', '')})"


class _Scope(ErrorScope):
    def __init__(self, handler: Any) -> None:
        self._pending = handler.pending
        self._first: str | None = None
        self._before: list[Any] = []

    def __enter__(self) -> ErrorScope:
        self._before = self._pending[:]
        self._pending.clear()
        return self

    def __exit__(self, *exc: object) -> None:
        self._collect()
        self._pending[:0] = self._before

    def error(self) -> str | None:
        self._collect()
        return self._first

    def _collect(self) -> None:
        if self._pending:
            if self._first is None:
                self._first = self._pending[0][1]
            self._pending.clear()
