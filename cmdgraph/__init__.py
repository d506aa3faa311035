"""Command graphs for WebGPU compute in Python: capture once, prove once, replay in one submit.

    import cmdgraph                       # before bind groups are made: it notes what objects are made of

    with cmdgraph.capture() as graph:     # recorded, checked, not run
        model(x)
    graph.replay()                        # one submit, does not wait

See README.md for the whole picture.
"""

from cmdgraph import _setup as _setup
from cmdgraph.capture import capture
from cmdgraph.container import FileLimits
from cmdgraph.errors import (
    BackendError,
    CaptureError,
    CommandGraphError,
    DestroyedError,
    DeviceLostError,
    EmptyCaptureError,
    GraphFormatError,
    GuardError,
    ImplementationError,
    InvalidatedError,
    MappedError,
    NativeError,
    NestedCaptureError,
    NothingCapturedError,
    ProfileError,
    ReleasedError,
    SaveError,
    UnknownObjectError,
    UpdateError,
    ValidationError,
    ViewError,
)
from cmdgraph.graph import CommandGraph, Stats
from cmdgraph.graphed import GraphLimitWarning, graphed
from cmdgraph.guarding import guard
from cmdgraph.loading import load
from cmdgraph.native import enable_native
from cmdgraph.program import ClearBuffer, CopyBuffer, Dispatch, DispatchIndirect, Node, WriteBuffer
from cmdgraph.replay import NativeFallbackWarning
from cmdgraph.view.profile import Profile

__all__ = [
    "BackendError",
    "CaptureError",
    "ClearBuffer",
    "CommandGraph",
    "CommandGraphError",
    "CopyBuffer",
    "DestroyedError",
    "DeviceLostError",
    "Dispatch",
    "DispatchIndirect",
    "EmptyCaptureError",
    "FileLimits",
    "GraphFormatError",
    "GraphLimitWarning",
    "GuardError",
    "ImplementationError",
    "InvalidatedError",
    "MappedError",
    "NativeError",
    "NativeFallbackWarning",
    "NestedCaptureError",
    "Node",
    "NothingCapturedError",
    "Profile",
    "ProfileError",
    "ReleasedError",
    "SaveError",
    "Stats",
    "UnknownObjectError",
    "UpdateError",
    "ValidationError",
    "ViewError",
    "WriteBuffer",
    "__version__",
    "capture",
    "enable_native",
    "graphed",
    "guard",
    "load",
]

__version__ = "0.1.0"

for _name in __all__:
    if hasattr(globals()[_name], "__module__"):
        globals()[_name].__module__ = __name__  # tracebacks show cmdgraph.DestroyedError, not a private path
