"""The state machine of encoders and passes: misuse is an error at its line, and what was good before stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cmdgraph
from cmdgraph.recording import caller, written_bytes
from tests.kit import INC, Kit, captured
from tests.stand_ins import GPUBuffer

Parts = tuple[Any, Any, Any]


def _open_pass(kit: Kit) -> Parts:
    """An encoder, an open pass with everything set, the pipeline's bind group."""
    pipeline = kit.kernel(INC)
    group = kit.group(pipeline, kit.buffer(label="b"))
    encoder = kit.device.create_command_encoder(label="enc")
    compute = encoder.begin_compute_pass()
    compute.set_pipeline(pipeline)
    compute.set_bind_group(0, group)
    return encoder, compute, group


Misuse = Callable[[Kit, Any, Any, Any], Any]

# Each gets an open pass; what is wrong, and words of the error.
MISUSES: dict[str, tuple[Misuse, str]] = {
    "finish in a pass": (lambda k, e, p, g: e.finish(), r'finish\(\) on command encoder "enc" made at .*in a pass'),
    "copy in a pass": (lambda k, e, p, g: e.copy_buffer_to_buffer(k.buffer(), 0, k.buffer(), 0, 4), "in a pass"),
    "clear in a pass": (lambda k, e, p, g: e.clear_buffer(k.buffer()), "in a pass"),
    "second pass": (lambda k, e, p, g: e.begin_compute_pass(), "in a pass"),
    "dispatch after end": (lambda k, e, p, g: (p.end(), p.dispatch_workgroups(1)), "on a compute pass that is ended"),
    "set after end": (lambda k, e, p, g: (p.end(), p.set_pipeline(k.kernel(INC))), "that is ended"),
    "group after end": (lambda k, e, p, g: (p.end(), p.set_bind_group(0, g)), "that is ended"),
    "end twice": (lambda k, e, p, g: (p.end(), p.end()), "that is ended"),
    "pass after finish": (lambda k, e, p, g: (p.end(), e.finish(), e.begin_compute_pass()), "it is finished"),
    "finish twice": (lambda k, e, p, g: (p.end(), e.finish(), e.finish()), "it is finished"),
    "no pipeline": (
        lambda k, e, p, g: (p.end(), e.begin_compute_pass().dispatch_workgroups(1)),
        r"dispatch_workgroups\(\) without a pipeline",
    ),
    "indirect without pipeline": (
        lambda k, e, p, g: (p.end(), e.begin_compute_pass().dispatch_workgroups_indirect(k.buffer(), 0)),
        "without a pipeline",
    ),
    "group index": (lambda k, e, p, g: p.set_bind_group(100, g), r"at index 100: this device has \d+ bind groups"),
    "negative group index": (lambda k, e, p, g: p.set_bind_group(-1, g), "at index -1"),
    "negative count": (lambda k, e, p, g: p.dispatch_workgroups(-1), "counts are u32"),
    "count over u32": (lambda k, e, p, g: p.dispatch_workgroups(1, 2**32), "counts are u32"),
    "odd immediates": (lambda k, e, p, g: p.set_immediates(2, bytes(4), 0, 4), "not a multiple of 4"),
    "pop without push": (lambda k, e, p, g: p.pop_debug_group(), r"without a push_debug_group\(\) in this pass"),
    "group open at end": (lambda k, e, p, g: (p.push_debug_group("attn"), p.end()), 'debug group "attn" is still open'),
    "group open at finish": (
        lambda k, e, p, g: (p.end(), e.push_debug_group("layer"), e.finish()),
        'debug group "layer" is still open',
    ),
    "pop of the encoder's group in a pass": (
        lambda k, e, p, g: (p.end(), e.push_debug_group("l"), e.begin_compute_pass().pop_debug_group()),
        r"without a push_debug_group\(\) in this pass",
    ),
    "pop of a pass's label": (
        lambda k, e, p, g: (p.end(), e.begin_compute_pass(label="query").pop_debug_group()),
        r"without a push_debug_group\(\) in this pass",
    ),
    "encoder group in a pass": (
        lambda k, e, p, g: e.push_debug_group("layer"),
        r"push_debug_group\(\) on command encoder",
    ),
    "encoder marker in a pass": (lambda k, e, p, g: e.insert_debug_marker("x"), r"insert_debug_marker\(\) on command"),
    "group after the end": (lambda k, e, p, g: (p.end(), p.push_debug_group("attn")), "that is ended"),
    "marker after the end": (lambda k, e, p, g: (p.end(), p.insert_debug_marker("attn")), "that is ended"),
    "encoder pop without push": (lambda k, e, p, g: (p.end(), e.pop_debug_group()), r"pop_debug_group\(\) without"),
}


