"""Turns a program into native commands: the one place where nodes become calls.

A strategy is a way of lowering. All of them keep the recorded order, except that writes may move to the head where
`hazards.leading_writes` allows it. Within a pass, state that is set already is not set again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cmdgraph.backends import Backend
from cmdgraph.hazards import leading_writes
from cmdgraph.program import (
    BoundGroup,
    ClearBuffer,
    CopyBuffer,
    Dispatch,
    DispatchIndirect,
    Node,
    WriteBuffer,
)
from cmdgraph.replay.constants import Constants
from cmdgraph.replay.packed import COMMAND, Op, Packed

__all__ = ["Nodes", "one_encoder_per_node", "one_pass"]

Nodes = Sequence[tuple[int, Node]]
"""Nodes with their indices in the program: all of it, or those that changed."""


def one_pass(nodes: Nodes, backend: Backend, constants: Constants, submits: int = 1) -> Packed:
    """One encoder and one submit; writes at the head where allowed; consecutive dispatches share a pass.

    With more `submits` the nodes are spread over as many encoders, so that the GPU starts while the rest is encoded.
    """
    emit = _Emitter(backend, constants)
    head = leading_writes([node for _, node in nodes])
    moved = set(head)
    rest = [pair for position, pair in enumerate(nodes) if position not in moved]
    emit.encoder()
    for position in head:
        emit.node(*nodes[position])
    cuts = {len(rest) * n // submits for n in range(1, submits)} - {0, len(rest)}
    for position, (index, node) in enumerate(rest):
        if position in cuts:
            emit.submit()
            emit.encoder()
        emit.node(index, node)
    emit.submit()
    return emit.packed()


def one_encoder_per_node(nodes: Nodes, backend: Backend, constants: Constants) -> Packed:
    """An encoder, a pass and a submit for each node: what programs do today."""
    emit = _Emitter(backend, constants)
    for index, node in nodes:
        emit.encoder()
        emit.node(index, node)
        emit.submit()
    return emit.packed()


class _Emitter:
    """Appends commands; knows what is set in the open pass."""

    def __init__(self, backend: Backend, constants: Constants) -> None:
        self._backend = backend
        self._constants = constants
        self._rows: list[tuple[int, ...]] = []
        self._node_of: list[int] = []
        self._dispatch_of: dict[int, int] = {}
        self._keep: list[Any] = []
        self._handles: dict[int, int] = {}
        self._node = -1
        self._in_pass = False
        self._pipeline = 0
        self._groups: dict[int, tuple[int, tuple[int, ...]]] = {}
        self._immediates: tuple[tuple[int, bytes], ...] = ()
        self._slots: set[int] = set()

    def encoder(self) -> None:
        self._node = -1
        self._row(Op.ENCODER)

    def submit(self) -> None:
        self._node = -1
        self._leave_pass()
        self._row(Op.SUBMIT)

    def node(self, index: int, node: Node) -> None:
        self._node = index
        _EMIT[type(node)](self, node)

    def packed(self) -> Packed:
        return Packed(np.array(self._rows, COMMAND), self._node_of, self._dispatch_of, self._keep)

    # -- nodes ------------------------------------------------------------------------------------------------------

    def _dispatch(self, node: Dispatch) -> None:
        self._bind(node)
        self._dispatch_of[self._node] = len(self._rows)
        self._row(Op.DISPATCH, *node.workgroups)

    def _indirect(self, node: DispatchIndirect) -> None:
        self._bind(node)
        self._row(Op.INDIRECT, p=self._handle(node.buffer), u=node.offset)

    def _copy(self, node: CopyBuffer) -> None:
        self._transfer(node.source, node.source_offset, node.destination, node.destination_offset, node.size)

    def _clear(self, node: ClearBuffer) -> None:
        if node.size:
            self._leave_pass()
            self._row(Op.CLEAR, p=self._handle(node.buffer), u=node.offset, w=node.size)

    def _write(self, node: WriteBuffer) -> None:
        if node.size:
            source, offset = self._constants.place(self._node)
            self._transfer(source, offset, node.buffer, node.offset, node.size)

    # -- parts ------------------------------------------------------------------------------------------------------

    def _transfer(self, source: Any, source_offset: int, target: Any, target_offset: int, size: int) -> None:
        self._leave_pass()
        p, q = self._handle(source), self._handle(target)
        self._row(Op.COPY, p=p, q=q, u=source_offset, v=target_offset, w=size)

    def _bind(self, node: Dispatch | DispatchIndirect) -> None:
        if self._in_pass and self._would_inherit(node):
            self._leave_pass()
        if not self._in_pass:
            self._row(Op.BEGIN_PASS)
            self._in_pass, self._pipeline, self._groups, self._slots = True, 0, {}, set()
        pipeline = self._handle(node.pipeline.pipeline)
        if pipeline != self._pipeline:
            self._row(Op.PIPELINE, p=pipeline)
            self._pipeline, self._immediates = pipeline, ()  # wgpu-native forgets immediates with the layout
        for index, bound in enumerate(node.needed_groups()):
            if bound is not None:
                self._group(index, bound)
        if node.immediates != self._immediates:
            self._set_immediates(node)

    def _group(self, index: int, bound: BoundGroup) -> None:
        state = (self._handle(bound.record.group), bound.offsets)
        if self._groups.get(index) != state:
            offsets = self._memory(np.array(bound.offsets, np.uint32)) if bound.offsets else 0
            self._row(Op.GROUP, index, len(bound.offsets), p=state[0], q=offsets)
            self._groups[index] = state

    def _set_immediates(self, node: Dispatch | DispatchIndirect) -> None:
        for offset, data in node.needed_immediates():
            self._row(Op.IMMEDIATES, offset, len(data), q=self._memory(np.frombuffer(data, np.uint8)))
            self._slots.update(range(offset, offset + len(data), 4))
        self._immediates = node.immediates

    def _would_inherit(self, node: Dispatch | DispatchIndirect) -> bool:
        """Whether the open pass has set something that the node may see and that its own pass had not set.

        Merged into it, the node would read what belongs to others, and what is missing would go unnoticed.
        """
        if node.pipeline.needs is None:
            bound = {index for index, group in enumerate(node.groups) if group is not None}
            if not bound.issuperset(self._groups):
                return True
        if not self._slots or node.pipeline.immediate_size == 0:
            return False
        own = {slot for offset, data in node.immediates for slot in range(offset, offset + len(data), 4)}
        return not own.issuperset(self._slots)

    def _leave_pass(self) -> None:
        if self._in_pass:
            self._row(Op.END_PASS)
            self._in_pass = False

    def _row(
        self, op: Op, x: int = 0, y: int = 0, z: int = 0, p: int = 0, q: int = 0, u: int = 0, v: int = 0, w: int = 0
    ) -> None:
        self._rows.append((op, x, y, z, p, q, u, v, w))
        self._node_of.append(self._node)

    def _handle(self, obj: Any) -> int:
        handle = self._handles.get(id(obj))
        if handle is None:
            handle = self._handles[id(obj)] = self._backend.address(obj)
        return handle

    def _memory(self, array: np.ndarray) -> int:
        self._keep.append(array)
        return array.ctypes.data


_EMIT: dict[type[Node], Callable[[Any, Any], None]] = {
    Dispatch: _Emitter._dispatch,
    DispatchIndirect: _Emitter._indirect,
    CopyBuffer: _Emitter._copy,
    ClearBuffer: _Emitter._clear,
    WriteBuffer: _Emitter._write,
}
