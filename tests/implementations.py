"""On what something was run: for the reports of long runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cmdgraph import adapters

__all__ = ["facts"]


def facts(packages: Iterable[str]) -> dict[str, dict[str, Any]]:
    """By package: the implementation, its version, and its first adapter."""
    found = {package: adapters.find(package) for package in packages}
    return {
        package: {**facts["implementation"], **{k: facts["adapters"][0][k] for k in ("adapter", "driver", "backend")}}
        for package, facts in found.items()
    }
