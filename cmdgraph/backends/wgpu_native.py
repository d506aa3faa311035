"""wgpu-native through wgpu-py (`wgpu.backends.wgpu_native`): cffi in ABI mode, errors by a per-thread handler.

wgpu-native aborts the process when something invalid is submitted, so its error scope raises a flag that is tested
between `finish` and `submit`. wgpu-py's error handler keeps a stack of slots per thread and stores a message in the top
one; the scope puts a slot there that also raises the flag.
"""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any

from attrs import frozen

from cmdgraph import wgsl
from cmdgraph.backends.base import FUNCTIONS, Backend, ErrorScope, Functions

__all__ = ["WgpuNative"]

MODULE = "wgpu.backends.wgpu_native._api"
_DIRECTIVE = re.compile(r"^[ \t]*(enable|requires)\s+([\w\s,]+);[ \t]*\n?", re.MULTILINE)
_UNKNOWN_TO_NAGA = {"subgroups", "immediate_address_space"}
_IMMEDIATE = re.compile(r"\bvar\s*<\s*immediate\s*>")


@frozen(eq=False)
class WgpuNative(Backend):
    name = "wgpu-native"
    immediates_feature = "immediates"

    @property
    def _ffi(self) -> Any:
        return self.api.ffi

    @property
    def _lib(self) -> Any:
        return self.api.lib

    def _functions(self) -> Functions:
        calls = {name: getattr(self._lib, native) for name, native in FUNCTIONS.items()}
        submit = self._lib.wgpuQueueSubmitForIndex
        return Functions(
            calls=calls,
            addresses={name: self._integer(call) for name, call in calls.items()},
            null=self._ffi.NULL,
            cast=self._ffi.cast,
            submit_for_index=submit,
            submit_for_index_address=self._integer(submit),
        )

    def function_address(self, name: str) -> int:
        return self._integer(getattr(self._lib, name))

    def address(self, obj: Any) -> int:
        return self._integer(obj._internal)

    def _integer(self, pointer: Any) -> int:
        return int(self._ffi.cast("uintptr_t", pointer))

    def error_scope(self) -> ErrorScope:
        return _Scope(self.api)

    def ticket(self, queue: Any, submission: int) -> Any:
        del queue
        return submission

    def wait(self, device: Any, ticket: Any) -> None:
        if device._internal is not None:
            self._lib.wgpuDevicePoll(device._internal, True, self._ffi.new("WGPUSubmissionIndex *", ticket))

    def tend(self, device: Any) -> None:
        if device._internal is not None:
            self._lib.wgpuDevicePoll(device._internal, False, self._ffi.NULL)

    def timestamp_period_ns(self, device: Any) -> float:
        return float(self._lib.wgpuQueueGetTimestampPeriod(device.queue._internal))

    def lost_bytes(self, dispatches: int) -> int:
        return 4096 + 900 * dispatches  # 0.6 to 0.85 MB were measured for 900 dispatches, wgpu-native 29

    def standard_feature(self, name: str) -> str:
        return {"subgroup": "subgroups"}.get(name, name)

    def standard_wgsl(self, code: str) -> str:
        subgroups = any(map(wgsl.SUBGROUP.match, wgsl.tokens(code)))
        if _IMMEDIATE.search(code):
            code = f"requires immediate_address_space;\n{code}"
        return f"enable subgroups;\n{code}" if subgroups else code

    def own_wgsl(self, code: str) -> str:
        """Without the directives that naga does not know (wgpu-native 29)."""
        return _DIRECTIVE.sub(_known_to_naga, code)

    def version(self) -> str:
        from wgpu.backends.wgpu_native import __version__  # not at import: this file must not load the library

        return __version__


def _known_to_naga(directive: re.Match[str]) -> str:
    names = [name.strip() for name in directive[2].split(",")]
    known = [name for name in names if name not in _UNKNOWN_TO_NAGA]
    if known == names:
        return directive[0]
    return f"{directive[1]} {', '.join(known)};\n" if known else ""


class _Slot:
    """A slot of wgpu-py's error handler that keeps the first message and raises a C flag with it."""

    def __init__(self, name: str, flag: Any) -> None:
        self.name = name
        self.type: str | None = None
        self.first: str | None = None
        self._flag = flag

    @property
    def message(self) -> str | None:
        return None  # the handler logs a message that it finds here before it stores the next

    @message.setter
    def message(self, text: str) -> None:
        self._flag[0] = 1
        if self.first is None:
            self.first = text


class _Scope(ErrorScope):
    def __init__(self, api: ModuleType) -> None:
        self._handler = api.error_handler
        flag = api.ffi.new("int *", 0)
        self._slot = _Slot("cmdgraph", flag)
        self.flag = int(api.ffi.cast("uintptr_t", flag))

    def __enter__(self) -> ErrorScope:
        self._handler._get_proxy_stack().append(self._slot)
        return self

    def __exit__(self, *exc: object) -> None:
        self._handler._get_proxy_stack().remove(self._slot)

    def error(self) -> str | None:
        return self._slot.first
