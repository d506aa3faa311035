"""api/validation/encoding/programmable/pipeline_immediate: every word that the pipeline reads is set, padding apart."""

from __future__ import annotations

from typing import Any

from tests.cts.common import in_pass
from tests.cts.harness import FINISH, PASSES, Case, Plan, mirrored, package_of
from tests.kit import Kit, open_device

SCENARIOS: dict[str, tuple[str, str, int, int]] = {
    "scalar": ("", "u32", 4, 4),
    "vector": ("", "vec4<u32>", 16, 16),
    "struct_padding": (
        "struct A { v: vec3<u32>, } struct B { v: vec2<u32>, } struct Data { a: A, @align(32) b: B, }",
        "Data",
        40,
        64,
    ),
    "mixed_types": ("struct Mixed { v: u32, f: vec4<u32>, }", "Mixed", 32, 32),
}
"""Declarations, type, where the data ends, size of the type."""
USED = {"scalar": "data", "vector": "data.x", "struct_padding": "data.b.v.x", "mixed_types": "data.f.x"}
SPLIT = {"vector": [(0, 8), (8, 8)], "struct_padding": [(0, 12), (32, 8)], "mixed_types": [(0, 4), (16, 16)]}


def _plan(kit: Kit, code: str, size: int, ranges: list[tuple[int, int]]) -> Plan:
    package = package_of(kit)
    features = ["immediates"] if package == "wgpu" else []
    own = Kit(open_device(package, features, {"max-immediate-size": 64}))
    pipeline = own.explicit(code, immediate_size=size)

    def use(compute: Any) -> None:
        compute.set_pipeline(pipeline)
        for offset, count in ranges:
            compute.set_immediates(offset, bytes(count), 0, count)
        compute.dispatch_workgroups(1)

    return Plan(in_pass(own, use), kit=own)


def _required(scenario: str, usage: str) -> Case:
    declarations, kind, end, size = SCENARIOS[scenario]
    ranges = {
        "full": [(0, end)],
        "split": SPLIT.get(scenario, []),
        "partial": [(0, end // 8 * 4)] if end >= 8 else [],
        "overprovision": [(0, min(64, size + 4))],
    }[usage]

    def make(kit: Kit) -> Plan:
        body = f"o = {USED[scenario]};"
        code = (
            f"{declarations} var<immediate> data: {kind}; var<private> o: u32; "
            f"@compute @workgroup_size(1) fn main() {{ {body} }}"
        )
        layout = min(64, size + 4) if usage == "overprovision" else size
        return _plan(kit, code, layout, ranges)

    expected = FINISH if usage == "partial" else PASSES
    return Case(f"{scenario}_{usage}", make, expected, {"wgpu": PASSES})


def _unused(scenario: str, usage: str) -> Case:
    helper = "fn helper() -> u32 { return data.x; }" if scenario == "in_unused_function" else ""

    def make(kit: Kit) -> Plan:
        code = f"var<immediate> data: vec4<u32>; {helper} @compute @workgroup_size(1) fn main() {{}}"
        return _plan(kit, code, 16, [(0, 8)] if usage == "partial" else [])

    return Case(f"unused_{scenario}_{usage}", make)


def _larger(scenario: str) -> Case:
    size = 20 if scenario == "than_layout" else 16

    def make(kit: Kit) -> Plan:
        code = "var<immediate> data: u32; var<private> o: u32; @compute @workgroup_size(1) fn main() { o = data; }"
        return _plan(kit, code, 16, [(0, size)])

    # wgpu-native bounds immediates by the layout of the pipeline, not by maxImmediateSize.
    return Case(f"larger_{scenario}", make, PASSES, {"wgpu": FINISH} if size > 16 else {})


CASES = [
    *(
        _required(scenario, usage)
        for scenario in SCENARIOS
        for usage in ("full", "split", "partial", "overprovision")
        if (scenario, usage) != ("scalar", "split")
    ),
    *(
        _unused(scenario, usage)
        for scenario in ("not_referenced", "in_unused_function")
        for usage in ("none", "partial")
    ),
    *map(_larger, ("than_shader", "than_layout")),
]
test_capture, test_implementation = mirrored(__name__, CASES)
