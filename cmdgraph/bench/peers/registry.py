"""All peers by name."""

from __future__ import annotations

import fnmatch
import importlib

from cmdgraph.bench.peers.base import Peer

__all__ = ["MODULES", "choose", "find", "peers"]

MODULES = [
    "cmdgraph.bench.peers.ort",
    "cmdgraph.bench.peers.tinyjit",
    "cmdgraph.bench.peers.torch_webgpu",
    "cmdgraph.bench.peers.torch_cuda",
    "cmdgraph.bench.peers.raw_vulkan",
    "cmdgraph.bench.peers.wgpu_rows",
]
"""Each has a tuple `PEERS`."""


def peers() -> dict[str, tuple[str, Peer]]:
    """Each peer by name, with the module that it is from."""
    return {peer.name: (module, peer) for module in MODULES for peer in importlib.import_module(module).PEERS}


def choose(patterns: str) -> list[str]:
    """The names that match one of the patterns (as of files: `cmdgraph-*`, with commas between them), in the order of
    the table.

    Raises:
        KeyError: nothing matches one of the patterns; says so in a sentence.
    """
    names = list(peers())
    wanted = [pattern.strip() for pattern in patterns.split(",")]
    for pattern in wanted:
        if not fnmatch.filter(names, pattern):
            raise KeyError(f"no peer {pattern!r}; there are {', '.join(names)}")
    return [name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in wanted)]


def find(module: str, name: str) -> Peer:
    """The peer of that name from that module."""
    return next(peer for peer in importlib.import_module(module).PEERS if peer.name == name)