@pytest.mark.parametrize("execute", [False, True])
@pytest.mark.parametrize("misuse", MISUSES)
def test_misuse_is_an_error_at_its_line_and_breaks_the_encoder(kit: Kit, misuse: str, execute: bool) -> None:
    wrong, words = MISUSES[misuse]
    c = kit.buffer([0] * 4)
    good = kit.call(INC, c)

    def model() -> None:
        good()
        encoder, compute, group = _open_pass(kit)
        with pytest.raises(cmdgraph.CommandGraphError, match=words):
            wrong(kit, encoder, compute, group)
        with pytest.raises(cmdgraph.CaptureError, match="it is broken"):
            encoder.finish()

    graph = captured(kit.device, model, execute=execute)

    assert len(graph) == 1  # what was submitted before stays
    graph.replay()
    assert kit.read(c) == [2 if execute else 1] * 4


@pytest.mark.parametrize("wrong", [1.5, "4", None], ids=repr)
def test_counts_and_offsets_must_be_integers(kit: Kit, wrong: Any) -> None:
    good = kit.call(INC, kit.buffer([0] * 4))

    def model() -> None:
        good()
        encoder, compute, _ = _open_pass(kit)
        with pytest.raises(TypeError):
            compute.dispatch_workgroups(wrong)
        compute.end()
        kit.submit(encoder.finish())

    assert len(captured(kit.device, model)) == 1


def test_numpy_integers_are_integers(kit: Kit) -> None:
    a, b = kit.buffer([1, 2, 3, 4]), kit.buffer([0] * 4)

    def model() -> None:
        encoder, compute, _ = _open_pass(kit)
        compute.dispatch_workgroups(np.uint32(2), np.int64(1))
        compute.end()
        encoder.copy_buffer_to_buffer(a, np.int64(4), b, np.uint32(8), np.int32(8))
        kit.submit(encoder.finish())

    graph = captured(kit.device, model)
    graph.replay()
    assert graph.nodes[0].workgroups == (2, 1, 1)
    assert kit.read(b) == [0, 0, 2, 3]


def test_defaults_of_sizes(kit: Kit) -> None:
    a, b = kit.buffer([1, 2, 3, 4]), kit.buffer([9] * 4)

    def model() -> None:
        encoder = kit.device.create_command_encoder()
        encoder.copy_buffer_to_buffer(a, 8, b, 0, 8)
        encoder.clear_buffer(a)
        encoder.clear_buffer(b, 12)
        kit.submit(encoder.finish())

    model()
    eager = kit.read(a), kit.read(b)
    kit.write(a, [1, 2, 3, 4])
    kit.write(b, [9] * 4)
    captured(kit.device, model).replay()

    assert (kit.read(a), kit.read(b)) == eager == ([0] * 4, [3, 4, 9, 0])


def test_a_bind_group_can_be_unset(native: Kit) -> None:
    def model() -> None:
        _, compute, _ = _open_pass(native)
        compute.set_bind_group(0, None)
        with pytest.raises(cmdgraph.ValidationError, match="needs a bind group at index 0 and none is set"):
            compute.dispatch_workgroups(1)
        native.call(INC, native.buffer([0] * 4))()

    captured(native.device, model)


