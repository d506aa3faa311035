"""api/validation/queue/buffer_mapped: map, encode, finish and submit in every order, as source and as destination."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tests.cts.harness import PASSES, SUBMIT, Case, Plan, mirrored
from tests.kit import READBACK, UPLOAD, Kit

MOMENTS = ("never", "before_encoding", "before_finish", "before_submit")
EVENTS = ("map", "map_and_unmap")


def _case(role: str, moment: str, event: str) -> Case:
    def make(kit: Kit) -> Plan:
        usage, mode = (UPLOAD, "WRITE") if role == "source" else (READBACK, "READ")
        buffer, other = kit.device.create_buffer(size=16, usage=usage), kit.buffer([1] * 4)
        pair = (buffer, other) if role == "source" else (other, buffer)

        def strike() -> None:
            buffer.map_sync(mode)
            if event == "map_and_unmap":
                buffer.unmap()

        def at(when: str) -> Callable[[], None]:
            return strike if when == moment else lambda: None

        if moment == "before_encoding":
            strike()

        def encode() -> Sequence[Any]:
            encoder = kit.device.create_command_encoder()
            encoder.copy_buffer_to_buffer(pair[0], 0, pair[1], 0, 16)
            at("before_finish")()
            return [encoder.finish()]

        return Plan(encode, at("before_submit"))

    mapped = moment != "never" and event == "map"
    inside = moment in ("before_finish", "before_submit") and role == "destination"
    return Case(
        f"{role}_{event}_{moment}",
        make,
        SUBMIT if mapped else PASSES,
        ours=SUBMIT if inside else None,  # a capture refuses to map for reading: nothing was run that could be read
    )


def _at_creation(role: str, unmapped: bool) -> Case:
    def make(kit: Kit) -> Plan:
        usage = UPLOAD if role == "source" else 8
        buffer = kit.device.create_buffer(size=16, usage=usage, mapped_at_creation=True)
        other = kit.buffer([1] * 4)
        pair = (buffer, other) if role == "source" else (other, buffer)
        if unmapped:
            buffer.unmap()

        def encode() -> Sequence[Any]:
            encoder = kit.device.create_command_encoder()
            encoder.copy_buffer_to_buffer(pair[0], 0, pair[1], 0, 16)
            return [encoder.finish()]

        return Plan(encode)

    return Case(
        f"{role}_mapped_at_creation_{'unmapped' if unmapped else 'still'}", make, PASSES if unmapped else SUBMIT
    )


CASES = [
    *(_case(*cross) for cross in itertools.product(("source", "destination"), MOMENTS, EVENTS)),
    *(_at_creation(*cross) for cross in itertools.product(("source", "destination"), (True, False))),
]
test_capture, test_implementation = mirrored(__name__, CASES)
