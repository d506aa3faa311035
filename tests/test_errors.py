"""The tree of errors is the one drawn in its docstring, and every one of them is public."""

from __future__ import annotations

import inspect
import re

import pytest

import cmdgraph
from cmdgraph import errors


def _drawn() -> dict[str, str]:
    """Each error's parent, from the picture in the docstring."""
    found: dict[str, str] = {}
    open_at: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"(?P<indent>[ │├└─]*)(?P<name>\w+Error)\b", line)
        if match is None:
            continue
        depth = len(match["indent"])
        open_at = [(d, name) for d, name in open_at if d < depth]
        if open_at:
            found[match["name"]] = open_at[-1][1]
        open_at.append((depth, match["name"]))
    return found


def test_the_picture_shows_the_classes() -> None:
    classes = {name: cls for name, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, Exception)}
    parents = {
        name: next(base.__name__ for base in cls.__bases__ if base.__name__ in classes)
        for name, cls in classes.items()
        if cls is not errors.CommandGraphError
    }

    assert _drawn() == parents
    assert set(classes) == set(errors.__all__)


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_is_public_and_named_by_the_package(name: str) -> None:
    cls = getattr(cmdgraph, name)

    assert cls is getattr(errors, name)
    assert cls.__module__ == "cmdgraph"
    assert cls.__doc__


@pytest.mark.parametrize("name", ["ValidationError", "UpdateError"])
def test_wrong_values_are_value_errors(name: str) -> None:
    assert issubclass(getattr(errors, name), ValueError)


def test_a_validation_error_says_which_rule_and_node() -> None:
    error = errors.ValidationError("text", rule="copy", anchor="#copy", node=3)

    assert (str(error), error.rule, error.anchor, error.node) == ("text", "copy", "#copy", 3)
    assert (errors.ImplementationError("x").rule, errors.ImplementationError("x").node) == (None, None)
