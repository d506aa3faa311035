"""The rules: each refuses what breaks it, at the line that does, with the words that help, and lets the rest pass."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

import pytest

import cmdgraph
from cmdgraph import validation
from cmdgraph.errors import ValidationError
from tests import invalid_cases
from tests.cts.common import in_pass
from tests.invalid_cases import TWO_OUT, Case
from tests.kit import ADD1, IMMEDIATE, INC, INDIRECT, OUT, STORAGE, TEXTURE, Kit, captured, open_device
from tests.subprocesses import Outcomes

_eager: dict[str, Outcomes] = {}

# What we refuse and an implementation takes: (package, case) -> why we refuse it all the same.
STRICTER: dict[tuple[str, str], str] = {
    ("wgpu", "written_twice_in_one_dispatch"): "the specification refuses it, and Dawn; wgpu-core 29 does not look",
}


@pytest.mark.parametrize("case", invalid_cases.CASES, ids=lambda case: case.name)
def test_a_broken_rule_is_named_at_the_line_that_breaks_it(kit: Kit, case: Case) -> None:
    good, model = kit.call(INC, kit.buffer([0] * 4)), case.make(kit)

    def block() -> None:
        good()
        model()
        pytest.fail("nothing was raised inside of the block")

    with pytest.raises(ValidationError) as caught:
        captured(kit.device, block)

    error = caught.value
    assert error.rule == case.rule
    assert error.node is not None
    assert error.node >= 1
    assert f"node {error.node} " in str(error)
    for part in case.parts:
        assert part in str(error)
    assert f"(rule {case.rule}, https://www.w3.org/TR/webgpu/#" in str(error)
    assert "invalid_cases.py:" in str(error) or "kit.py:" in str(error)


@pytest.mark.parametrize("case", invalid_cases.CASES, ids=lambda case: case.name)
def test_what_we_refuse_the_implementation_refuses_too(package: str, case: Case) -> None:
    outcomes = _eager.setdefault(package, Outcomes("tests.invalid_cases", package))
    refused = outcomes.of(case.name).error not in ("", "TypeError", "AttributeError", "KeyError")

    assert refused == ((package, case.name) not in STRICTER), outcomes.of(case.name).text


@pytest.mark.parametrize("case", invalid_cases.CASES, ids=lambda case: case.name)
def test_an_executing_capture_refuses_it_before_the_call(kit: Kit, case: Case) -> None:
    model = case.make(kit)

    with pytest.raises(ValidationError), cmdgraph.capture(kit.device, execute=True):
        model()


def test_every_rule_has_a_case() -> None:
    """Immediates need a device of their own: see the tests of immediates below."""
    cases = {case.rule for case in invalid_cases.CASES}

    assert {rule.name for rule in validation.RULES} == cases | {"immediates_set"}


def test_every_rule_says_what_it_says() -> None:
    for rule in (*validation.RULES, *validation.ELSEWHERE):
        assert rule.summary.endswith("."), rule.name
        assert "\n" not in rule.summary


def test_what_is_proved_elsewhere_names_code_that_exists(device: Any) -> None:
    """Dotted names of cmdgraph resolve, and so do the methods of wgpu-py."""
    for rule in validation.ELSEWHERE:
        if not rule.by.startswith("cmdgraph."):
            owner, _, name = rule.by.partition(".")
            assert hasattr(getattr(importlib.import_module(type(device).__module__), owner), name), rule.name
            continue
        assert callable(pkgutil.resolve_name(rule.by)), rule.name


def test_every_rule_cites_the_specification_once() -> None:
    names = [rule.name for rule in validation.RULES]

    assert len(set(names)) == len(names)
    names += [rule.name for rule in validation.ELSEWHERE]
    assert len(set(names)) == len(names)
    assert all(rule.anchor.startswith("#") for rule in (*validation.RULES, *validation.ELSEWHERE))


# -- what is allowed -------------------------------------------------------------------------------------------------


def _halves(kit: Kit) -> Callable[[], None]:
    """Two writable ranges of one buffer that do not overlap."""
    x = kit.buffer([0] * 128, "x")
    pipeline = kit.kernel(TWO_OUT)
    parts = [{"buffer": x, "offset": offset, "size": 256} for offset in (0, 256)]
    group = kit.group(pipeline, *parts)
    return lambda: kit.run(pipeline, group)


def _read_twice(kit: Kit) -> Callable[[], None]:
    code = (
        "@group(0) @binding(0) var<storage, read> a: array<f32>;"
        "@group(0) @binding(2) var<storage, read> b: array<f32>;"
        f"{OUT} @compute @workgroup_size(1) fn main() {{ dst[0] = a[0] + b[0]; }}"
    )
    x = kit.buffer([1] * 4)
    return kit.call(code, x, kit.buffer(), x)


def _largest(kit: Kit) -> Callable[[], None]:
    pipeline = kit.kernel(INC)
    group = kit.group(pipeline, kit.buffer([0] * 4))
    return lambda: kit.run(pipeline, group, count=[65535, 0, 65535])


def _last_dynamic_offset(kit: Kit) -> Callable[[], None]:
    return invalid_cases._offsets(kit, 512)


def _last_arguments(kit: Kit) -> Callable[[], None]:
    return invalid_cases._indirect(kit, kit.buffer(usage=INDIRECT), 4)


def _equivalent_explicit_layouts(kit: Kit) -> Callable[[], None]:
    """Explicit layouts with equal entries are equivalent, whichever object they are."""
    entries = [{"binding": 0, "visibility": 4, "buffer": {"type": "storage"}}]
    pipeline = kit.explicit(INC, entries)
    other = kit.device.create_bind_group_layout(entries=entries)
    bound = [{"binding": 0, "resource": {"buffer": kit.buffer([0] * 4)}}]
    group = kit.device.create_bind_group(layout=other, entries=bound)
    return lambda: kit.run(pipeline, group)


def _extra_group(kit: Kit) -> Callable[[], None]:
    pipeline = kit.kernel(INC)
    groups = [kit.group(pipeline, kit.buffer([0] * 4)) for _ in range(3)]
    return lambda: kit.run(pipeline, *groups)


def _same_buffer_beyond_the_layout(kit: Kit) -> Callable[[], None]:
    """A group that the pipeline does not use does not count for the usage scope."""
    x = kit.buffer([1] * 4)
    inc, add = kit.kernel(INC), kit.kernel(ADD1)
    groups = kit.group(inc, x), kit.group(add, x, kit.buffer())
    return lambda: kit.run(inc, *groups)


def _whole_copy(kit: Kit) -> Callable[[], None]:
    a, b = kit.buffer([1] * 4), kit.buffer()
    return lambda: (kit.copy(a, b), kit.copy(a, b, 4, at=12, to=12), kit.copy(a, b, 0, at=16, to=16))


def _nothing_bound(kit: Kit) -> Callable[[], None]:
    pipeline = kit.kernel("@compute @workgroup_size(1) fn main() {}")
    return lambda: kit.run(pipeline)


def _groups_with_a_gap(kit: Kit) -> Callable[[], None]:
    code = INC.replace("@group(0)", "@group(2)")
    pipeline = kit.kernel(code)
    group = kit.group(pipeline, kit.buffer(), index=2)
    return lambda: kit.run(pipeline, None, None, group)


def _names_used_elsewhere(kit: Kit) -> Callable[[], None]:
    """A member's name is not a use of the variable of that name, so group 1 is not needed."""
    code = (
        "struct P { scale: f32 } @group(0) @binding(0) var<storage, read_write> o: array<f32>;"
        "@group(0) @binding(1) var<uniform> p: P; @group(1) @binding(0) var<storage, read_write> scale: array<f32>;"
        "@compute @workgroup_size(1) fn main() { o[0] = p.scale; }"
        "@compute @workgroup_size(1) fn other() { scale[0] = 1; }"
    )
    pipeline = kit.kernel(code)
    group = kit.group(pipeline, kit.buffer(), kit.buffer([3, 0, 0, 0], usage=0x48))
    return lambda: kit.run(pipeline, group)


