"""`cmdgraph.guard`: eager calls that would abort the process raise instead. See also tests/fatal_cases.py."""

from __future__ import annotations

import pytest

import cmdgraph
from tests import fatal_cases
from tests.kit import INC, Kit, captured, hooks_restored, open_device
from tests.test_liveness import outcomes


@pytest.mark.parametrize("case", fatal_cases.GUARDED)
def test_fatal(package: str, case: str) -> None:
    error, parts = fatal_cases.EXPECTED[case]
    outcome = outcomes(package, "python").of(case)

    assert outcome.error == error, outcome.text
    for part in parts:
        assert part in outcome.text


def test_a_guard_leaves_nothing_behind(kit: Kit) -> None:
    with hooks_restored():
        guard = cmdgraph.guard(kit.device)
        kit.call(INC, kit.buffer([0] * 4))()
        guard.release()
        guard.release()
    assert getattr(kit.device, "_cmdgraph_guard", None) is None


def test_a_second_guard_is_refused_and_the_first_goes_on(kit: Kit) -> None:
    with hooks_restored(), cmdgraph.guard(kit.device):
        with pytest.raises(cmdgraph.GuardError, match="is guarded already"):
            cmdgraph.guard(kit.device)
        victim = kit.buffer(label="victim")
        call = kit.call(INC, victim)
        victim.destroy()
        with pytest.raises(cmdgraph.DestroyedError, match="victim"):
            call()


def test_a_guard_can_be_set_again(kit: Kit) -> None:
    for _ in range(2):
        with hooks_restored(), cmdgraph.guard(kit.device):
            kit.call(INC, kit.buffer([0] * 4))()


def test_other_devices_are_not_guarded(kit: Kit, package: str) -> None:
    other = Kit(open_device(package))
    with cmdgraph.guard(kit.device):
        encoder = other.device.create_command_encoder()
        assert not hasattr(encoder, "_cmdgraph")
        assert hasattr(kit.device.create_command_encoder(), "_cmdgraph")


def test_guarded_encoders_are_instances_of_the_real_classes(kit: Kit) -> None:
    plain = kit.device.create_command_encoder()
    plain_pass = plain.begin_compute_pass()
    with cmdgraph.guard(kit.device):
        encoder = kit.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        assert isinstance(encoder, type(plain))
        assert isinstance(compute, type(plain_pass))
        compute.end()
        assert isinstance(encoder.finish(), type(kit.encode(kit.kernel(INC), kit.group(kit.kernel(INC), kit.buffer()))))
    plain_pass.end()


def test_a_guarded_device_can_be_captured(kit: Kit) -> None:
    c = kit.buffer([0] * 4)
    call = kit.call(INC, c)
    with cmdgraph.guard(kit.device):
        graph = captured(kit.device, call)
        assert kit.read(c) == [0] * 4
        graph.replay()
        captured(kit.device, call, execute=True).replay()
    assert kit.read(c) == [3] * 4


def test_what_is_no_device_is_refused() -> None:
    with pytest.raises(cmdgraph.BackendError, match="not an object of wgpu-native"):
        cmdgraph.guard(object())
