"""Sizes of WGSL types in memory: what a binding must hold at least, and which words of it hold data.

Source: WGSL, https://www.w3.org/TR/WGSL/#memory-layouts (alignment and size) and #minimum-binding-size. A runtime-sized
array counts as one element there. What depends on an `override`, or on arithmetic, is not known here: `Unknown`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import field, frozen

__all__ = ["Layouts", "Member", "UnknownLayoutError"]

_SCALARS = {"f32": 4, "i32": 4, "u32": 4, "f16": 2}
_SUFFIXES = {"f": 4, "i": 4, "u": 4, "h": 2}
_VECTOR = re.compile(r"vec([234])([fiuh])?$")
_MATRIX = re.compile(r"mat([234])x([234])([fh])?$")
_DEEPEST = 32
_MOST_BYTES = 4096


class UnknownLayoutError(Exception):
    """The size of a type does not follow from its text alone."""


@frozen
class Member:
    """A member of a struct: the tokens of its type and of its attributes' arguments."""

    kind: Sequence[str]
    attributes: Mapping[str, Sequence[str]] = field(factory=dict)


@frozen
class Layouts:
    """Measures types of one module; ``constant`` gives the value of a constant expression or raises."""

    aliases: Mapping[str, Sequence[str]]
    structs: Mapping[str, Sequence[Member]]
    constant: Callable[[Sequence[str]], int]
    _structs_placed: dict[str, list[tuple[int, int, int]]] = field(factory=dict, init=False)

    def size(self, kind: Sequence[str]) -> int:
        """The bytes that a binding of this type must have at least.

        Raises:
            UnknownLayoutError: they are not known.
        """
        return self._measure(kind, 0)[0]

    def words(self, kind: Sequence[str]) -> frozenset[int]:
        """The offsets of the 4-byte words that hold data, not padding.

        Raises:
            UnknownLayoutError: they are not known, or the type is larger than any immediate data.
        """
        if self.size(kind) > _MOST_BYTES:
            raise UnknownLayoutError
        return frozenset(
            word for start, size in self._spans(kind, 0, 0) for word in range(start - start % 4, start + size, 4)
        )

    def _measure(self, kind: Sequence[str], depth: int) -> tuple[int, int]:
        """Size and alignment."""
        word, arguments = self._resolved(kind, depth)
        if word in self.structs:
            *_, end = self._placed(word, depth)
            return end[1], end[2]
        if word == "array":
            stride, align = self._stride(arguments, depth)
            return stride * (1 if len(arguments) == 1 else self.constant(arguments[1])), align
        if (count := self._vector(word, arguments)) is not None:
            size, scalar = count
            return size, 2 * scalar if size == 2 * scalar else 4 * scalar
        if (columns := self._matrix(word, arguments)) is not None:
            number, size, align = columns
            return number * _up(align, size), align
        if word == "atomic":
            word = arguments[0][0]
        if word not in _SCALARS:
            raise UnknownLayoutError
        return _SCALARS[word], _SCALARS[word]

    def _spans(self, kind: Sequence[str], at: int, depth: int) -> Iterator[tuple[int, int]]:
        """Offset and size of each part without padding."""
        word, arguments = self._resolved(kind, depth)
        if word in self.structs:
            for member, (offset, _, _) in zip(self.structs[word], self._placed(word, depth), strict=False):
                yield from self._spans(member.kind, at + offset, depth + 1)
        elif word == "array":
            stride, _ = self._stride(arguments, depth)
            for n in range(1 if len(arguments) == 1 else self.constant(arguments[1])):
                yield from self._spans(arguments[0], at + n * stride, depth + 1)
        elif (columns := self._matrix(word, arguments)) is not None:
            number, size, align = columns
            yield from ((at + n * _up(align, size), size) for n in range(number))
        else:
            yield at, self._measure(kind, depth)[0]

    def _placed(self, name: str, depth: int) -> list[tuple[int, int, int]]:
        """Offset, size and alignment of each member, then (0, size, alignment) of the whole struct."""
        if name not in self._structs_placed:  # once: structs that hold others twice would double the time each
            self._structs_placed[name] = self._place(name, depth)
        return self._structs_placed[name]

    def _place(self, name: str, depth: int) -> list[tuple[int, int, int]]:
        at, widest, found = 0, 1, []
        for member in self.structs[name]:
            size, align = self._measure(member.kind, depth + 1)
            if "align" in member.attributes:
                align = self.constant(member.attributes["align"])
            if "size" in member.attributes:
                size = self.constant(member.attributes["size"])
            at = _up(align, at)
            found.append((at, size, align))
            at, widest = at + size, max(widest, align)
        return [*found, (0, _up(widest, at), widest)]

    def _stride(self, arguments: Sequence[Sequence[str]], depth: int) -> tuple[int, int]:
        size, align = self._measure(arguments[0], depth + 1)
        return _up(align, size), align

    def _vector(self, word: str, arguments: Sequence[Sequence[str]]) -> tuple[int, int] | None:
        """Size of a vector and of its scalars."""
        match = _VECTOR.match(word)
        if match is None:
            return None
        scalar = self._scalar(match[2], arguments)
        return int(match[1]) * scalar, scalar

    def _matrix(self, word: str, arguments: Sequence[Sequence[str]]) -> tuple[int, int, int] | None:
        """Number of columns, size and alignment of one."""
        match = _MATRIX.match(word)
        if match is None:
            return None
        scalar, rows = self._scalar(match[3], arguments), int(match[2])
        return int(match[1]), rows * scalar, (2 if rows == 2 else 4) * scalar

    def _scalar(self, suffix: str | None, arguments: Sequence[Sequence[str]]) -> int:
        if suffix is not None:
            return _SUFFIXES[suffix]
        word, _ = self._resolved(arguments[0], 0)
        if word not in _SCALARS:
            raise UnknownLayoutError
        return _SCALARS[word]

    def _resolved(self, kind: Sequence[str], depth: int) -> tuple[str, list[list[str]]]:
        """The type's own name behind aliases, and its template arguments."""
        for _ in range(_DEEPEST):
            if not kind or depth > _DEEPEST:
                break
            if kind[0] not in self.aliases:
                return kind[0], _arguments(kind[1:])
            kind = self.aliases[kind[0]]
        raise UnknownLayoutError


def _arguments(tokens: Sequence[str]) -> list[list[str]]:
    """The template arguments of ``<a, b>``; none without a template."""
    if not tokens or tokens[0] != "<":
        return []
    found: list[list[str]] = [[]]
    depth = 0
    for token in tokens[1:-1]:
        depth += (token in ("<", "(")) - (token in (">", ")"))
        if token == "," and depth == 0:
            found.append([])
        else:
            found[-1].append(token)
    return [argument for argument in found if argument]


def _up(align: int, value: int) -> int:
    return -(-value // align) * align