ALLOWED = [
    _halves,
    _read_twice,
    _largest,
    _last_dynamic_offset,
    _last_arguments,
    _equivalent_explicit_layouts,
    _extra_group,
    _same_buffer_beyond_the_layout,
    _whole_copy,
    _nothing_bound,
    _groups_with_a_gap,
    _names_used_elsewhere,
]


@pytest.mark.parametrize("make", ALLOWED, ids=lambda make: make.__name__.strip("_"))
def test_what_is_allowed_passes_and_replays(kit: Kit, way: tuple[str, str], make: Any) -> None:
    model = make(kit)
    model()  # the implementation agrees

    graph = captured(kit.device, model)
    graph.walker, graph.strategy = way
    graph.replay(times=2, wait=True)


# -- what only the implementation sees -------------------------------------------------------------------------------


def _small_binding(kit: Kit) -> Callable[[], None]:
    """A size that the reader of WGSL does not work out: the implementation does."""
    return invalid_cases.small_binding(kit, "array<f32, 8 * 8>")


def test_a_binding_below_the_size_that_the_shader_needs_is_refused_with_its_node(kit: Kit) -> None:
    good, bad = kit.call(INC, kit.buffer([0] * 4)), _small_binding(kit)

    with pytest.raises(cmdgraph.ImplementationError) as caught:
        captured(kit.device, lambda: (good(), bad()))

    assert caught.value.node == 1
    assert "node 1 dispatch_workgroups" in str(caught.value)
    assert 'buffer "small"' in str(caught.value)


