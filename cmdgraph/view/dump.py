"""Writes a graph to a file, in the form that the file's name asks for."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cmdgraph.errors import ViewError
from cmdgraph.view.dot import dot
from cmdgraph.view.page import page

__all__ = ["FORMS", "dump", "to_json", "write"]


def to_json(data: dict[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"


FORMS: dict[str, Callable[[dict[str, Any]], str]] = {".dot": dot, ".json": to_json, ".html": page}
"""What makes the text of `cmdgraph.view.document`'s data, by suffix."""


def dump(path: str | os.PathLike[str], data: Callable[[], dict[str, Any]]) -> Path:
    """Writes what `data` gives to `path`; gives the path.

    Raises:
        ViewError: the suffix is none of `FORMS`, or the file cannot be written. A file that was there stays as it was.
    """
    target = Path(path)
    form = FORMS.get(target.suffix.lower())
    if form is None:
        found = f'"{target.suffix}"' if target.suffix else "no suffix"
        raise ViewError(f"{target} has {found}: a graph is written as {', '.join(FORMS)}; choose one of them")
    return write(target, form(data()))


def write(target: Path, content: str) -> Path:
    """Writes a text file all at once: readers see the old one or the new one, never a part.

    Raises:
        ViewError: it cannot be written.
    """
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(content)
        os.replace(temporary, target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ViewError(f"{target} cannot be written: {error.strerror or error}") from error
    return target
