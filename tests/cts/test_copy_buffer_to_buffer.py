"""api/validation/encoding/cmds/copyBufferToBuffer: state, usages, alignment, ranges, one buffer."""

from __future__ import annotations

import itertools

from cmdgraph.objects import BufferUsage
from tests.cts.common import encoding
from tests.cts.harness import FINISH, PASSES, SUBMIT, Case, Plan, mirrored, package_of
from tests.kit import Kit, open_device

U = BufferUsage
USAGES = (U.COPY_SRC, U.COPY_DST, U.COPY_SRC | U.COPY_DST, U.STORAGE, U.MAP_READ | U.COPY_DST, U.MAP_WRITE | U.COPY_SRC)
STATES = ("valid", "destroyed", "other_device")


def _state(source: str, target: str) -> Case:
    def make(kit: Kit) -> Plan:
        other = Kit(open_device(package_of(kit))) if "other_device" in (source, target) else kit
        buffers = [(other if state == "other_device" else kit).buffer() for state in (source, target)]
        for buffer, state in zip(buffers, (source, target), strict=True):
            if state == "destroyed":
                buffer.destroy()
        return Plan(encoding(kit, lambda e: e.copy_buffer_to_buffer(buffers[0], 0, buffers[1], 0, 16)))

    expected = FINISH if "other_device" in (source, target) else SUBMIT if "destroyed" in (source, target) else PASSES
    # wgpu-native stops at the destroyed source and looks no further until submit.
    differs = {"wgpu": SUBMIT} if (source, target) == ("destroyed", "other_device") else {}
    return Case(f"state_{source}_{target}", make, expected, differs)


def _usage(source: int, target: int) -> Case:
    def make(kit: Kit) -> Plan:
        a, b = (kit.device.create_buffer(size=16, usage=usage) for usage in (source, target))
        return Plan(encoding(kit, lambda e: e.copy_buffer_to_buffer(a, 0, b, 0, 16)))

    right = source & U.COPY_SRC and target & U.COPY_DST
    return Case(f"usage_{source}_{target}", make, PASSES if right else FINISH)


def _range(name: str, source: int, target: int, size: int) -> Case:
    def make(kit: Kit) -> Plan:
        a, b = kit.buffer(size=32), kit.buffer(size=32)
        return Plan(encoding(kit, lambda e: e.copy_buffer_to_buffer(a, source, b, target, size)))

    aligned = not (source % 4 or target % 4 or size % 4)
    inside = source + size <= 32 and target + size <= 32
    return Case(f"{name}_{source}_{target}_{size}", make, PASSES if aligned and inside else FINISH)


def _same(source: int, target: int) -> Case:
    def make(kit: Kit) -> Plan:
        a = kit.buffer(size=32)
        return Plan(encoding(kit, lambda e: e.copy_buffer_to_buffer(a, source, a, target, 8)))

    return Case(f"same_buffer_{source}_{target}", make, FINISH)


EDGES = (0, 4, 28, 32, 36, 2**32, 2**53)
CASES = [
    *(_state(*cross) for cross in itertools.product(STATES, STATES)),
    *(_usage(*cross) for cross in itertools.product(USAGES, USAGES)),
    *(_range("size", 0, 0, size) for size in (0, 2, 4, 5, 8, 32, 34, 36)),
    *(_range("alignment", *cross) for cross in itertools.product((1, 2, 3, 4), (0, 2, 4), (8,))),
    *(_range("edge", *cross) for cross in itertools.product(EDGES, EDGES, (0, 4))),
    *(_same(*cross) for cross in itertools.product((0, 8), (0, 4, 8, 16))),
]
test_capture, test_implementation = mirrored(__name__, CASES)
