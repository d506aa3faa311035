"""The phases of a dispatch from C: the same calls as the public API's, without Python and its wrappers."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from attrs import define, field

from cmdgraph.backends import backend_of

__all__ = ["CLOCKS", "NativePhases", "why_absent"]

CLOCKS = ("none", "wall", "cpu")
"""What is read between the calls; "cpu" is the calling thread's CPU time. In the order of `cmdgraph_clock`."""

_FUNCTIONS = (
    "wgpuDeviceCreateBindGroup",
    "wgpuDeviceCreateCommandEncoder",
    "wgpuCommandEncoderBeginComputePass",
    "wgpuComputePassEncoderSetPipeline",
    "wgpuComputePassEncoderSetBindGroup",
    "wgpuComputePassEncoderDispatchWorkgroups",
    "wgpuComputePassEncoderEnd",
    "wgpuCommandEncoderFinish",
    "wgpuQueueSubmit",
    "wgpuCommandBufferRelease",
    "wgpuComputePassEncoderRelease",
    "wgpuCommandEncoderRelease",
    "wgpuBindGroupRelease",
)
"""In the order of `cmdgraph_calls` in phases.h."""


def why_absent() -> str | None:
    """Why the compiled module is not there; None when it is."""
    try:
        import_module("cmdgraph.bench._phases")
    except ImportError as error:
        return f"not compiled ({error}); install a C compiler and Python's headers, then install cmdgraph again"
    return None


@define(eq=False)
class NativePhases:
    """Runs operations on a device from C. `operations` are (pipeline, layout, buffers); each buffer is bound whole, at
    the bindings 0, 1, 2, ...
    """

    device: Any
    operations: Sequence[tuple[Any, Any, Sequence[Any]]]
    _module: Any = field(init=False)
    _table: Any = field(init=False)
    _array: Any = field(init=False)
    _keep: list[Any] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self._module = import_module("cmdgraph.bench._phases")
        ffi, backend = self._module.ffi, backend_of(self.device)
        table = ffi.new("void *[]", [ffi.cast("void *", backend.function_address(name)) for name in _FUNCTIONS])
        assert ffi.sizeof(table) == ffi.sizeof("cmdgraph_calls")
        self._keep.append(table)
        self._table = ffi.cast("cmdgraph_calls *", table)
        self._array = ffi.new("cmdgraph_operation[]", len(self.operations))
        for row, (pipeline, layout, buffers) in zip(self._array, self.operations, strict=True):
            row.pipeline = ffi.cast("void *", backend.address(pipeline))
            row.descriptor = ffi.cast("void *", self._descriptor(layout, buffers))

    def run(self, clock: str) -> np.ndarray:
        """Submits every operation; the ns that each of the 10 phases took in all, and the whole. Does not wait.

        `clock` is one of `CLOCKS`; by "none" all are 0.
        """
        ffi, backend = self._module.ffi, backend_of(self.device)
        ns = np.zeros(11, np.uint64)
        handles = (ffi.cast("void *", backend.address(obj)) for obj in (self.device, self.device.queue))
        with backend.error_scope() as scope:
            self._module.lib.cmdgraph_time_phases(
                self._table,
                *handles,
                self._array,
                len(self._array),
                CLOCKS.index(clock),
                ffi.cast("uint64_t *", ns.ctypes.data),
            )
        if (text := scope.error()) is not None:
            raise RuntimeError(text)
        return ns

    def _descriptor(self, layout: Any, buffers: Sequence[Any]) -> int:
        """A WGPUBindGroupDescriptor, in the memory of the implementation's own cffi."""
        ffi = backend_of(self.device).api.ffi
        entries = ffi.new("WGPUBindGroupEntry[]", len(buffers))
        for number, (entry, buffer) in enumerate(zip(entries, buffers, strict=True)):
            entry.binding, entry.buffer, entry.size = number, buffer._internal, buffer.size
        descriptor = ffi.new("WGPUBindGroupDescriptor *")
        descriptor.layout, descriptor.entryCount, descriptor.entries = layout._internal, len(buffers), entries
        self._keep += [entries, descriptor]
        return int(ffi.cast("uintptr_t", descriptor))
