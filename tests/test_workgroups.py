"""Workgroups as the text of a shader and the values of its overrides have them."""

from __future__ import annotations

import pytest

from cmdgraph.workgroups import Workgroup, workgroup

HEAD = """
override LANES: u32 = 32u; override TEAMS: u32 = SIZE / LANES; const SIZE = 128u; @id(3) override NUMBERED: i32;
struct Best { value: f32, at: u32 }
"""


def _of(text: str, name: str | None = "main", **constants: float) -> Workgroup:
    return workgroup(HEAD + text, name, constants)


@pytest.mark.parametrize(
    ("size", "constants", "expected"),
    [
        ("64", {}, (64, 1, 1)),
        ("8, 0x4, 2u", {}, (8, 4, 2)),
        ("SIZE", {}, (128, 1, 1)),
        ("LANES, TEAMS", {}, (32, 4, 1)),
        ("LANES, TEAMS", {"LANES": 64}, (64, 2, 1)),
        ("NUMBERED", {"3": 7}, (7, 1, 1)),
        ("NUMBERED", {}, None),
        ("(LANES + 1) * 2 - 6 % 4", {}, (64, 1, 1)),
        ("LANES / 0", {}, None),
        ("max(LANES, 1)", {}, None),
        ("missing", {}, None),
    ],
)
def test_sizes(size: str, constants: dict[str, float], expected: tuple[int, int, int] | None) -> None:
    assert _of(f"@compute @workgroup_size({size}) fn main() {{}}", **constants).size == expected


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ("", 0),
        ("var<workgroup> a: array<f32, LANES>;", 128),
        ("var<workgroup> a: array<Best, TEAMS>; var<workgroup> b: u32;", 48),
        ("var<workgroup> a: array<vec4<f32>, 2 * LANES>;", 1024),
        ("var<private> a: array<f32, 1000>;", 0),
        ("var<workgroup> a: array<f32, NUMBERED>;", None),
        ("var<workgroup> a: unknown;", None),
    ],
)
def test_memory(variables: str, expected: int | None) -> None:
    assert _of(variables + "@compute @workgroup_size(1) fn main() {}").memory == expected


def test_the_entry_point_may_be_left_out_where_there_is_one() -> None:
    one, two = "@compute @workgroup_size(2) fn one() {}", "@compute @workgroup_size(3) fn two() {}"

    assert _of(one, None).size == (2, 1, 1)
    assert _of(one + two, "two").size == (3, 1, 1)
    assert _of(one + two, None) == Workgroup(None, None)
    assert _of("nonsense") == Workgroup(None, None)


def test_values_that_name_each_other_end() -> None:
    assert _of("override A = B; override B = A; @compute @workgroup_size(A) fn main() {}").size is None