def test_after_a_refusal_by_the_implementation_all_goes_on(kit: Kit) -> None:
    c = kit.buffer([0] * 4)
    good, bad = kit.call(INC, c), _small_binding(kit)

    for _ in range(3):
        with pytest.raises(cmdgraph.ImplementationError):
            captured(kit.device, lambda: (good(), bad()))
    good()
    captured(kit.device, good).replay()

    assert kit.read(c) == [2] * 4


@pytest.fixture(scope="module")
def immediate_kit(device: Any) -> Kit:
    if "immediates" not in device.adapter.features:
        pytest.skip("the adapter has no immediates")
    return Kit(open_device("wgpu", ["immediates"], {"max-immediate-size": 64}))


def _immediate_pass(kit: Kit, pipeline: Any, group: Any, *values: tuple[int, bytes]) -> Callable[[Any], None]:
    def use(encoder: Any) -> None:
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        for offset, data in values:
            compute.set_immediates(offset, data, 0, len(data))
        compute.dispatch_workgroups(1)
        compute.end()

    return use


@pytest.mark.parametrize(
    ("given", "missing"),
    [((), 0), (((0, bytes(4)),), 4), (((4, bytes(4)),), 0), (((8, bytes(4)),), 0)],
    ids=["none", "first half", "second half", "only beyond"],
)
def test_immediates_that_the_pipeline_reads_and_nobody_set_are_refused(
    immediate_kit: Kit, given: Any, missing: int
) -> None:
    """Also when another pass, which a replay merges with this one, did set them."""
    kit = immediate_kit
    pipeline, group = _immediate_pipeline(kit)
    all_set = _immediate_pass(kit, pipeline, group, (0, b"\0\0\x80\x3f\0\0\x80\x3f"))
    incomplete = _immediate_pass(kit, pipeline, group, *given)

    def model() -> None:
        for use in (all_set, incomplete):
            encoder = kit.device.create_command_encoder()
            use(encoder)
            kit.submit(encoder.finish())

    with pytest.raises(ValidationError, match=f"node 1 .*reads the immediates at byte {missing}") as caught:
        captured(kit.device, model)
    assert caught.value.rule == "immediates_set"


def test_dawn_refuses_immediates_that_are_not_set_too(dawn_device: Any) -> None:
    """wgpu-native 29 takes them as zeros; see spec_proposal/validation.md."""
    kit = Kit(dawn_device)
    pipeline, group = _immediate_pipeline(kit)
    use = _immediate_pass(kit, pipeline, group, (0, bytes(4)))
    encoder = kit.device.create_command_encoder()
    use(encoder)

    with pytest.raises(Exception, match="Required immediate data at offset 4 was not set"):
        encoder.finish()


