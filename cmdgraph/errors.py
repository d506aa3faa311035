"""What cmdgraph raises.

    CommandGraphError
    ├── CaptureError                 the capture context was misused
    │   ├── NestedCaptureError       a capture is already active on this thread
    │   ├── EmptyCaptureError        nothing was recorded
    │   └── UnknownObjectError       an object was made before cmdgraph was imported
    ├── ValidationError              a WebGPU rule is broken; also a ValueError
    │   └── ImplementationError      the implementation refused what our rules accepted
    ├── InvalidatedError             the graph can no longer be replayed
    │   ├── DestroyedError           a resource of the graph was destroyed
    │   ├── MappedError              a buffer of the graph is mapped at this moment
    │   ├── DeviceLostError          the device was destroyed or lost
    │   └── ReleasedError            the graph was released
    ├── NothingCapturedError         the graph has no program (yet)
    ├── UpdateError                  new contents do not fit; also a ValueError
    ├── ProfileError                 the device cannot tell the time, or a profile belongs to another graph
    ├── ViewError                    a graph cannot be written in that form or to that place
    ├── GraphFormatError             a saved graph is damaged, too large, or not for this device; also a ValueError
    ├── SaveError                    the graph holds something that a file cannot
    ├── GuardError                   an eager call that would abort the process was stopped
    ├── BackendError                 no implementation, or one that cmdgraph does not know
    └── NativeError                  the native layer is not built, not enabled in time, or does not load

Every message says what, where (node index, operation, bindings, labels) and what to do about it.
"""

from __future__ import annotations

__all__ = [
    "BackendError",
    "CaptureError",
    "CommandGraphError",
    "DestroyedError",
    "DeviceLostError",
    "EmptyCaptureError",
    "GraphFormatError",
    "GuardError",
    "ImplementationError",
    "InvalidatedError",
    "MappedError",
    "NativeError",
    "NestedCaptureError",
    "NothingCapturedError",
    "ProfileError",
    "ReleasedError",
    "SaveError",
    "UnknownObjectError",
    "UpdateError",
    "ValidationError",
    "ViewError",
]


class CommandGraphError(Exception):
    """The base of all errors of this library."""


class CaptureError(CommandGraphError):
    """The capture context was misused. Nothing of the failed capture is left behind."""


class NestedCaptureError(CaptureError):
    """A capture was entered while another one is active on the same thread."""


class EmptyCaptureError(CaptureError):
    """A capture ended without a single node."""


class UnknownObjectError(CaptureError):
    """A pipeline or bind group was made before ``import cmdgraph``, so its contents are not known."""


class ValidationError(CommandGraphError, ValueError):
    """A rule of the WebGPU specification is broken.

    Attributes:
        rule: name of the rule in `cmdgraph.validation`, or None.
        anchor: anchor of the rule in the WebGPU specification, or None.
        node: index of the node within its graph, or None when it had none yet.
        broken: names of all rules that the node breaks; `rule` is the first of them.
    """

    def __init__(
        self,
        message: str,
        *,
        rule: str | None = None,
        anchor: str | None = None,
        node: int | None = None,
        broken: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.anchor = anchor
        self.node = node
        self.broken = broken or (() if rule is None else (rule,))


class ImplementationError(ValidationError):
    """The dry run of a capture was refused by the WebGPU implementation itself."""


class InvalidatedError(CommandGraphError):
    """The graph can no longer be replayed; nothing was sent to the GPU."""


class DestroyedError(InvalidatedError):
    """A buffer or texture that the graph uses was destroyed."""


class MappedError(InvalidatedError):
    """A buffer that the graph uses is mapped, or a mapping is pending. Unmap it and replay again."""


class DeviceLostError(InvalidatedError):
    """The device of the graph was destroyed or lost."""


class ReleasedError(InvalidatedError):
    """The graph was released."""


class NothingCapturedError(CommandGraphError):
    """The graph holds no program: nothing captured yet, or its capture failed."""


class UpdateError(CommandGraphError, ValueError):
    """New contents for a buffer or node have the wrong size, dtype or place."""


class ProfileError(CommandGraphError):
    """A graph cannot be profiled on its device, or a profile belongs to another graph."""


class ViewError(CommandGraphError, ValueError):
    """A graph cannot be written in the form or to the place that was asked for."""


class GraphFormatError(CommandGraphError, ValueError):
    """A saved graph cannot be loaded: damaged, altered, too large, of another version, or not for this device.

    Attributes:
        file: the file or folder that was to be loaded.
        place: where in it: a JSON pointer into the manifest ("/nodes/3/buffer"), a tensor, or a file's name.
    """

    def __init__(self, message: str, *, file: str = "", place: str = "") -> None:
        super().__init__(message)
        self.file = file
        self.place = place

    @classmethod
    def at(cls, file: object, place: str, what: str) -> GraphFormatError:
        """The error for `what` is wrong at a place of a file, or with all of it (place "")."""
        where = f"{file}: {place}: " if place else f"{file}: "
        return cls(where + what, file=str(file), place=place)


class SaveError(CommandGraphError):
    """The graph cannot be saved: it uses something that a file does not hold. Nothing was written."""


class GuardError(CommandGraphError):
    """A guarded device was asked for an eager call that would abort the process."""


class BackendError(CommandGraphError):
    """The object belongs to no WebGPU implementation that cmdgraph knows."""


class NativeError(CommandGraphError):
    """The native layer cannot be used: not built, not enabled before the first adapter, or it does not load."""
