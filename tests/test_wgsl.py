"""The reader of WGSL declarations: finds what a module declares, never raises, and says when it does not know."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmdgraph import wgsl

few = settings(max_examples=120, deadline=None, derandomize=True)

EVERYTHING = """
enable f16;
diagnostic(off, derivative_uniformity);
/* outer /* nested { */ } @group(9) */
alias Row = vec4<f32>; // @group(8) @binding(8) var<storage> no: u32;
const SLOT = 3u;
override scale: f32 = 2.0;
@id(7) override other: u32;
const_assert SLOT < 4u;
struct Pair { a: f32, @align(16) b: vec2f, c: array<Row, 2>, }
struct Mixed { n: u32, data: array<f32, 4> }
@group(0) @binding(0) var<storage, read> rows: array<Row>;
@group(0) @binding(SLOT) var<storage, read_write> out: array<atomic<u32>>;
@binding(0x2) @group(1) var<uniform> pair: Pair;
@group(1) @binding(4) var<storage> mixed: Mixed;
@group(2) @binding(0) var image: texture_2d<f32>;
@group(2) @binding(1) var unused: sampler;
var<workgroup> shared_rows: array<f32, (1 << 4)>;
var<private> seed: u32 = 1u;
fn deep(x: u32) -> f32 { return rows[x].x; }
fn helper(i: u32) -> f32 { if (i > 2u) { return pair.a; } return deep(i); }
@compute @workgroup_size(64, 1, 1) fn first(@builtin(global_invocation_id) id: vec3<u32>) {
  atomicAdd(&out[id.x], u32(helper(id.x)));
}
@compute @workgroup_size(1) fn second() { let q = textureLoad(image, vec2u(0), 0); _ = mixed.n; }
@fragment fn third() -> @location(0) vec4f { return vec4f(); }
"""


def _used(module: wgsl.Module | None, entry: str | None) -> dict[str, tuple[int, int, str, str | None]]:
    assert module is not None
    used = module.used(entry)
    assert used is not None
    return {d.name: (d.group, d.binding, d.kind, d.element) for d in used}


def test_declarations_of_a_module_with_everything() -> None:
    module = wgsl.parse(EVERYTHING)

    assert module is not None
    assert module.entry_points == ("first", "second")
    assert _used(module, "first") == {
        "rows": (0, 0, "read-only-storage", "f32"),
        "out": (0, 3, "storage", "u32"),
        "pair": (1, 2, "uniform", "f32"),
    }
    assert _used(module, "second") == {
        "mixed": (1, 4, "read-only-storage", None),
        "image": (2, 0, "handle", None),
    }


def test_the_entry_point_may_be_left_out_when_there_is_one() -> None:
    code = "@group(0) @binding(0) var<uniform> v: u32; @compute @workgroup_size(1) fn only() { _ = v; }"

    assert list(_used(wgsl.parse(code), None)) == ["v"]
    assert wgsl.parse(EVERYTHING).used(None) is None  # type: ignore[union-attr]
    assert wgsl.parse(EVERYTHING).used("third") is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("kind", "element"),
    [
        ("f32", "f32"),
        ("array<u32>", "u32"),
        ("array<vec4<f32>, 16>", "f32"),
        ("array<vec3h>", "f16"),
        ("mat4x4<f32>", "f32"),
        ("mat2x3f", "f32"),
        ("array<atomic<i32>>", "i32"),
        ("array<vec2<u32>, N>", "u32"),
        ("array<S>", None),
        ("array<T>", "f32"),
        ("A", "i32"),
    ],
)
def test_the_element_of_a_buffer(kind: str, element: str | None) -> None:
    code = (
        "const N = 4; struct S { a: u32, b: f32 } struct T { a: f32, b: vec3f } alias A = array<vec2i>; "
        f"@group(0) @binding(0) var<storage, read_write> v: {kind}; @compute @workgroup_size(1) fn main() {{ _ = v; }}"
    )

    assert _used(wgsl.parse(code), "main")["v"][3] == element


@pytest.mark.parametrize(
    "code",
    [
        "#version 450\nvoid main() {}",
        "@group(0) @binding(1 + 1) var<uniform> v: u32;",
        "/* never closed",
        "fn main( {",
        "@group(0",
        "struct",
        "var",
        "\x00",
    ],
)
def test_what_it_cannot_follow_is_unknown(code: str) -> None:
    assert wgsl.parse(code) is None


def test_an_empty_module_declares_nothing() -> None:
    module = wgsl.parse("")

    assert module is not None
    assert (module.declarations, module.entry_points) == ((), ())


MEMBER = """
struct Params { scale: f32, shift: f32 }
@group(0) @binding(0) var<storage, read_write> data: array<f32>;
@group(0) @binding(1) var<uniform> params: Params;
@group(1) @binding(0) var<storage, read_write> scale: array<f32>;
@group(1) @binding(1) var<storage, read_write> local: array<f32>;
@group(1) @binding(2) var<storage, read_write> argument: array<f32>;
fn f(argument: f32) -> f32 { return argument; }
@compute @workgroup_size(1) fn first() { let local = params.scale; data[0] = f(local); }
@compute @workgroup_size(1) fn second() { scale[0] = 1; local[0] = 1; argument[0] = 1; }
"""


def test_names_of_members_and_locals_are_not_uses_of_variables() -> None:
    """`params.scale`, `let local` and a parameter do not reach module variables of the same name."""
    assert set(_used(wgsl.parse(MEMBER), "first")) == {"data", "params"}
    assert set(_used(wgsl.parse(MEMBER), "second")) == {"scale", "local", "argument"}


names = st.text(string.ascii_letters + "_", min_size=2, max_size=8).map(lambda s: f"v_{s}")
scalars = st.sampled_from(["f32", "u32", "i32"])
spaces = st.sampled_from(
    [
        ("storage, read_write", "storage"),
        ("storage,read", "read-only-storage"),
        ("storage", "read-only-storage"),
        ("uniform", "uniform"),
    ]
)
trivia = st.sampled_from([" ", "\n", "\t", " /* x; } */ ", " // } var\n", "\r\n", "/* /* */ @ */"])


@st.composite
def modules(draw: st.DrawFn) -> tuple[str, dict[str, tuple[int, int, str, str]], dict[str, set[str]]]:
    """A module's text, its variables, and which each entry point reaches through helper functions."""
    found = draw(st.lists(names, min_size=1, max_size=6, unique=True))
    places = draw(
        st.lists(
            st.tuples(st.integers(0, 7), st.integers(0, 99)), min_size=len(found), max_size=len(found), unique=True
        )
    )
    parts, variables = [], {}
    for name, (group, binding) in zip(found, places, strict=True):
        (space, kind), scalar = draw(spaces), draw(scalars)
        shape = draw(st.sampled_from(["{}", "array<{}, 4>", "array<vec4<{}>, 2>"])).format(scalar)
        attributes = [
            f"@group({group})",
            f"@binding({draw(st.sampled_from([str(binding), f'{binding}u', hex(binding)]))})",
        ]
        if draw(st.booleans()):
            attributes.reverse()
        parts.append(f"{' '.join(attributes)} var<{space}> {name} : {shape};")
        variables[name] = (group, binding, kind, scalar)
    reached: dict[str, set[str]] = {}
    for index in range(draw(st.integers(1, 3))):
        own = set(draw(st.lists(st.sampled_from(found), max_size=4)))
        through = set(draw(st.lists(st.sampled_from(found), max_size=2)))
        body = " ".join(f"_ = {n};" for n in sorted(own))
        parts.append(f"fn helper{index}() {{ {{ {' '.join(f'_ = {n};' for n in sorted(through))} }} }}")
        parts.append(f"@compute @workgroup_size(1) fn entry{index}() {{ if true {{ {body} }} helper{index}(); }}")
        reached[f"entry{index}"] = own | through
    parts = draw(st.permutations(parts))
    return "".join(part.replace(" ", draw(trivia)) + draw(trivia) for part in parts), variables, reached


@given(modules())
@few
def test_generated_modules_are_read_right(
    module: tuple[str, dict[str, tuple[int, int, str, str]], dict[str, set[str]]],
) -> None:
    text, variables, reached = module
    parsed = wgsl.parse(text)

    assert parsed is not None
    assert {d.name: (d.group, d.binding, d.kind, d.element) for d in parsed.declarations} == variables
    assert {entry: set(_used(parsed, entry)) for entry in parsed.entry_points} == reached


@given(st.text(max_size=60) | st.lists(st.sampled_from(EVERYTHING.split()), max_size=40).map(" ".join))
@few
def test_no_text_makes_it_raise(text: str) -> None:
    wgsl.parse(text)


@given(st.integers(0, len(EVERYTHING)), st.integers(0, 30))
@few
def test_no_cut_makes_it_raise(start: int, length: int) -> None:
    wgsl.parse(EVERYTHING[:start] + EVERYTHING[start + length :])
    wgsl.parse(EVERYTHING[:start])
