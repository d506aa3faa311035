"""Runs packed commands: in C where the compiled walker is there, otherwise in a Python loop over the same functions."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol

from attrs import define, field, frozen

from cmdgraph.backends import Backend, ErrorScope
from cmdgraph.backends.base import FUNCTIONS
from cmdgraph.replay.packed import Op, Packed

__all__ = ["Outcome", "Walker", "available", "make", "why_absent"]


def _load() -> tuple[ModuleType | None, str | None]:
    """The compiled module, or why it is not used."""
    if os.environ.get("CMDGRAPH_WALKER") == "python":
        return None, "CMDGRAPH_WALKER=python turns it off"
    try:
        return import_module("cmdgraph.replay._walker"), None
    except ImportError as error:
        return None, f"not compiled ({error}); install a C compiler and Python's headers, then install cmdgraph again"


_module, _reason = _load()


def available() -> bool:
    """Whether the compiled walker is there."""
    return _module is not None


def why_absent() -> str | None:
    """Why the compiled walker is not used; None when it is."""
    return _reason


@frozen
class Outcome:
    """How far a walk came: ``done`` commands, all of them unless an error stopped a submit."""

    done: int
    submission: int


class Walker(Protocol):
    """Runs packed commands on one device. Command buffers are native handles, as integers.

    Nothing is submitted of which `scope` has seen an error. One walker serves one thread at a time.
    """

    name: str

    def run(self, packed: Packed, scope: ErrorScope) -> Outcome:
        """Encodes and submits all of `packed`; stops before a submit when there was an error."""

    def encode(self, packed: Packed, scope: ErrorScope) -> int:
        """Encodes a `packed` with one submit without submitting it; 0 when there was an error."""

    def submit(self, buffers: Sequence[int]) -> int:
        """Submits finished command buffers in one call and gives them back; the number of the submission."""

    def drop(self, buffer: int) -> None:
        """Gives a finished command buffer back that will not be submitted."""


def make(kind: str, backend: Backend, device: Any) -> Walker:
    """A walker for one device: "c" or "python".

    Raises:
        ValueError: unknown kind, or "c" where the compiled walker is absent.
    """
    if kind == "python":
        return _PythonWalker(backend, device)
    if kind != "c":
        raise ValueError(f'unknown walker {kind!r}: choose "c" or "python"')
    if not available():
        raise ValueError(f'the "c" walker is absent ({why_absent()}); use "python"')
    return _CWalker(backend, device)


@define(eq=False)
class _CWalker:
    """One call for the whole array; the GIL is free meanwhile."""

    backend: Backend
    device: Any
    _ffi: Any = field(init=False)
    _lib: Any = field(init=False)
    _table: Any = field(init=False)
    _handles: tuple[Any, Any] = field(init=False)
    _submission: Any = field(init=False)

    name = "c"

    def __attrs_post_init__(self) -> None:
        assert _module is not None
        ffi = self._ffi = _module.ffi
        self._lib = _module.lib
        functions = self.backend.functions
        addresses = [functions.addresses[name] for name in FUNCTIONS] + [functions.submit_for_index_address]
        table = ffi.new("void *[]", [ffi.cast("void *", a) for a in addresses])
        assert ffi.sizeof(table) == ffi.sizeof("cmdgraph_functions")
        self._table = (ffi.cast("cmdgraph_functions *", table), table)
        device, queue = self.backend.address(self.device), self.backend.address(self.device.queue)
        self._handles = (ffi.cast("void *", device), ffi.cast("void *", queue))
        self._submission = ffi.new("uint64_t *")

    def run(self, packed: Packed, scope: ErrorScope) -> Outcome:
        commands, flag = self._pointers(packed, scope)
        done = self._lib.cmdgraph_walk(self._table[0], *self._handles, commands, len(packed), flag, self._submission)
        return Outcome(done, self._submission[0])

    def encode(self, packed: Packed, scope: ErrorScope) -> int:
        commands, flag = self._pointers(packed, scope)
        buffer = self._lib.cmdgraph_encode(self._table[0], self._handles[0], commands, len(packed), flag)
        if scope.failed() and buffer:
            self._lib.cmdgraph_drop(self._table[0], buffer)
            return 0
        return int(self._ffi.cast("uintptr_t", buffer))

    def submit(self, buffers: Sequence[int]) -> int:
        array = self._ffi.new("void *[]", [self._ffi.cast("void *", buffer) for buffer in buffers])
        self._lib.cmdgraph_submit(self._table[0], self._handles[1], len(buffers), array, self._submission)
        return self._submission[0]

    def drop(self, buffer: int) -> None:
        self._lib.cmdgraph_drop(self._table[0], self._ffi.cast("void *", buffer))

    def _pointers(self, packed: Packed, scope: ErrorScope) -> tuple[Any, Any]:
        return self._ffi.cast("cmdgraph_command *", packed.address), self._ffi.cast("int *", scope.flag)


@define(eq=False)
class _PythonWalker:
    """The same in Python: one call of a native function per command."""

    backend: Backend
    device: Any
    _prepared: tuple[Packed | None, int, list[tuple[Any, ...]]] = field(default=(None, 0, []), init=False)

    name = "python"

    def run(self, packed: Packed, scope: ErrorScope) -> Outcome:
        rows = self._rows(packed)
        at, submission = 0, 0
        while at < len(rows):
            at, buffer = self._encode(rows, at)
            if scope.flag and scope.failed():
                self._release(buffer)
                return Outcome(at, submission)
            submission = self._submit([buffer])
            at += 1
        return Outcome(at, submission)

    def encode(self, packed: Packed, scope: ErrorScope) -> int:
        _, buffer = self._encode(self._rows(packed), 0)
        if scope.failed():
            self._release(buffer)
            return 0
        return int(self.backend.functions.cast("uintptr_t", buffer))

    def submit(self, buffers: Sequence[int]) -> int:
        cast = self.backend.functions.cast
        return self._submit([cast("void *", buffer) for buffer in buffers])

    def drop(self, buffer: int) -> None:
        self._release(self.backend.functions.cast("void *", buffer))

    def _encode(self, rows: list[tuple[Any, ...]], at: int) -> tuple[int, Any]:
        """Runs the commands of one encoder; the place of its SUBMIT and the finished command buffer."""
        call, null = self.backend.functions.calls, self.backend.functions.null
        set_pipeline, set_bind_group = call["set_pipeline"], call["set_bind_group"]
        dispatch = call["dispatch_workgroups"]
        encoder = call["create_command_encoder"](self.device._internal, null)
        compute = None
        for op, x, y, z, p, q, u, v, w in itertools.islice(rows, at + 1, None):
            at += 1
            if op == Op.DISPATCH:
                dispatch(compute, x, y, z)
            elif op == Op.GROUP:
                set_bind_group(compute, x, p, y, q)
            elif op == Op.PIPELINE:
                set_pipeline(compute, p)
            elif op == Op.SUBMIT:
                break
            elif op == Op.COPY:
                call["copy_buffer_to_buffer"](encoder, p, u, q, v, w)
            elif op == Op.CLEAR:
                call["clear_buffer"](encoder, p, u, w)
            elif op == Op.IMMEDIATES:
                call["set_immediates"](compute, x, q, y)
            elif op == Op.INDIRECT:
                call["dispatch_workgroups_indirect"](compute, p, u)
            elif op == Op.BEGIN_PASS:
                compute = call["begin_compute_pass"](encoder, null)
            elif op == Op.END_PASS:
                call["end_pass"](compute)
                call["release_pass"](compute)
        buffer = call["finish"](encoder, null)
        call["release_encoder"](encoder)
        return at, buffer

    def _submit(self, buffers: list[Any]) -> int:
        functions, queue = self.backend.functions, self.device.queue._internal
        submission = 0
        if functions.submit_for_index is None:
            functions.calls["submit"](queue, len(buffers), buffers)
        else:
            submission = functions.submit_for_index(queue, len(buffers), buffers)
        for buffer in buffers:
            self._release(buffer)
        return submission

    def _release(self, buffer: Any) -> None:
        if buffer != self.backend.functions.null:
            self.backend.functions.calls["release_command_buffer"](buffer)

    def _rows(self, packed: Packed) -> list[tuple[Any, ...]]:
        """The commands with pointers as cffi objects, made once for each array."""
        known, generation, rows = self._prepared
        if known is not packed or generation != packed.generation:
            cast = self.backend.functions.cast
            rows = [
                (Op(op), x, y, z, cast("void *", p), cast("uint32_t *" if op == Op.GROUP else "void *", q), u, v, w)
                for op, x, y, z, p, q, u, v, w in packed.commands.tolist()
            ]
            self._prepared = (packed, packed.generation, rows)
        return rows
