"""Strategy "per-op": an encoder, a pass and a submit for each node, the baseline without Python in it."""

from __future__ import annotations

from cmdgraph.replay.base import Strategy
from cmdgraph.replay.lowering import Nodes, one_encoder_per_node
from cmdgraph.replay.packed import Packed

__all__ = ["PerOp"]


class PerOp(Strategy):
    name = "per-op"

    def lower(self, nodes: Nodes) -> Packed:
        return one_encoder_per_node(nodes, self.session.backend, self.session.constants)
