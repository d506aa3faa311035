"""What cmdgraph says about a program on one implementation, and what the implementation says about the same calls."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from typing import Any

from attrs import evolve, field, frozen

import cmdgraph
from tests.fuzz.programs import Event, Program
from tests.fuzz.reasons import reasons_of
from tests.fuzz.world import Scene, World
from tests.kit import captured

__all__ = ["Answer", "Verdict", "judge"]

_LONGEST = 1500


@frozen
class Verdict:
    """``accepts``, or why not: the rules that `text` stands for; None where nobody was asked."""

    accepts: bool | None = None
    rules: frozenset[str] = frozenset()
    text: str = ""


@frozen
class Answer:
    """All that happened to a program on one implementation.

    ``made`` is why an object could not be made: then nothing else was asked. ``replay`` says how a replay differed
    from eager calls, "" if it did not; ``change`` how a rebind or set_workgroups differed from capturing the changed
    program; ``without_encoding`` counts the replays that the native layer made. ``ours_after`` and ``eager_after`` are
    the verdicts on another run once the program's later events have happened. ``died`` is the stage at which the
    process was killed.
    """

    made: str = ""
    ours: Verdict = field(factory=Verdict)
    eager: Verdict = field(factory=Verdict)
    replay: str = ""
    compared: bool = False
    change: str = ""
    changed: bool = False
    without_encoding: int = 0
    ours_after: Verdict = field(factory=Verdict)
    eager_after: Verdict = field(factory=Verdict)
    died: str = ""


def judge(world: World, program: Program, stage: Callable[..., None], *, fatal: bool, aborts: bool) -> Answer:
    """Captures, replays and runs `program`. Tells `stage` what comes next, and the verdicts so far, because it may
    be the last thing it does.

    ``aborts``: the implementation kills the process where others raise; such runs are made only if `fatal`.
    """
    try:
        scene = Scene(world, program)
    except Exception as error:  # the implementation's own classes
        return Answer(made=str(error)[:_LONGEST])
    try:
        return _judged(scene, stage, fatal or not aborts, aborts)
    finally:
        scene.close()


def _judged(scene: Scene, stage: Callable[..., None], fatal: bool, aborts: bool) -> Answer:
    program = scene.program
    scene.happen(program.before)
    stage("capture")
    graphs: list[cmdgraph.CommandGraph] = []
    ours = _verdict(lambda: graphs.append(captured(scene.world.device, scene.run)))
    stage("eager", ours)
    # What comes after a refused command could be refused earlier by an implementation that looks sooner.
    most = scene.done if ours.accepts is False and not _at_the_end(ours) else 1 << 30
    dead = _dead_buffers(program.before)
    run_it = fatal or not (_kills(ours) or (aborts and (_clears_nothing(program) or dead & _bound(program))))
    if not program.before:
        scene.reset()
    eager = _verdict(lambda: scene.run(most)) if run_it else Verdict()
    if not (ours.accepts and (eager.accepts or eager.accepts is None)):
        for graph in graphs:
            graph.release()
        return Answer(ours=ours, eager=eager)
    stage("replay")
    graph = graphs[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cmdgraph.NativeFallbackWarning)
        return _replayed(scene, graph, stage, Answer(ours=ours, eager=eager), fatal=fatal, aborts=aborts)


def _replayed(
    scene: Scene, graph: cmdgraph.CommandGraph, stage: Callable[..., None], answer: Answer, *, fatal: bool, aborts: bool
) -> Answer:
    """`answer` to a program that all have accepted, with what its graph does."""
    program, eager = scene.program, answer.eager
    graph.strategy = program.strategy
    replay, compared = "", False
    if program.before or eager.accepts is None:
        replay = _verdict(graph.replay).text
    else:
        replay, compared = _compare(scene, graph)
    stage("change")
    change, changed = ("", False)
    if not program.before and not program.after and eager.accepts:
        change, changed = _change(scene, graph)
    scene.happen(program.after)
    stage("replay after events")
    ours_after = _verdict(graph.replay)
    native = graph.stats.ahead if program.strategy == "native" else 0
    graph.release()
    stage("eager after events", answer.ours, ours_after)
    kills = _kills(ours_after) or (aborts and _dead_buffers(program.after) & _bound(program))
    again = bool(program.after) and (fatal or not kills) and eager.accepts is not None
    eager_after = _verdict(scene.run) if again else Verdict()
    return evolve(
        answer,
        replay=replay,
        compared=compared,
        change=change,
        changed=changed,
        without_encoding=native,
        ours_after=ours_after,
        eager_after=eager_after,
    )


def _compare(scene: Scene, graph: Any) -> tuple[str, bool]:
    """How two replays differ from two eager runs, of which one has been made; and whether that was looked at."""
    if not scene.comparable:
        return _verdict(graph.replay).text, False
    scene.run()
    eager = scene.contents()
    scene.reset()
    found = _verdict(lambda: graph.replay(times=2))
    if not found.accepts:
        return found.text, True
    return ("" if scene.contents() == eager else "other bytes than eager calls"), True


def _change(scene: Scene, graph: cmdgraph.CommandGraph) -> tuple[str, bool]:
    """How the changed graph differs from a graph of the changed program; and whether there was a change."""
    program = scene.program
    if program.rebind is not None:
        slot = program.rebind[0]
        if not _whole(program, slot):
            return "", False
        other = program.rebound()
        new = scene.world.buffer(slot + 100, program.rebind[1])
        used = any(b is scene.buffers[slot] for b in _buffers_of(graph))
        if not used:
            return "", False
        told = _verdict(lambda: graph.rebind({scene.buffers[slot]: new}))
        apart = frozenset({slot})
    elif program.resize is not None and (resized := program.resized()) is not None:
        other, apart = resized, frozenset[int]()
        number, counts = program.resize
        nodes = [i for i, node in enumerate(graph.nodes) if isinstance(node, cmdgraph.Dispatch)]
        told = _verdict(lambda: graph.set_workgroups(nodes[number % len(nodes)], *counts))
    else:
        return "", False
    return _against_fresh(scene, other, apart, told, graph), True


def _against_fresh(
    scene: Scene, other: Program, apart: frozenset[int], told: Verdict, graph: cmdgraph.CommandGraph
) -> str:
    """What a fresh capture of `other` says that the change did not, or the other way round."""
    graphs: list[cmdgraph.CommandGraph] = []
    scenes: list[Scene] = []

    def fresh() -> None:
        scenes.append(Scene(scene.world, other, apart))
        graphs.append(captured(scene.world.device, scenes[0].run))

    whole = _verdict(fresh)
    if whole.accepts != told.accepts:
        return f"changed: {told.text or 'accepted'}; captured again: {whole.text or 'accepted'}"
    if not told.accepts:
        return ""
    graphs[0].release()
    if not (scenes[0].comparable and scene.comparable):
        return ""
    scenes[0].reset()
    scenes[0].run()
    eager = scenes[0].contents()
    scenes[0].reset()
    graph.replay()
    return "" if scenes[0].contents() == eager else "other bytes than the changed program"


def _whole(program: Program, slot: int) -> bool:
    """Whether a rebind of a buffer leaves the program's bindings as they are written: a part keeps its size."""
    entries = [entry for group in program.groups for entry in group.entries if entry[1] == slot]
    return all(size is None or size != program.buffers[slot].size for _, _, _, size in entries) and all(
        size is not None or offset == 0 for _, _, offset, size in entries
    )


