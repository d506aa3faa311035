"""The native layer: replays without a WebGPU call, under an unmodified implementation. Optional: `make native`.

A Vulkan layer (`layer/`, in C) sits between the implementation and the driver. While a thread is armed it notes the
commands that the implementation records, forwards them, and afterwards builds a command buffer of its own from them. A
replay is then one vkQueueSubmit on the same queue: no validation, no encoding, nothing of WebGPU at all. It is what an
implementation of the proposed extension would do.

`places` say where it lies, `build` compiles it, `enabling` has the loader load it, `library` calls it; `recording` and
`device` wrap what it hands out, `completion` closes the gap between what the implementation believes done and what is.
"""

from cmdgraph.native.completion import note_use
from cmdgraph.native.device import NativeDevice, Submission, device_of
from cmdgraph.native.enabling import enable_if_asked, enable_native, enabled
from cmdgraph.native.recording import Action, NativeGraph, Recording, Refused

__all__ = [
    "Action",
    "NativeDevice",
    "NativeGraph",
    "Recording",
    "Refused",
    "Submission",
    "device_of",
    "enable_if_asked",
    "enable_native",
    "enabled",
    "note_use",
]
