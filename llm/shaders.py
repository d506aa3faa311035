"""Finds the WGSL of a kernel in the checkout's `shaders/` folder."""

from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "shaders"


def shader_source(kernel: str) -> str:
    """The text of `shaders/<kernel>.wgsl`."""
    return (FOLDER / f"{kernel}.wgsl").read_text(encoding="utf-8")
