"""api/validation/queue/destroyed/buffer: destroyed before encoding, before finish or before submit, in each role."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.cts.harness import FINISH, PASSES, SUBMIT, Case, Plan, mirrored
from tests.kit import ADD1, INC, INDIRECT, Kit, dispatch

ROLES = ("source", "destination", "cleared", "read", "written", "bound_not_used", "indirect", "queue_write")
MOMENTS = ("never", "before_encoding", "before_finish", "before_submit")


def _uses(kit: Kit, victim: Any) -> dict[str, Callable[[Any], object]]:
    inc, add = kit.kernel(INC), kit.kernel(ADD1)
    other = kit.buffer([0] * 4)

    def indirect(encoder: Any) -> None:
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(inc)
        compute.set_bind_group(0, groups["plain"])
        compute.dispatch_workgroups_indirect(victim, 0)
        compute.end()

    groups = {
        "plain": kit.group(inc, other),
        "read": kit.group(add, victim, kit.buffer()),
        "written": kit.group(inc, victim),
    }
    return {
        "source": lambda encoder: encoder.copy_buffer_to_buffer(victim, 0, other, 0, 16),
        "destination": lambda encoder: encoder.copy_buffer_to_buffer(other, 0, victim, 0, 16),
        "cleared": lambda encoder: encoder.clear_buffer(victim),
        "read": lambda encoder: dispatch(encoder, add, groups["read"]),
        "written": lambda encoder: dispatch(encoder, inc, groups["written"]),
        "bound_not_used": lambda encoder: dispatch(encoder, inc, groups["plain"], groups["written"]),
        "indirect": indirect,
        "queue_write": lambda encoder: kit.queue.write_buffer(victim, 0, bytes(16)),
    }


def _case(role: str, moment: str) -> Case:
    def make(kit: Kit) -> Plan:
        victim = kit.buffer(np.array([1, 1, 1, 0], np.uint32), usage=INDIRECT)
        use = _uses(kit, victim)[role]

        def at(when: str) -> Callable[[], None]:
            return victim.destroy if when == moment else lambda: None

        at("before_encoding")()

        def encode() -> Sequence[Any]:
            encoder = kit.device.create_command_encoder()
            use(encoder)
            at("before_finish")()
            return [encoder.finish()]

        return Plan(encode, at("before_submit"))

    expected = PASSES if moment == "never" else SUBMIT
    if role == "queue_write":  # it happens at once
        expected = FINISH if moment == "before_encoding" else PASSES
        # A graph repeats the write, so the buffer must live as long as the graph.
        return Case(f"{role}_{moment}", make, expected, ours=PASSES if moment == "never" else SUBMIT)
    # wgpu-native does not look at what no dispatch uses.
    return Case(f"{role}_{moment}", make, expected, {"wgpu": PASSES} if role == "bound_not_used" else {})


CASES = [_case(*cross) for cross in itertools.product(ROLES, MOMENTS)]
test_capture, test_implementation = mirrored(__name__, CASES)
