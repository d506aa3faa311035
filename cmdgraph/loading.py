"""`cmdgraph.load`: a graph from a file."""

from __future__ import annotations

import os
from typing import Any

from cmdgraph import container
from cmdgraph.backends import backend_of
from cmdgraph.container import FileLimits
from cmdgraph.errors import CaptureError, GraphFormatError, ImplementationError
from cmdgraph.graph import CommandGraph
from cmdgraph.liveness import state_of
from cmdgraph.recording import hooks

__all__ = ["load"]


def load(path: str | os.PathLike[str], device: Any, *, limits: FileLimits | None = None) -> CommandGraph:
    """The graph that `CommandGraph.save` wrote, on `device`, ready to be replayed.

    It replays as the saved one would have: its buffers hold what they held when it was saved. They are new buffers;
    find them by `graph.inputs` and `graph.outputs`, or name them by label (`graph.update`). The file may come from
    anywhere: every command is checked like one that is captured, and nothing stays on the device when it is refused.
    Replaying a stranger's shaders is another matter: they may take as long as they like.

    Args:
        path: a zip file or a folder.
        device: a device of wgpu-native or Dawn; the graph may come from either.
        limits: the most that the file may hold or ask for.

    Raises:
        GraphFormatError: the file is damaged, altered, over a limit, of another version, asks for a feature or limit
            that the device has not, or holds a command that breaks a rule of WebGPU; the message names the place.
        DeviceLostError: the device is destroyed or lost.
        CaptureError: called inside a capture.
        OSError: the file is not there, or cannot be read.
        ModuleNotFoundError: the packages of the extra `files` are not installed.
    """
    if hooks.capturing() is not None:
        raise CaptureError("cmdgraph.load() inside a capture; load before or after it")
    backend_of(device)
    state = state_of(device)
    with state.lock:
        state.refuse_lost(device)
    reading = container.module("reading")
    with hooks.stepping_aside():
        loaded = reading.read(path, device, limits or FileLimits())
        graph = CommandGraph(loaded.name)
        try:
            graph._fill(loaded.program)
        except ImplementationError as error:
            loaded.give_back()
            place = "/nodes" if error.node is None else f"/nodes/{error.node}"
            raise GraphFormatError.at(os.fspath(path), place, str(error)) from error
        except BaseException:
            loaded.give_back()
            raise
    return graph
