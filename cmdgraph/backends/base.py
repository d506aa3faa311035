"""What every backend offers, and the parts that are the same for all."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from types import ModuleType
from typing import Any, ClassVar

from attrs import field, frozen

from cmdgraph.errors import BackendError

__all__ = ["FUNCTIONS", "Backend", "ErrorScope", "Functions"]

FUNCTIONS = {
    "create_command_encoder": "wgpuDeviceCreateCommandEncoder",
    "begin_compute_pass": "wgpuCommandEncoderBeginComputePass",
    "set_pipeline": "wgpuComputePassEncoderSetPipeline",
    "set_bind_group": "wgpuComputePassEncoderSetBindGroup",
    "set_immediates": "wgpuComputePassEncoderSetImmediates",
    "dispatch_workgroups": "wgpuComputePassEncoderDispatchWorkgroups",
    "dispatch_workgroups_indirect": "wgpuComputePassEncoderDispatchWorkgroupsIndirect",
    "end_pass": "wgpuComputePassEncoderEnd",
    "release_pass": "wgpuComputePassEncoderRelease",
    "copy_buffer_to_buffer": "wgpuCommandEncoderCopyBufferToBuffer",
    "clear_buffer": "wgpuCommandEncoderClearBuffer",
    "finish": "wgpuCommandEncoderFinish",
    "release_encoder": "wgpuCommandEncoderRelease",
    "submit": "wgpuQueueSubmit",
    "release_command_buffer": "wgpuCommandBufferRelease",
}
"""Our names for the functions of webgpu.h that a replay calls, in the order of the walker's table."""


@frozen(eq=False)
class Functions:
    """Native functions by our names: as cffi callables for the Python loop, as addresses for the C walker.

    ``submit_for_index`` (wgpu-native) returns the number of the submission; None where there is no such function.
    """

    calls: dict[str, Any]
    addresses: dict[str, int]
    null: Any
    cast: Any
    submit_for_index: Any = None
    submit_for_index_address: int = 0


class ErrorScope(ABC):
    """Collects the errors that native calls on this thread report, instead of raising or logging them.

    ``flag`` is the address of a C int that becomes 1 at the first error, or 0 where a submit of something invalid
    raises instead of aborting, so that nobody need look in between.
    """

    flag: int = 0

    @abstractmethod
    def __enter__(self) -> ErrorScope: ...

    @abstractmethod
    def __exit__(self, *exc: object) -> None: ...

    @abstractmethod
    def error(self) -> str | None:
        """The first error's text; None if there was none."""

    def failed(self) -> bool:
        return self.error() is not None


@frozen(eq=False)
class Backend(ABC):
    """One WebGPU implementation behind wgpu-py's API."""

    api: ModuleType
    functions: Functions = field(init=False)

    name = "WebGPU"
    immediates_feature: ClassVar[str | None] = None
    """The feature that a device must be made with before shaders may have immediates, where there is one."""
    repeats_indirect = True
    """Whether what an indirect dispatch was recorded as can run again."""

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "functions", self._functions())

    @abstractmethod
    def _functions(self) -> Functions: ...

    @abstractmethod
    def function_address(self, name: str) -> int:
        """Where the function of webgpu.h with that name lies."""

    @abstractmethod
    def address(self, obj: Any) -> int:
        """The native handle of a GPU object."""

    @abstractmethod
    def error_scope(self) -> ErrorScope: ...

    @abstractmethod
    def ticket(self, queue: Any, submission: int) -> Any:
        """Something to `wait` for: the work submitted so far. ``submission`` is what submit_for_index gave, or 0."""

    @abstractmethod
    def wait(self, device: Any, ticket: Any) -> None:
        """Blocks, without the GIL, until the work of `ticket` is done."""

    def started(self) -> bool:
        """Whether the implementation has looked for drivers already."""
        return sys.modules[f"{self.api.__package__}._helpers"]._the_instance is not None

    def tend(self, device: Any) -> None:
        """Lets the implementation clean up after finished work, without waiting for any."""
        del device

    @abstractmethod
    def version(self) -> str:
        """The implementation's version."""

    def standard_feature(self, name: str) -> str:
        """What WebGPU calls a feature that this implementation may call something else."""
        return name

    def standard_wgsl(self, code: str) -> str:
        """WGSL as the specification has it, from code that this implementation takes."""
        return code

    def own_wgsl(self, code: str) -> str:
        """WGSL that this implementation takes, from code as the specification has it."""
        return code

    def encodes_on_threads(self, device: Any) -> bool:
        """Whether commands may be encoded on another thread while this one makes other calls of `device`."""
        del device
        return True

    def timestamp_period_ns(self, device: Any) -> float:
        """Nanoseconds that a step of a resolved timestamp stands for: 1, as WebGPU has it."""
        del device
        return 1.0

    def without_validation(self, device: Any) -> Any:
        """Another device on the same adapter with the same features, that checks nothing.

        Raises:
            BackendError: the implementation always checks.
        """
        del device
        raise BackendError(f"{self.name} has no switch that turns its validation off")

    def lost_bytes(self, dispatches: int) -> int:
        """What the implementation never gives back of a finished command buffer that is dropped, about."""
        del dispatches
        return 0

    def lost(self, device: Any) -> str | None:
        """Why the device is lost, where the implementation tells; None otherwise."""
        del device
        return None

    def is_loss(self, message: str) -> bool:
        """Whether an error text says that the device is lost."""
        return "lost" in message.lower() and "device" in message.lower()
