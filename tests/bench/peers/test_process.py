"""A peer's process: what it answers, and how its end is told."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from cmdgraph.bench.peers import registry
from cmdgraph.bench.peers.base import UnavailableError
from cmdgraph.bench.peers.elementwise import Elementwise
from cmdgraph.bench.peers.process import PeerError, Process
from tests.bench.peers.fake_peers import use_fakes

CHAIN = Elementwise(6)
Start = Callable[..., Process]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    use_fakes(monkeypatch)
    started: list[Process] = []

    def start(name: str, patience_s: float = 30) -> Process:
        started.append(Process(*registry.peers()[name], patience_s))
        return started[-1]

    yield start
    for process in started:
        process.close()


def test_it_prepares_computes_and_times(start: Start, capfd: pytest.CaptureFixture[str]) -> None:
    process = start("good")

    assert process.ask("prepare", 6, 0) == {"adapter": "numpy", "mode": "set"}
    values = CHAIN.input(1)
    assert np.array_equal(process.ask("result", 6, values, 2), CHAIN.expected(values))
    sample = process.ask("sample", 6, 3)
    assert sample.wall_s > 0
    assert 0 <= sample.call_s <= sample.cpu_s <= sample.process_s + 1e-3
    assert sample.worker_s == 0
    process.close()
    assert capfd.readouterr() == ("", "")


def test_what_it_raises_is_told_in_one_line(start: Start) -> None:
    with pytest.raises(PeerError, match="^prepare failed: LookupError: no kernel for 6 dispatches$"):
        start("raising").ask("prepare", 6, 0)


def test_what_is_not_there_is_no_failure(start: Start) -> None:
    process = start("unavailable")

    with pytest.raises(UnavailableError, match="there is no adapter"):
        process.ask("prepare", 6, 0)
    with pytest.raises(UnavailableError):  # and it still answers
        process.ask("prepare", 7, 0)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("crashing", r"its process was killed \(SIGABRT\): the driver says goodbye"),
        ("exiting", "its process ended with status 3"),
    ],
)
def test_how_it_died_is_told_now_and_later(start: Start, name: str, reason: str) -> None:
    process = start(name)
    process.ask("prepare", 6, 0)

    for _ in range(2):
        with pytest.raises(PeerError, match=reason):
            process.ask("sample", 6, 20)


def test_one_that_hangs_is_ended(start: Start) -> None:
    process = start("hanging")
    process.ask("prepare", 6, 0)
    process._patience_s = 0.2

    with pytest.raises(PeerError, match=r"hangs: no answer to sample within 0\.2 s"):
        process.ask("sample", 6, 20)
    assert process._process.returncode is not None


def test_a_late_answer_is_not_taken_for_the_next(start: Start) -> None:
    process = start("good")
    process.ask("prepare", 6, 0)
    process._number += 1
    process._connection.send((process._number, "sample", (6, 1)))  # as if an interrupt had come now

    assert process.ask("result", 6, CHAIN.input(1), 1).shape == (64,)


def test_it_ends_when_we_do(start: Start) -> None:
    process = start("good")
    process.ask("prepare", 6, 0)
    process._connection.close()

    assert process._process.wait(10) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files in /proc")
def test_nothing_stays_open(start: Start) -> None:
    before = len(os.listdir("/proc/self/fd"))
    process = start("good")
    process.ask("prepare", 6, 0)
    process.close()
    process.close()

    assert len(os.listdir("/proc/self/fd")) == before
