"""`cmdgraph.guard(device)`: eager calls that would abort the process raise an error instead.

wgpu-native aborts when something invalid is submitted: a destroyed or mapped buffer, a command buffer twice or of
another device, anything after the device was destroyed. A guard notes what each encoder of its device uses and looks
at it before each submit, under the lock that destroy and map take. It costs a few microseconds a call, so it is off
unless asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from attrs import define, field

from cmdgraph.backends import backend_of
from cmdgraph.errors import GuardError
from cmdgraph.liveness import destroyed_error, is_destroyed, refuse_dead, state_of
from cmdgraph.objects import describe
from cmdgraph.recording import encoders, hooks

__all__ = ["Guard", "guard"]


def guard(device: Any) -> Guard:
    """Guards all eager work of `device`, on every thread, until the result's `release()` or the end of a `with` block.

    What it stops: submits that use a destroyed or mapped buffer or a destroyed texture, the same command buffer twice,
    a command buffer of another device, submits and reads after the device was destroyed, `read_buffer` of a destroyed
    or mapped buffer. Encoders made before the guard, and resources of render passes, are not seen.

    Raises (from the guarded calls):
        DestroyedError, MappedError, DeviceLostError: what was used is gone; nothing was submitted.
        GuardError: a command buffer twice, or of another device.
    """
    return Guard(device)


class Guard:
    """What `guard` gives. Use it as a context manager or call `release()`."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._classes = encoders.classes(backend_of(device).api, live=True)
        self._stack: ExitStack | None = None
        if getattr(device, "_cmdgraph_guard", None) is not None:
            raise GuardError(f"{describe(device)} is guarded already; release the other guard first")
        self._stack = ExitStack()
        self._stack.enter_context(hooks.installed())
        device._cmdgraph_guard = self

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()

    def release(self) -> None:
        """Ends the guard. May be called more than once."""
        if self._stack is not None:
            self._device._cmdgraph_guard = None
            self._stack.close()
            self._stack = None

    # -- calls of the guarded device --------------------------------------------------------------------------------

    def create_command_encoder(self, original: Callable[..., Any], device: Any, label: str) -> Any:
        return encoders.enliven(original(device, label=label), self._classes[0], _Log())

    def submit(self, original: Callable[..., Any], queue: Any, command_buffers: Sequence[Any]) -> None:
        command_buffers = list(command_buffers)
        state = state_of(self._device)
        with state.submission():
            state.refuse_lost(self._device)
            for position, buffer in enumerate(command_buffers):
                self._refuse_reuse(buffer, command_buffers[:position])
                log = getattr(buffer, "_cmdgraph", None)
                for resource in log.resources() if isinstance(log, _Log) else ():
                    refuse_dead(resource, "submit")
            original(queue, command_buffers)
            for buffer in command_buffers:
                buffer._cmdgraph_submitted = True

    def write_buffer(self, original: Callable[..., Any], queue: Any, *args: Any, **kwargs: Any) -> None:
        with self._unlost():
            original(queue, *args, **kwargs)  # raises by itself for destroyed and mapped buffers

    def synchronise(self, original: Callable[..., Any], name: str, obj: Any, *args: Any, **kwargs: Any) -> Any:
        with self._unlost():  # and nobody destroys the buffer before it has been read
            if name == "read_buffer":
                refuse_dead(args[0] if args else kwargs["buffer"], name)
            if name == "map_async" and is_destroyed(obj):
                raise destroyed_error(obj, "map_async() was called on it")
            return original(obj, *args, **kwargs)

    def unsupported(self, original: Callable[..., Any], name: str, obj: Any, *args: Any, **kwargs: Any) -> Any:
        del name
        with self._unlost():
            return original(obj, *args, **kwargs)

    # -- inside -----------------------------------------------------------------------------------------------------

    @contextmanager
    def _unlost(self) -> Iterator[None]:
        """Holds the device's lock; raises if the device is lost."""
        state = state_of(self._device)
        with state.lock:
            state.refuse_lost(self._device)
            yield

    def _refuse_reuse(self, buffer: Any, before: Sequence[Any]) -> None:
        if buffer._device is not self._device:
            raise GuardError(
                f"submit() of {describe(buffer)}, which belongs to {describe(buffer._device)}; submit it to that "
                "device's queue"
            )
        if getattr(buffer, "_cmdgraph_submitted", False) or any(b is buffer for b in before):
            raise GuardError(f"submit() of {describe(buffer)} a second time; a command buffer can be submitted once")


@define(eq=False)
class _Log:
    """What one encoder uses. Takes the same calls as a recorder and checks nothing: the implementation does."""

    _found: dict[int, Any] = field(factory=dict)

    def resources(self) -> list[Any]:
        return list(self._found.values())

    def use(self, *resources: Any) -> None:
        self._found.update((id(r), r) for r in resources)

    @property
    def encoder(self) -> _Log:
        return self

    def begin_pass(self, label: str = "", timestamp_writes: Any = None) -> _Log:
        del label, timestamp_writes
        return self

    def set_bind_group(self, index: int, group: Any, offsets: Sequence[int]) -> None:
        del index, offsets
        record = getattr(group, "_cmdgraph_record", None)
        for binding, _ in record.accesses if record is not None else ():
            self.use(binding.resource if binding.is_buffer else binding.resource.texture)

    def dispatch_indirect(self, buffer: Any, offset: int) -> None:
        del offset
        self.use(buffer)

    def copy(
        self, source: Any, source_offset: int, destination: Any, destination_offset: int, size: int | None
    ) -> None:
        del source_offset, destination_offset, size
        self.use(source, destination)

    def clear(self, buffer: Any, offset: int, size: int | None) -> None:
        del offset, size
        self.use(buffer)

    def unsupported(self, call: str) -> None:
        """Commands that a graph cannot hold are fine in eager code."""
        del call

    def _ignore(self, *arguments: Any) -> None:
        del arguments

    set_pipeline = set_immediates = dispatch = end = finish = push_group = pop_group = mark = _ignore