def test_dynamic_offsets_as_a_part_of_an_array(kit: Kit) -> None:
    entry = {"binding": 0, "visibility": 4, "buffer": {"type": "storage", "has_dynamic_offset": True}}
    pipeline = kit.explicit(INC, [entry])
    b = kit.buffer([0] * 192)
    group = kit.group(pipeline, {"buffer": b, "offset": 0, "size": 256})

    def model() -> None:
        encoder = kit.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group, np.array([0, 256, 512], np.uint32), 1, 1)
        with pytest.raises(ValueError, match="both set or both None"):
            compute.set_bind_group(0, group, [0, 256], 1)
        with pytest.raises(ValueError, match="negative"):
            compute.set_bind_group(0, group, [0, 256], -1, 1)
        compute.dispatch_workgroups(1)
        compute.end()
        kit.submit(encoder.finish())

    captured(kit.device, model).replay()
    assert [i for i, value in enumerate(kit.read(b)) if value] == [64]


def test_state_does_not_reach_the_next_pass(kit: Kit) -> None:
    def model() -> None:
        encoder, compute, group = _open_pass(kit)
        compute.dispatch_workgroups(1)
        compute.end()
        compute = encoder.begin_compute_pass()
        compute.set_bind_group(0, group)
        with pytest.raises(cmdgraph.ValidationError, match="without a pipeline"):
            compute.dispatch_workgroups(1)
        kit.call(INC, kit.buffer())()

    assert len(captured(kit.device, model)) == 1


# -- the bytes of a write --------------------------------------------------------------------------------------------

BUFFER = GPUBuffer(16, "b")


@pytest.mark.parametrize(
    ("data", "start", "size", "expected"),
    [
        (b"abcd", 0, None, b"abcd"),
        (b"abcdefgh", 4, None, b"efgh"),
        (b"abcdefgh", 2, 4, b"cdef"),
        (b"abcd", 0, 0, b"abcd"),  # as wgpu-py: no size, all of it
        (np.arange(2, dtype=np.uint16), 0, None, b"\0\0\1\0"),
        (np.array([[1, 2], [3, 4]], np.uint8), 1, 2, b"\2\3"),
    ],
)
def test_the_bytes_of_a_write(data: Any, start: int, size: int | None, expected: bytes) -> None:
    assert written_bytes(BUFFER, 0, data, start, size)[0] == expected


@pytest.mark.parametrize(
    ("data", "start", "size"),
    [(b"abcd", 4, None), (b"abcd", -1, None), (b"abcd", 0, 5), (b"abcd", 2, 4), (b"abcd", 0, -4)],
)
def test_bytes_outside_of_the_data_are_refused(data: bytes, start: int, size: int | None) -> None:
    with pytest.raises(cmdgraph.ValidationError, match=r'write_buffer\(\) to buffer "b".*not within the 4 bytes'):
        written_bytes(BUFFER, 0, data, start, size)


def test_data_with_gaps_is_refused() -> None:
    with pytest.raises(cmdgraph.ValidationError, match="the data is not contiguous; pass a contiguous copy"):
        written_bytes(BUFFER, 0, np.arange(8, dtype=np.float32)[::2], 0, None)


def test_what_is_no_data_is_refused() -> None:
    with pytest.raises(TypeError):
        written_bytes(BUFFER, 0, [1, 2, 3, 4], 0, None)


def test_the_caller_is_the_first_frame_outside_of_the_libraries() -> None:
    place = caller(("layer",))

    assert place.file == __file__
    assert (
        str(place)
        == f"{__file__}:{test_the_caller_is_the_first_frame_outside_of_the_libraries.__code__.co_firstlineno + 1}"
    )
    assert place.groups == ("layer",)


def test_debug_names_are_text(native: Kit) -> None:
    with pytest.raises(TypeError, match=r"push_debug_group\(\) takes text, not 3"), cmdgraph.capture(native.device):
        native.device.create_command_encoder().push_debug_group(3)
