"""`with cmdgraph.capture() as graph:` the calls inside become the nodes of a graph."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from cmdgraph import validation
from cmdgraph.backends import backend_of
from cmdgraph.errors import (
    CaptureError,
    EmptyCaptureError,
    NestedCaptureError,
)
from cmdgraph.graph import CommandGraph
from cmdgraph.liveness import refuse_dead, state_of
from cmdgraph.objects import describe
from cmdgraph.program import Node, Place, Program, WriteBuffer
from cmdgraph.recording import EncoderRecorder, caller, encoders, hooks, written_bytes

__all__ = ["Capture", "capture"]


def capture(device: Any = None, *, name: str | None = None, execute: bool = False) -> Capture:
    """Records the GPU work that the code inside the `with` block submits on this thread.

    Nothing runs unless `execute` is true. Commands become nodes when their encoder is submitted, in queue order, with
    the `write_buffer` calls around them where they were made. Every command is checked when it is recorded, and the
    implementation checks all of them once more when the block ends. A block that raises leaves nothing behind.

    Args:
        device: the device to record. Without one the first device that is used; a second one is refused.
        name: what messages call the graph.
        execute: also run the calls while recording them, for code that reads results in the middle. What `read_buffer`
            does is not recorded.

    Raises, inside or at the end of the block:
        NestedCaptureError: a capture is active on this thread already.
        EmptyCaptureError: nothing was recorded.
        CaptureError: an encoder from before the block, one left unsubmitted, a synchronisation, a command no node
            stands for.
        ValidationError: a command breaks a rule of WebGPU.
        InvalidatedError: a buffer in use is destroyed or mapped.
    """
    return Capture(device, name, execute)


class Capture:
    """The context that `capture` gives, and what the replaced methods of wgpu-py call meanwhile."""

    def __init__(self, device: Any, name: str | None, execute: bool) -> None:
        if device is not None:
            backend_of(device)
        self._device = device
        self._given = device is not None
        self._execute = execute
        self._graph = CommandGraph(name)
        self._nodes: list[Node] = []
        self._encoders: list[EncoderRecorder] = []
        self._begun: Place | None = None
        self._stack = ExitStack()

    # -- the context ------------------------------------------------------------------------------------------------

    def __enter__(self) -> CommandGraph:
        outer = hooks.capturing()
        if outer is not None:
            begun = outer._begun if isinstance(outer, Capture) else "an unknown place"
            raise NestedCaptureError(
                f"a capture is already active on this thread, begun at {begun}; end it first, or capture on another "
                "thread"
            )
        if self._begun is not None:
            raise CaptureError("this capture context was used before; call cmdgraph.capture() again")
        self._begun = caller()
        self._graph._leave_empty("its capture has not ended yet; replay after the `with` block")
        self._stack.enter_context(hooks.active(self))
        return self._graph

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        self._graph._leave_empty(f"the code inside its capture raised {kind.__name__ if kind else 'an error'}")
        if error is not None:
            return
        try:
            self._refuse_unsubmitted()
            self._refuse_empty()
            self._graph._fill(Program(self._device, tuple(self._nodes)))
        except Exception as failure:
            self._graph._leave_empty(f"its capture failed ({failure})")
            raise

    def _refuse_unsubmitted(self) -> None:
        for encoder in self._encoders:
            if encoder.state not in ("submitted", "broken"):
                label = f' "{encoder.label}"' if encoder.label else ""
                raise CaptureError(
                    f"the command encoder{label} made at {encoder.begun} was not submitted inside the capture "
                    f"(it is {encoder.state}, with {len(encoder.nodes)} commands); submit it, or make it after the "
                    "capture"
                )

    def _refuse_empty(self) -> None:
        if not self._nodes:
            cause = f"{describe(self._device)}" if self._given else "any device"
            raise EmptyCaptureError(
                f"the capture begun at {self._begun} recorded 0 dispatches and no other command: nothing was "
                f"submitted to {cause} on this thread inside the block. Likely causes: the work ran on another "
                "thread, or before the block, or through a library that does not use wgpu-py"
            )

    # -- calls inside the block -------------------------------------------------------------------------------------

    def create_command_encoder(self, original: Callable[..., Any], device: Any, label: str) -> Any:
        self._take_device(device)
        recorder = EncoderRecorder(device, label, caller(), self._nodes)
        self._encoders.append(recorder)
        cls = encoders.classes(backend_of(device).api, live=self._execute)[0]
        if self._execute:
            return encoders.enliven(original(device, label=label), cls, recorder)
        return encoders.recorded(cls, label, device, recorder)

    def submit(self, original: Callable[..., Any], queue: Any, command_buffers: Sequence[Any]) -> None:
        self._take_device(queue._device)
        command_buffers = list(command_buffers)
        recorders = [self._recorder_of(buffer) for buffer in command_buffers]
        for position, recorder in enumerate(recorders):
            if recorder.state != "finished" or recorder in recorders[:position]:
                raise CaptureError(
                    f"submit() of a command buffer that was submitted before; each can be submitted once (its encoder "
                    f"was made at {recorder.begun})"
                )
        if self._execute:
            nodes = tuple(node for recorder in recorders for node in recorder.nodes)
            self._run(queue, Program(self._device, nodes), lambda: original(queue, command_buffers))
        for recorder in recorders:
            recorder.state = "submitted"
            self._nodes += recorder.nodes

    def write_buffer(
        self,
        original: Callable[..., Any],
        queue: Any,
        buffer: Any,
        buffer_offset: int,
        data: Any,
        data_offset: int = 0,
        size: int | None = None,
    ) -> None:
        self._take_device(queue._device)
        written, address = written_bytes(buffer, buffer_offset, data, data_offset, size)
        start = operator.index(buffer_offset)
        node = WriteBuffer(place=caller(), buffer=buffer, offset=start, data=written, address=address)
        validation.require(node, self._device, len(self._nodes))
        if self._execute:
            self._run(queue, Program(self._device, (node,)), lambda: original(queue, buffer, node.offset, node.data))
        self._nodes.append(node)

    def synchronise(self, original: Callable[..., Any], name: str, obj: Any, *args: Any, **kwargs: Any) -> Any:
        """read_buffer, map_async and the like: refused, unless the capture executes."""
        writes = name == "map_async" and str(args[0] if args else kwargs.get("mode")).upper() in ("WRITE", "2")
        if not self._execute and not writes:
            raise CaptureError(
                f"{name}() inside a capture: the commands before it are recorded, not run, so it would read old "
                "contents. Read after replay(), or use capture(execute=True)"
            )
        state = state_of(obj._device)
        with state.lock, hooks.stepping_aside():  # nobody destroys the buffer before it has been read
            state.refuse_lost(obj._device)
            if name == "read_buffer":
                refuse_dead(args[0] if args else kwargs["buffer"], name)
            return original(obj, *args, **kwargs)

    def unsupported(self, original: Callable[..., Any], name: str, obj: Any, *args: Any, **kwargs: Any) -> Any:
        del original, obj, args, kwargs
        raise CaptureError(
            f"{name}() cannot be recorded: a graph holds no texture uploads. Call it outside the capture"
        )

    # -- inside -----------------------------------------------------------------------------------------------------

    def _take_device(self, device: Any) -> None:
        if self._device is None:
            self._device = device
        elif self._device is not device:
            which = "the one given to capture()" if self._given else "the first one used"
            raise CaptureError(
                f"{describe(device)} is used inside the capture of another device, {which}: {describe(self._device)}. "
                "A graph belongs to one device; capture each device on its own"
            )

    def _recorder_of(self, command_buffer: Any) -> EncoderRecorder:
        recorder = getattr(command_buffer, "_cmdgraph", None)
        if not isinstance(recorder, EncoderRecorder) or recorder.before is not self._nodes:
            raise CaptureError(
                "submit() inside a capture of a command buffer whose encoder was begun outside of it (before the "
                "capture, on another thread, or by a method looked up before the capture). Make the encoder inside "
                "the block"
            )
        return recorder

    def _run(self, queue: Any, program: Program, call: Callable[[], None]) -> None:
        """Runs one real call, after making sure that it cannot abort the process."""
        state = state_of(queue._device)
        with state.submission(), hooks.stepping_aside():
            state.refuse_lost(queue._device)
            for resource in program.resources().values():
                refuse_dead(resource, "submit")
            call()
