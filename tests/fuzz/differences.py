"""The known differences between the specification, cmdgraph and the implementations, as data.

Each names the kinds of findings it explains and a predicate on them; whatever none of them explains fails the tests.
spec_proposal/validation.md lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import frozen

from tests.fuzz.compare import Finding
from tests.fuzz.judge import Answer
from tests.fuzz.kernels import KERNELS
from tests.fuzz.programs import Command, Program

__all__ = ["DIFFERENCES", "Difference", "explained"]

Predicate = Callable[[Finding, Program, Mapping[str, Answer]], bool]


@frozen
class Difference:
    """``who`` differs from the text at ``anchor``; ``explains`` says of a finding whether this is why."""

    name: str
    who: str
    anchor: str
    reason: str
    explains: Predicate


def explained(finding: Finding, program: Program, answers: Mapping[str, Answer]) -> Difference | None:
    """The known difference behind a finding; None for a new one."""
    return next((d for d in DIFFERENCES if d.explains(finding, program, answers)), None)


def _refused_by(finding: Finding, package: str, words: str) -> bool:
    return finding.kind.startswith("unsound") and finding.package == package and words in finding.text


def _set_and_not_used(finding: Finding, program: Program, _: Mapping[str, Answer]) -> bool:
    """A destroyed buffer in a group that was set and replaced, or not followed by a dispatch."""
    dead = {buffer for kind, buffer in (*program.before, *program.after) if kind == "destroy"}
    gone = "while destroyed" in finding.text or "the process was killed" in finding.text or finding.kind == "died"
    return gone and any(
        dead & {entry[1] for entry in program.groups[command[2]].entries} for command in _unused_groups(program)
    )


def _unused_groups(program: Program) -> Iterator[Command]:
    """The commands that set a group which no dispatch of their pass sees."""
    for part in _parts(program):
        at: dict[int, Command] = {}
        for command in part[1] if part[0] == "pass" else ():
            if command[0] == "group":
                yield from (c for c in [at.get(command[1])] if c is not None)
                at[command[1]] = command
            elif command[0] in ("dispatch", "indirect"):
                at.clear()
        yield from at.values()


def _empty_clear(finding: Finding, program: Program, _: Mapping[str, Answer]) -> bool:
    empty = any(c[0] == "clear" and c[3] == 0 for c in program.commands())
    return empty and "size must be > 0" in finding.text


def _empty_immediates(finding: Finding, program: Program, _: Mapping[str, Answer]) -> bool:
    empty = any(c[0] == "immediates" and not c[2] for c in program.commands())
    return empty and "Invalid data_offset" in finding.text


def _beyond_the_layout(finding: Finding, program: Program, _: Mapping[str, Answer]) -> bool:
    beyond = "overruns the immediate data range" in finding.text
    return finding.kind in ("unsound", "other reason") and beyond and _sets_immediates(program)


def _before_the_pipeline(finding: Finding, program: Program, _: Mapping[str, Answer]) -> bool:
    before = "In a set_immediates command Compute pipeline must be set" in " ".join(finding.text.split())
    return finding.kind in ("unsound", "other reason") and before and _sets_immediates(program)


def _forgets(finding: Finding, program: Program, answers: Mapping[str, Answer]) -> bool:
    return finding.kind == "replay differs" and finding.package == "wgpu" and _inherits(program)


def _inherits(program: Program) -> bool:
    return any(_pass_inherits(part[1]) for part in _parts(program) if part[0] == "pass")


def _parts(program: Program) -> Iterator[Command]:
    for step in program.steps:
        for encoder in step[1] if step[0] == "submit" else ():
            yield from encoder


def _pass_inherits(commands: Sequence[Command]) -> bool:
    """Whether a dispatch reads immediates that were set before its pipeline."""
    ever: set[int] = set()
    since: set[int] = set()
    needed: set[int] = set()
    for command in commands:
        match command:
            case ("pipeline", kernel):
                needed, since = set(KERNELS[kernel].words), set()
            case ("immediates", offset, words):
                given = {offset + 4 * n for n in range(len(words))}
                ever, since = ever | given, since | given
            case ("dispatch" | "indirect", *_) if needed - since and needed <= ever:
                return True
    return False


def _sets_immediates(program: Program) -> bool:
    return any(c[0] == "immediates" for c in program.commands())


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "set_and_not_used",
        "cmdgraph",
        "#dom-gpuqueue-submit",
        "submit() looks at every bind group that was ever set. A graph holds what its dispatches see: a group that was "
        "replaced before a dispatch, or followed by none, is dropped, and its buffers may be destroyed.",
        _set_and_not_used,
    ),
    Difference(
        "empty_clear",
        "wgpu-py",
        "#dom-gpucommandencoder-clearbuffer",
        "A clear of no bytes is valid; wgpu-py raises ValueError, and wgpu-native kills the process that asks for one "
        "directly. A graph takes it and leaves it out.",
        _empty_clear,
    ),
    Difference(
        "empty_immediates",
        "wgpu-py",
        "#dom-gpubindingcommandsmixin-setimmediates",
        "No bytes of immediates are valid; wgpu-py raises ValueError.",
        _empty_immediates,
    ),
    Difference(
        "immediates_beyond_the_layout",
        "wgpu-native",
        "#dom-gpubindingcommandsmixin-setimmediates",
        "Immediates are bounded by maxImmediateSize; wgpu-native bounds them by the layout of the pipeline set at that "
        "moment. A replay sets the part that the layout has.",
        _beyond_the_layout,
    ),
    Difference(
        "immediates_before_the_pipeline",
        "wgpu-native",
        "#dom-gpubindingcommandsmixin-setimmediates",
        "Immediates are state of the pass, whatever pipeline is set; wgpu-native wants one set before. A replay sets "
        "them after it.",
        _before_the_pipeline,
    ),
    Difference(
        "immediates_forgotten",
        "wgpu-native",
        "#dom-gpubindingcommandsmixin-setimmediates",
        "Immediates stay set when the pipeline changes; wgpu-native 29 forgets them. A replay keeps them.",
        _forgets,
    ),
)
