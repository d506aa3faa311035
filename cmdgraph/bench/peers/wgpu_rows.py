"""wgpu-py as people write it, and the strategies of cmdgraph, on wgpu-native and on Dawn.

Strategies are looked up: a new one is measured without a change here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import attrs

import cmdgraph
from cmdgraph import adapters
from cmdgraph.bench import environment, ways
from cmdgraph.bench.peers.base import Peer, Prepared, UnavailableError, missing
from cmdgraph.bench.peers.elementwise import Elementwise
from cmdgraph.bench.peers.wgpu_chain import WgpuChain
from cmdgraph.errors import CommandGraphError
from cmdgraph.replay import STRATEGIES

__all__ = ["PEERS"]

PLAIN = {
    "wgpu-naive": ("eager", "an encoder, a pass and a submit for each operation"),
    "wgpu-one-pass": ("single-pass-public", "one pass, one submit, by the public API"),
}
"""Rows of wgpu-py alone, by the name of the way in `cmdgraph.bench.ways`."""
AHEAD = 4
"""Replays that a strategy which encodes ahead may keep ready: those of a sample."""


def _plain(chain: Elementwise, *, package: str, way: str) -> Prepared:
    on_device: Any = WgpuChain(_device(package), chain)  # not their own chain, but all that they use
    made = ways.WAYS[way](on_device)
    return _prepared(on_device, lambda: made.run(1), made.wait)


def _replayed(chain: Elementwise, *, package: str, strategy: str) -> Prepared:
    _enable(strategy)
    on_device: Any = WgpuChain(_device(package), chain)
    graph = ways.capture(on_device)
    graph.strategy = strategy
    graph.encode_ahead = AHEAD
    graph.replay(wait=True)
    if (refused := getattr(graph.stats, "refused", None)) is not None:
        raise UnavailableError(f"another strategy stands in for {strategy}: {refused}")

    def sync() -> None:
        graph.wait()
        graph.fill()  # what was taken from the ring is encoded again inside the sample

    return attrs.evolve(
        _prepared(on_device, graph.replay, sync, encode_ahead=AHEAD),
        close=graph.release,
        worker_cpu=lambda: graph.stats.worker_cpu_s,
    )


def _prepared(on_device: Any, run: Callable[[], object], sync: Callable[[], object], **facts: Any) -> Prepared:
    device = on_device.device
    facts |= {"adapter": device.adapter.info["device"], **environment.implementation(device)}
    return Prepared(write=on_device.write, run=run, sync=sync, read=on_device.read, facts=facts)


def _enable(strategy: str) -> None:
    """Switches a strategy on that must be before there is a device, by the function of its name."""
    try:
        getattr(cmdgraph, f"enable_{strategy}", int)()
    except CommandGraphError as error:
        raise UnavailableError(str(error)) from error


def _device(package: str) -> Any:
    try:
        return adapters.request_device(package)
    except (adapters.AdapterError, RuntimeError) as error:
        raise UnavailableError(str(error)) from error


def _peers() -> Iterator[Peer]:
    for package, implementation in adapters.IMPLEMENTATIONS.items():
        suffix = "" if package == "wgpu" else f"-{implementation.lower()}"
        available = functools.partial(missing, {package: package}, hint=f"pip install {package}")
        make = functools.partial(Peer, available=available, packages=("wgpu", package))
        for name, (way, what) in PLAIN.items():
            prepare = functools.partial(_plain, package=package, way=way)
            yield make(name=name + suffix, about=f"wgpu-py on {implementation}, {what}", prepare=prepare)
        for strategy in STRATEGIES:
            prepare = functools.partial(_replayed, package=package, strategy=strategy)
            about = f"cmdgraph on {implementation}, {strategy}"
            yield make(name=f"cmdgraph-{strategy}{suffix}", about=about, prepare=prepare, ours=True)


PEERS = tuple(_peers())
