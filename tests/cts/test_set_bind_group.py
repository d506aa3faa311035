"""api/validation/encoding/cmds/setBindGroup: index, destroyed resources, other devices, dynamic offsets."""

from __future__ import annotations

import itertools
from typing import Any

from tests.cts.common import bound, in_pass, storage_layout
from tests.cts.harness import FINISH, PASSES, SUBMIT, Case, Plan, mirrored, package_of
from tests.kit import INC, UNIFORM, Kit, open_device


def _index(below_limit: int) -> Case:
    def make(kit: Kit) -> Plan:
        pipeline, group = bound(kit)
        index = kit.device.limits["max-bind-groups"] + below_limit

        def use(compute: Any) -> None:
            compute.set_pipeline(pipeline)
            compute.set_bind_group(0, group)
            compute.set_bind_group(index, group)
            compute.dispatch_workgroups(1)

        return Plan(in_pass(kit, use))

    return Case(f"index_limit_{below_limit:+}", make, PASSES if below_limit < 0 else FINISH)


def _state(state: str) -> Case:
    def make(kit: Kit) -> Plan:
        other = Kit(open_device(package_of(kit))) if state == "other_device" else kit
        buffer = other.buffer([0] * 4)
        _, group = bound(other, buffer)
        pipeline = kit.kernel(INC)
        if state == "destroyed":
            buffer.destroy()

        def use(compute: Any) -> None:
            compute.set_pipeline(pipeline)
            compute.set_bind_group(0, group)
            compute.dispatch_workgroups(1)

        return Plan(in_pass(kit, use))

    return Case(f"state_{state}", make, {"valid": PASSES, "destroyed": SUBMIT, "other_device": FINISH}[state])


def _dynamic(name: str, kind: str, offsets: tuple[int, ...], expected: str, *, used: bool) -> Case:
    def make(kit: Kit) -> Plan:
        code = INC if kind == "storage" else INC_UNIFORM
        pipeline = kit.explicit(code, storage_layout(kind, has_dynamic_offset=True))
        buffer = kit.buffer(size=1024) if kind == "storage" else kit.buffer(size=1024, usage=UNIFORM)
        group = kit.group(pipeline, {"buffer": buffer, "offset": 0, "size": 256})
        plain, plain_group = bound(kit)

        def use(compute: Any) -> None:
            compute.set_pipeline(pipeline)
            compute.set_bind_group(0, group, list(offsets))
            if not used:  # what is set must be right, even if nothing comes of it
                compute.set_pipeline(plain)
                compute.set_bind_group(0, plain_group)
            compute.dispatch_workgroups(1)

        return Plan(in_pass(kit, use))

    return Case(f"dynamic_{kind}_{name}_{'used' if used else 'unused'}", make, expected)


INC_UNIFORM = (
    "@group(0) @binding(0) var<uniform> v: vec4f; var<private> x: f32; "
    "@compute @workgroup_size(1) fn main() { x = v.x; }"
)
DYNAMIC = {
    "none": ((), FINISH),
    "one": ((0,), PASSES),
    "two": ((0, 0), FINISH),
    "aligned": ((256,), PASSES),
    "unaligned": ((4,), FINISH),
    "half_aligned": ((8,), FINISH),
    "last": ((768,), PASSES),
    "past_the_end": ((1024,), FINISH),
    "far_past_the_end": ((2**32 - 256,), FINISH),
}
CASES = [
    *map(_index, (-1, 0, 1)),
    *map(_state, ("valid", "destroyed", "other_device")),
    *(
        _dynamic(name, kind, *DYNAMIC[name], used=used)
        for name, kind, used in itertools.product(DYNAMIC, ("storage", "uniform"), (True, False))
    ),
]
test_capture, test_implementation = mirrored(__name__, CASES)
