"""How many invocations a workgroup of a compute shader has, and how much memory they share.

Both may depend on overrides, whose values come with the pipeline. What is not an integer expression of literals,
constants and overrides is not known here: None.

Source: WGSL, https://www.w3.org/TR/WGSL/#attribute-workgroup_size and #override-decls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from attrs import field, frozen

from cmdgraph.layouts import Layouts, UnknownLayoutError
from cmdgraph.wgsl import Reader, tokens

__all__ = ["Workgroup", "workgroup"]

_DEEPEST = 32
_OPERATIONS: tuple[Mapping[str, Callable[[int, int], int]], ...] = (
    {"+": lambda a, b: a + b, "-": lambda a, b: a - b},
    {"*": lambda a, b: a * b, "/": lambda a, b: a // b, "%": lambda a, b: a % b},
)


@frozen
class Workgroup:
    """``size`` in x, y and z; ``memory`` in bytes, of all variables of the module in that address space."""

    size: tuple[int, int, int] | None
    memory: int | None


def workgroup(code: str, entry_point: str | None, constants: Mapping[str, float]) -> Workgroup:
    """The workgroups of `entry_point` with these values of overrides."""
    try:
        reader = _read(code)
        name = reader.computes[0] if entry_point is None and len(reader.computes) == 1 else entry_point or ""
        values = _Values(reader, constants)
        layouts = Layouts(reader.aliases, reader.structs, values.of)
        return Workgroup(_size(reader.workgroup_sizes[name], values), _memory(reader, layouts))
    except (ValueError, LookupError):
        return Workgroup(None, None)


@lru_cache(maxsize=256)
def _read(code: str) -> Reader:
    reader = Reader(list(tokens(code)))
    reader.module()
    return reader


def _size(text: Sequence[str], values: _Values) -> tuple[int, int, int] | None:
    try:
        axes = [values.of(part) for part in _split(text)]
    except _UnknownError:
        return None
    x, y, z = [*axes, 1, 1, 1][:3]
    return x, y, z


def _memory(reader: Reader, layouts: Layouts) -> int | None:
    kinds = [kind for _, template, _, kind in reader.variables if template == ["workgroup"]]
    try:
        return sum(-(-layouts.size(kind) // 16) * 16 for kind in kinds)
    except (UnknownLayoutError, _UnknownError, LookupError):
        return None


def _split(text: Sequence[str]) -> list[list[str]]:
    """The parts between the commas that are in no bracket."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in text:
        depth += (token == "(") - (token == ")")
        if token == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


class _UnknownError(Exception):
    """No integer expression of known values."""


@frozen
class _Values:
    """Values of integer expressions."""

    reader: Reader
    given: Mapping[str, float]
    depth: int = field(default=0)

    def of(self, expression: Sequence[str]) -> int:
        rest = list(expression)
        value = self._sum(rest, 0)
        if rest:
            raise _UnknownError
        return value

    def _sum(self, rest: list[str], level: int) -> int:
        """Takes an expression off the front of `rest`; operators of `level` and those that bind closer."""
        if level == len(_OPERATIONS):
            return self._operand(rest)
        value = self._sum(rest, level + 1)
        while rest and (operation := _OPERATIONS[level].get(rest[0])) is not None:
            rest.pop(0)
            try:
                value = operation(value, self._sum(rest, level + 1))
            except ZeroDivisionError:
                raise _UnknownError from None
        return value

    def _operand(self, rest: list[str]) -> int:
        if not rest:
            raise _UnknownError
        token = rest.pop(0)
        if token == "(":
            value = self._sum(rest, 0)
            if not rest or rest.pop(0) != ")":
                raise _UnknownError
            return value
        if token[0].isdigit():
            try:
                return int(token if token[:2] in ("0x", "0X") and token[-1] not in "iu" else token.rstrip("iu"), 0)
            except ValueError:
                raise _UnknownError from None
        return self._named(token)

    def _named(self, name: str) -> int:
        if self.depth > _DEEPEST:
            raise _UnknownError
        inner = _Values(self.reader, self.given, self.depth + 1)
        if name in self.reader.overrides:
            number, default = self.reader.overrides[name]
            for key in (name, "".join(number)):
                if key in self.given:
                    return int(self.given[key])
            return inner.of(default)
        return inner.of(self.reader.constants.get(name, []))
