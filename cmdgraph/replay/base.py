"""What all strategies share: the protocol, and the moment of truth in which a replay is tested and submitted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from attrs import define, field, frozen

from cmdgraph.backends import Backend
from cmdgraph.errors import DeviceLostError, ImplementationError
from cmdgraph.liveness import DeviceState, Watch
from cmdgraph.native import Submission
from cmdgraph.program import Program
from cmdgraph.replay.constants import Constants
from cmdgraph.replay.lowering import Nodes, one_pass
from cmdgraph.replay.packed import Op, Packed
from cmdgraph.replay.walker import Outcome, Walker

__all__ = ["Counters", "OneSubmit", "Session", "Settings", "Strategy", "refuse", "run"]


@define(eq=False)
class Settings:
    """What users can set.

    ``encode_ahead`` is the number of replays that "prerecorded" keeps encoded ahead; ``split`` the number of submits
    that "single-pass" spreads a replay over, None to choose; ``elide_barriers`` has "native" keep only those barriers
    that the hazards between nodes ask for.
    """

    encode_ahead: int = 2
    split: int | None = None
    elide_barriers: bool = True


@define(eq=False)
class Counters:
    """What strategies count: replays that were ``ahead``, command buffers that were ``abandoned`` and the bytes lost
    with them, CPU seconds spent on encoding ahead.
    """

    ahead: int = 0
    abandoned: int = 0
    abandoned_bytes: int = 0
    worker_cpu_s: float = 0.0


@frozen(eq=False)
class Session:
    """What a graph's strategies work with."""

    backend: Backend
    device: Any
    state: DeviceState
    watch: Watch
    constants: Constants
    walker: Walker
    settings: Settings = field(factory=Settings)
    counters: Counters = field(factory=Counters)

    def wait(self, ticket: Any) -> None:
        """Blocks until the work of a strategy's ticket is done: the implementation's own, or native work."""
        if isinstance(ticket, Submission):
            ticket.wait()
        else:
            self.backend.wait(self.device, ticket)


@define(eq=False, slots=False)
class Strategy(ABC):
    """How replays reach the queue.

    `prepare` is called when a strategy is chosen and after every change of the program, `submit` for every replay,
    `discard` when the commands have changed in place, `close` when the strategy is not used any more.
    """

    session: Session
    packed: Packed | None = field(default=None, init=False)

    name = ""

    @abstractmethod
    def lower(self, nodes: Nodes) -> Packed:
        """The commands for `nodes`: of one replay when they are the whole program."""

    def prepare(self, program: Program, packed: Packed | None = None) -> None:
        """Makes ready for replays of `program`; `packed` are its commands where the caller has them already."""
        self.packed = self.lower(list(enumerate(program.nodes))) if packed is None else packed
        self.discard()

    @property
    def whole(self) -> Packed:
        """The commands of one replay, as prepared."""
        assert self.packed is not None, "prepare() comes first"
        return self.packed

    def submit(self, times: int) -> Any:
        """Tests the graph and submits `times` replays; gives a ticket to wait for.

        Raises:
            InvalidatedError: a resource is destroyed or mapped, or the device lost; nothing was submitted.
            ImplementationError: the implementation refused the commands.
        """
        session = self.session
        with session.state.submission():
            self._admit()
            submission = self._send(times)
            return session.backend.ticket(session.device.queue, submission)

    def wait(self, ticket: Any) -> None:
        """Blocks until the work of a ticket is done, so that there is room for more."""
        self.session.wait(ticket)

    def _send(self, times: int) -> int:
        return run(self.session, self.whole, times)

    def _admit(self) -> None:
        session = self.session
        if (reason := session.backend.lost(session.device)) is not None:
            session.state.lose(reason)
        session.watch.check()

    def set_workgroups(self, node: int, counts: tuple[int, int, int]) -> None:
        self.whole.set_workgroups(node, counts)
        self.discard()

    def fill_now(self) -> None:  # noqa: B027 - most strategies encode each replay when it is submitted
        """Prepares ahead now what can be prepared ahead."""

    @property
    def ready(self) -> int:
        """Replays that are prepared ahead."""
        return 0

    @property
    def barriers(self) -> int | None:
        """Barriers in one replay, where we place them ourselves."""
        return None

    @property
    def refused(self) -> str | None:
        """Why replays are encoded although the strategy would not; None when nothing stands against it."""
        return None

    def discard(self) -> None:  # noqa: B027 - likewise
        """Forgets what was prepared ahead."""

    def close(self) -> None:  # noqa: B027 - likewise
        """Gives back what only this strategy holds."""

    @property
    def submits(self) -> int:
        """Submits of one replay."""
        return self.whole.count(Op.SUBMIT)

    @property
    def passes(self) -> int:
        """Compute passes of one replay."""
        return self.whole.count(Op.BEGIN_PASS)


@define(eq=False, slots=False)
class OneSubmit(Strategy):
    """Encodes a whole replay into one command buffer; several replays go into one submit."""

    def lower(self, nodes: Nodes) -> Packed:
        return one_pass(nodes, self.session.backend, self.session.constants)

    def submit(self, times: int) -> Any:
        ticket = super().submit(times)
        self.submitted(times)
        return ticket

    def take(self, times: int) -> list[int]:
        """Up to `times` command buffers that are finished already."""
        del times
        return []

    def submitted(self, times: int) -> None:
        """Called after each submit, without the lock."""

    def _send(self, times: int) -> int:
        session, buffers = self.session, self.take(times)
        if not buffers and (times == 1 or self.submits > 1):
            return run(session, self.whole, times)
        with session.backend.error_scope() as scope:
            while len(buffers) < times and (buffer := session.walker.encode(self.whole, scope)):
                buffers.append(buffer)
            submission = 0
            if len(buffers) == times:
                submission = session.walker.submit(buffers)
            else:
                for buffer in buffers:
                    session.walker.drop(buffer)
        refuse(session, scope.error())
        return submission


def run(session: Session, packed: Packed, times: int = 1) -> int:
    """Walks `packed`; the number of the last submission. Call it within a submission of the device's state.

    Raises:
        DeviceLostError, ImplementationError: what the implementation reported.
    """
    with session.backend.error_scope() as scope:
        outcome = Outcome(len(packed), 0)
        for _ in range(times):
            outcome = session.walker.run(packed, scope)
            if outcome.done < len(packed):
                break
    stopped = outcome.done - 1
    refuse(session, scope.error(), packed.node_of[stopped] if 0 <= stopped < len(packed) else -1)
    return outcome.submission


def refuse(session: Session, text: str | None, node: int = -1) -> None:
    """Turns what the implementation reported into our errors; nothing if it reported nothing."""
    if text is None:
        return
    if session.backend.is_loss(text):
        session.state.lose(f"was lost ({text.strip().splitlines()[0]})")
        raise DeviceLostError(f"the device was lost during a replay: {text.strip()}. Make a new one and capture again")
    raise ImplementationError(
        f"{session.backend.name} refused the commands of this graph: {text.strip()}", node=node if node >= 0 else None
    )
