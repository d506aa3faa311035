"""api/validation/resource_usages/buffer/in_pass_encoder: pairs of usages in one dispatch, and in two."""

from __future__ import annotations

import itertools
from typing import Any

from tests.cts.common import in_pass
from tests.cts.harness import FINISH, PASSES, Case, Plan, mirrored
from tests.kit import INDIRECT, UNIFORM, Kit

USES = ("storage", "read-only-storage", "uniform", "indirect")
NOTHING = "@compute @workgroup_size(1) fn main() {}"


def _fits(first: str, second: str) -> bool:
    """Whether both may meet in one usage scope: only if none writes, or both write the same way."""
    return "storage" not in (first, second) or first == second


def _pair(first: str, second: str, where: str) -> Case:
    """Two uses of one buffer, of ranges that do not overlap: in one group, in two groups, or in two dispatches."""

    def make(kit: Kit) -> Plan:
        shared = kit.buffer(size=512, usage=INDIRECT | UNIFORM)
        bindings = [(n, use) for n, use in enumerate((first, second)) if use != "indirect"]
        layout = [{"binding": n, "visibility": 4, "buffer": {"type": use}} for n, use in bindings]
        parts = {n: {"buffer": shared, "offset": 256 * n, "size": 256} for n, _ in bindings}
        layouts = [layout] if where == "one_group" else [[entry] for entry in layout]
        pipeline = kit.explicit(NOTHING, *layouts)
        groups = [
            kit.device.create_bind_group(
                layout=pipeline.get_bind_group_layout(index),
                entries=[{"binding": e["binding"], "resource": parts[e["binding"]]} for e in entries],
            )
            for index, entries in enumerate(layouts)
        ]
        indirect = "indirect" in (first, second)
        alone = [kit.explicit(NOTHING, entries) for entries in layouts]
        empty = kit.explicit(NOTHING)

        def together(compute: Any) -> None:
            compute.set_pipeline(pipeline)
            for index, group in enumerate(groups):
                compute.set_bind_group(index, group)
            if indirect:
                compute.dispatch_workgroups_indirect(shared, 0)
            else:
                compute.dispatch_workgroups(1)

        def apart(compute: Any) -> None:
            for one, group in zip(alone, groups, strict=True):
                compute.set_pipeline(one)
                compute.set_bind_group(0, group)
                compute.dispatch_workgroups(1)
            if indirect:
                compute.set_pipeline(empty)
                compute.dispatch_workgroups_indirect(shared, 0)

        return Plan(in_pass(kit, apart if where == "two_dispatches" else together))

    fits = where == "two_dispatches" or _fits(first, second)
    return Case(f"{first}_{second}_{where}", make, PASSES if fits else FINISH)


def _aliasing(start: int, other: int, where: str) -> Case:
    """Two writable ranges of 256 bytes in one buffer."""

    def make(kit: Kit) -> Plan:
        shared = kit.buffer(size=1024)
        layout = [{"binding": n, "visibility": 4, "buffer": {"type": "storage"}} for n in range(2)]
        layouts = [layout] if where == "one_group" else [[entry] for entry in layout]
        pipeline = kit.explicit(NOTHING, *layouts)
        places = {0: start, 1: other}
        groups = [
            kit.device.create_bind_group(
                layout=pipeline.get_bind_group_layout(index),
                entries=[
                    {
                        "binding": e["binding"],
                        "resource": {"buffer": shared, "offset": places[e["binding"]], "size": 260},
                    }
                    for e in entries
                ],
            )
            for index, entries in enumerate(layouts)
        ]

        def use(compute: Any) -> None:
            compute.set_pipeline(pipeline)
            for index, group in enumerate(groups):
                compute.set_bind_group(index, group)
            compute.dispatch_workgroups(1)

        return Plan(in_pass(kit, use))

    expected = PASSES if abs(start - other) >= 512 else FINISH
    return Case(f"aliasing_{start}_{other}_{where}", make, expected, {"wgpu": PASSES})  # wgpu-core 29 does not look


CASES = [
    *(
        _pair(first, second, where)
        for first, second in itertools.combinations_with_replacement(USES, 2)
        for where in ("one_group", "two_groups", "two_dispatches")
        if (first, second) != ("indirect", "indirect")
    ),
    *(_aliasing(*cross) for cross in itertools.product((0,), (0, 256, 512), ("one_group", "two_groups"))),
]
test_capture, test_implementation = mirrored(__name__, CASES)