def _buffers_of(graph: cmdgraph.CommandGraph) -> list[object]:
    return [access.resource for node in graph.nodes for access in node.accesses()]


def _kills(verdict: Verdict) -> bool:
    """Whether the implementation would kill the process over this."""
    return not verdict.rules.isdisjoint({"DestroyedError", "MappedError", "DeviceLostError"})


def _dead_buffers(events: tuple[Event, ...]) -> set[int]:
    return {buffer for kind, buffer in events if kind != "map and unmap"}


def _bound(program: Program) -> set[int]:
    """The buffers of bind groups that are set, used by a dispatch or not."""
    return {entry[1] for c in program.commands() if c[0] == "group" for entry in program.groups[c[2]].entries}


def _at_the_end(verdict: Verdict) -> bool:
    """Whether it was the end of the capture that refused, not a command."""
    return _kills(verdict) or "implementation" in verdict.rules


def _clears_nothing(program: Program) -> bool:
    return any(command[0] == "clear" and command[3] == 0 for command in program.commands())


def _verdict(call: Callable[[], object]) -> Verdict:
    try:
        call()
    except cmdgraph.ValidationError as error:
        implementation = isinstance(error, cmdgraph.ImplementationError)
        rules = {"implementation"} if implementation else {*error.broken} or {"unnamed"}
        return Verdict(False, frozenset(rules), str(error)[:_LONGEST])
    except cmdgraph.CommandGraphError as error:
        return Verdict(False, frozenset({type(error).__name__}), str(error)[:_LONGEST])
    except Exception as error:  # the implementation's own classes
        # wgpudawn's frames hold views of views; the collector of CPython 3.11 crashes on such a cycle.
        traceback.clear_frames(error.__traceback__)
        return Verdict(False, reasons_of(str(error)), str(error)[:_LONGEST])
    return Verdict(True)
