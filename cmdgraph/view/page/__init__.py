"""A graph as one HTML page that needs nothing else: no network, no other file.

The page's parts lie beside this file: `page.html` with the places for the others, `page.css`, and the scripts in the
order in which they build on one another. Whatever comes from the graph reaches the page as JSON alone, and a content
security policy lets nothing run but the scripts given here: labels and shaders may come from a file of a stranger.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["page"]

_SCRIPTS = (
    "model.js",
    "layout.js",
    "colours.js",
    "map.js",
    "paint.js",
    "wgsl.js",
    "outline.js",
    "inspector.js",
    "hands.js",
    "app.js",
)


def page(data: dict[str, Any]) -> str:
    """The page for `cmdgraph.view.document`'s data."""
    style, script = _part("page.css"), _script()
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        "policy": f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'",
        "title": html.escape(data["name"] or "graph"),
        "style": style,
        "script": script,
        "data": text,
    }
    return "".join(parts.get(piece, piece) for piece in _pieces())


@cache
def _pieces() -> list[str]:
    """The template, cut at its places: every second piece names a part."""
    return _part("page.html").split("%%")


@cache
def _script() -> str:
    return '"use strict";\n(() => {\n' + "\n".join(map(_part, _SCRIPTS)) + "\n})();\n"


@cache
def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
