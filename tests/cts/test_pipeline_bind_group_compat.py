"""api/validation/encoding/programmable/pipeline_bind_group_compat: missing, empty, unused and wrong groups.

Everything is looked at for dispatches of no workgroups, too.
"""

from __future__ import annotations

import itertools
from typing import Any

from tests.cts.common import in_pass, storage_layout
from tests.cts.harness import FINISH, PASSES, Case, Plan, mirrored
from tests.kit import INC, INDIRECT, UNIFORM, Kit

CALLS = ("dispatch_1", "dispatch_0", "indirect")


def _group_code(*groups: int) -> str:
    lines = [f"@group({g}) @binding(0) var<storage, read_write> v{g}: array<f32>;" for g in groups]
    body = " ".join(f"v{g}[0] = 1;" for g in groups)
    return f"{' '.join(lines)} @compute @workgroup_size(1) fn main() {{ {body} }}"


def _run(kit: Kit, pipeline: Any, groups: dict[int, Any], call: str) -> Plan:
    arguments = kit.buffer(size=16, usage=INDIRECT)

    def use(compute: Any) -> None:
        compute.set_pipeline(pipeline)
        for index, group in groups.items():
            compute.set_bind_group(index, group)
        if call == "indirect":
            compute.dispatch_workgroups_indirect(arguments, 0)
        else:
            compute.dispatch_workgroups(int(call[-1]))

    return Plan(in_pass(kit, use))


def _missing(auto: bool, needed: tuple[int, ...], given: tuple[int, ...], call: str) -> Case:
    """Groups that the pipeline needs, and those that are set, each with a fitting layout where there is one."""

    def make(kit: Kit) -> Plan:
        code = _group_code(*needed)
        count = 1 + max(needed)
        pipeline = (
            kit.kernel(code)
            if auto
            else kit.explicit(code, *(storage_layout() if g in needed else [] for g in range(count)))
        )
        other = kit.kernel(INC)
        groups = {
            g: kit.group(pipeline, kit.buffer(), index=g) if g in needed else kit.group(other, kit.buffer())
            for g in given
        }
        return _run(kit, pipeline, groups, call)

    kind = "auto" if auto else "explicit"
    name = f"{kind}_needs_{''.join(map(str, needed))}_has_{''.join(map(str, given)) or 'none'}_{call}"
    return Case(name, make, PASSES if set(needed) <= set(given) else FINISH)


def _order(first: str, call: str) -> Case:
    """A group set before the pipeline counts as much as one set after it."""

    def make(kit: Kit) -> Plan:
        pipeline = kit.kernel(INC)
        group = kit.group(pipeline, kit.buffer())

        def use(compute: Any) -> None:
            steps = [lambda: compute.set_bind_group(0, group), lambda: compute.set_pipeline(pipeline)]
            for step in steps if first == "group" else reversed(steps):
                step()
            compute.dispatch_workgroups(int(call[-1]))

        return Plan(in_pass(kit, use))

    return Case(f"{first}_first_{call}", make)


KINDS: dict[str, dict[str, Any]] = {
    "storage": {"type": "storage"},
    "read_only": {"type": "read-only-storage"},
    "uniform": {"type": "uniform"},
    "dynamic": {"type": "storage", "has_dynamic_offset": True},
    "sized": {"type": "storage", "min_binding_size": 16},
    "visible": {"type": "storage"},
}


def _entries(kind: str, count: int = 1) -> list[dict[str, Any]]:
    visibility = 4 | 2 if kind == "visible" else 4
    return [{"binding": n, "visibility": visibility, "buffer": KINDS[kind]} for n in range(count)]


def _kinds(pipeline_kind: str, group_kind: str, call: str) -> Case:
    """The layout of the group differs in one property from what the pipeline has."""

    def make(kit: Kit) -> Plan:
        code = "@compute @workgroup_size(1) fn main() {}"
        pipeline = kit.explicit(code, _entries(pipeline_kind))
        layout = kit.device.create_bind_group_layout(entries=_entries(group_kind))
        buffer = kit.buffer(size=512, usage=INDIRECT | UNIFORM)
        entry = {"binding": 0, "resource": {"buffer": buffer, "offset": 0, "size": 256}}
        group = kit.device.create_bind_group(layout=layout, entries=[entry])
        offsets = [0] if group_kind == "dynamic" else []

        def use(compute: Any) -> None:
            compute.set_pipeline(pipeline)
            compute.set_bind_group(0, group, offsets)
            compute.dispatch_workgroups(int(call[-1]))

        return Plan(in_pass(kit, use))

    return Case(f"{pipeline_kind}_{group_kind}_{call}", make, PASSES if pipeline_kind == group_kind else FINISH)


def _layouts(name: str, expected: str) -> Case:
    """Automatic layouts fit the pipeline that they come from, and nothing else; explicit ones whatever is equal."""

    def make(kit: Kit) -> Plan:
        code = INC + f"// {name}"
        auto, other = kit.kernel(code), kit.kernel(code + " the same again")
        explicit = kit.explicit(code, storage_layout())
        pairs = {
            "auto_own": (auto, auto),
            "auto_equal": (auto, other),
            "auto_for_explicit": (auto, explicit),
            "explicit_for_auto": (explicit, auto),
            "explicit_equal": (explicit, kit.explicit(code, storage_layout())),
        }
        source, pipeline = pairs[name]
        return _run(kit, pipeline, {0: kit.group(source, kit.buffer())}, "dispatch_1")

    return Case(f"layout_{name}", make, expected)


GIVEN = [tuple(c) for n in range(4) for c in itertools.combinations(range(3), n)]
CASES = [
    *(
        _missing(auto, needed, given, call)
        for auto, needed, given, call in itertools.product((True, False), ((0,), (1,), (0, 2)), GIVEN, CALLS[:2])
    ),
    *(_missing(False, (0, 1), given, "indirect") for given in GIVEN),
    *(_order(*cross) for cross in itertools.product(("group", "pipeline"), CALLS[:2])),
    *(_kinds(*cross) for cross in itertools.product(KINDS, KINDS, CALLS[:1])),
    _layouts("auto_own", PASSES),
    _layouts("auto_equal", FINISH),
    _layouts("auto_for_explicit", FINISH),
    _layouts("explicit_for_auto", FINISH),
    _layouts("explicit_equal", PASSES),
]
test_capture, test_implementation = mirrored(__name__, CASES)
