"""Encoders for the mirrored files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.kit import INC, Kit

__all__ = ["bound", "encoding", "in_pass", "storage_layout"]


def encoding(kit: Kit, use: Callable[[Any], object]) -> Callable[[], Sequence[Any]]:
    """One encoder that `use` fills."""

    def encode() -> Sequence[Any]:
        encoder = kit.device.create_command_encoder()
        use(encoder)
        return [encoder.finish()]

    return encode


def in_pass(kit: Kit, use: Callable[[Any], object]) -> Callable[[], Sequence[Any]]:
    """One encoder with one compute pass that `use` fills."""

    def fill(encoder: Any) -> None:
        compute = encoder.begin_compute_pass()
        use(compute)
        compute.end()

    return encoding(kit, fill)


def bound(kit: Kit, buffer: Any = None) -> tuple[Any, Any]:
    """A pipeline with one storage binding, and a bind group for it."""
    pipeline = kit.kernel(INC)
    return pipeline, kit.group(pipeline, kit.buffer([0] * 4) if buffer is None else buffer)


def storage_layout(kind: str = "storage", **more: Any) -> list[dict[str, Any]]:
    """Entries of a layout with one buffer binding."""
    return [{"binding": 0, "visibility": 4, "buffer": {"type": kind, **more}}]
