"""api/validation/createBindGroup: what a graph takes as proved, because the group exists; and what a rebind repeats."""

from __future__ import annotations

import itertools

from cmdgraph.objects import BufferUsage
from tests.cts.common import in_pass, storage_layout
from tests.cts.harness import CREATION, FINISH, PASSES, Case, Plan, mirrored
from tests.kit import Kit

U = BufferUsage
NOTHING = "@compute @workgroup_size(1) fn main() {}"


def _case(
    name: str, kind: str, usage: int, size: int, offset: int, length: int | None, least: int, right: bool
) -> Case:
    name = f"{name}_{kind}_{usage}_{size}_{offset}_{length}_{least}"

    def make(kit: Kit) -> Plan:
        pipeline = kit.explicit(NOTHING, storage_layout(kind, min_binding_size=least))
        buffer = kit.device.create_buffer(size=size, usage=usage)
        part = {"buffer": buffer, "offset": offset, **({} if length is None else {"size": length})}

        def encode() -> list[object]:
            layout = pipeline.get_bind_group_layout(0)
            group = kit.device.create_bind_group(layout=layout, entries=[{"binding": 0, "resource": part}])

            def use(compute: object) -> None:
                compute.set_pipeline(pipeline)  # type: ignore[attr-defined]
                compute.set_bind_group(0, group)  # type: ignore[attr-defined]
                compute.dispatch_workgroups(1)  # type: ignore[attr-defined]

            return list(in_pass(kit, use)())

        return Plan(encode)

    return Case(name, make, PASSES if right else FINISH, ours=PASSES if right else CREATION)


NEEDED = {"uniform": U.UNIFORM, "storage": U.STORAGE, "read-only-storage": U.STORAGE}
CASES = [
    *(
        _case("usage", kind, usage, 512, 0, None, 0, bool(usage & NEEDED[kind]))
        for kind, usage in itertools.product(NEEDED, (U.UNIFORM, U.STORAGE, U.COPY_DST, U.UNIFORM | U.STORAGE))
    ),
    *(
        _case("alignment", kind, NEEDED[kind], 1024, offset, 256, 0, offset % 256 == 0)
        for kind, offset in itertools.product(NEEDED, (0, 256, 512, 4, 2, 1))
    ),
    *(
        _case("range", "storage", U.STORAGE, 512, offset, length, 0, offset + length <= 512)
        for offset, length in itertools.product((0, 256, 512), (256, 512, 516))
    ),
    *(_case("multiple", "storage", U.STORAGE, 512, 0, length, 0, length % 4 == 0) for length in (4, 5, 6, 8)),
    *(
        _case("least", kind, NEEDED[kind], 64, 0, length, 32, length >= 32)
        for kind in NEEDED
        for length in (16, 28, 32, 64)
    ),
]
test_capture, test_implementation = mirrored(__name__, CASES)
