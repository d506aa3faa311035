"""CommandGraph: the handle that users hold."""

from __future__ import annotations

import difflib
import operator
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, wraps
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from cmdgraph import container, contents, hazards, validation
from cmdgraph.backends import backend_of
from cmdgraph.errors import (
    CaptureError,
    CommandGraphError,
    NothingCapturedError,
    ReleasedError,
    UpdateError,
    ValidationError,
)
from cmdgraph.liveness import Watch, refuse_dead, state_of
from cmdgraph.objects import describe
from cmdgraph.program import (
    ClearBuffer,
    CopyBuffer,
    Dispatch,
    DispatchIndirect,
    Node,
    Program,
    WriteBuffer,
)
from cmdgraph.rebinding import rebound
from cmdgraph.recording import hooks
from cmdgraph.replay import STRATEGIES, Session, Strategy, walker
from cmdgraph.replay.constants import Constants
from cmdgraph.replay.dry_run import prove
from cmdgraph.replay.lowering import Nodes
from cmdgraph.view.document import document
from cmdgraph.view.dump import dump
from cmdgraph.view.profile import Profile, profile
from cmdgraph.view.summary import summary

__all__ = ["CommandGraph", "Stats"]


@frozen
class Stats:
    """Counts of a graph. Those from ``nodes`` to ``submits`` are per replay, with the present strategy.

    ``constants_bytes`` is the GPU memory that the data of write_buffer nodes takes; ``in_flight`` is how many
    submissions have not been waited for yet. Of strategy "native": ``ahead`` replays were submitted without encoding;
    ``barriers`` is how many each of these has, None before the first one is recorded; ``refused`` is why replays are
    encoded after all, None when they are not. Of "prerecorded": ``ahead`` replays were
    submitted finished, ``ready`` are, ``abandoned`` finished command buffers were never submitted,
    ``abandoned_bytes`` is the memory that wgpu-native does not give back for them, ``worker_cpu_s`` the CPU seconds
    spent on encoding ahead.
    """

    nodes: int
    dispatches: int
    copies: int
    clears: int
    writes: int
    passes: int
    submits: int
    replays: int
    updates: int
    rebinds: int
    in_flight: int
    constants_bytes: int
    refused: str | None
    barriers: int | None
    ahead: int
    ready: int
    abandoned: int
    abandoned_bytes: int
    worker_cpu_s: float
    strategy: str
    walker: str


