"""Makes a failing program small: takes parts away as long as it still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attrs import evolve

from tests.fuzz.programs import Program

__all__ = ["minimal"]


def minimal(program: Program, fails: Callable[[Program], bool]) -> Program:
    """A smallest program, by taking away one part at a time, for which `fails` holds."""
    while (smaller := next((p for p in _smaller(program) if fails(p)), None)) is not None:
        program = smaller
    return program


def _smaller(program: Program) -> Iterator[Program]:
    for field in ("before", "after"):
        if getattr(program, field):
            yield evolve(program, **{field: ()})
    yield from (evolve(program, steps=steps) for steps in _without(program.steps))


def _without(parts: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """`parts` without one, or with one of them smaller; the containers of commands are ("submit" | "pass", parts)."""
    for at, part in enumerate(parts):
        yield (*parts[:at], *parts[at + 1 :])
        if part and part[0] in ("submit", "pass"):
            inner = ((part[0], smaller) for smaller in _without(part[1]) if smaller)
        elif part and isinstance(part[0], tuple):  # an encoder
            inner = (smaller for smaller in _without(part) if smaller)
        else:
            continue
        yield from ((*parts[:at], smaller, *parts[at + 1 :]) for smaller in inner)
