"""api/validation/encoding/cmds/clearBuffer: state, usages, size and offset alignment, ranges."""

from __future__ import annotations

import itertools

from cmdgraph.objects import BufferUsage
from tests.cts.common import encoding
from tests.cts.harness import FINISH, PASSES, SUBMIT, Case, Plan, mirrored, package_of
from tests.kit import Kit, open_device

U = BufferUsage
USAGES = (U.COPY_SRC, U.COPY_DST, U.STORAGE, U.STORAGE | U.COPY_DST, U.MAP_WRITE | U.COPY_SRC, U.MAP_READ | U.COPY_DST)
EMPTY = {"wgpu": FINISH, "wgpudawn": FINISH}
"""wgpu-py raises for a clear of no bytes, on both implementations."""


def _state(state: str) -> Case:
    def make(kit: Kit) -> Plan:
        buffer = (Kit(open_device(package_of(kit))) if state == "other_device" else kit).buffer()
        if state == "destroyed":
            buffer.destroy()
        return Plan(encoding(kit, lambda e: e.clear_buffer(buffer, 0, 8)))

    return Case(f"state_{state}", make, {"valid": PASSES, "destroyed": SUBMIT, "other_device": FINISH}[state])


def _usage(usage: int) -> Case:
    def make(kit: Kit) -> Plan:
        buffer = kit.device.create_buffer(size=16, usage=usage)
        return Plan(encoding(kit, lambda e: e.clear_buffer(buffer, 0, 16)))

    return Case(f"usage_{usage}", make, PASSES if usage & U.COPY_DST else FINISH)


def _range(offset: int | None, size: int | None) -> Case:
    def make(kit: Kit) -> Plan:
        buffer = kit.buffer(size=36)
        span = [value for value in (offset, size) if value is not None]
        return Plan(encoding(kit, lambda e: e.clear_buffer(buffer, *span)))

    start = offset or 0
    length = 36 - start if size is None else size
    right = start % 4 == length % 4 == 0 and length >= 0 and start + length <= 36
    empty = right and size == 0
    return Case(f"range_{offset}_{size}", make, PASSES if right else FINISH, EMPTY if empty else {})


CASES = [
    *map(_state, ("valid", "destroyed", "other_device")),
    *map(_usage, USAGES),
    _range(None, None),
    *(_range(offset, None) for offset in (0, 4, 32, 36, 2, 40)),
    *(_range(*cross) for cross in itertools.product((0, 2, 4, 20, 32, 36, 40), (0, 2, 4, 8, 16, 36, 40))),
    *(_range(*cross) for cross in itertools.product((0, 2**53), (2**32, 2**53))),
]
test_capture, test_implementation = mirrored(__name__, CASES)
