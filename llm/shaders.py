"""Puts the WGSL of a kernel together from the checkout's `shaders/` folder."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "shaders"
PARTS = FOLDER / "parts"


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def shader_source(kernel: str, parts: Iterable[str] = (), directives: str = "") -> str:
    """The text of `shaders/<kernel>.wgsl` and of the `parts` it is made with, behind the directives."""
    return "\n".join([directives, _text(FOLDER / f"{kernel}.wgsl"), *[_text(PARTS / f"{part}.wgsl") for part in parts]])
