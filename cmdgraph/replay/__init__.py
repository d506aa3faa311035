"""From a program to the queue: lowering to native commands, the walkers that run them, and the strategies.

Nodes -> `lowering` -> `packed` array -> `walker` -> queue. A strategy decides how a program is lowered and when.
"""

from cmdgraph.replay.base import Counters, Session, Settings, Strategy
from cmdgraph.replay.native import Native, NativeFallbackWarning
from cmdgraph.replay.per_op import PerOp
from cmdgraph.replay.prerecorded import Prerecorded
from cmdgraph.replay.single_pass import SinglePass

__all__ = ["STRATEGIES", "Counters", "NativeFallbackWarning", "Session", "Settings", "Strategy"]

STRATEGIES: dict[str, type[Strategy]] = {kind.name: kind for kind in (PerOp, SinglePass, Prerecorded, Native)}
"""All strategies by name, from slow to fast."""
