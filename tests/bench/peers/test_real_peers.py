"""Every peer that is installed here computes what numpy does; the others are skipped with their reason."""

from __future__ import annotations

import pytest

from cmdgraph.bench.method import Plan
from cmdgraph.bench.peers import registry
from cmdgraph.bench.peers.arm import Clock, PeerArm
from cmdgraph.bench.peers.elementwise import Elementwise
from cmdgraph.bench.peers.process import Process

DISPATCHES = 20
OURS_HERE = {"wgpu-naive", "wgpu-one-pass-dawn", "cmdgraph-single-pass", "cmdgraph-prerecorded", "cmdgraph-per-op-dawn"}
"""Of the many rows on wgpu-py one of each kind."""

NAMES = [
    name for name, (module, _) in registry.peers().items() if not module.endswith("wgpu_rows") or name in OURS_HERE
]


@pytest.mark.parametrize("name", NAMES)
def test_it_computes_what_numpy_does(name: str) -> None:
    module, peer = registry.peers()[name]
    if (reason := peer.available()) is not None:
        pytest.skip(reason)
    process = Process(module, peer, patience_s=120)
    try:
        arm = PeerArm(peer, Elementwise(DISPATCHES), process, Clock(), Plan().rounds)
        if not arm.prepare() and not arm.failed:
            pytest.skip(str(arm.reason))
        called = arm.run()
    finally:
        process.close()

    assert arm.reason is None
    assert called is not None
    assert arm.clock.wall_s > 0
    assert (arm.worker_cpu() > 0) == (name == "cmdgraph-prerecorded")
