"""Strategy "single-pass": encode now, one submit, dispatches merged into as few passes as the order allows.

A long graph can be split over several submits: the GPU starts early, at the price of some host CPU. What is chosen by
itself was measured (spec_proposal/results/strategies-*.json, rows "single-pass-synced-split-*"): real adapters gain,
software ones do not.
"""

from __future__ import annotations

from typing import Any

from cmdgraph.replay.base import OneSubmit
from cmdgraph.replay.lowering import Nodes, one_pass
from cmdgraph.replay.packed import Packed

__all__ = ["NODES_PER_SUBMIT", "SinglePass", "chosen_split"]

NODES_PER_SUBMIT = 110
"""About as many nodes as take the host as long to encode as a submit takes."""


class SinglePass(OneSubmit):
    name = "single-pass"

    def lower(self, nodes: Nodes) -> Packed:
        session = self.session
        submits = session.settings.split or chosen_split(session.device, len(nodes))
        return one_pass(nodes, session.backend, session.constants, submits)


def chosen_split(device: Any, nodes: int) -> int:
    """The number of submits for a graph of `nodes`, where the user has set none."""
    if device.adapter.info["adapter_type"] == "CPU":
        return 1
    return max(1, nodes // NODES_PER_SUBMIT)
