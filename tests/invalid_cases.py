"""Programs that break a rule of WebGPU, one for each way to break it, as plain wgpu-py code.

A case is made with a kit and gives a model; the model's own calls are what is wrong. tests/test_validation.py captures
it in this process, and runs it eagerly in subprocesses, because some of them abort the process that does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import frozen

from tests.kit import ADD1, INC, INDIRECT, MUL2, READBACK, STORAGE, UNIFORM, UPLOAD, Kit, dispatch, open_device

Model = Callable[[], Any]


@frozen
class Case:
    """A way to break ``rule``; the message of the error holds all ``parts``."""

    name: str
    rule: str
    parts: tuple[str, ...]
    make: Callable[[Kit], Model]

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, kit: Kit, _setting: str) -> None:
        """Eagerly, for `tests.subprocesses`."""
        self.make(kit)()


CASES: list[Case] = []


def _case(rule: str, *parts: str) -> Callable[[Callable[[Kit], Model]], Callable[[Kit], Model]]:
    def add(make: Callable[[Kit], Model]) -> Callable[[Kit], Model]:
        CASES.append(Case(make.__name__, rule, parts, make))
        return make

    return add


def _encoding(kit: Kit, use: Callable[[Any], Any]) -> Model:
    """A model that makes an encoder, lets `use` have it, and submits it."""

    def model() -> None:
        encoder = kit.device.create_command_encoder()
        use(encoder)
        kit.submit(encoder.finish())

    return model


# -- one device ------------------------------------------------------------------------------------------------------


def _stranger(kit: Kit) -> Kit:
    return Kit(open_device(type(kit.device).__module__.partition(".")[0]))


@_case("same_device", 'buffer "foreign" belongs to another device')
def copy_from_another_device(kit: Kit) -> Model:
    return _copy(kit, _stranger(kit).buffer([1] * 4, "foreign"), 0, kit.buffer(), 0, 16)


@_case("same_device", 'bind group "foreign" belongs to another device')
def bind_group_of_another_device(kit: Kit) -> Model:
    other = _stranger(kit)
    group = other.group(other.kernel(INC), other.buffer([0] * 4), label="foreign")
    pipeline = kit.kernel(INC)
    return lambda: kit.run(pipeline, group)


@_case("same_device", "node 1 set_pipeline: ", "belongs to another device")
def pipeline_of_another_device_that_is_not_used(kit: Kit) -> Model:
    foreign, pipeline = _stranger(kit).kernel(INC), kit.kernel(INC)
    group = kit.group(pipeline, kit.buffer([0] * 4))

    def use(encoder: Any) -> None:
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(foreign)
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups(1)
        compute.end()

    return _encoding(kit, use)


# -- workgroups ------------------------------------------------------------------------------------------------------


def _sizes(kit: Kit, *counts: int) -> Model:
    pipeline = kit.kernel(INC)
    group = kit.group(pipeline, kit.buffer([0] * 4, "b"))
    return lambda: kit.run(pipeline, group, count=counts)


_LIMIT = ("maxComputeWorkgroupsPerDimension (65535)", 'buffer "b"', "@group(0) @binding(0)")


@_case("workgroup_counts", "65536 workgroups in x", *_LIMIT)
def too_many_workgroups_in_x(kit: Kit) -> Model:
    return _sizes(kit, 65536, 1, 1)


@_case("workgroup_counts", "65536 workgroups in y", *_LIMIT)
def too_many_workgroups_in_y(kit: Kit) -> Model:
    return _sizes(kit, 1, 65536, 1)


@_case("workgroup_counts", f"{2**32 - 1} workgroups in z", *_LIMIT)
def too_many_workgroups_in_z(kit: Kit) -> Model:
    return _sizes(kit, 0, 1, 2**32 - 1)


# -- bind groups -----------------------------------------------------------------------------------------------------

TWO_GROUPS = (
    "@group(0) @binding(0) var<storage, read> a: array<f32>;"
    "@group(1) @binding(0) var<storage, read_write> b: array<f32>;"
    "@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3u) { b[id.x] = a[id.x]; }"
)


@_case("bind_groups_set", "needs a bind group at index 0 and none is set")
def no_bind_group(kit: Kit) -> Model:
    pipeline = kit.kernel(INC)
    return lambda: kit.run(pipeline)


@_case("bind_groups_set", "needs a bind group at index 1 and none is set")
def second_bind_group_missing(kit: Kit) -> Model:
    pipeline = kit.kernel(TWO_GROUPS)
    group = kit.group(pipeline, kit.buffer([0] * 4))
    return lambda: kit.run(pipeline, group)


@_case("bind_groups_set", "needs a bind group at index 0 and none is set")
def bind_group_of_an_earlier_pass(kit: Kit) -> Model:
    pipeline = kit.kernel(INC)
    group = kit.group(pipeline, kit.buffer([0] * 4))
    return _encoding(kit, lambda e: (dispatch(e, pipeline, group), dispatch(e, pipeline)))


@_case("bind_groups_set", "needs a bind group at index 0 and none is set")
def indirect_without_bind_group(kit: Kit) -> Model:
    return _indirect(kit, kit.buffer(usage=INDIRECT), 0, bound=False)


@_case("bind_groups_compatible", 'bind group "wrong" at index 0', "layout='auto'")
def bind_group_of_another_automatic_layout(kit: Kit) -> Model:
    group = kit.group(kit.kernel(MUL2), kit.buffer([0] * 4), kit.buffer([0] * 4), label="wrong")
    pipeline = kit.kernel(ADD1)
    return lambda: kit.run(pipeline, group)


@_case("bind_groups_compatible", 'bind group "wrong" at index 0 has other entries')
def bind_group_with_other_entries(kit: Kit) -> Model:
    def entries(kind: str) -> list[dict[str, Any]]:
        return [{"binding": 0, "visibility": 4, "buffer": {"type": kind}}]

    pipeline = kit.explicit(INC, entries("storage"))
    layout = kit.device.create_bind_group_layout(entries=entries("read-only-storage"))
    bound = [{"binding": 0, "resource": {"buffer": kit.buffer([0] * 4)}}]
    group = kit.device.create_bind_group(layout=layout, entries=bound, label="wrong")
    return lambda: kit.run(pipeline, group)


# -- dynamic offsets -------------------------------------------------------------------------------------------------


def _offsets(kit: Kit, *offsets: int, dynamic: bool = True) -> Model:
    entry = {"binding": 0, "visibility": 4, "buffer": {"type": "storage", "has_dynamic_offset": dynamic}}
    pipeline = kit.explicit(INC, [entry])
    group = kit.group(pipeline, {"buffer": kit.buffer([0] * 192, "b"), "offset": 0, "size": 256}, label="g")

    def use(encoder: Any) -> None:
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group, list(offsets))
        compute.dispatch_workgroups(1)
        compute.end()

    return _encoding(kit, use)


@_case("dynamic_offsets", 'bind group "g" at index 0 has 1 bindings with a dynamic offset, but 0 offsets')
def dynamic_offset_missing(kit: Kit) -> Model:
    return _offsets(kit)


@_case("dynamic_offsets", "has 1 bindings with a dynamic offset, but 2 offsets")
def one_dynamic_offset_too_many(kit: Kit) -> Model:
    return _offsets(kit, 0, 256)


@_case("dynamic_offsets", "has 0 bindings with a dynamic offset, but 1 offsets")
def dynamic_offset_for_a_static_binding(kit: Kit) -> Model:
    return _offsets(kit, 0, dynamic=False)


@_case("dynamic_offsets", "dynamic offset 4 of @group(0) @binding(0)", "min-storage-buffer-offset-alignment")
def dynamic_offset_not_aligned(kit: Kit) -> Model:
    return _offsets(kit, 4)


@_case("dynamic_offsets", "dynamic offset 768 of @group(0) @binding(0)", 'buffer "b" (768 bytes)')
def dynamic_offset_past_the_end(kit: Kit) -> Model:
    return _offsets(kit, 768)


@_case("dynamic_offsets", f"dynamic offset {2**32 - 256} of")
def dynamic_offset_near_the_end_of_u32(kit: Kit) -> Model:
    return _offsets(kit, 2**32 - 256)


@_case("dynamic_offsets", "node 1 set_bind_group: ", "has 1 bindings with a dynamic offset, but 0 offsets")
def dynamic_offset_missing_in_a_group_that_is_replaced(kit: Kit) -> Model:
    entry = {"binding": 0, "visibility": 4, "buffer": {"type": "storage", "has_dynamic_offset": True}}
    dynamic, pipeline = kit.explicit(INC, [entry]), kit.kernel(INC)
    wrong = kit.group(dynamic, {"buffer": kit.buffer(size=512), "offset": 0, "size": 256})
    group = kit.group(pipeline, kit.buffer([0] * 4))

    def use(encoder: Any) -> None:
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, wrong)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups(1)
        compute.end()

    return _encoding(kit, use)


# -- sizes of bindings ------------------------------------------------------------------------------------------------


def small_binding(kit: Kit, kind: str, size: int = 16) -> Model:
    """minBindingSize is 0 in the layout, so the size is looked at when it is dispatched."""
    code = INC.replace("array<f32>", kind)
    pipeline = kit.explicit(code, [{"binding": 0, "visibility": 4, "buffer": {"type": "storage"}}])
    group = kit.group(pipeline, kit.buffer(label="small", size=size, usage=STORAGE))
    return lambda: kit.run(pipeline, group)


@_case("binding_sizes", "@group(0) @binding(0) binds 16 bytes of", 'buffer "small"', "needs at least 256")
def binding_below_the_size_of_an_array(kit: Kit) -> Model:
    return small_binding(kit, "array<f32, 64>")


@_case("binding_sizes", "binds 12 bytes of", "needs at least 16")
def binding_below_one_element_of_a_runtime_array(kit: Kit) -> Model:
    code = (
        "@group(0) @binding(0) var<storage, read_write> b: array<vec4f>; "
        "@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3u) { b[id.x] = vec4f(); }"
    )
    pipeline = kit.explicit(code, [{"binding": 0, "visibility": 4, "buffer": {"type": "storage"}}])
    group = kit.group(pipeline, kit.buffer(size=12, usage=STORAGE))
    return lambda: kit.run(pipeline, group)


# -- usage -----------------------------------------------------------------------------------------------------------


@_case("usage_scope", 'buffer "kv" is read at @group(0) @binding(0) and may be written at @group(0) @binding(1)')
def read_and_written_in_one_dispatch(kit: Kit) -> Model:
    x = kit.buffer([0] * 4, "kv")
    return kit.call(ADD1, x, x)


@_case("usage_scope", "is read at @group(0) @binding(0) and may be written at @group(1) @binding(0)")
def read_and_written_in_two_groups(kit: Kit) -> Model:
    pipeline, x = kit.kernel(TWO_GROUPS), kit.buffer([0] * 4, "kv")
    groups = [kit.group(pipeline, x, index=i) for i in range(2)]
    return lambda: kit.run(pipeline, *groups)


@_case("usage_scope", 'buffer "args" is read at the indirect arguments and may be written at @group(0) @binding(0)')
def written_and_indirect(kit: Kit) -> Model:
    return _indirect(kit, kit.buffer(label="args", usage=INDIRECT), 0, bound=True)


@_case("usage_scope", 'buffer "u" is read at @group(0) @binding(0)')
def uniform_and_written(kit: Kit) -> Model:
    x = kit.buffer([0] * 4, "u", usage=UNIFORM | STORAGE)
    code = ADD1.replace("<storage, read> src: array<f32>", "<uniform> src: vec4f")
    return kit.call(code, x, x)


TWO_OUT = (
    "@group(0) @binding(0) var<storage, read_write> a: array<f32>;"
    "@group(0) @binding(1) var<storage, read_write> b: array<f32>;"
    "@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3u) { a[id.x] = 1; b[id.x] = 2; }"
)


@_case("writable_aliasing", "@group(0) @binding(0) (0..16) and @group(0) @binding(1) (0..16) overlap", 'buffer "x"')
def written_twice_in_one_dispatch(kit: Kit) -> Model:
    x = kit.buffer([0] * 4, "x")
    return kit.call(TWO_OUT, x, x)


@_case("immediates", "maxImmediateSize")
def immediates_past_the_limit(kit: Kit) -> Model:
    pipeline = kit.kernel(INC)
    group = kit.group(pipeline, kit.buffer([0] * 4))
    end = kit.device.limits["max-immediate-size"]

    def use(encoder: Any) -> None:
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.set_immediates(end, bytes(4), 0, 4)
        compute.dispatch_workgroups(1)
        compute.end()

    return _encoding(kit, use)


# -- indirect --------------------------------------------------------------------------------------------------------


def _indirect(kit: Kit, arguments: Any, offset: int, *, bound: bool | None = None) -> Model:
    """A dispatch with `arguments`; ``bound``: they are bound, too (True), or nothing is (False)."""
    pipeline = kit.kernel(INC)
    group = kit.group(pipeline, arguments if bound else kit.buffer([0] * 4))

    def use(encoder: Any) -> None:
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        if bound is not False:
            compute.set_bind_group(0, group)
        compute.dispatch_workgroups_indirect(arguments, offset)
        compute.end()

    return _encoding(kit, use)


@_case("indirect_arguments", 'buffer "args" was made without usage INDIRECT')
def indirect_without_usage(kit: Kit) -> Model:
    return _indirect(kit, kit.buffer(label="args"), 0)


@_case("indirect_arguments", 'the indirect arguments of buffer "args"', "is not a multiple of 4")
def indirect_not_aligned(kit: Kit) -> Model:
    return _indirect(kit, kit.buffer(label="args", usage=INDIRECT), 2)


@_case("indirect_arguments", 'the indirect arguments (12 bytes at 8) reaches past the end of buffer "args" (16 bytes)')
def indirect_past_the_end(kit: Kit) -> Model:
    return _indirect(kit, kit.buffer(label="args", usage=INDIRECT), 8)


# -- copies, clears, writes ------------------------------------------------------------------------------------------


def _copy(kit: Kit, source: Any, at: int, target: Any, to: int, size: int) -> Model:
    return _encoding(kit, lambda e: e.copy_buffer_to_buffer(source, at, target, to, size))


@_case("copy", 'source and destination are the same buffer "a"')
def copy_within_a_buffer(kit: Kit) -> Model:
    a = kit.buffer([0] * 4, "a")
    return _copy(kit, a, 0, a, 8, 4)


@_case("copy", 'buffer "a" was made without usage COPY_SRC')
def copy_without_source_usage(kit: Kit) -> Model:
    return _copy(kit, kit.device.create_buffer(size=16, usage=READBACK, label="a"), 0, kit.buffer(), 0, 16)


@_case("copy", 'buffer "b" was made without usage COPY_DST')
def copy_without_destination_usage(kit: Kit) -> Model:
    return _copy(kit, kit.buffer(), 0, kit.device.create_buffer(size=16, usage=UPLOAD, label="b"), 0, 16)


@_case("copy", 'the source range of buffer "a" (2 bytes at 0) is not a multiple of 4')
def copy_of_two_bytes(kit: Kit) -> Model:
    return _copy(kit, kit.buffer(label="a"), 0, kit.buffer(), 0, 2)


@_case("copy", 'the destination range of buffer "b" (4 bytes at 1) is not a multiple of 4')
def copy_to_an_odd_offset(kit: Kit) -> Model:
    return _copy(kit, kit.buffer(), 0, kit.buffer(label="b"), 1, 4)


@_case("copy", 'the source range (16 bytes at 4) reaches past the end of buffer "a" (16 bytes)')
def copy_past_the_end_of_the_source(kit: Kit) -> Model:
    return _copy(kit, kit.buffer(label="a"), 4, kit.buffer(size=64), 0, 16)


@_case("copy", 'the destination range (16 bytes at 4) reaches past the end of buffer "b" (16 bytes)')
def copy_past_the_end_of_the_destination(kit: Kit) -> Model:
    return _copy(kit, kit.buffer(size=64), 0, kit.buffer(label="b"), 4, 16)


def _clear(kit: Kit, buffer: Any, *span: int) -> Model:
    return _encoding(kit, lambda e: e.clear_buffer(buffer, *span))


@_case("clear", 'buffer "a" was made without usage COPY_DST')
def clear_without_usage(kit: Kit) -> Model:
    return _clear(kit, kit.device.create_buffer(size=16, usage=UPLOAD, label="a"))


@_case("clear", "the cleared range", "is not a multiple of 4")
def clear_of_three_bytes(kit: Kit) -> Model:
    return _clear(kit, kit.buffer(label="a"), 0, 3)


@_case("clear", "the cleared range", "is not a multiple of 4")
def clear_from_an_odd_offset(kit: Kit) -> Model:
    return _clear(kit, kit.buffer(label="a"), 2, 4)


@_case("clear", 'the cleared range (20 bytes at 0) reaches past the end of buffer "a" (16 bytes)')
def clear_past_the_end(kit: Kit) -> Model:
    return _clear(kit, kit.buffer(label="a"), 0, 20)


@_case("write", 'buffer "a" was made without usage COPY_DST')
def write_without_usage(kit: Kit) -> Model:
    buffer = kit.device.create_buffer(size=16, usage=UPLOAD, label="a")
    return lambda: kit.queue.write_buffer(buffer, 0, bytes(16))


@_case("write", "the written range", "(3 bytes at 0) is not a multiple of 4")
def write_of_three_bytes(kit: Kit) -> Model:
    buffer = kit.buffer(label="a")
    return lambda: kit.queue.write_buffer(buffer, 0, bytes(3))


@_case("write", "the written range", "(4 bytes at 2) is not a multiple of 4")
def write_at_an_odd_offset(kit: Kit) -> Model:
    buffer = kit.buffer(label="a")
    return lambda: kit.queue.write_buffer(buffer, 2, bytes(4))


@_case("write", 'the written range (16 bytes at 4) reaches past the end of buffer "a" (16 bytes)')
def write_past_the_end(kit: Kit) -> Model:
    buffer = kit.buffer(label="a")
    return lambda: kit.queue.write_buffer(buffer, 4, np.zeros(4, np.float32))
