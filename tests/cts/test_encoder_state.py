"""api/validation/encoding/encoder_state: passes that overlap, are left open or ended twice; encoders after finish."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.cts.common import bound
from tests.cts.harness import FINISH, PASSES, Case, Plan, mirrored
from tests.kit import Kit


def _work(kit: Kit) -> Any:
    """A pass encoder's dispatch, so that a valid case is a graph of something."""
    pipeline, group = bound(kit)

    def dispatch(compute: Any) -> None:
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups(1)

    return dispatch


def _passes(kit: Kit, calls: str) -> Plan:
    """``calls``: b begins a pass, d dispatches in the latest, e ends the latest, E the first, c copies, f finishes."""
    dispatch = _work(kit)
    source, target = kit.buffer(), kit.buffer()

    def encode() -> Sequence[Any]:
        encoder = kit.device.create_command_encoder()
        opened: list[Any] = []
        made: list[Any] = []
        for call in calls:
            if call == "b":
                opened.append(encoder.begin_compute_pass())
            elif call == "d":
                dispatch(opened[-1])
            elif call == "e":
                opened[-1].end()
            elif call == "E":
                opened[0].end()
            elif call == "c":
                encoder.copy_buffer_to_buffer(source, 0, target, 0, 16)
            else:
                made.append(encoder.finish())
        return made[:1]

    return Plan(encode)


ORDERS = {
    "one_pass": ("bdef", PASSES),
    "two_passes": ("bdebdef", PASSES),
    "copy_between": ("bdecbdef", PASSES),
    "copy_after": ("bdecf", PASSES),
    "pass_left_open": ("bdf", FINISH),
    "second_pass_left_open": ("bdebdf", FINISH),
    "pass_begun_within": ("bbdeef", FINISH),
    "pass_begun_within_the_first_ended": ("bdbdeEf", FINISH),
    "ended_twice": ("bdeef", FINISH),
    "dispatch_after_end": ("bdedf", FINISH),
    "copy_within": ("bdcef", FINISH),
    "copy_after_finish": ("bdefc", FINISH),
    "pass_after_finish": ("bdefb", FINISH),
    "finished_twice": ("bdeff", FINISH),
}


def _groups(kit: Kit, calls: str, inside: bool) -> Plan:
    """``calls``: + pushes a debug group, - pops one, ! inserts a marker; in the encoder or in a pass."""
    dispatch = _work(kit)

    def mark(target: Any) -> None:
        for call in calls:
            if call == "+":
                target.push_debug_group("group")
            elif call == "-":
                target.pop_debug_group()
            else:
                target.insert_debug_marker("marker")

    def encode() -> Sequence[Any]:
        encoder = kit.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        dispatch(compute)
        if inside:
            mark(compute)
        compute.end()
        if not inside:
            mark(encoder)
        return [encoder.finish()]

    return Plan(encode)


DEBUG = {"balanced": ("+-", PASSES), "nested": ("++!--", PASSES), "open": ("+", FINISH), "popped": ("-", FINISH)}
CASES = [
    *(Case(name, lambda kit, c=calls: _passes(kit, c), expected) for name, (calls, expected) in ORDERS.items()),
    *(
        Case(
            f"debug_{name}_{'pass' if inside else 'encoder'}",
            lambda kit, c=calls, i=inside: _groups(kit, c, i),
            expected,
        )
        for name, (calls, expected) in DEBUG.items()
        for inside in (True, False)
    ),
]
test_capture, test_implementation = mirrored(__name__, CASES)
