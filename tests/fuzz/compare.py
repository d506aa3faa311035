"""Holds our verdicts against those of both implementations: sound, complete, for the same reason, and equal bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen

from tests.fuzz.judge import Answer, Verdict
from tests.fuzz.programs import Program

__all__ = ["Finding", "findings"]

FATAL = frozenset({"DestroyedError", "MappedError", "DeviceLostError"})


UNSEEN = frozenset({"same_device", "workgroup_counts", "indirect_arguments"})
"""What else a dispatch without a pipeline may break: it is refused before it is a node, so nobody looks."""


@frozen
class Finding:
    """Something that should not be: ``kind`` says which property is broken, on which implementation's device."""

    kind: str
    package: str
    text: str


def findings(program: Program, answers: Mapping[str, Answer]) -> Iterator[Finding]:
    """All that is wrong with the answers to one program, by package."""
    also = FATAL if program.before else frozenset()  # two things are wrong then; which is told first is open
    for package, answer in answers.items():
        if answer.died and not _expected(answer, also):
            yield Finding("died", package, f"at {answer.died}; ours: {answer.ours.text}")
        if answer.made or answer.ours.accepts is None:
            continue
        eager = {name: other.eager for name, other in answers.items() if not other.made}
        yield from _verdict("", package, answer.ours, eager, also)
        if answer.ours.accepts and answer.ours_after.accepts is not None:
            after = {name: other.eager_after for name, other in answers.items() if not other.made}
            yield from _verdict(" after events", package, answer.ours_after, after, also)
        if answer.change:
            yield Finding("change differs", package, answer.change)
        if answer.replay:
            yield Finding("replay differs", package, answer.replay)


def _verdict(
    when: str, package: str, ours: Verdict, eager: Mapping[str, Verdict], also: frozenset[str]
) -> Iterator[Finding]:
    asked = {name: verdict for name, verdict in eager.items() if verdict.accepts is not None}
    refusing = {name: verdict for name, verdict in asked.items() if not verdict.accepts}
    said = "; ".join(f"{name}: {_first(verdict.text)}" for name, verdict in refusing.items())
    if ours.accepts:
        for name, verdict in refusing.items():
            yield Finding(f"unsound{when}", name, f"accepted on {package}; {name}: {_first(verdict.text)}")
    elif asked and not refusing:
        if len(asked) == len(eager):
            yield Finding(f"too strict{when}", package, f"{ours.text}; accepted by {' and '.join(asked)}")
    elif asked and not any(_same_reason(ours.rules | also, verdict) for verdict in refusing.values()):
        yield Finding(f"other reason{when}", package, f"ours: {ours.text}; {said}")


def _same_reason(ours: frozenset[str], theirs: Verdict) -> bool:
    if "implementation" in ours:
        return True  # the reason is theirs
    if "pipeline_set" in ours:
        ours |= UNSEEN
    return not ours.isdisjoint(FATAL if "abort" in theirs.rules else theirs.rules)


def _expected(answer: Answer, also: frozenset[str]) -> bool:
    """Whether we had said that the process would die."""
    refused = answer.ours_after if answer.died == "eager after events" else answer.ours
    return answer.died.startswith("eager") and not (refused.rules | also).isdisjoint(FATAL)


def _first(text: str) -> str:
    return " ".join(text.split())[:300]
