"""Replays in the sight of a validation layer: `python -m tests.native.validated PACKAGE`, with the layers on.

Programs are replayed as they should be, and then with one mistake after another. A line that begins with "##" names
what comes; the validation layer writes to the same stream what it thinks of it. "encoded" is what the implementation
itself does, from a capture until our own command buffer is built.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cmdgraph import native
from tests.kit import ADD1, INC, INDIRECT, MUL2, UNIFORM, Kit, captured, open_device
from tests.programs import KERNELS

__all__ = ["MISTAKES"]

Build = Callable[..., native.NativeGraph]


def _without(barriers: Sequence[bool], number: int) -> list[bool]:
    """`barriers` without one of those that are set."""
    place = [at for at, barrier in enumerate(barriers) if barrier][number]
    return [barrier and at != place for at, barrier in enumerate(barriers)]


def _missing(number: int) -> Callable[[Build, Any, Sequence[bool]], native.NativeGraph]:
    return lambda build, recording, barriers: build(recording, _without(barriers, number))


MISTAKES: dict[str, Callable[[Build, Any, Sequence[bool]], native.NativeGraph]] = {
    "no barriers": lambda build, recording, barriers: build(recording, [False] * len(barriers), edges=False),
    "no barrier before a dispatch": _missing(0),
    "no barrier before a copy": _missing(1),
    "no barrier before a fill": _missing(2),
    "no barriers at the ends": lambda build, recording, barriers: build(recording, barriers, edges=False),
    "no SIMULTANEOUS_USE": lambda build, recording, barriers: build(recording, barriers, overlap=False),
}


def _tell(what: str) -> None:
    print(f"## {what}", flush=True)


def _replay(kit: Kit, model: Callable[[], Any], *, elide: bool = True) -> None:
    _tell("encoded")
    graph = captured(kit.device, model)
    graph.strategy, graph.elide_barriers = "native", elide
    for _ in range(4):
        graph.replay()
    graph.replay(times=3)
    model()
    graph.replay(wait=True)
    assert graph.stats.ahead == 7, graph.stats
    graph.release()


def _model(kit: Kit) -> Callable[[], None]:
    a, b = kit.buffer([0] * 4, "a"), kit.buffer([0] * 4, "b")
    inc, add = kit.call(INC, a), kit.call(ADD1, a, b)

    def model() -> None:
        inc()
        add()
        kit.copy(b, a)
        kit.clear(b)
        kit.write(b, [1, 2, 3, 4])
        inc()  # nothing but the barrier at the end stands between this and the next replay's first

    return model


def _larger(kit: Kit, indirect: bool) -> Callable[[], None]:
    """Uniforms, dynamic offsets, two groups, an indirect dispatch, and dispatches that do not concern each other."""
    x, y, z = (kit.buffer(np.arange(128, dtype=np.uint32), name) for name in "xyz")
    scale, arguments = (
        kit.buffer(np.array([2, 9, 0, 0], np.uint32), usage=UNIFORM),
        kit.buffer(np.array([3, 1, 1, 0], np.uint32), usage=INDIRECT),
    )
    two = kit.kernel(KERNELS["two_groups"])
    halves = [kit.group(two, buffer, index=index) for index, buffer in enumerate((x, y))]
    scaled, counted = kit.call(KERNELS["scale"], x, scale), kit.call(KERNELS["inc"], z)
    floats = [kit.buffer([n] * 4) for n in range(6)]
    independent = [kit.call(MUL2, one, other) for one, other in zip(floats[::2], floats[1::2], strict=True)]
    pipeline = kit.kernel(KERNELS["inc"])
    group = kit.group(pipeline, y)

    def model() -> None:
        kit.write(scale, np.array([3, 1, 0, 0], np.uint32))
        scaled()
        kit.run(two, *halves)
        for call in independent:
            call()
        counted()
        if indirect:
            encoder = kit.device.create_command_encoder()
            compute = encoder.begin_compute_pass()
            compute.set_pipeline(pipeline)
            compute.set_bind_group(0, group)
            compute.dispatch_workgroups_indirect(arguments, 0)
            compute.end()
            kit.submit(encoder.finish())
        kit.copy(y, z, 256)

    return model


def main(package: str) -> None:
    importlib.import_module(package)
    kit = Kit(open_device(package))
    model, larger = _model(kit), _larger(kit, indirect=package == "wgpu")
    _tell("eager")
    for _ in range(3):
        model()
        larger()
    kit.queue.read_buffer(kit.buffer([0]))
    right = native.Recording.build
    _build_by("right", right)
    for one in (model, larger):
        _replay(kit, one)
        _replay(kit, one, elide=False)
    for name, mistake in MISTAKES.items():
        _build_by(name, lambda recording, barriers, mistake=mistake: mistake(right, recording, barriers))
        _replay(kit, model)
    _tell("end")


def _build_by(name: str, build: Callable[[Any, Any], native.NativeGraph]) -> None:
    def tell_and_build(recording: native.Recording, barriers: Sequence[bool] | None) -> native.NativeGraph:
        _tell(name)
        return build(recording, barriers)

    native.Recording.build = tell_and_build  # type: ignore[method-assign,assignment]


if __name__ == "__main__":
    main(sys.argv[1])
