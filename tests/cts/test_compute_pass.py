"""api/validation/encoding/cmds/compute_pass: pipelines, workgroup counts in every dimension, indirect arguments."""

from __future__ import annotations

import itertools
from typing import Any

from tests.cts.common import bound, in_pass
from tests.cts.harness import FINISH, PASSES, SUBMIT, Case, Plan, mirrored, package_of
from tests.kit import INC, INDIRECT, STORAGE, Kit, open_device

LIMIT = 65535
SIZES = (0, 1, LIMIT, LIMIT + 1, 2**31 - 1, 2**32 - 1)


def _dispatch(axis: int, large: int, small: int) -> Case:
    def make(kit: Kit) -> Plan:
        pipeline, group = bound(kit)
        counts = [small] * 3
        counts[axis] = large

        def use(compute: Any) -> None:
            compute.set_pipeline(pipeline)
            compute.set_bind_group(0, group)
            compute.dispatch_workgroups(*counts)

        return Plan(in_pass(kit, use))

    return Case(f"dispatch_{'xyz'[axis]}_{large}_{small}", make, PASSES if large <= LIMIT else FINISH)


def _pipeline(state: str) -> Case:
    def make(kit: Kit) -> Plan:
        other = Kit(open_device(package_of(kit))) if state == "other_device" else kit
        pipeline = other.kernel(INC)
        return Plan(in_pass(kit, lambda compute: compute.set_pipeline(pipeline)))

    # A capture of no command at all is refused, valid or not.
    return Case(f"set_pipeline_{state}", make, PASSES if state == "valid" else FINISH, ours=FINISH)


def _indirect(state: str, offset: int) -> Case:
    size = 64

    def make(kit: Kit) -> Plan:
        other = Kit(open_device(package_of(kit))) if state == "other_device" else kit
        usage = STORAGE if state == "no_usage" else INDIRECT
        arguments = other.buffer(size=size, usage=usage)
        pipeline, group = bound(kit)
        if state == "destroyed":
            arguments.destroy()

        def use(compute: Any) -> None:
            compute.set_pipeline(pipeline)
            compute.set_bind_group(0, group)
            compute.dispatch_workgroups_indirect(arguments, offset)

        return Plan(in_pass(kit, use))

    inside = offset % 4 == 0 and offset + 12 <= size
    expected = FINISH if not inside or state in ("no_usage", "other_device") else PASSES
    if state == "destroyed" and expected == PASSES:
        expected = SUBMIT
    return Case(f"indirect_{state}_{offset}", make, expected)


CASES = [
    *(_dispatch(*cross) for cross in itertools.product(range(3), SIZES, (0, 1))),
    *map(_pipeline, ("valid", "other_device")),
    *(
        _indirect(*cross)
        for cross in itertools.product(
            ("valid", "destroyed", "no_usage", "other_device"), (0, 4, 1, 2, 52, 53, 56, 64, 2**31, 2**32 - 4)
        )
    ),
]
test_capture, test_implementation = mirrored(__name__, CASES)
