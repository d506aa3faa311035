"""The names that a program gives the parts of an encoder: debug groups, markers and pass labels.

They follow https://www.w3.org/TR/webgpu/#debug-markers. A labelled pass counts as a group around what it holds, so that
a program which names its passes has structure too.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field

from cmdgraph import validation
from cmdgraph.errors import ValidationError
from cmdgraph.program import Place

__all__ = ["DebugNames"]


@define
class DebugNames:
    """The groups open at the present point of an encoder or of a pass, outermost first, and the marker set there.

    A marker names the next command only, and only within the group that it stands in.
    """

    groups: tuple[str, ...] = ()
    marker: str = ""
    _outside: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._outside = len(self.groups)

    def of_pass(self, label: str) -> DebugNames:
        """Those at the beginning of a pass: what is open around it can be closed only after it."""
        inner = DebugNames((*self.groups, label) if label else self.groups, self.marker)
        self.marker = ""
        return inner

    def push(self, label: str) -> None:
        self.groups, self.marker = (*self.groups, _text("push_debug_group", label)), ""

    def pop(self, within: str, place: Callable[[], Place]) -> None:
        """Closes the innermost group.

        Raises:
            ValidationError: none was opened here (https://www.w3.org/TR/webgpu/#debug-markers).
        """
        if len(self.groups) == self._outside:
            text = f"pop_debug_group() without a push_debug_group() {within}"
            raise validation.refusal("debug_groups", text, place())
        self.groups, self.marker = self.groups[:-1], ""

    def mark(self, label: str) -> None:
        self.marker = _text("insert_debug_marker", label)

    def take_marker(self) -> str:
        """The name for the command that is recorded now."""
        marker, self.marker = self.marker, ""
        return marker

    def unbalanced(self, call: str, place: Callable[[], Place]) -> ValidationError | None:
        """The error for what ends with `call` while a group that was opened in it is still open."""
        if len(self.groups) == self._outside:
            return None
        text = f'debug group "{self.groups[-1]}" is still open at {call}(); pop it first'
        return validation.refusal("debug_groups", text, place())


def _text(call: str, label: str) -> str:
    if not isinstance(label, str):
        raise TypeError(f"{call}() takes text, not {label!r}")
    return label
