"""Sizes of WGSL types in memory, as https://www.w3.org/TR/WGSL/#alignment-and-size has them."""

from __future__ import annotations

import pytest

from cmdgraph import wgsl
from tests.fuzz.kernels import IMMEDIATES, STRUCTS, TYPES

DECLARED = """
const N = 3; const M = N; override O: u32 = 4;
alias Row = vec3<f32>; alias Alias = Row;
struct A { @align(16) x: f32, y: Row, @size(32) z: u32, }
struct Inner { a: f32, b: vec2f } struct Outer { a: u32, inner: Inner, rest: array<Inner> }
struct Mixed { a: f16, b: vec3<f16>, c: mat2x3<f16>, d: atomic<u32> }
"""
SIZES = {
    "f32": 4, "i32": 4, "u32": 4, "f16": 2, "atomic<u32>": 4,
    "vec2<f32>": 8, "vec3f": 12, "vec4u": 16, "vec2h": 4, "vec3<f16>": 6, "vec4h": 8, "vec2<i32>": 8,
    "mat2x2f": 16, "mat2x3<f32>": 32, "mat3x2f": 24, "mat3x3f": 48, "mat4x4<f32>": 64, "mat4x3h": 32, "mat2x4h": 16,
    "array<f32>": 4, "array<vec3f>": 16, "array<f32, 5>": 20, "array<vec3f, 2>": 32, "array<array<f32, 3>, 2>": 24,
    "array<u32, N>": 12, "array<u32, M>": 12, "array<Row, 3u>": 48, "array<atomic<u32>, 0x10>": 64,
    "Alias": 12, "A": 64, "Inner": 16, "Outer": 40, "Mixed": 40, "array<A>": 64, "array<A, N>": 192,
}  # fmt: skip
UNKNOWN = ["array<u32, O>", "array<u32, N * 2>", "Missing", "array<Missing>", "vec3<Missing>", "bool"]


def _size(kind: str, declared: str = DECLARED) -> int | None:
    code = (
        f"enable f16; {declared} @group(0) @binding(0) var<storage> v: {kind}; "
        "@compute @workgroup_size(1) fn main() { _ = v; }"
    )
    module = wgsl.parse(code)
    assert module is not None
    return module.used("main")[0].size  # type: ignore[index]


@pytest.mark.parametrize("kind", SIZES)
def test_the_size_of_a_type(kind: str) -> None:
    assert _size(kind) == SIZES[kind]


@pytest.mark.parametrize("kind", UNKNOWN)
def test_what_does_not_follow_from_the_text_is_not_known(kind: str) -> None:
    assert _size(kind) is None


def test_a_type_within_itself_is_not_known() -> None:
    assert _size("Loop", "struct Loop { next: Loop }") is None
    assert _size("Loop", "alias Loop = Loop;") is None


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.text)
def test_the_types_of_random_programs(kind: object) -> None:
    """Implementations agree with these: tests/fuzz."""
    assert _size(kind.text, STRUCTS) == kind.size  # type: ignore[attr-defined]


def _words(kind: str, declared: str, body: str = "_ = k;") -> frozenset[int] | None:
    code = f"enable f16; {declared} var<immediate> k: {kind}; @compute @workgroup_size(1) fn main() {{ {body} }}"
    module = wgsl.parse(code)
    assert module is not None
    return module.immediate_words("main")


@pytest.mark.parametrize(("kind", "words"), [(kind, words) for kind, _, words, _ in IMMEDIATES])
def test_the_words_of_immediates_without_padding(kind: str, words: tuple[int, ...]) -> None:
    assert _words(kind, STRUCTS) == set(words)


def test_words_of_matrices_arrays_and_halves() -> None:
    assert _words("mat2x3f", "") == {0, 4, 8, 16, 20, 24}
    assert _words("S", "struct S { a: array<vec3u, 2>, b: f16 }") == {0, 4, 8, 16, 20, 24, 32}
    assert _words("vec3h", "") == {0, 4}


def test_immediates_that_are_not_used_need_no_words() -> None:
    assert _words("vec4u", "", body="") == set()


def test_immediates_of_unknown_size_are_not_known() -> None:
    assert _words("Missing", "") is None
    module = wgsl.parse("@compute @workgroup_size(1) fn a() {} @compute @workgroup_size(1) fn b() {}")
    assert module is not None
    assert module.immediate_words(None) is None
