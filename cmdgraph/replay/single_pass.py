"""Strategy "single-pass": encode now, one submit, dispatches merged into as few passes as the order allows."""

from __future__ import annotations

from cmdgraph.replay.base import OneSubmit

__all__ = ["SinglePass"]


class SinglePass(OneSubmit):
    name = "single-pass"
