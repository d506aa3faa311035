"""api/validation/queue/submit: command buffers once, of the queue's device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.cts.common import bound
from tests.cts.harness import SUBMIT, Case, Plan, mirrored, package_of
from tests.kit import Kit, open_device


def _encoded(kit: Kit, count: int = 1) -> list[Any]:
    pipeline, group = bound(kit)
    return [kit.encode(pipeline, group) for _ in range(count)]


def _none(kit: Kit) -> Plan:
    return Plan(list)


def _two(kit: Kit) -> Plan:
    return Plan(lambda: _encoded(kit, 2))


def _twice_at_once(kit: Kit) -> Plan:
    return Plan(lambda: _encoded(kit) * 2)


def _twice(kit: Kit) -> Plan:
    def encode() -> Sequence[Any]:
        buffers = _encoded(kit)
        kit.submit(*buffers)
        return buffers

    return Plan(encode)


def _other_device(kit: Kit) -> Plan:
    other = Kit(open_device(package_of(kit)))
    return Plan(lambda: _encoded(other))


def _one_of_another_device(kit: Kit) -> Plan:
    other = Kit(open_device(package_of(kit)))
    return Plan(lambda: [*_encoded(kit), *_encoded(other)])


CASES = [
    Case("none", _none, ours=SUBMIT),  # a graph of nothing
    Case("two", _two),
    Case("twice_at_once", _twice_at_once, SUBMIT),
    Case("twice", _twice, SUBMIT),
    Case("other_device", _other_device, SUBMIT),
    Case("one_of_another_device", _one_of_another_device, SUBMIT),
]
test_capture, test_implementation = mirrored(__name__, CASES)