def _locked(method: Callable[..., Any]) -> Callable[..., Any]:
    """One change or replay of a graph at a time, whichever thread it comes from."""

    @wraps(method)
    def locked(self: CommandGraph, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            return method(self, *args, **kwargs)

    return locked


class CommandGraph:
    """A validated sequence of GPU commands that can be replayed.

    `cmdgraph.capture()` gives one and fills it when the capture ends; until then, and after a failed capture, it holds
    nothing. A graph keeps alive whatever it uses. It may be used from several threads.

    Attributes:
        name: what the capture was called, for messages.
        max_in_flight: how many submissions may be outstanding (default 8); a further replay first waits for the oldest.
    """

    def __init__(self, name: str | None = None) -> None:
        self.name = name
        self.max_in_flight = 8
        self._program: Program | None = None
        self._session: Session | None = None
        self._strategy: Strategy | None = None
        self._lock = threading.RLock()  # becomes the device's lock: one lock, so no order to get wrong
        self._in_flight: deque[Any] = deque()
        self._why_empty = "nothing captured: this graph was not filled by a `with cmdgraph.capture() as graph:` block"
        self._released = False
        self._replays = self._updates = self._rebinds = 0

    # -- replay -----------------------------------------------------------------------------------------------------

    def replay(self, *, times: int = 1, wait: bool = False) -> None:
        """Runs the whole graph `times` times, in queue order after everything submitted before. Does not wait.

        Args:
            times: number of replays, at least 1.
            wait: block until the GPU is done.

        Raises:
            InvalidatedError: a resource of the graph is destroyed or mapped, the device is lost, or the graph is
                released. Nothing was submitted.
            NothingCapturedError: the graph is empty.
            CaptureError: called inside a capture, whose recording it would slip past.
        """
        if times < 1:
            raise ValueError(f"replay(times={times}): times must be at least 1")
        self._wait_until_fewer_than(max(1, self.max_in_flight), self._ready("replay")[0].wait)
        with self._lock:
            self._in_flight.append(self._ready("replay")[0].submit(times))
            self._replays += times
        if wait:
            self.wait()

    def wait(self) -> None:
        """Blocks until all replays so far are done on the GPU.

        Raises:
            DeviceLostError: the device was destroyed or lost, so they may never be.
        """
        session = self._ready("wait")[1]
        self._wait_until_fewer_than(1, session.wait)

    @property
    def strategy(self) -> str:
        """How replays reach the queue: "per-op", "single-pass", "prerecorded" or "native". Can be set at any time."""
        return self._ready_strategy().name

    @strategy.setter
    @_locked
    def strategy(self, name: str) -> None:
        program, session = self._loaded()
        if name != self._ready_strategy().name:
            self._use(_prepared(name, program, session))

    @property
    def walker(self) -> str:
        """What walks the packed commands: "c" (compiled) or "python"; can be set."""
        return self._loaded()[1].walker.name

    @walker.setter
    @_locked
    def walker(self, kind: str) -> None:
        program, session = self._loaded()
        if kind == session.walker.name:
            return
        session = evolve(session, walker=walker.make(kind, session.backend, session.device))
        self._use(_prepared(self._ready_strategy().name, program, session))
        self._session = session

    @property
    def encode_ahead(self) -> int:
        """How many replays "prerecorded" keeps encoded ahead; can be set.

        Each costs memory (about 1 KB a dispatch), and wgpu-native never gives back that of one which a change makes
        useless.
        """
        return self._loaded()[1].settings.encode_ahead

    @encode_ahead.setter
    def encode_ahead(self, count: int) -> None:
        if count < 0:
            raise ValueError(f"encode_ahead={count}: must not be negative")
        self._loaded()[1].settings.encode_ahead = count

    def fill(self) -> None:
        """Blocks until "prerecorded" has encoded ahead all that it keeps; nothing with other strategies."""
        self._ready("fill")[0].fill_now()

    @property
    def split(self) -> int | None:
        """Over how many submits "single-pass" spreads a replay; None, the default, chooses by adapter and length.

        `stats.submits` says what was done.
        """
        return self._loaded()[1].settings.split

    @split.setter
    @_locked
    def split(self, submits: int | None) -> None:
        if submits is not None and submits < 1:
            raise ValueError(f"split={submits}: must be at least 1, or None to choose")
        program, session = self._loaded()
        session.settings.split = submits
        self._ready_strategy().prepare(program)

    @property
    def elide_barriers(self) -> bool:
        """Whether "native" keeps only those barriers that the hazards between nodes ask for (the default), or all that
        the implementation recorded; can be set.
        """
        return self._loaded()[1].settings.elide_barriers

    @elide_barriers.setter
    @_locked
    def elide_barriers(self, elide: bool) -> None:
        self._loaded()[1].settings.elide_barriers = elide
        self._ready_strategy().discard()

    # -- change -----------------------------------------------------------------------------------------------------

    @_locked
    def update(self, buffers: Mapping[Any, Any] | None = None, /, **by_label: Any) -> None:
        """New contents for whole buffers of the graph, seen by the next replay.

        Args:
            buffers: data by buffer or by label. Data is a numpy array or anything with the buffer protocol; lists and
                numbers where the shader declares the element type.
            by_label: data by label.

        Raises:
            UpdateError: no such buffer, an ambiguous label, a wrong size or dtype, or a buffer that the graph itself
                overwrites before it reads it. No buffer was changed.
            InvalidatedError: see `replay`.
        """
        program, session = self._changing("update")
        writes = []
        for key, data in {**(buffers or {}), **by_label}.items():
            buffer = self._buffer(key)
            self._refuse_overwritten(program, buffer)
            writes.append((buffer, contents.of_buffer(buffer, data, self._elements.get(id(buffer)))))
        session.watch.check()
        for buffer, data in writes:
            session.device.queue.write_buffer(buffer, 0, data)
        self._updates += len(writes)

    @_locked
    def rebind(self, buffers: Mapping[Any, Any]) -> None:
        """Puts other buffers in the place of some: ``{old: new}``. Only the nodes concerned are checked again.

        A binding of the whole old buffer becomes one of the whole new buffer; other ranges stay as they are. Either
        all of it happens or nothing.

        Raises:
            UpdateError: a buffer to replace is not part of the graph, or a new one is no buffer.
            ValidationError: a node breaks a rule with the new buffer.
            InvalidatedError: a new buffer is destroyed or mapped, or the device is lost.
        """
        program, session = self._changing("rebind")
        mapping = {id(self._buffer(old)): new for old, new in buffers.items()}
        for new in buffers.values():
            if not hasattr(new, "map_state"):
                raise UpdateError(f"rebind() to {new!r}: it is no buffer")
            refuse_dead(new, "rebind")
        changed = rebound(program, mapping)
        for index, node in changed:
            validation.require(node, session.device, index)
        nodes = list(program.nodes)
        for index, node in changed:
            nodes[index] = node
        self._replace(Program(program.device, tuple(nodes)), changed)
        self._rebinds += 1

    @_locked
    def set_workgroups(self, node: Node | int, x: int, y: int = 1, z: int = 1) -> None:
        """Another size for a dispatch of the graph.

        Raises:
            UpdateError: `node` is no dispatch_workgroups of this graph.
            ValidationError: a count is over the device's limit.
        """
        program, session = self._changing("set_workgroups")
        index, old = self._node(node, Dispatch)
        new = evolve(old, workgroups=(operator.index(x), operator.index(y), operator.index(z)))
        if min(new.workgroups) < 0:
            raise ValidationError(
                f"set_workgroups({x}, {y}, {z}) of node {index}: counts must not be negative", node=index
            )
        validation.require(new, session.device, index)
        self._program = _with_node(program, index, new)
        self._ready_strategy().set_workgroups(index, new.workgroups)

    @_locked
    def set_data(self, node: Node | int, data: Any) -> None:
        """Other bytes for a write_buffer node, as many as it has.

        Raises:
            UpdateError: `node` is no write_buffer of this graph, or the size or dtype differs.
        """
        program, session = self._changing("set_data")
        index, old = self._node(node, WriteBuffer)
        raw = contents.of_node(index, old, data, self._elements.get(id(old.buffer)))
        session.watch.check()
        session.constants.write(index, raw)
        self._program = _with_node(program, index, evolve(old, data=raw))
        self._updates += 1

    @_locked
    def set_immediates(self, node: Node | int, data: Any, offset: int = 0) -> None:
        """Other bytes for immediates that a dispatch of the graph was recorded with. Other nodes keep theirs.

        Raises:
            UpdateError: `node` is no dispatch of this graph, or was recorded without immediates in that range.
        """
        program, session = self._changing("set_immediates")
        index, old = self._node(node, Dispatch, DispatchIndirect)
        new = evolve(old, immediates=contents.of_immediates(index, old.immediates, data, offset))
        validation.require(new, session.device, index)
        self._program = _with_node(program, index, new)
        self._ready_strategy().prepare(self._program)
        self._updates += 1

    @_locked
    def release(self) -> None:
        """Lets go of everything the graph holds. Replays under way finish; the device and your objects are not touched.

        May be called more than once.
        """
        if self._program is not None and self._session is not None:
            self._session.watch.end(self._program.resources().values())
        if self._strategy is not None:
            self._strategy.close()
        self._released = True
        self._program = self._session = self._strategy = None
        self._in_flight.clear()
        self.__dict__.pop("_elements", None)

    # -- look -------------------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes in queue order."""
        return self._loaded()[0].nodes

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The buffers whose contents before a replay matter: some range of them is read before it is overwritten."""
        return tuple(hazards.inputs(self._loaded()[0]))

    @property
    def outputs(self) -> tuple[Any, ...]:
        """The buffers that a replay may change."""
        return tuple(hazards.outputs(self._loaded()[0]))

    @property
    def stats(self) -> Stats:
        """Counts, see `Stats`."""
        program, session = self._loaded()
        strategy = self._ready_strategy()
        return Stats(
            nodes=len(program),
            dispatches=_count(program, Dispatch, DispatchIndirect),
            copies=_count(program, CopyBuffer),
            clears=_count(program, ClearBuffer),
            writes=_count(program, WriteBuffer),
            passes=strategy.passes,
            submits=strategy.submits,
            replays=self._replays,
            updates=self._updates,
            rebinds=self._rebinds,
            in_flight=len(self._in_flight),
            constants_bytes=session.constants.nbytes,
            refused=strategy.refused,
            barriers=strategy.barriers,
            ahead=session.counters.ahead,
            ready=strategy.ready,
            abandoned=session.counters.abandoned,
            abandoned_bytes=session.counters.abandoned_bytes,
            worker_cpu_s=session.counters.worker_cpu_s,
            strategy=strategy.name,
            walker=session.walker.name,
        )

    def summary(self, by: str = "node") -> str:
        """Totals and a table to read: counts, waves that could run at once, the critical path, bytes bound.

        Args:
            by: a line for each "node" (operation, pipeline, size, what it reads and writes, place in the code),
                "shader", "group" (outermost debug group) or "block" (innermost).

        Raises:
            ValueError: `by` is none of these.
        """
        return summary(self._loaded()[0], repr(self), by)

    def document(self, profile: Profile | None = None) -> dict[str, Any]:
        """All there is to know of the graph as plain data for JSON; `cmdgraph.view.document` says what.

        Raises:
            ProfileError: `profile` was measured on other nodes.
        """
        program = self._loaded()[0]
        data = document(program, self.name)
        if profile is not None:
            profile.check_belongs(program)
            data["profile"] = profile.to_data()
        return data

    def debug_dump(self, path: str | os.PathLike[str], *, profile: Profile | None = None) -> Path:
        """Writes the graph as a picture: nodes, bindings, dependencies (the least that says all), waves, critical path.

        Args:
            path: its suffix chooses the form: ".dot" (Graphviz), ".json" (see `document`) or ".html" (a page to look
                around in, which needs no other file and no network).
            profile: of this graph, for colours and figures in the page.

        Returns:
            The path. The file appears whole or not at all.

        Raises:
            ViewError: another suffix, or the file cannot be written.
            ProfileError: `profile` was measured on other nodes.
        """
        return dump(path, lambda: self.document(profile))

    def profile(self, *, repeats: int = 20) -> Profile:
        """The GPU time of each node, from timestamps around it.

        Runs the graph `repeats` times and waits: by turns undisturbed, and with a pass and timestamps for each node.
        What a replay changes changes `repeats` times, and results are those of as many replays.

        Args:
            repeats: how often the graph runs in all, at least 2.

        Raises:
            ProfileError: the device has no feature timestamp-query.
            InvalidatedError, NothingCapturedError, CaptureError: see `replay`.
        """
        if repeats < 2:
            raise ValueError(f"profile(repeats={repeats}): must be at least 2, an undisturbed and a profiled replay")
        program, session = self._changing("profile")
        self.wait()
        found = profile(program, session, self.name or "", self.strategy, repeats, lambda: self.replay(wait=True))
        self._replays += len(found.profiled_ms)
        return found

    @_locked
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the graph to a file that `cmdgraph.load` reads: a zip file if `path` ends in ".zip", else a folder.

        Buffers are saved with what they hold after all replays so far, rebinds and updates included. A failed save
        leaves what was at `path` as it was. Other threads' replays on the device wait meanwhile.

        Raises:
            SaveError: the graph uses what a file does not hold (textures, shaders that are not WGSL, a buffer whose
                contents cannot be read), or `path` is a folder with other things in it.
            InvalidatedError: see `replay`.
            OSError: the file cannot be written.
            ModuleNotFoundError: the packages of the extra `files` are not installed.
        """
        program, session = self._changing("save")
        writing = container.module("writing")

        def submit(command_buffer: Any) -> None:
            with session.state.submission():
                session.watch.check()
                session.device.queue.submit([command_buffer])

        with hooks.stepping_aside():
            session.watch.check()
            writing.write(program, self.name, path, submit)

    def __len__(self) -> int:
        return 0 if self._program is None else len(self._program)

    def __bool__(self) -> bool:
        return True  # an empty graph is still a graph: `if graph` must not mean `if len(graph)`

    def __repr__(self) -> str:
        name = f' "{self.name}"' if self.name else ""
        if self._program is None:
            return f"<CommandGraph{name}: {'released' if self._released else 'empty'}>"
        return (
            f"<CommandGraph{name}: {len(self)} nodes, {_count(self._program, Dispatch, DispatchIndirect)} dispatches, "
            f"{self._ready_strategy().name}, {self._replays} replays>"
        )

    # -- for capture ------------------------------------------------------------------------------------------------

    def _fill(self, program: Program) -> None:
        """Takes over a captured program: proves it and prepares the first strategy. All or nothing."""
        backend, state = backend_of(program.device), state_of(program.device)
        with state.lock:
            state.refuse_lost(program.device)
        session = Session(
            backend=backend,
            device=program.device,
            state=state,
            watch=Watch(_place_in(program)),
            constants=Constants.of(program),
            walker=walker.make("c" if walker.available() else "python", backend, program.device),
        )
        strategy = STRATEGIES[default_strategy()](session)
        self._begin(program, session, strategy, list(enumerate(program.nodes)))

    def _leave_empty(self, reason: str) -> None:
        self._why_empty = f"nothing captured: {reason}"

    # -- inside -----------------------------------------------------------------------------------------------------

    def _begin(self, program: Program, session: Session, strategy: Strategy, unproved: Nodes) -> None:
        """Watches and proves with a new session; only then takes it, the program and the strategy over."""
        resources = list(program.resources().values())
        try:
            with session.state.lock:
                session.watch.begin(session.device, resources)
                session.watch.check()
            packed = strategy.lower(unproved)
            prove(session, unproved, packed)
        except BaseException:
            with session.state.lock:
                session.watch.end(resources)
            raise
        self._session, self._lock = session, session.state.lock
        self._adopt(program)
        strategy.session = session
        strategy.prepare(program, packed if len(unproved) == len(program) else None)
        self._use(strategy)

    def _replace(self, program: Program, changed: Nodes) -> None:
        old_program, old_session = self._loaded()
        session = evolve(old_session, watch=Watch(_place_in(program)))
        self._begin(program, session, self._ready_strategy(), changed)
        old_session.watch.end(old_program.resources().values())

    def _adopt(self, program: Program) -> None:
        self._program = program
        self.__dict__.pop("_elements", None)

    def _use(self, strategy: Strategy) -> None:
        old, self._strategy = self._strategy, strategy
        if old is not None and old is not strategy:
            old.close()

    def _loaded(self) -> tuple[Program, Session]:
        if self._program is None or self._session is None:
            name = f' "{self.name}"' if self.name else ""
            if self._released:
                raise ReleasedError(f"graph{name} was released; capture again")
            raise NothingCapturedError(f"graph{name}: {self._why_empty}")
        return self._program, self._session

    def _ready_strategy(self) -> Strategy:
        self._loaded()
        assert self._strategy is not None
        return self._strategy

    def _ready(self, call: str) -> tuple[Strategy, Session]:
        if hooks.capturing() is not None:
            raise CaptureError(f"graph.{call}() inside a capture is not recorded; call it before or after the capture")
        return self._ready_strategy(), self._loaded()[1]

    def _changing(self, call: str) -> tuple[Program, Session]:
        self._ready(call)
        program, session = self._loaded()
        session.state.refuse_lost(session.device)
        return program, session

    def _wait_until_fewer_than(self, count: int, wait: Callable[[Any], None]) -> None:
        """Waits for the oldest submissions, with `wait`, until fewer than `count` are outstanding."""
        session = self._loaded()[1]
        while len(self._in_flight) >= count:
            try:
                ticket = self._in_flight.popleft()
            except IndexError:
                return  # another thread was quicker
            session.state.refuse_lost(session.device)
            wait(ticket)

    @cached_property
    def _elements(self) -> dict[int, str]:
        return self._loaded()[0].elements()

    def _buffer(self, key: Any) -> Any:
        """The buffer of the graph that `key`, a buffer or a label, stands for."""
        buffers = self._loaded()[0].buffers()
        if not isinstance(key, str):
            if any(b is key for b in buffers):
                return key
            known = ", ".join(describe(b) for b in buffers[:8])
            raise UpdateError(
                f"{describe(key) if hasattr(key, 'uid') else repr(key)} is no buffer of this graph ({known})"
            )
        found = [b for b in buffers if b.label == key]
        if len(found) == 1:
            return found[0]
        if found:
            raise UpdateError(f'{len(found)} buffers of this graph have the label "{key}"; pass the buffer itself')
        close = difflib.get_close_matches(key, [b.label for b in buffers if b.label], 3)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise UpdateError(f'no buffer of this graph has the label "{key}"{hint}')

    def _node(self, node: Node | int, *kinds: type[Node]) -> tuple[int, Any]:
        nodes = self._loaded()[0].nodes
        index = node if isinstance(node, int) else next((i for i, n in enumerate(nodes) if n is node), -1)
        if not 0 <= index < len(nodes):
            raise UpdateError(f"no node {node!r}: this graph has nodes 0 to {len(nodes) - 1}")
        if not isinstance(nodes[index], kinds):
            raise UpdateError(f"node {index} is {nodes[index].operation}, not {kinds[0].operation}")
        return index, nodes[index]

    @staticmethod
    def _refuse_overwritten(program: Program, buffer: Any) -> None:
        index = hazards.first_overwrite(program, buffer)
        if index is not None:
            raise UpdateError(
                f"node {index} {program.nodes[index].operation} overwrites {describe(buffer)} before the graph "
                "reads it, so an update would be lost; change that node instead (set_data) "
                f"[{program.nodes[index].details()}]"
            )


def default_strategy() -> str:
    """The strategy of new graphs: CMDGRAPH_STRATEGY, or "single-pass".

    Raises:
        CommandGraphError: the variable names no strategy.
    """
    name = os.environ.get("CMDGRAPH_STRATEGY") or "single-pass"
    if name not in STRATEGIES:
        raise CommandGraphError(f"CMDGRAPH_STRATEGY={name}: no such strategy; choose one of {', '.join(STRATEGIES)}")
    return name


def _prepared(name: str, program: Program, session: Session) -> Strategy:
    if name not in STRATEGIES:
        raise ValueError(f"no strategy {name!r}; choose one of {', '.join(STRATEGIES)}")
    strategy = STRATEGIES[name](session)
    strategy.prepare(program)
    return strategy


def _with_node(program: Program, index: int, node: Node) -> Program:
    return Program(program.device, (*program.nodes[:index], node, *program.nodes[index + 1 :]))


def _count(nodes: Iterable[Node], *kinds: type[Node]) -> int:
    return sum(isinstance(n, kinds) for n in nodes)


def _place_in(program: Program) -> Any:
    """Says where in `program` a resource is used: the words for a destroyed one."""

    def where(resource: Any) -> str:
        for index, node in enumerate(program.nodes):
            for access in node.accesses():
                if access.resource is resource:
                    return f"node {index} {node.operation} uses it as {access.name} ({node.place})"
        return "a bind group of the graph holds it"

    return where
