"""What is destroyed, mapped or lost stops a replay before anything is submitted, whenever and wherever it happens.

The cases that abort a process that does not look are in tests/fatal_cases.py; here each is held against what it must
give, on each implementation and with each walker.
"""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import cmdgraph
from cmdgraph.liveness import Watch, is_destroyed, is_mapped, state_of
from tests import fatal_cases
from tests.kit import ADD1, INC, READBACK, Kit, captured
from tests.subprocesses import Outcomes

_outcomes: dict[tuple[str, str], Outcomes] = {}


def outcomes(package: str, setting: str) -> Outcomes:
    """All fatal cases, run once for each implementation and setting."""
    return _outcomes.setdefault((package, setting), Outcomes("tests.fatal_cases", package, setting))


@pytest.mark.parametrize("case", [c.__name__ for c in fatal_cases.CASES if c.__name__ not in fatal_cases.GUARDED])
def test_fatal(package: str, walking: str, case: str) -> None:
    error, parts = fatal_cases.EXPECTED[case]
    outcome = outcomes(package, walking).of(case)

    assert outcome.error == error, outcome.text
    for part in parts:
        assert part in outcome.text


def test_flags_say_what_was_destroyed_or_mapped(kit: Kit) -> None:
    buffer = kit.device.create_buffer(size=16, usage=READBACK)

    assert not is_destroyed(buffer)
    assert not is_mapped(buffer)
    buffer.map_sync("READ")
    assert is_mapped(buffer)
    buffer.unmap()
    assert not is_mapped(buffer)
    buffer.destroy()
    buffer.destroy()
    assert is_destroyed(buffer)


def test_a_destroyed_texture_is_known(kit: Kit) -> None:
    texture = kit.texture()

    assert not is_destroyed(texture)
    texture.destroy()
    assert is_destroyed(texture)


def test_the_state_of_a_device_is_made_once_even_by_threads(kit: Kit) -> None:
    class Device:
        """Something without a state yet."""

    device, barrier, found = Device(), threading.Barrier(8), []

    def ask() -> None:
        barrier.wait(60)
        found.append(state_of(device))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert len({id(state) for state in found}) == 1
    assert len(found) == 8
    assert state_of(kit.device) is state_of(kit.device)


def test_destroys_during_a_submission_come_after_it(kit: Kit) -> None:
    buffer, state = kit.buffer(), state_of(kit.device)

    with state.submission():
        buffer.destroy()
        assert not is_destroyed(buffer)
    assert is_destroyed(buffer)


def test_a_failing_submission_still_lets_destroys_happen(kit: Kit) -> None:
    buffer, state = kit.buffer(), state_of(kit.device)

    def submit() -> None:
        with state.submission():
            buffer.destroy()
            raise KeyError

    with pytest.raises(KeyError):
        submit()
    assert is_destroyed(buffer)
    assert not state.submitting


def test_mapping_in_a_finaliser_during_a_submission_is_refused(kit: Kit) -> None:
    buffer = kit.device.create_buffer(size=16, usage=READBACK)

    with state_of(kit.device).submission(), pytest.raises(cmdgraph.CommandGraphError, match="from a finaliser"):
        buffer.map_async("READ")
    assert not is_mapped(buffer)


def test_a_watch_tests_only_buffers_that_can_be_mapped(kit: Kit) -> None:
    plain, mappable = kit.buffer(), kit.device.create_buffer(size=16, usage=READBACK)
    watch = Watch(lambda resource: "somewhere")
    with state_of(kit.device).lock:
        watch.begin(kit.device, [plain, mappable])

    assert watch.mappable == (mappable,)
    watch.check()


def test_a_watch_that_ended_hears_no_more(kit: Kit) -> None:
    buffer = kit.buffer()
    watch = Watch(lambda resource: "somewhere")
    with state_of(kit.device).lock:
        watch.begin(kit.device, [buffer])
        watch.end([buffer])
    buffer.destroy()

    watch.check()


def test_a_watch_keeps_neither_graph_nor_buffer_alive(native: Kit) -> None:
    buffer = native.buffer([0] * 4)
    graph = captured(native.device, native.call(INC, buffer))
    reference = weakref.ref(graph)
    del graph
    gc.collect()

    assert reference() is None
    buffer.destroy()


def test_the_first_cause_is_the_one_told(kit: Kit) -> None:
    x, y = kit.buffer([1] * 4, "x"), kit.buffer([1] * 4, "y")
    graph = captured(kit.device, kit.call(ADD1, x, y))

    y.destroy()
    x.destroy()
    for _ in range(2):
        with pytest.raises(cmdgraph.DestroyedError, match='buffer "y" was destroyed'):
            graph.replay()