def _immediate_pipeline(kit: Kit) -> tuple[Any, Any]:
    entries = [{"binding": 1, "visibility": 4, "buffer": {"type": "storage"}}]
    pipeline = kit.explicit(IMMEDIATE, entries, immediate_size=8)
    layout = pipeline.get_bind_group_layout(0)
    bound = [{"binding": 1, "resource": {"buffer": kit.buffer([0] * 4, "out")}}]
    return pipeline, kit.device.create_bind_group(layout=layout, entries=bound)


def test_immediates_of_one_pipeline_do_not_reach_the_next(immediate_kit: Kit) -> None:
    kit = immediate_kit
    out, c = kit.buffer([0] * 4), kit.buffer([0] * 4)
    entries = [{"binding": 1, "visibility": 4, "buffer": {"type": "storage"}}]
    pipeline = kit.explicit(IMMEDIATE, entries, immediate_size=8)
    group = kit.device.create_bind_group(
        layout=pipeline.get_bind_group_layout(0), entries=[{"binding": 1, "resource": {"buffer": out}}]
    )
    inc = kit.kernel(INC)
    inc_group = kit.group(inc, c)

    def model() -> None:
        encoder = kit.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.set_immediates(0, b"\0\0\x80\x3f\0\0\x80\x3f", 0, 8)
        compute.dispatch_workgroups(4)
        compute.set_pipeline(inc)
        compute.set_bind_group(0, inc_group)
        compute.dispatch_workgroups(4)
        compute.end()
        kit.submit(encoder.finish())

    model()
    captured(kit.device, model).replay()

    assert kit.read(out) == [2] * 4
    assert kit.read(c) == [2] * 4


def test_what_is_used_of_two_implementations_is_told_apart(device: Any, dawn_device: Any) -> None:
    native, dawn = Kit(device), Kit(dawn_device)
    buffer = dawn.buffer([0] * 4, "from Dawn")

    with pytest.raises(ValidationError, match='buffer "from Dawn" belongs to another device'):
        captured(device, lambda: native.copy(buffer, native.buffer(usage=STORAGE)))


@pytest.mark.parametrize(("offsets", "refused"), [((0, 256), False), ((256, 0), False), ((256, 256), True)])
def test_dynamic_offsets_decide_whether_ranges_overlap(kit: Kit, offsets: tuple[int, int], refused: bool) -> None:
    kind = {"type": "storage", "has_dynamic_offset": True}
    pipeline = kit.explicit(TWO_OUT, [{"binding": n, "visibility": 4, "buffer": kind} for n in range(2)])
    shared = kit.buffer(size=512)
    group = kit.group(pipeline, *({"buffer": shared, "offset": 0, "size": 256} for _ in range(2)))

    def use(compute: Any) -> None:
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group, list(offsets))
        compute.dispatch_workgroups(1)

    encode = in_pass(kit, use)
    if not refused:
        captured(kit.device, lambda: kit.submit(*encode())).replay(wait=True)
        return
    with pytest.raises(ValidationError, match=r"\(256..512\) and .* \(256..512\) overlap") as caught:
        captured(kit.device, lambda: kit.submit(*encode()))
    assert caught.value.rule == "writable_aliasing"
    assert caught.value.broken == ("writable_aliasing",)


def test_every_broken_rule_is_told(kit: Kit) -> None:
    pipeline = kit.kernel(ADD1)
    x = kit.buffer([0] * 4)
    group = kit.group(pipeline, x, x)

    with pytest.raises(ValidationError) as caught:
        captured(kit.device, lambda: kit.run(pipeline, group, count=1 << 20))
    assert caught.value.rule == "workgroup_counts"
    assert caught.value.broken == ("workgroup_counts", "usage_scope")


def test_textures_beside_buffers_are_left_to_the_implementation(kit: Kit) -> None:
    texture, out = kit.texture(), kit.buffer([0] * 4)
    code = TEXTURE.replace("@group(0) @binding(1)", "@group(1) @binding(0)")
    pipeline = kit.kernel(code)
    groups = kit.group(pipeline, texture.create_view()), kit.group(pipeline, out, index=1)

    captured(kit.device, lambda: kit.run(pipeline, *groups, count=1)).replay()

    assert kit.read(out)[0] == 0.5
