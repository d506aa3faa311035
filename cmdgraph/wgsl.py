"""Reads the declarations of a WGSL module: what an entry point binds, and with which access.

No API tells which bindings a pipeline made with ``layout="auto"`` has, nor the element type of a buffer. Both
stand in the module's text. This is a reader of module-scope declarations, not a compiler: the implementation has
accepted the module before we see it. What it cannot follow it reports as unknown (None) and never guesses.

Source: WGSL, https://www.w3.org/TR/WGSL/ (module scope declarations, address spaces, access modes).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from attrs import field, frozen

from cmdgraph.layouts import Layouts, Member, UnknownLayoutError

__all__ = ["HALF", "SUBGROUP", "Declaration", "Module", "Reader", "parse", "tokens"]

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*)
      | (?P<comment>/\*)
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*|0[xX][0-9a-fA-F]+[iu]?|[0-9][0-9a-zA-Z.]*)
      | (?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
_SCALARS = {"f32": "f32", "i32": "i32", "u32": "u32", "f16": "f16"}
_SHORT = {"f": "f32", "i": "i32", "u": "u32", "h": "f16"}
_SHORT_TYPE = re.compile(r"(?:vec[234]|mat[234]x[234])([fiuh])$")
HALF = re.compile(r"(?:f16|vec[234]h|mat[234]x[234]h)$")
"""Words that stand for half floats."""
SUBGROUP = re.compile(
    r"(?:subgroup[A-Z]\w*|quad(?:Broadcast|Swap)\w*|subgroup_(?:size|id|invocation_id)|num_subgroups)$"
)
"""Words that only code with subgroups has."""
_DIRECTIVES = {"enable", "requires", "diagnostic"}


@frozen
class Declaration:
    """One resource variable: ``@group(group) @binding(binding) var<space, access> name: type``.

    ``kind`` is a WebGPU binding type: "uniform", "storage" (read_write), "read-only-storage", or "handle" for
    textures and samplers. ``element`` is the scalar that the buffer is made of ("f32", "i32", "u32", "f16"), or
    None when it mixes several or is not a buffer. ``size`` is the number of bytes that a binding must have at least
    (https://www.w3.org/TR/WGSL/#minimum-binding-size), or None where it is not known.
    """

    group: int
    binding: int
    name: str
    kind: str
    type: str
    element: str | None
    size: int | None = None


@frozen
class Module:
    """The declarations of one module, and which of them each entry point reaches."""

    declarations: tuple[Declaration, ...]
    entry_points: tuple[str, ...]
    _reached: dict[str, frozenset[str]] = field(alias="reached")
    _immediates: dict[str, frozenset[int] | None] = field(alias="immediates", factory=dict)

    def used(self, entry_point: str | None) -> tuple[Declaration, ...] | None:
        """The declarations that `entry_point` reaches; None when there is no such compute entry point.

        Without a name the module must have one compute entry point (WebGPU: `entryPoint` may be left out then).
        """
        names = self._names(entry_point)
        return None if names is None else tuple(d for d in self.declarations if d.name in names)

    def uses_immediates(self, entry_point: str | None) -> bool:
        """Whether `entry_point` reads a ``var<immediate>``; True where that is not known."""
        names = self._names(entry_point)
        return names is None or not names.isdisjoint(self._immediates)

    def immediate_words(self, entry_point: str | None) -> frozenset[int] | None:
        """The offsets of the 4-byte words of immediates that must be set for `entry_point`; None where not known.

        They are those of every ``var<immediate>`` that it reaches, without padding
        (https://www.w3.org/TR/webgpu/#abstract-opdef-validate-immediate-data).
        """
        names = self._names(entry_point)
        if names is None:
            return None
        words: set[int] = set()
        for name, found in self._immediates.items():
            if name in names:
                if found is None:
                    return None
                words |= found
        return frozenset(words)

    def _names(self, entry_point: str | None) -> frozenset[str] | None:
        if entry_point is None and len(self.entry_points) == 1:
            entry_point = self.entry_points[0]
        return self._reached.get(entry_point or "")


@lru_cache(maxsize=512)
def parse(code: str) -> Module | None:
    """The declarations of `code`, or None when something in it cannot be followed."""
    try:
        return Reader(list(tokens(code))).module()
    except (_UnknownError, IndexError, ValueError):
        return None


class _UnknownError(ValueError):
    """The text holds something this reader does not follow."""


def tokens(code: str) -> Iterator[str]:
    """The words and marks of `code`, each operator of two marks as two, without comments.

    Raises:
        ValueError: a comment does not end.
    """
    position = 0
    while position < len(code):
        match = _TOKEN.match(code, position)
        assert match is not None  # the last alternative takes any character
        position = match.end()
        if match.lastgroup == "comment":
            position = _end_of_comment(code, position)
        elif match.lastgroup != "skip":
            yield match.group()


def _end_of_comment(code: str, position: int) -> int:
    """Block comments nest in WGSL."""
    depth = 1
    while depth:
        opening, closing = code.find("/*", position), code.find("*/", position)
        if closing < 0:
            raise _UnknownError
        if 0 <= opening < closing:
            depth, position = depth + 1, opening + 2
        else:
            depth, position = depth - 1, closing + 2
    return position


def _free_names(parameters: Sequence[str], body: Sequence[str]) -> set[str]:
    """The names that a function's body takes from module scope: no members, parameters or local declarations.

    Scopes are those of WGSL (https://www.w3.org/TR/WGSL/#declaration-and-scope): a block, and a `for` with its body.
    """
    scopes: list[set[str]] = [{p for p, after in itertools.pairwise(parameters) if after == ":"}]
    loops: list[int] = []  # the scopes that a `for` opened
    free: set[str] = set()
    declared: tuple[int, str] | None = None  # place and name; the name exists from the end of its declaration on
    for at, token in enumerate(body):
        if token == "for":
            loops.append(len(scopes))
            scopes.append(set())
        elif token == "{":
            scopes.append(set())
        elif token == "}":
            scopes.pop()
            if loops and loops[-1] == len(scopes) - 1:
                scopes.pop()
                loops.pop()
        elif token in ("let", "var", "const"):
            declared = _declared(body, at + 1)
        elif token == ";" and declared is not None:
            scopes[-1].add(declared[1])
            declared = None
        elif not (declared and declared[0] == at) and not _is_member(body, at) and not _known(token, scopes):
            free.add(token)
    return free


def _is_member(body: Sequence[str], at: int) -> bool:
    return at > 0 and body[at - 1] == "."


def _known(name: str, scopes: Sequence[set[str]]) -> bool:
    return any(name in scope for scope in scopes)


def _declared(body: Sequence[str], at: int) -> tuple[int, str]:
    """Place and name after `let`, `const` or `var`, behind the address space that `var` may have."""
    if body[at] == "<":
        at = body.index(">", at) + 1
    return at, body[at]


def _member(tokens: Sequence[str]) -> Member:
    """A struct's member from its tokens: attributes, a name, a colon, a type."""
    attributes: dict[str, list[str]] = {}
    at = 0
    while tokens[at] == "@":
        name, at = tokens[at + 1], at + 2
        if tokens[at] == "(":
            end = tokens.index(")", at)
            attributes[name], at = list(tokens[at + 1 : end]), end + 1
    return Member(list(tokens[at + 2 :]), attributes)


class Reader:
    """Walks the tokens of a module once, at module scope: `module` reads, the attributes hold what was found."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0
        self.aliases: dict[str, list[str]] = {}
        self.structs: dict[str, list[Member]] = {}
        self.constants: dict[str, list[str]] = {}
        self.overrides: dict[str, tuple[list[str], list[str]]] = {}  # @id, if any, and default, if any
        self.workgroup_sizes: dict[str, list[str]] = {}
        self.variables: list[tuple[dict[str, list[str]], list[str], str, list[str]]] = []
        self.functions: dict[str, set[str]] = {}
        self.computes: list[str] = []
        self._layouts = Layouts(self.aliases, self.structs, self._integer)

    def module(self) -> Module:
        while self.at < len(self.tokens):
            self._declaration()
        declarations = tuple(d for v in self.variables if (d := self._resource(*v)) is not None)
        reached = {name: frozenset(self._reach(name)) for name in self.computes}
        immediates = {
            name: self._measured(self._layouts.words, kind)
            for _, template, name, kind in self.variables
            if template == ["immediate"]
        }
        return Module(declarations, tuple(self.computes), reached, immediates)

    # -- module scope ---------------------------------------------------------------------------------------------

    def _declaration(self) -> None:
        attributes = self._attributes()
        word = self._next()
        if word in _DIRECTIVES or word == "const_assert":
            self._until(";")
        elif word == "alias":
            name = self._next()
            self.aliases[name] = self._until(";")[1:]
        elif word in ("const", "override"):
            name = self._next()
            text = self._until(";")
            value = text[text.index("=") + 1 :] if "=" in text else []
            self.constants[name] = value if word == "const" else []
            if word == "override":
                self.overrides[name] = (attributes.get("id", []), value)
        elif word == "struct":
            self._struct()
        elif word == "var":
            self._variable(attributes)
        elif word == "fn":
            self._function(attributes)
        elif word != ";":
            raise _UnknownError

    def _attributes(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        while self.tokens[self.at] == "@":
            name = self.tokens[self.at + 1]
            self.at += 2
            found[name] = self._brackets("(", ")") if self.tokens[self.at] == "(" else []
        return found

    def _struct(self) -> None:
        name = self._next()
        members: list[Member] = []
        member: list[str] = []
        depth = 0
        for token in [*self._brackets("{", "}"), ","]:
            depth += (token in "(<") - (token in ")>")
            if token == "," and depth == 0:
                if ":" in member:
                    members.append(_member(member))
                member = []
            else:
                member.append(token)
        self.structs[name] = members

    def _variable(self, attributes: dict[str, list[str]]) -> None:
        template = self._brackets("<", ">") if self.tokens[self.at] == "<" else []
        name = self._next()
        text = self._until(";")
        kind = text[1:] if text[:1] == [":"] else []
        if "=" in kind:
            kind = kind[: kind.index("=")]
        self.variables.append((attributes, template, name, kind))

    def _function(self, attributes: dict[str, list[str]]) -> None:
        name = self._next()
        parameters = self._brackets("(", ")")
        while self.tokens[self.at] != "{":
            self.at += 1
        self.functions[name] = _free_names(parameters, self._brackets("{", "}"))
        if "compute" in attributes:
            self.computes.append(name)
            self.workgroup_sizes[name] = attributes.get("workgroup_size", [])

    # -- meaning --------------------------------------------------------------------------------------------------

    def _resource(
        self, attributes: dict[str, list[str]], template: list[str], name: str, kind: list[str]
    ) -> Declaration | None:
        if "group" not in attributes or "binding" not in attributes:
            return None
        group, binding = self._integer(attributes["group"]), self._integer(attributes["binding"])
        space = template[0] if template else "handle"
        if space == "storage":
            space = "storage" if "read_write" in template else "read-only-storage"
        if space == "handle":
            return Declaration(group, binding, name, space, "".join(kind), None)
        size = self._measured(self._layouts.size, kind)
        return Declaration(group, binding, name, space, "".join(kind), self._element(kind), size)

    def _measured(self, measure: Callable[[Sequence[str]], Any], kind: Sequence[str]) -> Any:
        try:
            return measure(kind)
        except (UnknownLayoutError, _UnknownError, IndexError):
            return None

    def _integer(self, expression: Sequence[str], depth: int = 0) -> int:
        """The value of a literal or of a constant that is one; arithmetic is not followed."""
        words = [token for token in expression if token != ","]
        if len(words) != 1 or depth > 8:
            raise _UnknownError
        word = words[0]
        if word in self.constants:
            return self._integer(self.constants[word], depth + 1)
        try:
            return int(word if word[:2] in ("0x", "0X") and word[-1] not in "iu" else word.rstrip("iu"), 0)
        except ValueError:
            raise _UnknownError from None

    def _element(self, kind: Sequence[str], depth: int = 0) -> str | None:
        """The one scalar type that `kind` is made of, through aliases, arrays, vectors and structs."""
        if not kind or depth > 16:
            return None
        word = kind[0]
        if word in self.aliases:
            return self._element(self.aliases[word], depth + 1)
        if word in self.structs:
            elements = {self._element(member.kind, depth + 1) for member in self.structs[word]}
            return elements.pop() if len(elements) == 1 else None
        if short := _SHORT_TYPE.match(word):
            return _SHORT[short.group(1)]
        if word in _SCALARS:
            return _SCALARS[word]
        return self._element(kind[2:], depth + 1) if kind[1:2] == ["<"] else None

    def _reach(self, name: str) -> set[str]:
        """All words that the function `name` and the functions it names use."""
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            words = self.functions.get(waiting.pop(), set())
            waiting += [w for w in words if w in self.functions and w not in seen]
            seen |= words
        return seen

    # -- tokens ---------------------------------------------------------------------------------------------------

    def _next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def _until(self, end: str) -> list[str]:
        start = self.at
        self.at = self.tokens.index(end, start) + 1
        return self.tokens[start : self.at - 1]

    def _brackets(self, opening: str, closing: str) -> list[str]:
        """The tokens between the bracket at the current place and its partner."""
        if self._next() != opening:
            raise _UnknownError
        start, depth = self.at, 1
        while depth:
            token = self._next()
            depth += (token == opening) - (token == closing)
        return self.tokens[start : self.at - 1]
