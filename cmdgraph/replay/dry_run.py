"""The implementation's own verdict on a program: its commands with nothing to do, encoded and submitted once.

With zero workgroups nothing runs, yet missing bind groups, wrong layouts and usage conflicts are still refused. It is
submitted because wgpu-native never frees a finished command buffer that is not. Limits of workgroups, copy ranges and
indirect arguments do not show up in it: `cmdgraph.validation` answers for those.
"""

from __future__ import annotations

from cmdgraph.errors import ImplementationError
from cmdgraph.replay.base import Session, run
from cmdgraph.replay.lowering import Nodes, one_encoder_per_node
from cmdgraph.replay.packed import Packed

__all__ = ["prove"]


def prove(session: Session, nodes: Nodes, packed: Packed) -> None:
    """Has the implementation check `nodes`, of which `packed` holds the commands.

    Raises:
        InvalidatedError: a resource is destroyed or mapped, or the device lost.
        ImplementationError: the implementation refuses a node; the message names it.
    """
    with session.state.submission():
        session.watch.check()
        try:
            run(session, packed.idle())
        except ImplementationError as error:
            _blame(session, nodes)
            raise error from None


def _blame(session: Session, nodes: Nodes) -> None:
    """Finds the node by running each in an encoder of its own; raises with its description."""
    for index, node in nodes:
        try:
            run(session, one_encoder_per_node([(index, node)], session.backend, session.constants).idle())
        except ImplementationError as error:
            raise ImplementationError(
                f"node {index} {node.operation}: {error} [{node.details()}] at {node.place}", node=index
            ) from None
