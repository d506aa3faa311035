"""Peers for the tests: one that works, and one for each way to fail. They run in numpy, in processes of their own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cmdgraph.bench.peers import registry
from cmdgraph.bench.peers.base import Peer, Prepared, UnavailableError
from cmdgraph.bench.peers.elementwise import Elementwise


def use_fakes(patch: pytest.MonkeyPatch) -> None:
    """Puts the peers of this file in the place of the real ones, here and in the processes that are started."""
    path = Path(__file__)
    patch.syspath_prepend(path.parent)
    patch.setattr(registry, "MODULES", [path.stem])


class Work:
    """The chain in numpy, as a device would run it: the result is there after `run`."""

    def __init__(self, chain: Elementwise, *, apart: bool = False) -> None:
        self.chain = chain
        self.apart = apart
        self.runs = 0
        self.values = chain.input(0)
        self.result = self.values

    def write(self, values: np.ndarray) -> None:
        self.values = values

    def run(self) -> None:
        self.runs += 1
        self.result = (self.chain.expected_apart if self.apart else self.chain.expected)(self.values)

    def prepared(self, **changes: Any) -> Prepared:
        parts: dict[str, Any] = {"write": self.write, "run": self.run, "sync": int, "read": lambda: self.result}
        return Prepared(**(parts | changes))


def good(chain: Elementwise) -> Prepared:
    print("a library that talks")
    return Work(chain).prepared(facts={"adapter": "numpy", "mode": os.environ.get("FAKE_MODE")})


def apart(chain: Elementwise) -> Prepared:
    return Work(chain, apart=True).prepared()


def frozen(chain: Elementwise) -> Prepared:
    """Computes once and gives that result for ever."""
    work = Work(chain)
    return work.prepared(run=lambda: work.runs or work.run())


def short(chain: Elementwise) -> Prepared:
    """Leaves the last dispatch out."""
    return Work(Elementwise(chain.dispatches - 1, chain.seed)).prepared()


def misshapen(chain: Elementwise) -> Prepared:
    return Work(chain).prepared(read=lambda: np.zeros(3, np.float32))


def raising(chain: Elementwise) -> Prepared:
    raise LookupError(f"no kernel\nfor {chain.dispatches} dispatches")


def unavailable(chain: Elementwise) -> Prepared:
    raise UnavailableError("there is no adapter")


def _later(action: Callable[[], object]) -> Callable[[Elementwise], Prepared]:
    """Right in the check before the timing, then `action`."""

    def prepare(chain: Elementwise) -> Prepared:
        work = Work(chain)

        def run() -> None:
            work.run()
            if work.runs > 12:
                action()

        return work.prepared(run=run)

    return prepare


def _die() -> None:
    os.write(2, b"the driver says goodbye\n")
    os.abort()


def spoiled(chain: Elementwise) -> Prepared:
    """Right before the timing, wrong after it."""
    work = Work(chain)
    return work.prepared(read=lambda: work.result if work.runs < 12 else work.result + 1)


PEERS = (
    Peer("good", "works", good, packages=("numpy",), environment=lambda: {"FAKE_MODE": "set"}),
    Peer("onnxruntime-capture", "stands for the rival", good),
    Peer("ours", "stands for a strategy", good, ours=True),
    Peer("apart", "independent", apart, dependent=False),
    Peer("frozen", "computes once", frozen),
    Peer("short", "a dispatch too few", short),
    Peer("misshapen", "another shape", misshapen),
    Peer("raising", "raises", raising),
    Peer("unavailable", "finds nothing", unavailable),
    Peer("absent", "is not installed", good, available=lambda: "absent not installed: pip install absent"),
    Peer("crashing", "aborts later", _later(_die)),
    Peer("exiting", "exits later", _later(lambda: os._exit(3))),
    Peer("hanging", "hangs later", _later(lambda: time.sleep(60))),
    Peer("spoiled", "wrong in the end", spoiled),
)
