"""api/validation: encoding/beginComputePass (timestamps), encoding/queries/resolveQuerySet, queue/destroyed/query_set.

A graph holds no queries: a capture refuses each of these calls where it is made, right or wrong, and says so. What
implementations do stands here to show what would have to be proved and watched.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from cmdgraph.objects import BufferUsage
from tests.cts.harness import FINISH, PASSES, SUBMIT, Case, Plan, mirrored, package_of
from tests.kit import Kit, open_device

U = BufferUsage


def _own(kit: Kit) -> Kit:
    return Kit(open_device(package_of(kit), ["timestamp-query"]))


def _timestamps(begin: int | None, end: int | None, kind: str) -> Case:
    def make(kit: Kit) -> Plan:
        own = _own(kit)
        queries = own.device.create_query_set(type=kind, count=2)
        writes: dict[str, Any] = {"query_set": queries}
        if begin is not None:
            writes["beginning_of_pass_write_index"] = begin
        if end is not None:
            writes["end_of_pass_write_index"] = end

        def encode() -> Sequence[Any]:
            encoder = own.device.create_command_encoder()
            encoder.begin_compute_pass(timestamp_writes=writes).end()
            return [encoder.finish()]

        return Plan(encode, kit=own)

    given = [index for index in (begin, end) if index is not None]
    right = kind == "timestamp" and given and max(given) < 2 and len(set(given)) == len(given)
    return Case(f"timestamps_{kind}_{begin}_{end}", make, PASSES if right else FINISH, ours=FINISH)


def _resolve(name: str, first: int, count: int, usage: int, offset: int, expected: str) -> Case:
    def make(kit: Kit) -> Plan:
        own = _own(kit)
        queries = own.device.create_query_set(type="timestamp", count=2)
        buffer = own.device.create_buffer(size=256 + 16, usage=usage)
        if name == "destroyed_buffer":
            buffer.destroy()
        if name == "destroyed_queries":
            queries.destroy()

        def encode() -> Sequence[Any]:
            encoder = own.device.create_command_encoder()
            encoder.resolve_query_set(queries, first, count, buffer, offset)
            return [encoder.finish()]

        return Plan(encode, kit=own)

    return Case(f"resolve_{name}", make, expected, ours=FINISH)


CASES = [
    *(_timestamps(*cross, "timestamp") for cross in itertools.product((None, 0, 1, 2), (0, 1, 2))),
    _timestamps(0, 1, "occlusion"),
    _resolve("valid", 0, 2, U.QUERY_RESOLVE, 0, PASSES),
    _resolve("aligned", 0, 2, U.QUERY_RESOLVE, 256, PASSES),
    _resolve("first_past_the_end", 3, 1, U.QUERY_RESOLVE, 0, FINISH),
    _resolve("range_past_the_end", 1, 2, U.QUERY_RESOLVE, 0, FINISH),
    _resolve("without_usage", 0, 2, U.COPY_DST, 0, FINISH),
    _resolve("unaligned", 0, 2, U.QUERY_RESOLVE, 128, FINISH),
    _resolve("past_the_buffer", 0, 2, U.QUERY_RESOLVE, 512, FINISH),
    _resolve("destroyed_buffer", 0, 2, U.QUERY_RESOLVE, 0, SUBMIT),
]
test_capture, test_implementation = mirrored(__name__, CASES)
