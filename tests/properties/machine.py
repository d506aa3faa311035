"""Graphs among everything else that a program does, against a numpy model.

`python -m tests.properties.machine PACKAGE N [STRATEGY]` runs N examples on one implementation, with all strategies or
with one. Hypothesis interleaves captures,
replays by every strategy, updates, rebinds, changes of nodes, eager work, destroys, maps, reads, releases and
collections, and after each step the device holds what the model holds. It runs in a process of its own, because a
mistake aborts it.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import define, evolve
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import cmdgraph
from tests.kit import INDIRECT, READBACK, Kit, captured, open_device, use, ways
from tests.programs import (
    ARGUMENTS,
    INTS,
    UNIFORM_WORD,
    WORDS,
    Clear,
    Copy,
    Machine,
    Model,
    Pass,
    Program,
    Run,
    Submit,
    Write,
    initial,
    programs,
    values,
    without_indirect,
)

SPARES = ("s0", "s1")
GRAPHS = st.integers(0, 2)
OUT = "out"
READ_BACK = Copy("i0", 0, OUT, 0, WORDS)


@define
class Held:
    """A graph, its operations in the order of its nodes, and the buffers it was captured with."""

    graph: cmdgraph.CommandGraph
    operations: list[Run | Copy | Clear | Write]
    buffers: dict[str, Any]

    def used(self) -> set[str]:
        found = {ARGUMENTS for o in self.operations if isinstance(o, Run) and o.count is None}
        for operation in self.operations:
            match operation:
                case Run(buffers=buffers):
                    found |= set(buffers)
                case Copy(source=source, target=target):
                    found |= {source, target}
                case Clear(buffer=buffer) | Write(buffer=buffer):
                    found.add(buffer)
        return found

    def renamed(self, old: str, new: str) -> list[Run | Copy | Clear | Write]:
        def name(which: str) -> str:
            return new if which == old else which

        return [_renamed(operation, name) for operation in self.operations]


def _renamed(operation: Any, name: Any) -> Any:
    match operation:
        case Run(buffers=buffers):
            return evolve(operation, buffers=tuple(map(name, buffers)))
        case Copy(source=source, target=target):
            return evolve(operation, source=name(source), target=name(target))
        case _:
            return evolve(operation, buffer=name(operation.buffer))


def _raised(call: Callable[[], Any]) -> Exception | None:
    try:
        call()
    except cmdgraph.CommandGraphError as error:
        return error
    return None


def flat(program: Program) -> list[Run | Copy | Clear | Write]:
    """The operations of a program in the order of their nodes."""
    found: list[Run | Copy | Clear | Write] = []
    for step in program:
        if isinstance(step, Write):
            found.append(step)
            continue
        for place in step.places:
            for part in step.encoders[place]:
                found += part if isinstance(part, tuple) else [part]
    return found


class Graphs(RuleBasedStateMachine):
    """The rules. `kit` and `ways` are set by `main`."""

    kit: Kit
    shared: Machine
    ways: list[tuple[str, str]]
    indirect = True
    without_encoding = 0

    @initialize()
    def begin(self) -> None:
        self.machine, self.model = self.shared, Model()
        for name in SPARES:
            self.model.at[name] = np.arange(WORDS, dtype=np.uint32)
        self.held: list[Held] = []
        for name, data in self.model.at.items():
            if name != OUT and name not in self.machine.buffers:
                self.machine.buffers[name] = self.kit.buffer(data, name, usage=INDIRECT)
            self.kit.queue.write_buffer(self.machine.buffers[name], 0, data)
        self.model.at[OUT] = np.zeros(WORDS, np.uint32)
        self.machine.buffers[OUT] = self.kit.device.create_buffer(size=4 * WORDS, usage=READBACK, label=OUT)

    def teardown(self) -> None:
        for held in getattr(self, "held", ()):
            self._let_go(held)
        out = getattr(self, "machine", None) and self.machine.buffers.get(OUT)
        if out is not None and out.map_state != "unmapped":
            out.unmap()

    # -- graphs -----------------------------------------------------------------------------------------------------

    @rule(data=st.data(), reads_back=st.booleans(), execute=st.booleans())
    def capture(self, data: st.DataObject, reads_back: bool, execute: bool) -> None:
        program = data.draw(programs(self.machine.kernels), "program")
        if not self.indirect:
            program = without_indirect(program)
        reads_back = reads_back and not self._mapped()
        self.machine.prepare(program)

        def model() -> None:
            self.machine.run(program)
            if reads_back:
                self.kit.copy(self.machine.buffers["i0"], self.machine.buffers[OUT])

        graph = use(captured(self.kit.device, model, execute=execute), data.draw(st.sampled_from(self.ways), "way"))
        if execute:
            self.model.run(program)
            if reads_back:
                self._model(READ_BACK)
        if len(self.held) == 3:
            self._let_go(self.held.pop(0))
        operations = [*flat(program), *([READ_BACK] if reads_back else [])]
        self.held.append(Held(graph, operations, dict(self.machine.buffers)))
        self._replay(self.held[-1], data.draw(st.integers(0, 3), "replays at once"))

    @precondition(lambda self: self.held)
    @rule(which=GRAPHS, times=st.integers(1, 3), way=st.data())
    def replay(self, which: int, times: int, way: st.DataObject) -> None:
        held = self._graph(which)
        if way.draw(st.booleans(), "another way"):
            use(held.graph, way.draw(st.sampled_from(self.ways), "way"))
        self._replay(held, times)

    @precondition(lambda self: self.held)
    @rule(which=GRAPHS, name=st.sampled_from(INTS), value=values)
    def update(self, which: int, name: str, value: int) -> None:
        held = self._graph(which)
        buffer, data = held.buffers[name], np.full(WORDS, value, np.uint32)
        if name not in held.used():
            self._expect(cmdgraph.UpdateError, lambda: held.graph.update({buffer: data}))
            return
        trouble = self._trouble(held)
        refused = _raised(lambda: held.graph.update({buffer: data}))
        if isinstance(refused, cmdgraph.UpdateError):
            assert "before the graph reads" in str(refused)
            return
        assert type(refused) is (trouble or type(None))
        if refused is None:
            self._set(held, name, data)

    @precondition(lambda self: self.held)
    @rule(which=GRAPHS, old=st.sampled_from(INTS), new=st.sampled_from([*SPARES, *INTS]))
    def rebind(self, which: int, old: str, new: str) -> None:
        held = self._graph(which)
        before, after = held.buffers[old], self.machine.buffers[new]
        mapped = OUT in held.used() and self._mapped()
        if old not in held.used() or mapped or (new in held.buffers and self._dead(held, new)):
            return
        operations = held.renamed(old, new)
        buffers = {**held.buffers, old: held.buffers[old], new: after}
        others = {name for name in held.used() - {old} if self._dead(held, name)}
        refused = _raised(lambda: held.graph.rebind({before: after}))
        if isinstance(refused, cmdgraph.ValidationError):
            assert refused.rule in ("usage_scope", "writable_aliasing", "copy"), refused  # two roles at once
            return
        assert type(refused) is (cmdgraph.DestroyedError if others else type(None)), refused
        if refused is None:
            held.operations, held.buffers = operations, buffers

    @precondition(lambda self: self.held)
    @rule(which=GRAPHS, count=st.integers(0, WORDS // 8), node=st.integers(0, 20))
    def set_workgroups(self, which: int, count: int, node: int) -> None:
        held = self._graph(which)
        places = [i for i, o in enumerate(held.operations) if isinstance(o, Run) and o.count is not None]
        if not places:
            return
        place = places[node % len(places)]
        operation = held.operations[place]
        assert isinstance(operation, Run)
        if operation.kernel == "counts":
            return
        held.graph.set_workgroups(place, count)
        held.operations[place] = evolve(operation, count=count)

    @precondition(lambda self: self.held)
    @rule(which=GRAPHS, value=values, node=st.integers(0, 20))
    def set_data(self, which: int, value: int, node: int) -> None:
        held = self._graph(which)
        places = [i for i, o in enumerate(held.operations) if isinstance(o, Write) and o.buffer != ARGUMENTS]
        if not places:
            return
        place = places[node % len(places)]
        operation = held.operations[place]
        assert isinstance(operation, Write)
        trouble = self._trouble(held)
        new = np.full(len(operation.values), value, np.uint32)
        if trouble is not None:
            self._expect(trouble, lambda: held.graph.set_data(place, new))
            return
        held.graph.set_data(place, new)
        held.operations[place] = evolve(operation, values=tuple(new.tolist()))

    @precondition(lambda self: self.held)
    @rule(which=GRAPHS, collect=st.booleans())
    def release(self, which: int, collect: bool) -> None:
        held = self._graph(which)
        self._let_go(held)
        self._expect(cmdgraph.ReleasedError, held.graph.replay)
        self.held.remove(held)
        if collect:
            del held
            gc.collect()

    # -- everything else --------------------------------------------------------------------------------------------

    @rule(data=st.data())
    def eager(self, data: st.DataObject) -> None:
        program = data.draw(programs(self.machine.kernels), "eager program")
        self.machine.prepare(program)
        self.machine.run(program)
        self.model.run(program)

    @rule(name=st.sampled_from([*INTS, *SPARES]))
    def destroy(self, name: str) -> None:
        """The buffer is gone; the program goes on with a new one in its place."""
        self.machine.buffers[name].destroy()
        data = initial().get(name, np.arange(WORDS, dtype=np.uint32))
        self.machine.buffers[name] = self.kit.buffer(data, name, usage=INDIRECT)
        self.machine._groups.clear()
        self.model.at[name] = data.copy()

    @rule()
    def map(self) -> None:
        if not self._mapped():
            self.machine.buffers[OUT].map_sync("READ")

    @rule()
    def unmap(self) -> None:
        if self._mapped():
            self.machine.buffers[OUT].unmap()

    @invariant()
    def the_device_holds_what_the_model_holds(self) -> None:
        if not hasattr(self, "model"):
            return
        for name in (*INTS, "f0", "f1", *SPARES, ARGUMENTS):
            found = bytes(self.kit.queue.read_buffer(self.machine.buffers[name]))
            assert found == self.model.at[name].tobytes(), name

    # -- inside -----------------------------------------------------------------------------------------------------

    def _graph(self, which: int) -> Held:
        return self.held[which % len(self.held)]

    def _replay(self, held: Held, times: int) -> None:
        for _ in range(times):
            trouble = self._trouble(held)
            if trouble is not None:
                self._expect(trouble, held.graph.replay)
                return
            held.graph.replay()
            for operation in held.operations:
                self._model(operation)

    @classmethod
    def _let_go(cls, held: Held) -> None:
        cls.without_encoding += held.graph.stats.ahead
        held.graph.release()

    def _mapped(self) -> bool:
        return self.machine.buffers[OUT].map_state != "unmapped"

    def _dead(self, held: Held, name: str) -> bool:
        return held.buffers[name] is not self.machine.buffers[name]

    def _trouble(self, held: Held) -> type[Exception] | None:
        """The error that a replay must raise."""
        if any(self._dead(held, name) for name in held.used() if name != UNIFORM_WORD):
            return cmdgraph.DestroyedError
        return cmdgraph.MappedError if OUT in held.used() and self._mapped() else None

    def _expect(self, error: type[Exception], call: Any) -> None:
        raised = _raised(call)
        assert type(raised) is error, raised

    def _set(self, held: Held, name: str, data: np.ndarray) -> None:
        if not self._dead(held, name):
            self.model.at[name][:] = data

    def _model(self, operation: Any) -> None:
        part: Pass | Copy | Clear = (operation,) if isinstance(operation, Run) else operation
        self.model.run((operation,) if isinstance(operation, Write) else (Submit(((part,),), (0,)),))


def main(package: str, examples: str, strategy: str = "") -> None:
    features = ["immediates"] if package == "wgpu" else []
    kit = Kit(open_device(package, features, {"max-immediate-size": 64}))
    Graphs.kit, Graphs.shared, Graphs.ways = kit, Machine(kit), [way for way in ways() if strategy in ("", way[1])]
    Graphs.indirect = strategy != "native" or package == "wgpu"  # Dawn's indirect dispatches cannot be repeated
    run_state_machine_as_test(
        Graphs,
        settings=settings(
            max_examples=int(examples),
            stateful_step_count=25,
            deadline=None,
            derandomize=True,
            database=None,
            report_multiple_bugs=False,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        ),
    )
    if strategy == "native":
        assert Graphs.without_encoding > int(examples), f"only {Graphs.without_encoding} replays were native"
    print("held")


if __name__ == "__main__":
    main(*sys.argv[1:])
