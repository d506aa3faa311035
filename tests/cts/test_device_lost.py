"""api/validation/state/device_lost/destroy: what may still be done with a destroyed device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.cts.common import bound
from tests.cts.harness import FINISH, SUBMIT, Case, Plan, mirrored
from tests.kit import Kit

MOMENTS = ("before_encoding", "before_finish", "before_submit")
COMMANDS = ("dispatch", "copy", "clear")


def _case(command: str, moment: str) -> Case:
    def make(kit: Kit) -> Plan:
        pipeline, group = bound(kit)
        a, b = kit.buffer(), kit.buffer()

        def at(when: str) -> Callable[[], None]:
            return kit.device.destroy if when == moment else lambda: None

        def encode() -> Sequence[Any]:
            at("before_encoding")()
            encoder = kit.device.create_command_encoder()
            if command == "dispatch":
                compute = encoder.begin_compute_pass()
                compute.set_pipeline(pipeline)
                compute.set_bind_group(0, group)
                compute.dispatch_workgroups(1)
                compute.end()
            elif command == "copy":
                encoder.copy_buffer_to_buffer(a, 0, b, 0, 16)
            else:
                encoder.clear_buffer(a)
            at("before_finish")()
            return [encoder.finish()]

        return Plan(encode, at("before_submit"))

    # Both refuse to finish on a destroyed device; the text has it that everything seems to go on.
    differs = {} if moment == "before_submit" else {"wgpu": FINISH, "wgpudawn": FINISH}
    return Case(f"{command}_{moment}", make, SUBMIT, differs, shared=False)


CASES = [_case(command, moment) for command in COMMANDS for moment in MOMENTS]
test_capture, test_implementation = mirrored(__name__, CASES)
